"""What stands behind other things: objects that go into lists, tuples of any length, complex numbers, itertools, exceptions."""

from __future__ import annotations

import contextlib
import enum
import itertools

import torch
from torch.utils.checkpoint import checkpoint

from language.rejected import write

X = torch.arange(3.0)
Z = torch.tensor([1 + 2j, 3 - 1j])
M = torch.ones(2, 3)


# ---- complex numbers ----
@write("complex_kernel", lambda z: torch.view_as_real(z).logcumsumexp(0), (Z,))
def running_sums_of_complex_exponentials(z):
    return torch.logcumsumexp(z, 0)  # refused


@write("complex_operator", lambda z: z.abs() % 2, (Z,))
def log_of_sums_of_complex(z):
    return torch.logaddexp(z, z)  # refused


# ---- generators of numbers, dtypes ----
@write("generator_seeded", lambda x: x + 1, (X,))
def seeds_itself(x):
    torch.manual_seed(1)  # refused
    return x + 1


@write("dtype_of_other", lambda n: torch.zeros(n), (3,))
def of_eight_bits(n):
    return torch.zeros(n, dtype=torch.float8_e4m3fn)  # refused


# ---- checkpoints ----
def no_contexts():
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpointed(x):
    return checkpoint(torch.tanh, x, use_reentrant=False)


@write("checkpoint_reentrant", checkpointed, (X,))
def reentrant_checkpoint(x):
    return checkpoint(torch.tanh, x, use_reentrant=True)  # refused


@write("checkpoint_context", checkpointed, (X,))
def checkpoint_with_contexts(x):
    return checkpoint(torch.tanh, x, use_reentrant=False, context_fn=no_contexts)  # refused


@write("checkpoint_debug", checkpointed, (X,))
def checkpoint_to_debug(x):
    return checkpoint(torch.tanh, x, use_reentrant=False, debug=True)  # refused


# ---- itertools ----
def counted_by_hand(x, n):
    found = []
    while len(found) < n:
        found.append(x)
        x += 0.1
    return found


@write("form_of_call", counted_by_hand, (0.5, 4))
def counts_by_fractions(x, n):
    return list(itertools.islice(itertools.count(x, 0.1), n))  # refused


# ---- objects in lists that grow ----
class Late:
    def __init__(self, n):
        self.n = n


class Whole:
    def __init__(self, n):
        self.n = n
        self.more = None


def whole_ones(n):
    found = []
    for i in range(n):
        one = Whole(i)
        one.more = i
        found.append(one)
    return [one.n for one in found]


@write("record_late_none", whole_ones, (3,))
def attribute_behind_init_or_none(n):
    found = []
    for i in range(n):
        one = Late(i)
        found.append(one)
        one.more = None  # refused
    return [one.n for one in found]


class Typed:
    def __init__(self, dtype):
        self.dtype = dtype


def typed_later(n, x):
    return [x.to(torch.float64) if i % 2 else x.to(torch.float32) for i in range(n)]


@write("record_field_of_kinds", typed_later, (2, X))
def fields_of_two_dtypes(n, x):
    found = []
    for _ in range(n):
        found.append(Typed(torch.float64))
        found.append(Typed(torch.float32))  # refused
    return [x.to(one.dtype) for one in found]


@write("record_new_key", lambda n, x: [i for i in range(n)], (2, X))
def key_behind_others(n, x):
    found = []
    for i in range(n):
        found.append({"x": [x], 1: i})
    for one in found:
        one["n"] = 2  # refused
    return [one[1] for one in found]


# ---- exceptions ----
class Spoken(ValueError):
    def __str__(self):
        return "spoken"


class Plain(ValueError):
    pass


def raises_plainly(n):
    if n > 3:
        raise Plain("spoken")
    return n


@write("raise_with_own_str", raises_plainly, (3,))
def raises_spoken(n):
    if n > 3:
        raise Spoken  # refused
    return n


