"""Functions that call themselves."""

from __future__ import annotations

import torch

from language.cases import cases


@cases(0, 1, 5, 12, 25)
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@cases(0, 1, 2, 11)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    if n == 0:
        return False
    return even(n - 1)


@cases(0, 1, 6, 9)
def mutual(n):
    return even(n), odd(n)


@cases((0, 3), (1, 2), (2, 2))
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


@cases(3, 100, 5000)
def too_deep(n):
    return deep(n)


@cases(3, 5000)
def too_deep_but_caught(n):
    try:
        return deep(n)
    except RecursionError:
        return -1 + deep(n % 10)


@cases([3, 1, 2], [], [5, 5, 1, 9, -3, 2])
def quicksort(xs):
    if len(xs) < 2:
        return xs
    pivot, left, right = xs[0], [0], [0]
    left.pop()
    right.pop()
    for x in xs[1:]:
        if x < pivot:
            left.append(x)
        else:
            right.append(x)
    return quicksort(left) + [pivot] + quicksort(right)


def sort_in_place(xs, low, high):
    if low >= high:
        return
    i = low
    for j in range(low, high):
        if xs[j] < xs[high]:
            xs[i], xs[j] = xs[j], xs[i]
            i += 1
    xs[i], xs[high] = xs[high], xs[i]
    sort_in_place(xs, low, i - 1)
    sort_in_place(xs, i + 1, high)


@cases([3, 1, 2], [4], [5, 5, 1, 9, -3, 2])
def sorts_an_argument(xs):
    sort_in_place(xs, 0, len(xs) - 1)
    return len(xs)


