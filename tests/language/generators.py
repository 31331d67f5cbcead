"""Generators, and objects that are walked by `__next__` or by indices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from language.cases import cases, construct

X = torch.arange(12.0).reshape(4, 3)


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


def forever() -> Iterator[int]:
    k = 0
    while True:
        yield k
        k += 1


def rows(x: Tensor) -> Iterator[tuple[int, Tensor]]:
    for i in range(x.shape[0]):
        if i == 1:
            continue
        yield i, x[i]


@cases((X, 3), (X, 0))
def added(x: Tensor, n: int) -> Tensor:
    for s in squares(n):
        x = x + s
    return x


@cases((X, 5), (X, 2), (X[:0], 5))
def left_by_break_and_continue(x: Tensor, n: int) -> tuple[Tensor, int]:
    total, count = torch.zeros(3), 0
    for i, row in rows(x):
        if i > n:
            break
        if i == 2:
            continue
        total = total + row
        count += 1
    else:
        count += 100
    return total, count


@cases((X, 3), (X, 1))
def left_by_return(x: Tensor, n: int) -> Tensor | None:
    for k in forever():
        if k >= n:
            return x * k
    return None


@cases((3,), (0,))
def taken_at_once(n: int) -> tuple[Any, ...]:
    first, second = squares(2)
    best = max(squares(n + 1))
    return list(squares(n)), tuple(squares(n)), [*squares(n)], sum(squares(n)), sorted(squares(n)), first, second, best


@cases((3,), (0,))
def within_comprehensions(n: int) -> tuple[Any, ...]:
    return [s + 1 for s in squares(n) if s != 1], {s: 2 * s for s in squares(n)}, any(s > 3 for s in squares(n))


@cases((3,), (5,), (0,))
def beside_other_sequences(n: int) -> tuple[Any, ...]:
    total = 0
    for i, s in enumerate(squares(n), 2):
        if s == 4:
            continue
        total += i * s
    for a, b in zip(range(3), squares(n)):  # noqa: B905
        total += a * b
    for a, b in zip(squares(n), [5, 6]):  # noqa: B905
        total += a * b
    for s in map(lambda s: 2 * s, (s for s in squares(n) if s)):
        total += s
    return total, next(squares(n), -1), next(iter(squares(n + 1)))


@cases((3,), (5,))
def runs_in_step(n: int) -> list[int]:
    """Each effect of the generator and of the loop comes in its turn. A loop that is left ends the generator."""

    def steps() -> Iterator[int]:
        for i in range(n):
            log.append(i)
            yield i
            log.append(-i)

    log: list[int] = []
    for i in steps():
        log.append(100 + i)
        if i == 3:
            break
    return log


@cases((X,), (X[:1],))
def delegates(x: Tensor) -> tuple[Tensor, list[int]]:
    def twice() -> Iterator[tuple[int, Tensor]]:
        found.append((yield from counted()))
        yield from rows(x + 1)
        yield from [(7, x[0])]

    def counted() -> Iterator[tuple[int, Tensor]]:
        yield 4, x[0]
        return 5

    found: list[int] = []
    total = torch.zeros(3)
    for i, row in twice():
        total = total + i * row
    return total, found


@cases((X,))
def nested_in_itself(x: Tensor) -> Tensor:
    def leaves(depth: int) -> Iterator[Tensor]:
        if depth == 0:
            yield x
            return
        yield from leaves(depth - 1)
        yield x + depth

    total = x
    for leaf in leaves(3):
        total = total * leaf
    return total


@cases((3,), (0,))
def raises_within(n: int) -> tuple[int, str]:
    def failing() -> Iterator[int]:
        for i in range(n):
            if i == 2:
                raise ValueError("two")
            yield i

    total = 0
    try:
        for i in failing():
            total += 10 + i
    except ValueError as e:
        return total, str(e)
    return total, ""


@cases((5,), (1,))
def stops_itself(n: int) -> tuple[list[int], bool]:
    """StopIteration that leaves a generator is an error, but none of the loop that walks the generator."""

    def stopping() -> Iterator[int]:
        for i in range(n):
            if i == 2:
                raise StopIteration
            yield i

    return list(stopping()), 3 in stopping()


@cases((5,), (1,))
def stops_the_loop(n: int) -> int:
    total = 0
    try:
        for i in squares(n):
            if i == 4:
                raise StopIteration
            total += i
    except StopIteration:
        return -total
    return total


@cases((3,), (2,), (0,))
def taken_by_names(n: int) -> tuple[Any, ...]:
    """Names take one item more than there are of them; a starred name takes all. What is not asked for is not made."""

    def endless() -> Iterator[int]:
        k = 0
        while True:
            made.append(k)
            yield k
            k += 1

    def several() -> Iterator[Any]:
        yield n
        yield "a"
        yield X * n

    made: list[int] = []
    found: list[str] = []
    number, text, x = several()
    for k in range(4):
        try:
            if k == 0:
                first, second = endless()
            elif k == 1:
                first, second = squares(n)
                made += [first, second]
            elif k == 2:
                first, second = CountsDown(n)
                made += [first, second]
            else:
                first, *rest = squares(n)
                *others, last = CountsDown(n)
                made += [first, *rest, *others, last]
        except ValueError as error:
            found.append(str(error))
    return number, text, x, made, found


@cases((3,), (2,), (0,))
def asked_for_an_item(n: int) -> tuple[Any, ...]:
    counter, numbers = CountsDown(n), iter([1, n, 3])
    xs = list(range(n))
    among = 1 in counter, n in numbers, n in (x + 1 for x in xs), n - 1 in reversed(xs)
    beside = (1, 1) in zip(xs, xs)  # noqa: B905
    return among, beside, counter.n, list(numbers), 6 in ByIndex(n), 2 in Evens(n)


@cases((3,))
def no_iterators(n: int) -> list[str]:
    found = []
    for k in range(3):
        try:
            if k == 0:
                next(ByIndex(n))  # type: ignore[call-overload]
            elif k == 1:
                next(ByIndex(n), 5)  # type: ignore[call-overload]
            else:
                next(iter(Letters(n)))
        except TypeError as error:
            found.append(str(error))
    return found, next(iter(Letters("ab"))), [*iter(Keys(a=n))]  # type: ignore[return-value]


class Letters(list[Any]):
    pass


class Keys(dict[str, Any]):
    pass


class Evens:
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        for i in range(self.n):
            yield 2 * i


class CountsDown:
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> CountsDown:
        return self

    def __next__(self) -> int:
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class ByIndex:
    def __init__(self, n: int) -> None:
        self.n = n

    def __getitem__(self, i: int) -> int:
        if i >= self.n:
            raise IndexError(i)
        return 3 * i


class Held(Sequence[Any]):
    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: Any) -> Any:
        return self.items[i]


@cases((3,), (0,))
def objects_walked(n: int) -> tuple[Any, ...]:
    total = 0
    for i in Evens(n):
        total += i
    for i in CountsDown(n):
        total += i
    for i in ByIndex(n):
        total += i
    counter = CountsDown(n)
    first = next(counter, -1)
    return total, first, list(counter), list(Evens(n)), [*ByIndex(n)], [i + 1 for i in CountsDown(n)], next(counter, 9)


@cases(([6], 3), ([6], 0), ([], 2), ([6, 7, 8], 1))
def zipped_with_lists_that_grow(xs: list[int], n: int) -> tuple[Any, ...]:
    """As in Python, zip asks whether a list has an item when it is the list's turn."""

    def grows() -> Iterator[int]:
        for i in range(n):
            xs.append(i)
            xs[i // 2] = 10 * i
            yield i

    behind = [a - b for a, b in zip(grows(), xs)]  # noqa: B905
    before = [a - b for a, b in zip(xs, grows())]  # noqa: B905
    return behind, before, list(map(max, xs, grows(), xs)), xs


@cases((X,))
def sequence_of_the_library(x: Tensor) -> tuple[Any, ...]:
    held = Held([x, x + 1])
    total = x
    for item in held:
        total = total + item
    return total, [i for i, _ in zip([1, 2, 3], held)], len(held)  # noqa: B905


@contextlib.contextmanager
def noted(log: list[int], k: int) -> Iterator[int]:
    log.append(k)
    try:
        yield k + 1
    finally:
        log.append(-k)


@cases((3,), (1,), (0,))
def variables_of_one_item(n: int) -> list[int]:
    log = [7]
    for k in CountsDown(n):
        with noted(log, k) as more:
            pass
    for k in squares(n):
        with noted(log, k) as more, noted(log, more) as most:
            log.append(most)
    for k in squares(n):
        match [k, n, 3]:
            case [1, *rest] | [_, _, *rest]:
                log += rest
    for k in squares(n):
        match [k + n, 2, 3]:
            case [1, *rest]:
                pass
            case [_, *rest]:
                log.append(k)
    return log


@cases((3,), (0,))
def bound_in_loops_over_generators(n: int) -> object:
    made = abs
    for k in squares(n):
        from math import floor

        def made(a: int) -> int:  # noqa: F811
            return a + k  # noqa: B023

        n = made(n) + floor(0.5)
    return made(n)


construct(
    "Iterators", "generators: functions with `yield`, `yield from`",
    "read where a loop walks them; not as results or arguments, and no `yield` inside `try` or `with` under a loop",
    added, left_by_break_and_continue, left_by_return, taken_at_once, within_comprehensions, beside_other_sequences,
    taken_by_names, asked_for_an_item, no_iterators, runs_in_step, delegates, nested_in_itself, raises_within, stops_itself,
    stops_the_loop, zipped_with_lists_that_grow, variables_of_one_item, bound_in_loops_over_generators,
)  # fmt: skip
construct(
    "Iterators", "objects with `__iter__`, `__next__` or `__getitem__` of their own", "", objects_walked,
    sequence_of_the_library,
)  # fmt: skip