class Marked(ValueError):
    def __init__(self, mark):
        super().__init__(str(mark))
        self.mark = mark


MADE = Marked(3)


def raises_made_here(n):
    if n > 3:
        raise Marked(3)
    return n


@write("raised_from_outside", raises_made_here, (3,))
def raises_made_outside(n):
    if n > 3:
        raise MADE  # refused
    return n


def raises_with_init(n):
    try:
        if n > 3:
            raise Marked(n)
    except Marked as e:
        return e.mark
    return 0


@write("raised_attributes_lost", raises_with_init, (3,), (5,))
def attribute_of_plain(n):
    try:
        if n > 3:
            e = Plain("x")
            e.mark = n
            raise e  # refused
    except Plain:
        return n
    return 0


def by_dim(x, places):
    return x[places[0], places[1]]


class Permission(enum.IntFlag):
    READ = 1
    WRITE = 2


@write("flag_of_number", lambda n: n & 2 == 2, (3,))
def flag_of_a_number(n):
    return Permission.WRITE in Permission(n)  # refused


@write("index_of_unknown_length", by_dim, (M, [0, 1]))
def tuple_as_index(x, places):
    return x[tuple(places)]  # refused

@write("complex_scatter", lambda z, i: z.index_add(0, i, z), (Z, torch.tensor([0, 1])))
def multiplies_at_places(z, i):
    return z.scatter_reduce(0, i, z, "prod")  # refused


class Many:
    def __init__(self, n):
        self.values = tuple(n + i for i in range(40))


def lists_of_values(n):
    found = []
    for i in range(n):
        found.append([i + k for k in range(40)])
    return found


@write("record_of_many", lists_of_values, (2,))
def wide_objects(n):
    found = []
    for i in range(n):
        found.append(Many(i))  # refused
    return [m.values[0] for m in found]


@write("zip_strict", lambda xs, f: [x for x in xs], ([1, 2], [1]))
def strict_of_strict(xs, f):
    return [(a, b) for a, b in zip(zip([abs, len], xs, strict=False), xs, strict=True)]  # refused


@write("lazy_conjugate_unknown", lambda z, n: (z.conj() if n > 0 else z).resolve_conj() * 1, (Z, 1), (Z, 0))
def asks_for_a_conjugate(z, n):
    w = z.conj() if n > 0 else z
    return w.is_conj()  # refused


def doubled(x, n):
    return x if n == 0 else doubled(x * 2, n - 1)


@write("recursion_of_ever_new_kinds", doubled, (X, 2))
def ever_deeper(x, n):
    return grows((x,), n)


def grows(xs, n):
    return xs[0] if n == 0 else grows((xs,), n - 1)  # refused


@write("container_of_several_used", lambda n: torch.tensor([float(i) for i in range(n)]), (3,))
def tensor_of_kinds(n):
    found = []
    for i in range(n):
        found.append(i)
        found.append(str(i))
    return torch.tensor(found)  # refused


class Settings:
    pass


def set_one_by_one(n):
    made = Settings()
    made.a = n
    return made.a


@write("object_replaced", set_one_by_one, (3,))
def all_attributes_at_once(n):
    made = Settings()
    made.__dict__ = {"a": n}  # refused
    return made.a


class Numbers(dict):
    pass


@write("returns_differ", lambda n: [{"a": i} for i in range(n)], (3,))
def list_of_objects_that_are_dicts(n):  # refused
    found = []
    for i in range(n):
        found.append(Numbers(a=i))
    return found


# ---- buffers of modules ----
class Registers(torch.nn.Module):
    def forward(self, x):
        self.register_buffer("held", x)
        return self.held


class RegistersAnAttribute(torch.nn.Module):
    def forward(self, x):
        self.held = x
        self.register_buffer("held", x)  # refused


write("buffer_beside_attribute", Registers(), (X,))(RegistersAnAttribute())
