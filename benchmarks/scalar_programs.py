"""Programs of numbers, lists and strings, as Python programmers write them; `floor/scalar_floor.c` has the same in C."""

from __future__ import annotations


def fizzbuzz(n: int) -> tuple[int, int, int, int]:
    """Return how many numbers up to n are fizz, buzz and both, and the sum of the others."""
    fizz = buzz = both = total = 0
    for i in range(1, n + 1):
        if i % 15 == 0:
            both += 1
        elif i % 3 == 0:
            fizz += 1
        elif i % 5 == 0:
            buzz += 1
        else:
            total += i
    return fizz, buzz, both, total


def edit_distance(a: list[int], b: list[int]) -> int:
    previous = list(range(len(b) + 1))
    for i in range(len(a)):
        current = [i + 1]
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost))
        previous = current
    return previous[-1]


def viterbi(
    observed: list[int], start: list[float], transition: list[list[float]], emission: list[list[float]]
) -> list[int]:
    """Return the likeliest states, from log probabilities."""
    states = len(start)
    score = [start[s] + emission[s][observed[0]] for s in range(states)]
    back: list[list[int]] = []
    for t in range(1, len(observed)):
        new_score = []
        pointers = []
        for s in range(states):
            best = score[0] + transition[0][s]
            arg = 0
            for p in range(1, states):
                candidate = score[p] + transition[p][s]
                if candidate > best:
                    best = candidate
                    arg = p
            new_score.append(best + emission[s][observed[t]])
            pointers.append(arg)
        score = new_score
        back.append(pointers)
    best_state = 0
    for s in range(1, states):
        if score[s] > score[best_state]:
            best_state = s
    path = [best_state]
    for t in range(len(back) - 1, -1, -1):
        path.append(back[t][path[-1]])
    path.reverse()
    return path


def prefix_search(probabilities: list[list[float]], width: int) -> tuple[list[int], float]:
    """Return the best prefix and its score, by CTC prefix beam search over probabilities [time][class], blank 0."""
    prefixes: list[list[int]] = [[]]
    blank = [1.0]
    other = [0.0]
    for frame in probabilities:
        new_prefixes: list[list[int]] = []
        new_blank: list[float] = []
        new_other: list[float] = []
        for i in range(len(prefixes)):
            prefix = prefixes[i]
            total = blank[i] + other[i]
            last = prefix[-1] if prefix else -1
            at = -1
            for j in range(len(new_prefixes)):
                if new_prefixes[j] == prefix:
                    at = j
                    break
            if at < 0:
                at = len(new_prefixes)
                new_prefixes.append(prefix)
                new_blank.append(0.0)
                new_other.append(0.0)
            new_blank[at] += total * frame[0]
            if last >= 0:
                new_other[at] += other[i] * frame[last]
            for c in range(1, len(frame)):
                extended = prefix + [c]
                p = (blank[i] if c == last else total) * frame[c]
                at = -1
                for j in range(len(new_prefixes)):
                    if new_prefixes[j] == extended:
                        at = j
                        break
                if at < 0:
                    at = len(new_prefixes)
                    new_prefixes.append(extended)
                    new_blank.append(0.0)
                    new_other.append(0.0)
                new_other[at] += p
        prefixes = []
        blank = []
        other = []
        for _ in range(min(width, len(new_prefixes))):
            best = 0
            for j in range(1, len(new_prefixes)):
                if new_blank[j] + new_other[j] > new_blank[best] + new_other[best]:
                    best = j
            prefixes.append(new_prefixes[best])
            blank.append(new_blank[best])
            other.append(new_other[best])
            new_blank[best] = -1.0
            new_other[best] = 0.0
    return prefixes[0], blank[0] + other[0]


def sieve(n: int) -> int:
    """Return how many primes are below n."""
    prime = [True] * n
    prime[0] = prime[1] = False
    i = 2
    while i * i < n:
        if prime[i]:
            j = i * i
            while j < n:
                prime[j] = False
                j += i
        i += 1
    count = 0
    for p in prime:
        if p:
            count += 1
    return count


def tokenize(text: str) -> list[str]:
    """Return the words in lower case, the numbers and the other characters of a text."""
    tokens = []
    word = ""
    number = False
    for c in text:
        if c.isalpha():
            if number:
                tokens.append(word)
                word = ""
                number = False
            word += c.lower()
        elif c.isdigit():
            if word and not number:
                tokens.append(word)
                word = ""
            number = True
            word += c
        else:
            if word:
                tokens.append(word)
                word = ""
                number = False
            if c != " ":
                tokens.append(c)
    if word:
        tokens.append(word)
    return tokens