def halves(x):
    n = x.shape[0]
    if n == 1:
        return x[0]
    return halves(x[: n // 2]) * 0.5 + halves(x[n // 2 :])


@cases(torch.arange(7.0), torch.arange(8.0), torch.ones(1))
def recursive_halving(x):
    return halves(x)


@cases((3, 2), (0, 0), (5, 9))
def closure(n, k):
    scale = k + 1

    def walk(i):
        if i == 0:
            return scale
        return walk(i - 1) * 2 + scale

    return walk(n)


@cases(0, 1, 6)
def closure_that_counts(n):
    calls = 0

    def walk(i):
        nonlocal calls
        calls += 1
        if i > 1:
            walk(i - 1)
            walk(i - 2)

    walk(n)
    return calls


@cases(0, 1, 30)
def memo_list(n):
    memo = [-1] * (n + 2)

    def fib(i):
        if memo[i] >= 0:
            return memo[i]
        memo[i] = i if i < 2 else fib(i - 1) + fib(i - 2)
        return memo[i]

    return fib(n), memo


def flood(grid, i, j):
    if i < 0 or j < 0 or i >= len(grid) or j >= len(grid[0]) or grid[i][j] != 0:
        return 0
    grid[i][j] = 2
    return 1 + flood(grid, i + 1, j) + flood(grid, i - 1, j) + flood(grid, i, j + 1) + flood(grid, i, j - 1)


@cases([[0, 1, 0], [0, 1, 0], [0, 0, 0]], [[1]], [[0, 0], [1, 1], [0, 0]])
def flood_fill(grid):
    return flood(grid, 0, 0), grid


def find(xs, x, i):
    if i == len(xs):
        return None
    return i if xs[i] == x else find(xs, x, i + 1)


@cases(([3, 1, 2], 2), ([3, 1, 2], 7), ([], 0))
def none_on_some_paths(xs, x):
    at = find(xs, x, 0)
    return -1 if at is None else at


class Totals:
    def __init__(self):
        self.calls = 0
        self.sum = 0.0

    def add(self, xs, i):
        self.calls += 1
        if i < len(xs):
            self.sum += xs[i]
            self.add(xs, i + 1)


@cases([1.0, 2.5], [], [4.0])
def object_changed_by_the_callee(xs):
    totals = Totals()
    totals.add(xs, 0)
    return totals.calls, totals.sum


def tree_state(x, children, node):
    h = x[node] * 0.0
    c = x[node]
    for child in children[node]:
        hk, ck = tree_state(x, children, child)
        h = h + hk
        c = c + ck * 0.5
    return torch.tanh(h + x[node]), c


@cases(
    (torch.randn(5, 3), [[1, 2], [3, 4], [-1], [-1], [-1]]),
    (torch.randn(1, 3), [[-1]]),
)
def tree_over_indices(x, children):
    clean = [[c for c in row if c >= 0] for row in children]
    h, c = tree_state(x, clean, 0)
    return h, c


class TreeLSTM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.iou = torch.nn.Linear(4, 9)
        self.u = torch.nn.Linear(3, 9, bias=False)
        self.f = torch.nn.Linear(4, 3)
        self.uf = torch.nn.Linear(3, 3, bias=False)

    def node(self, x, h_children, c_children):
        h_sum = torch.zeros(3)
        fc = torch.zeros(3)
        for h, c in zip(h_children, c_children, strict=True):
            h_sum = h_sum + h
            fc = fc + torch.sigmoid(self.f(x) + self.uf(h)) * c
        i, o, u = torch.chunk(self.iou(x) + self.u(h_sum), 3)
        c = torch.sigmoid(i) * torch.tanh(u) + fc
        return torch.sigmoid(o) * torch.tanh(c), c

    def walk(self, xs, first, last, at):
        hs, cs = [], []
        for child in range(first[at], last[at]):
            h, c = self.walk(xs, first, last, child)
            hs.append(h)
            cs.append(c)
        return self.node(xs[at], hs, cs)

    def forward(self, xs, first, last):
        return self.walk(xs, first, last, 0)


tree_lstm = cases((torch.randn(6, 4), [1, 3, 5, 0, 0, 0], [3, 5, 6, 0, 0, 0]), (torch.randn(1, 4), [0], [0]))(
    TreeLSTM().eval()
)


class Node:
    def __init__(self, word, children):
        self.word = word
        self.children = children


TREE = Node(1, [Node(2, []), Node(0, [Node(3, []), Node(4, [])])])


class TreeSum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(5, 3)
        self.mix = torch.nn.Linear(3, 3)

    def visit(self, node):
        h = self.table.weight[node.word]
        for child in node.children:
            h = h + torch.tanh(self.mix(self.visit(child)))
        return h

    def forward(self, x):
        return x * self.visit(TREE)


tree_of_objects = cases(torch.ones(3), torch.zeros(2, 3))(TreeSum().eval())


class Nest(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(4))

    def run(self, x, depth):
        if depth == len(self.layers):
            return x
        return self.run(torch.relu(self.layers[depth](x)), depth + 1)

    def forward(self, x):
        return self.run(x, 0)


known_depth = cases(torch.ones(2), torch.ones(3, 2))(Nest().eval())


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * (x if n % 2 else 1.0)


@cases((2.0, 10), (1.5, 0), (3.0, 1))
def known_and_unknown(x, n):
    return power(x, n), power(x, 13)


def nested_sum(xs):
    return 0 if not xs else xs[0] + nested_sum(xs[1:])


@cases((1, 2, 3), (4,))
def over_a_tuple(*xs):
    return nested_sum(xs)


def raises_deep(n):
    if n == 0:
        raise ValueError("at the bottom")
    return raises_deep(n - 1)


@cases(0, 3)
def raised_at_the_bottom(n):
    try:
        return raises_deep(n)
    except ValueError as e:
        print(e)
        return -n


def endless(n):
    return endless(n + 1)


@cases(1)
def never_returns(n):
    try:
        return endless(n)
    except RecursionError:
        return -1


def collect(out, n):
    out.append(n)
    if n > 0:
        collect(out, n - 1)
        out.append(-n)


@cases(0, 3)
def list_given_empty(n):
    out = []
    collect(out, n)
    return out


def smooth(x, h):
    if x.shape[0] == 0:
        return h
    return smooth(x[1:], x[0] if h is None else h * 0.5 + x[0])


@cases(torch.arange(6.0).reshape(3, 2), torch.ones(1, 2))
def state_that_begins_as_none(x):
    return smooth(x, None)


def counted(totals, n):
    if n == 0:
        return totals
    totals.calls += 1
    totals.sum = totals.sum * 0.5 + n
    return counted(totals, n - 1)


@cases(0, 1, 4)
def object_returned(n):
    totals = Totals()
    again = counted(totals, n)
    return again.calls, totals.sum, again is totals


def drained(d, n):
    if n == 0:
        return d["a"]
    d["a"] = d["a"] + n
    return drained(d, n - 1)


@cases(0, 3)
def dict_changed_by_the_callee(n):
    d = {"a": 1, "b": torch.ones(2)}
    return drained(d, n), d["a"], d["b"]


def listed(n, found=None):
    if found is None:
        found = [n]
    if n == 0:
        return found
    found.append(n)
    return listed(n - 1, found)


@cases(0, 3)
def default_that_is_none(n):
    return listed(n)


@cases((torch.arange(6.0).reshape(2, 3), 0), (torch.arange(6.0).reshape(2, 3), 3))
def left_through_finally(x, n):
    log = [n]

    def go(y, k):
        if k == 0:
            return y[5]
        try:
            return go(y * 2, k - 1)
        finally:
            log.append(k)

    try:
        return go(x, n), log
    except IndexError:
        return x, log


def of_several_kinds(n):
    if n < 3:
        return [None, 1, 2.5][n] if n != 0 else None
    return of_several_kinds(n - 3)


@cases(0, 1, 2, 9, 10, 11)
def results_of_several_kinds(n):
    r = of_several_kinds(n)
    return -1 if r is None else r


@cases(0, 1, 3, 5)
def captures_what_may_be_unbound(n):
    if n > 2:
        first = 3

        def inner(k):
            return down(k - 1) + last
    for i in range(n):
        last = i

    def down(k):
        if k <= 0:
            return first
        return inner(k - 1) + 1 if k % 2 else down(k - 1) + 1

    try:
        return down(n)
    except NameError as e:
        return type(e).__name__, str(e)


@cases(0, 1, 3)
def ends_inside_a_generator_that_calls_itself(n):
    def down(k):
        if k == 0:
            return next(iter([1][n:]))
        return sum(down(k - 1) for _ in range(2))

    def countdown(k):
        if k == 0:
            raise StopIteration("zero")
        return countdown(k - 1) + 1

    try:
        countdown(n)
    except StopIteration as e:
        first = str(e)
    try:
        return first, sum(countdown(i) for i in range(n))
    except RuntimeError as e:
        first = str(e)
    try:
        return first, down(n)
    except RuntimeError as e:
        return first, str(e)


def choice(taken, other):
    def chosen(x, dim):
        return taken(x, dim) if dim > 0 else other(x, dim)

    return chosen


sums_or_means = choice(choice(torch.mean, torch.amax), choice(torch.sum, torch.amin))


@cases(torch.ones(2, 3).cumsum(1))
def functions_of_one_source_are_several(x):
    return sums_or_means(x, 0), sums_or_means(x, 1)


def maker(n, k):
    if n == 0:
        return lambda x: x * k + n
    return maker(n - 1, k + n)


@cases((torch.ones(2), 0), (torch.ones(2), 3))
def function_returned(x, n):
    return maker(n, 1)(x)
