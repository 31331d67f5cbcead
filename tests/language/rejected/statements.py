"""Statements and names that are refused."""

from __future__ import annotations

import contextlib
import contextvars
import math
import sys
from collections.abc import Mapping

import torch

from language.rejected import from_text, write
from scriptc.frontend import entry

X = torch.arange(3.0)
counter = 0


class Point:
    def __init__(self, x):
        self.x = x


def returns_the_count(x, count):
    return x, count + 1


@write("global_assigned", returns_the_count, (X, 3))
def global_assigned(x, count):
    global counter
    counter = count + 1  # refused
    return x, counter


def names_of_functions(n):
    found = []
    for i in range(n):
        found.append("sin" if i % 2 else "cos")
    return [math.sin(1.0) if name == "sin" else math.cos(1.0) for name in found]


@write("functions_in_list", names_of_functions, (3,), (0,))
def functions_in_a_list_that_grows(n):
    found = []
    for i in range(n):
        found.append(math.sin if i % 2 else math.cos)  # refused
    return [f(1.0) for f in found]


def tuple_of_pairs(n):
    found = ()
    for i in range(n):
        found = found + ((i, str(i)),)
    return [i for i, _ in found]


@write("paths_differ", tuple_of_pairs, (3,), (0,))
def tuple_of_kinds_that_grows(n):
    found = ()
    for i in range(n):  # refused
        found = found + (i, str(i))
    return [i for i in found if isinstance(i, int)]


def other_names(x, n):
    a = x * n
    b = n + 1
    return a, b


@write("decorator_inside", other_names, (X, 2))
def decorated_inside(x, n):
    @torch.no_grad()
    def inner():  # refused
        return x * n

    return inner(), n + 1


@write("decorator_inside", other_names, (X, 2))
def decorated_by_a_generator(x, n):
    @contextlib.contextmanager
    def around():
        yield

    @around()
    def inner():  # refused
        return x * n

    return inner(), n + 1


def import_at_the_top(x):
    return torch.tanh(x)


@write("import_of_new", import_at_the_top, (X,))
def imports_what_is_not_imported(x):
    import not_a_module_that_exists  # refused

    return not_a_module_that_exists.tanh(x)


def views_by_name(x):
    return x.mT


@write("transpose_of_many_dims", views_by_name, (torch.ones(2, 3, 4),))
def transposed_whole(x):
    return x.T  # refused


def compared_by_value(a, b):
    return a + b == b + a


@write("identity_of_strings", compared_by_value, ("ab", "c"), ("cd", "e"), ("f", "g"), ("h", "i"), ("j", "k"))
def identity_of_strings(a, b):
    return a + b is b + a  # refused


def holder():
    count = 0

    def bump(x):
        nonlocal count
        count += 1  # refused
        return x + count

    return bump


@write("outer_variable_assigned", lambda x: x + 1, (X,))
def outer_variable(x):
    return _BUMP(x)


_BUMP = holder()


def attribute_is_none(x):
    p = Point(x)
    p.x = None
    return p.x


@write("attribute_deleted", attribute_is_none, (X,))
def deletes_an_attribute(x):
    found = []
    for row in x:
        found.append(Point(row))
    del found[0].x  # refused
    return None


def number_at_a_time(n):
    return n + 1


class Generates(torch.nn.Module):
    def forward(self, n):
        yield n + 1  # refused


class Counts(torch.nn.Module):
    def forward(self, n):
        return n + 1


write("yield", Counts(), (1,))(Generates())


def squares_until(n):
    i = 0
    try:
        while i < n:
            yield i * i
            i += 1
    finally:
        i = 0


def squares_at_once(n):
    total = 0
    for square in list(squares_until(n)):
        total += square
    return total


@write("yield_within_try", squares_at_once, (3,))
def squares_one_by_one(n):
    total = 0
    for square in squares_until(n):  # refused
        total += square
    return total


def sums_of_two(n):
    return [a + b for a, b in zip(list(squares_of(n)), list(squares_of(n)))]  # noqa: B905


def squares_of(n):
    for i in range(n):
        yield i * i


@write("generator_beside", sums_of_two, (3,))
def sums_of_two_generators(n):
    return [a + b for a, b in zip(squares_of(n), squares_of(n))]  # noqa: B905  # refused


LEVEL = contextvars.ContextVar("LEVEL", default=0)


def level_set_back(x):
    token = LEVEL.set(1)
    x = x + LEVEL.get()
    LEVEL.reset(token)
    return x


@write("context_variable_kept", level_set_back, (X,))
def level_kept(x):  # refused
    LEVEL.set(1)
    return x + LEVEL.get()


class Doubles(Mapping):
    """A mapping with two items."""

    def __init__(self, n):
        self.n = n

    def __getitem__(self, key):
        return self.n * 2

    def __iter__(self):
        return iter(["a", "b"])

    def __len__(self):
        return 2


def asks_for_the_item(n):
    return Doubles(n)["a"]


@write("pattern", asks_for_the_item, (1,))
def matches_a_mapping(n):
    match Doubles(n):  # refused
        case {"a": a}:
            return a


class Switch:
    def __init__(self):
        self.on = 0

    def __enter__(self):
        self.on += 1
        return self

    def __exit__(self, kind, value, traceback):
        self.on -= 1


def with_a_class(n):
    switch = Switch()
    with switch:
        n += switch.on
    return n


