"""Programs on which the fuzzer (`python -m tests.fuzz`) once found compiled code at fault, cut to what it took."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from compiled_program import assert_no_warnings
from three_ways import Args, assert_same, call, compile_at, compiled, eager, interpreted

import scriptc
from scriptc.driver.options import Options
from scriptc.driver.pipeline import run_passes
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read

FOUND: list[tuple[Callable[..., Any], list[Args]]] = []


def found(*calls: Args) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        FOUND.append((function, list(calls)))
        return function

    return add


V = torch.arange(4.0)


# A generator is tried as one of known length, and its test was left as something that a handler reads.
@found(call(torch.ones(3, 3), [1], 1), call(torch.ones(3, 3), [1, 2, 9], 2))
def generator_in_a_body(m, xs, k):
    for _ in range(k):
        try:
            m = m[sum(q * q for q in xs if q < 9) :]
        except ValueError:
            xs.pop()
    return m


# A list of tensors of one rank on one path, of another on the other, was one of tensors of no rank.
@found(*(call(V, torch.ones(2, 3), n) for n in (0, 1)))
def lists_of_several_ranks_meet(x, m, n):
    ys = [x] if n > 0 else [m, m]
    zs = list(x.unbind()) if n > 0 else list(m.unbind())
    for y in zs:
        x = x + y.sum()
    return x, ys[0] + 1, len(ys), zs


@found(call([[1, 2], [3]], 2), call([[1], [0]], 2))
def any_of_any(grid, n):
    return any(any(q > n for q in row) for row in grid), any((n := row[0]) > any(q > n for q in row) for row in grid), n


@found(call([1, 2, 3], 1), call([1, 2, 3], 7))
def a_generator_within_a_generator_over_a_variable_of_both(xs, n):
    n += 1
    return next((q for q in xs if q > next((q for q in xs if q > n), n)), 7)


@found(call(1))
def a_generator_reads_what_is_never_bound(n):
    if False:
        w = n
    return next(q for q in [1, 2] if q > w)


SHARED = [1, 2]


@found(call(SHARED, (SHARED, 3), 0), call([1, 2], ([1, 2], 3), 0), call(SHARED, (SHARED, 3), 5))
def two_names_of_a_list_that_takes_none(xs, pair, n):
    xs.append(next((q for q in xs if q > n), None))
    return len(pair[0])


@found(call(torch.zeros(2), torch.ones(1)))
def a_view_outlives_what_a_loop_looks_at(x, m):
    for _ in range(3):
        x = x + torch.stack([torch.ones(2) * 2])[0] / m
    return x


@found(call(V, torch.ones(2, 3), 1), call(V, torch.ones(2, 3), 0))
def returns_of_several_ranks(x, m, n):
    if n > 0:
        return [x, x + 1]
    return [m]


@found(call(torch.ones(2, 2)))
def items_of_several_ranks(x):
    return [x.sum(0) if name == "a" else x for name in ("a", "b", "c")]


@contextlib.contextmanager
def noted(log, k):
    log.append(k)
    try:
        yield k + 1
    finally:
        log.append(-k)


# What a `with` over a generator assigned was not seen by the handlers of a `try` around it.
@found(call(1, [1], 1), call(1, [1], 0), call(9, [1], 2))
def assigned_within_a_manager(n, xs, k):
    try:
        if k > 0:
            with noted(xs, 2) as i:
                n -= 7
                xs.append(xs[k - 1])
                n *= i
        xs.insert(0, n)
        xs[10] += 1
    except IndexError:
        xs.append(n)
        n = 0.5
    finally:
        xs.append(int(n))
    return n


@found(call([3, 1], 2), call([3, 1], 3), call([], 2))
def ends_inside_a_generator(xs, n):
    try:
        return sum(next(q for q in xs if q > r) for r in range(n))
    except RuntimeError as e:
        return str(e)
    except StopIteration:
        return "ended"


@found(call([3, 1], 2), call([1], 2))
def ends_inside_a_list(xs, n):
    try:
        return [next(q for q in xs if q > r) for r in range(n)]
    except StopIteration:
        return "ended"


@found(call([3, 1], 2), call([1], 2))
def end_caught_inside_a_generator(xs, n):
    def larger(r):
        try:
            return next(q for q in xs if q > r)
        except StopIteration:
            return -1

    return sum(larger(r) for r in range(n))


@dataclass
class Reading:
    at: int
    value: float
    tags: list = field(default_factory=list, repr=False)


FIRST = Reading(0, 0.5)


@found(call(1), call(7))
def texts_of_dataclasses(n):
    FIRST.at = n
    made = Reading(n, n / 2, [n])
    return f"{made}", str(FIRST), repr(made), made == FIRST, made != Reading(n, n / 2, [n])


LABELS, NAMES, EDGES, INVERSE = ["x", "y", "zz"], ("p", "q"), (1, 3, 6), {0: "a", 1: "bc", 5: "é"}


@found(call(torch.tensor([0, 1])), call(torch.tensor([1, 0, 1])), call(torch.tensor([2])), call(torch.tensor([-4])))
def tables_outside_by_computed_indices(ids):
    found = []
    for i in ids.tolist():
        try:
            found.append(LABELS[i] + NAMES[i] + INVERSE[i] + str(EDGES[i]))
        except IndexError as e:
            found.append(str(e))
    return found, "".join(INVERSE.get(i, "?") for i in ids.tolist()), EDGES[int(ids.argmax())]


@found(call(0, True), call(2, True), call(2, False))
def which_bool(n, given):
    on = n > 1
    maybe = on if given else None
    match on:
        case True:
            found = "on"
        case False:
            found = "off"
    match (given, maybe):
        case (False, None):
            found += " none"
        case (True, False):
            found += " given"
    return on is True, on is False, on is not True, given is on, maybe is False, maybe is not None, found


@found(*(call(torch.ones(s), way) for s in ((), (2,)) for way in range(6)))
def parts_of_what_has_no_dims(x, way):
    match way:
        case 0:
            return len(x.split(1))
        case 1:
            return len(x.chunk(2, -1))
        case 2:
            return len(list(x))
        case 3:
            return len(x.unbind())
        case 4:
            return x.select(0, 0).dim()
        case _:
            return x.narrow(0, 0, 1).dim()


@found(call(torch.ones(0, 2)), call(torch.ones(3, 2)))
def chunks_of_nothing(x):
    return torch.ones(0).chunk(2)[1], x.chunk(2), torch.ones(0, 3).chunk(3)


class Named:
    def __init__(self, n: int):
        self.n = n


# Names of classes were guarded as if their own dicts held them.
@found(call(Named(1)), call(Named(2)))
def name_of_a_class(o):
    return type(o).__name__, Named.__qualname__, type(o) is Named, o.n


# What torch takes as a tensor has to be one.
@found(call(V, 0), call(V, 2), call(V + 1, 2))
def equal_of_its_own_result(x, n):
    for _ in range(n):
        x = torch.equal(x, torch.arange(4.0))
    return x


# A view of a name that may not be bound left the loop, in front of the check that it is.
@found(call(torch.ones(4), 2), call(torch.ones(4), 0))
def views_of_an_unbound_name(x, n):
    for _ in range(n):
        v = x.reshape(2, -1).abs()
    k = 0
    while k < 2:
        k += 1
        v[0], v[-1] = v[-1].clone(), v[0].clone()
    return v


# An item whose reading always raises left the generator's variable behind.
@found(call([1, 2], torch.ones(2)), call([], torch.ones(2)))
def always_raises(xs, m):
    i = 0
    while i < 2 and all(q > [(1, 2), (0, 5)][3][0] for q in xs):
        i += 1
        m = m + 1
    return m


# None is no value of a tensor's item.
@found(call(torch.ones(2, 2), 1), call(torch.ones(2, 2), 2), call(torch.ones(2, 2), 3))
def stores_one_of_several(m, n):
    m[:, 0] = {1: 2, 3: 4}.get(n) or n
    m[0] = {1: 2, 2: 3}.get(n)
    return m


# The test of a comprehension was read on trial, and its name then taken to be bound.
@found(call([3, 1], 1), call([3, 1], 0))
def unbound_in_a_test(xs, n):
    for i in range(n):
        xs.append(i)
    return len([r for r in [3, 1] if r != i])


# What is assigned may have leading dims of size one.
@found(call(torch.ones(1), 0), call(torch.ones(2), 1), call(torch.ones(1, 3), 0), call(torch.ones(2, 3), 0))
def leading_ones(x, i):
    y = x * 2
    y[i] = x
    y[i] = x.reshape(1, 1, *x.shape)
    return y


# A strict zip inside of enumerate did not ask at its end whether the lengths agree.
@found(call([1, 2], [3, 4]), call([1, 2], [3]), call([], [1]), call([], []))
def numbered_strictly(xs, ys):
    total = 0
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        total += i * a + b
    return total


# `int(t)` and `float(t)` raise another error than `t.item()`.
@found(call(V, 0), call(V, 1), call(V, 2), call(V, 3), call(V[:1], 0), call(V[:1], 1), call(V[:1], 3), call(V[:0], 0))
def numbers_of_tensors(x, n):
    if n == 0:
        return int(x)
    if n == 1:
        return float(x)
    if n == 2:
        return x.item()
    return math.floor(x)


@found(*(call(V, s, n) for s, n in [(0, -2), (-3, 1), (-5, 1), (5, 0), (4, 0), (-1, 1), (-1, 2), (2, 3), (1, 2)]))
def narrowed(x, start, length):
    return x.narrow(0, start, length)


@found(call(V, V[:2].long()), call(V[:0], V[:2].long()), call(V[:0].expand(2, -1)[1], V[:2].long()), call(V[:0], V[:0].long()))
def selected_of_nothing(x, i):
    return x.index_select(0, i)


# `del` reads the name, so a loop carries it.
@found(call(1, {1: 2}, [V]), call(1, {1: 2}, []), call(-20, {1: 2}, [V]))
def deleted_in_a_loop(n, d, ys):
    for _ in (1, 2, 4):
        try:
            del d
            torch.stack(ys)
        except Exception:
            n += 10
            assert n < 15
    return n


# Names that a `with torch.no_grad()` binds were given new tensors behind it, even if they were not bound.
@found(call(1, V), call(200, V))
def bound_without_gradients(n, m):
    k = m
    with torch.no_grad():
        if n > 100:
            m = m + 1
        h = k
    return n, m, h


@found(call(V), call(V[:0]))
def a_function_of_no_tensor(x):
    try:
        return torch.zeros_like(sum([q for q in [1, 2] if q > 5]))
    except TypeError:
        return x


# What a generator leaves out and what comes behind the item that ends the search is not computed.
@found(call(4, [1, 0, 0, 1]), call(4, [9, 9, 9, 9]), call(0, [1]), call(3, []))
def asked_one_by_one(n, xs):
    first = next((q for q in range(n) if q > xs.pop()), None)
    large = any(12 // q > 2 for q in xs if q != 5)
    for r in (q + 1 for q in xs if q < 9):
        if r > 1:
            break
        first = r
    return first, large, xs


@found(call(4, [1, 0]), call(4, []), call(0, [1]))
def joined_of_several_kinds(n, xs):
    return torch.cat([torch.arange(3) // n, torch.tensor(xs[:5])]), torch.stack([torch.arange(len(xs)), torch.tensor(xs)])


@found(call(V, V.long(), V), call(V[:1], V[:1].long(), V))
def scattered_onto_itself(x, i, y):
    z = x
    try:
        x.index_add_(0, i, z)
    except RuntimeError:
        x += 1
    return y.scatter_(0, i, y)


# A value of several kinds, one of which fits, was taken for none of them.
@found(call(2, {1: 2}), call(1, {1: 2}), call(0, {}))
def unpacked_dict_of_several_kinds(n, d):
    found = 0
    for i in range(n):
        found += len({**d, i: i})
        d = 0.5
    return found


# Rows without elements have no wrong numbers, but a dim without rows has no right ones.
@found(*(call(torch.ones(s), torch.tensor(i)) for s in ((2, 0), (0, 2), (2, 2)) for i in ([0, 1], [0, -9], [5])))
def indices_of_nothing(x, i):
    y = x.clone()
    try:
        y[:, i] = 3
    except IndexError:
        return y, x[i]
    return y, x[i, :], x[i % 2, i]


# Integers that are not there are not divided by zero.
@found(*(call(torch.arange(n), z) for n in (0, 2) for z in (0, 3)))
def nothing_divided(i, z):
    rows = i.unsqueeze(1) % torch.full((2,), z)
    return i % z, i // z, rows


# C compilers warned of truth values that were compared with other numbers, of a length of NULL where a loop never runs, and of
# results that a function which always raises does not set.
@found(call(3, V), call(9, V))
def clean_in_c(n, x):
    def deeper(k):
        if k > 0:
            return deeper(k - 1)
        raise ValueError("too deep")
        return x

    found = 5 > int(n >= 4), 7 < (n > 3), bool(n) == 3, -1 < (n > 2)
    if n > 5:
        for _ in range(0, 0):
            _, *b = [1, 2]
        return found, len(b)
    return found, deeper(n)


class Base:
    def __init__(self, x):
        self.x = x

    @classmethod
    def make(cls, x):
        return cls(x)

    def doubled(self):
        return self.x * 2


class Derived(Base):
    @classmethod
    def make(cls, x):
        return super().make(x + 1)

    def doubled(self):
        def inner(k):
            return super().doubled() + k

        return inner(1)


# super() in a class method looked for its class among the bases of `type`; in an inner function it was bound to the outer self.
@found(call(3))
def super_of_a_class(n):
    return Derived.make(n).x


@found(call(3))
def super_of_an_inner_function(n):
    return Derived(n).doubled()


# A set took keys of several kinds, which nothing hashes: the process crashed.
@found(call([1, 2], 3), call([], 0))
def kinds_beside_a_set(xs, n):
    found, kinds = set(xs), []
    for i in range(n):
        kinds.append(i)
        kinds.append(str(i))
        found.add(i)
    return kinds, len(found)


# Keys that are tuples of other lengths than those that came in were never settled.
@found(call({(1, 2)}, [(1, 2)], 3))
def tuples_of_other_lengths_in_sets(s, xs, n):
    s.add((n,))
    t = set(xs) | {(3, 4)}
    t.add((n,))
    return len(s), sorted(t)


STEPS: Counter[str] = Counter(a=2)
MISSING: dict[str, int] = {"a": 1}


# A Counter outside raised KeyError for what it does not count.
@found(call(1))
def counts_nothing(n):
    return STEPS["b"] + STEPS["a"] * n


UNKNOWN_CONVERSION, INCOMPLETE_CONVERSION = "%y", "%d %"


# What has no order or no items raises when the program gets there; what has no truth of its own is true.
@found(call([1, 2], 0), call([1, 2], 1), call([1, 2], 2), call([1, 2], 3), call([], 5), call([], 6))
def errors_of_python(xs, n):
    if n == 0:
        return list(reversed(zip(xs, xs, strict=False)))
    if n == 1:
        return divmod(torch.ones(2), 2)
    if n == 2:
        return UNKNOWN_CONVERSION % n
    if n == 3:
        return INCOMPLETE_CONVERSION % n
    if n == 5:
        return bool(zip(xs, xs, strict=False)), "%ld" % n  # noqa: UP031
    return [i for i in (lambda: n)]


# Lists whose items have no common type have no kind by which calls are told apart.
@found(call(2))
def lists_without_a_type(n):
    steps = [range(n), abs].copy()
    return len(steps), steps[1](-n)


# What a list of the caller holds became of several kinds, and what held the list did so once more in each reading.
@found(call([1], 2))
def attribute_of_the_callers(xs, n):
    made = []
    for _ in range(n):
        made.append(Base(xs))
    return [m.x[0] for m in made]


# The first line of a lambda was taken for one that begins a string.
by_line = eval, """
""", lambda n: n + 1  # fmt: skip


@found(call(2))
def lambda_behind_a_string(n):
    return by_line[2](n)


@pytest.mark.compiled_together
@pytest.mark.parametrize("function, calls", FOUND, ids=lambda p: getattr(p, "__name__", ""))
def test_three_ways_agree(function: Callable[..., Any], calls: list[Args]) -> None:
    for optimize in (0, 2):
        target = compile_at(function, optimize)
        for given in calls:
            assert_same(eager(function, given), compiled(target, given))
            if optimize == 0:
                assert_same(eager(function, given), interpreted(function, given, target))


@pytest.mark.parametrize("optimize", [0, 3])
def test_c_has_no_warnings(optimize: int, tmp_path: Path) -> None:
    target = target_of(clean_in_c)
    module = read(target.func, target.receiver, target.bind((3, V), {})).module
    run_passes(module, Options(optimize=optimize))
    assert_no_warnings(module, tmp_path)


def test_lists_of_kinds_beside_others_are_refused() -> None:
    def compares(xs, v):
        return xs >= [xs[0] + 1, v]

    with pytest.raises(scriptc.CompileError, match="an index into values of different types"):
        scriptc.compile(compares)([1, 2], V)


def test_an_argument_takes_no_values_of_several_kinds() -> None:
    def stores(d, n):
        d[0] = 2**n

    with pytest.raises(scriptc.CompileError, match="cannot take float or int"):
        scriptc.compile(stores)({1: 2}, 3)


def test_a_key_that_comes_later_is_found() -> None:
    def reads(n):
        return MISSING["b"] + n

    target = compile_at(reads, 0)
    with pytest.raises(KeyError):
        target(1)
    MISSING["b"] = 2
    assert target(1) == 3


def test_known_ints_beyond_64_bits_are_refused() -> None:
    with pytest.raises(scriptc.CompileError, match="an int that needs more than 64 bits"):
        scriptc.compile(lambda n: n + 2**63)(1)
