"""Programs that need more than one reading, each listed with the reasons to read it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

from scriptc.frontend.environment.shared_state import SharedState

X = torch.rand(3, 4, 5)
STEP = {"size": 2}
T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True)
class Read:
    """Hold a program, how it is read, and the names of the reasons to read it again, in order."""

    target: Any
    given: tuple[Any, ...]
    reasons: tuple[str, ...]
    options: dict[str, Any]


READ: list[Read] = []


def again(*reasons: str, given: tuple[Any, ...] = (X,), **options: Any) -> Callable[[T], T]:
    """List a function, or a class of modules, that is read again for these reasons when it is called with `given`.

    options: of `entry.read`; that of `ahead` is called for each reading.
    """

    def listed(target: T) -> T:
        READ.append(Read(target() if isinstance(target, type) else target, given, reasons, options))
        return target

    return listed


# ---- numbers, loops and functions ----


@again("unroll")
def turned(x):
    for i in range(2):
        x = x.transpose(0, i)
    return x


@again("allow_unions", "unroll")
def nested_ever_deeper(x):
    shape = []
    for _ in range(2):
        shape = [*shape, shape]
    return shape


@again("specialize", given=(X, 1))
def summed_over(x, dim):
    return x.sum(dim)


@again("specialize", given=(X, "mean"))
def reduced(x, how):
    return x.mean() if how == "mean" else x.sum()


@again("bake_in", changing={(id(STEP), "size")})
def strided(x):
    return x.sum(STEP["size"])


@again("keep_items")
def summed_over_others(x):
    return x.sum([i for i in range(x.dim()) if i != 1])


@again("mutate", "walk_growing")
def walked_while_it_grows(x):
    rows = [x.sum()]
    for row in rows:
        if len(rows) < 4:
            rows.append(row + 1)
    return rows


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@again("make_recursive", given=(3,))
def called_by_itself(n):
    return fibonacci(30) + n


# ---- lists ----


@again("mutate")
def changed_by_its_name(x):
    rows = [x, x + 1]
    first, second = rows
    rows.append(first + second)
    return rows


@again("settle_changes", given=([[1, 2], [3]],))
def changed_by_another_name(rows):
    mine = [4, 5]
    rows.append(mine)
    rows[0].append(6)
    return mine[0]


@again("mutate", given=(3,))
def changed_and_grown_behind_their_use(n):
    xs = [1, n]
    ys = sorted(xs)
    xs.append(ys[0])
    return sorted(xs)


@again("settle_element_types", given=(X, 3))
def united_behind_their_use(x, n):
    past = [None, None]
    for _ in range(n):
        new = []
        for row in past:
            new.append((x, x) if row is None else (row[0] + x, x))
        past = new
    return past


@again("mutate", "widen", given=(3,))
def wider_behind_its_use(n):
    rows = []
    for i in range(n):
        if rows:
            rows[-1] += 1
        rows.append(i)
    return rows


@again("widen", given=([], X))
def wider_than_given(rows, x):
    rows.append(x)
    return rows


@again("take_apart", given=(X, [(None, X)]))
def given_other_items(x, pairs):
    pairs[0] = (x, x)
    return pairs


def first_of(rows, n):
    first = rows[0]
    if n > 9:
        return 0 if first is None else first
    return first_of([None], n + 1) + first_of([n], n + 1)


@again("unite_lists", "unite_lists", given=(1,))
def passed_on(n):
    return first_of([n], n)


@again("keep_items", "allow_unions", "widen", given=(3,))
def of_several_kinds(n):
    found = []
    for i in range(n):
        found.append(i if i % 2 else str(i))
    return found


# ---- dicts, sets and objects ----


class Item:
    def __init__(self, n):
        self.n = n
        if n > 1:
            self.large = n


class Pair:
    def __init__(self, n):
        self.n = n


class Holder:
    def __init__(self):
        self.held = None


class Typed:
    def __init__(self, x):
        self.dtype = x.dtype
        self.x = x


@again("promote", given=(["a", "b"],))
def counted(words):
    found = {}
    for i, word in enumerate(words):
        found[word] = i
    return found


@again("promote", given=({"a": 1}, "b"))
def counted_for_the_caller(found, word):
    for key in [word, "c"]:
        found[key + word] = 2
    return found


@again("promote", "fix_keys", "specialize", given=(X, "a"))
def mixed_under_words(x, word):
    found = {"n": 1}
    found[word + "b"] = x
    return found


@again("keep_items", "make_runtime", "let_lack", given=(3,))
def objects_in_a_list(n):
    found = []
    for i in range(n):
        found.append(Item(i))
    return [one.n for one in found]


@again("keep_items", "make_runtime", "hold_constant")
def constants_in_objects(x):
    found = []
    for i in range(x.size(0)):
        found.append(Typed(x[i]))
    return [one.x.to(one.dtype) for one in found]


@again("promote", "fix_keys", "keep_items", "make_runtime", "free_keys_of", "fix_keys", "widen", given=(2, X))
def keys_that_go(n, x):
    d = {"x": x, "n": n}
    found = []
    for _ in range(n):
        found.append(d)
    del d["x"]
    return found


@again("keep_items", "make_runtime", "widen_field", "widen", given=(3, X))
def attributes_that_get_wider(n, x):
    found = []
    for _ in range(n):
        one = Holder()
        if one.held is None:
            one.held = x
        found.append(one)
    return [one.held for one in found]


@again(
    "promote", "widen", "widen", "keep_items", "forget_length", "make_runtime", "settle_changes", given=(["a", "b"],)
)  # fmt: skip
def lists_of_objects_under_words(words):
    found = defaultdict(list)
    for i, word in enumerate(words):
        found[word].append(Pair(i))
    return [[one.n for one in held] for held in found.values()]


@again("keep_items", "keep_items", "settle_lengths", "make_runtime", "settle_changes", given=(2, 5))
def lists_of_objects_in_a_list(rows, n):
    found = [[] for _ in range(rows)]
    for i in range(n):
        found[i % rows].append(Pair(i))
    return [[one.n for one in row] for row in found]


@again("keep_items", "forget_length", "allow_unions", "widen", given=(2,))
def lists_of_several_kinds_in_two_places(n):
    found = [n, "a"]
    found.append(None)
    return found, found


@again("keep_tries", given=(2, 0))
def object_changed_by_an_inner_finally(n, k):
    pair = Pair(0)
    try:
        try:
            pair.n = 1
            found = n // k
        finally:
            pair.n = 2
    except ZeroDivisionError:
        return pair.n
    return found


# ---- state ----


@again("add_slot")
class Keeps(nn.Module):
    def forward(self, x):
        self.seen = x
        return torch.relu(x)


@again("change_outside", "widen")
class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return len(self.seen)


@again("add_slot", "add_kinds", ahead=SharedState)
class KeepsAhead(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = None

    def forward(self, x):
        self.seen = x
        return torch.relu(x)


def put_together(x):
    return torch.stack([x, x + 1], dim=x.dim())


@again("split")
def one_of_two_ranks(x):
    if x.sum() > 0:
        x = x.reshape(-1)
    return put_together(x)


@again("split")
def one_of_two_kinds(x):
    parts = x, x + 1
    if x.sum() > 0:
        parts = map(torch.relu, parts)
    first, second = parts
    return first + second


@again("keep_written", ahead=SharedState)
class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3, 4, 5))

    def forward(self, x):
        self.total.add_(x)
        return x