@contextlib.contextmanager
def sometimes(n):
    if n > 0:
        yield n
    else:
        yield 0


@write("manager_with_other_yields", with_a_class, (1,))
def manager_of_two_yields(n):
    with sometimes(n) as k:  # refused
        return n + k


_PROFILER = torch.autograd.profiler.emit_itt()


@write("with_of_other", lambda x: x + 1, (X,))
def with_of_a_profiler(x):
    with _PROFILER:  # refused
        return x + 1


class Plain(Exception):
    pass


def raises_a_message(n):
    if n > 0:
        raise Plain("no")
    return n


class Stop(BaseException):
    pass


@write("raise_of_other", raises_a_message, (1,), (0,))
def raises_a_base_exception(n):
    if n > 0:
        raise Stop  # refused
    return n


@write("raise_of_other", raises_a_message, (1,), (0,))
def ends_the_process(n):
    if n > 0:
        sys.exit("x")  # refused
    return n


def text_of_exception(n):
    try:
        return n // n
    except ZeroDivisionError as e:
        return len(str(e)) > 0


@write("repr_of_exception", lambda n: len(str(Plain("no"))) > n, (1,), (0,))
def repr_of_an_exception(n):
    return len(repr(Plain("no"))) > n  # refused


@write("attribute_of_exception", text_of_exception, (1,), (0,))
def arguments_of_an_exception(n):
    try:
        return n // n
    except ZeroDivisionError as e:
        return len(e.args) > 0  # refused


def imported_at_the_top(x):
    return x * math.pi


@write("import_unfollowed", imported_at_the_top, (X,))
def imports_all(x):
    from . import other  # refused

    return x * other.pi


def viewed_anew(x):
    y = x * 2
    z = y.unsqueeze(0)
    return z + 1


def reshaped_or_not(x):
    y = x * 1
    return y.unsqueeze(0) if x.sum() > 100 else y


@write("reshape_in_place", reshaped_or_not, (X,))
def reshaped_argument(x):
    if x.sum() > 100:
        x.unsqueeze_(0)  # refused
    return x


@write("reshape_in_place", viewed_anew, (X,))
def reshaped_on_a_path(x):
    y = x * 2
    z = y
    if x.sum() > 100:
        y.unsqueeze_(0)  # refused
    return z + 1


def twice(x):
    y = x * 2
    return y, y


@write("reshape_in_place", lambda x: [4, 4], (X,))
def reshaped_what_a_zip_gives_again(x):
    dims = []
    for y, _ in zip(twice(x), range(2), strict=True):
        y.unsqueeze_(0)  # refused
        dims.append(y.dim())
    return dims


def padded(n, width):
    return f"{n:{width}d}"


@write("format_unknown", padded, (3, 6))
def padded_by_percent(n, width):
    return "%*d" % (width, n)  # noqa: UP031  # refused


@write("loop_does_not_end", lambda x, n: x * 2.0**n, (X, 3))
def dim_of_a_counter(x, n):
    i = 0
    while i < 2000:  # refused
        x = x.unsqueeze(0).sum(i * 0)
        i += 1
    return x


def counts_its_depth(n):
    depth = 0
    for _ in range(n):
        depth += 1
    return depth


@write("loop_without_type", counts_its_depth, (3,))
def ever_deeper_tuples(n):
    found = ()
    for i in range(n):  # refused
        found = (found, i)
    return len(found)


@write("loop_without_type", counts_its_depth, (3,))
def ever_larger_tuples(n):
    found = 0
    for _ in range(n):  # refused
        found = (found, found)
    return n


CALLS = 210
from_text("call_depth", "step_0", "".join(
    f"def step_{i}(x):\n    return step_{i + 1}(x) + 1  # refused\n" for i in range(CALLS)
) + f"def step_{CALLS}(x):\n    return x\n", counts_its_depth, (3,))


class Refused(ValueError):
    def __init__(self, n, exact=False):
        super().__init__(n)
        self.n = n
        if exact:
            self.exact = exact


class AlwaysExact(ValueError):
    def __init__(self, n, exact=False):
        super().__init__(n)
        self.n = n
        self.exact = exact


def raises_the_same(n):
    try:
        if n > 3:
            raise AlwaysExact(n)
        raise AlwaysExact(n, True)
    except AlwaysExact as e:
        return e.n


@write("raised_with_other_attributes", raises_the_same, (3,), (4,))
def raises_with_more(n):
    try:
        if n > 3:
            raise Refused(n)
        raise Refused(n, True)  # refused
    except Refused as e:
        return e.n


def passes_its_items(xs, n):
    def total(items, k):
        return sum(items) if k <= 0 else total(items, k - 1)

    return total(xs, n)


@write("recursion_captures", passes_its_items, ([1, 2], 2))
def captures_a_generator(xs, n):
    def total(k):  # refused
        return sum(v for v in items) if k <= 0 else total(k - 1)  # refused

    items = (x for x in xs)
    return total(n)


@contextlib.contextmanager
def of_one_reading():
    """Readings end long before the bound on their number, so that one is lowered here."""
    kept, entry._MAX_READINGS = entry._MAX_READINGS, 1
    try:
        yield
    finally:
        entry._MAX_READINGS = kept


@write("reading_does_not_end", lambda x: x.t(), (torch.ones(2, 3),), around=of_one_reading)
def read_more_than_once(x):
    for dim in range(1, 2):
        x = x.transpose(0, dim)  # refused
    return x
