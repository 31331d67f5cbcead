"""Elementwise ops over operands with layouts known at compile time: loops over pointers, without setup.

    %c = fuse(%f, %d) -> (f32[B, 128])       %c = c.new(%n, %d) {dtype = "f32", sizes = ["%0", 128], ...}
                                             c.for(%rows, %c, %gates, %d) do (%i: i64) {
    where %f is columns 128.. of %gates        %p = c.offset(...)     one pointer for each operand, to its row i
                                               c.for(%columns) do (%k: i64) {...}

Dims that are contiguous in all operands become one loop. Views become parts of addresses. An operand of unknown strides
or sizes is first made contiguous, which is a test for an operand that is contiguous already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, dtype
from scriptc.ir.analysis import keeps, references
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.layouts import Access, Layouts, access
from scriptc.ir.ops.rules import tensor
from scriptc.ir.ranges import constant_int
from scriptc.ir.shapes import settled
from scriptc.ir.types import INT, PtrType

if TYPE_CHECKING:
    from scriptc.backend_c.emitters.elementwise import Kernel

SHORTEST = 8  # elements of an inner loop; sc_iter_staging.c joins shorter rows
_COPYING = ("stacked.put", "outer_sum.add")  # they copy what they take


def put_of(result: Value) -> Op | None:
    """Return the op that puts a result into a stack, in whose memory it may be computed, as nothing else keeps it."""
    puts = [u for u in result.users() if u.name == "stacked.put" and u.attrs["dim"] == 0 and u.attrs["stack"]]
    put = puts[0] if puts else None
    if put is None or put.parent is not result.block:
        return None
    if put.operands[0].block is result.block or put.operands[2].block is result.block:
        return None
    users = references(result, through_regions=False)
    is_kept = any(u.has("TERMINATOR") or u.has("CONTROL") or (keeps(u, i) and u.name not in _COPYING) for u, i in users)
    return None if is_kept else put


@dataclass(frozen=True)
class Operand:
    """An input of a nest.

    spread: for each dim, whether the input is broadcast along it.
    straight: the kernel that makes an input of unknown strides contiguous. `sc_fit` also expands it to the sizes of the
        results.
    """

    value: Value
    at: Access
    spread: tuple[bool, ...]
    straight: str = ""


@dataclass(frozen=True)
class Nest:
    """The loops of one op, outermost first; each is a run of dims of the results.

    sizes: for each dim a number, or an operand and the dim of its root that has the size.
    """

    operands: tuple[Operand, ...]
    loops: tuple[tuple[int, ...], ...]
    sizes: tuple[int | tuple[Operand, int], ...]


def plan(layouts: Layouts, inputs: Sequence[Value], results: Sequence[Value]) -> Nest | None:
    """Return the nest of an elementwise op, or None where layouts are unknown or rows may be short."""
    if not inputs or not all(r in layouts.plain for r in results):
        return None
    operands = [_operand(layouts, v, results[0]) for v in inputs]
    sizes = _sizes(layouts, operands, results[0])
    if sizes is None:
        return None
    dims = [d for d, size in enumerate(sizes) if size != 1]
    loops = _runs(layouts, operands, dims)
    if loops and any(not _is_unit(o, loops[-1]) for o in operands):
        return None
    if len(loops) > 1:
        inner = [s for d in loops[-1] if isinstance(s := sizes[d], int)]
        if len(inner) < len(loops[-1]) or prod(inner) < SHORTEST:
            return None
    return Nest(tuple(operands), tuple(loops), sizes)


def _operand(layouts: Layouts, value: Value, result: Value) -> Operand:
    n, own = tensor(result).rank, tensor(value).rank
    known = layouts.spread_dims(value, result)
    spread = tuple(map(bool, known))
    if None in known:
        return Operand(value, Access(value, tuple(range(n))), (False,) * n, "sc_fit")
    found = access(value)
    lead = (None,) * (n - own)
    if found.root in layouts.plain:
        return Operand(value, Access(found.root, (*lead, *found.dims), found.offset), spread)
    return Operand(value, Access(value, (*lead, *range(own))), spread, "sc_contiguous")


def _sizes(
    layouts: Layouts, operands: Sequence[Operand], result: Value
) -> tuple[int | tuple[Operand, int], ...] | None:
    sizes: list[int | tuple[Operand, int]] = []
    dims = tensor(result).dims
    assert dims is not None
    for d, size in enumerate(dims):
        if isinstance(size, int):
            sizes.append(size)
            continue
        of = next((o for o in operands if o.straight != "sc_fit" and not o.spread[d] and _covers(layouts, o, d)), None)
        if of is None:
            return None
        at = of.at.dims[d]
        assert at is not None
        sizes.append((of, at))
    return tuple(sizes)


def _covers(layouts: Layouts, operand: Operand, d: int) -> bool:
    """Return whether a dim of an operand covers a whole dim of its root."""
    at, value, root = operand.at.dims[d], operand.value, operand.at.root
    if at is None or operand.straight:
        return at is not None
    own, whole = layouts.shapes.of(value), layouts.shapes.of(root)
    assert own is not None and whole is not None
    return settled(own)[d - len(operand.spread)] == settled(whole)[at]


def _runs(layouts: Layouts, operands: Sequence[Operand], dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the dims in groups, each of which one loop runs along."""
    loops: list[tuple[int, ...]] = []
    for d in dims:
        if loops and all(_continues(layouts, o, loops[-1][-1], d) for o in operands):
            loops[-1] = (*loops[-1], d)
        else:
            loops.append((d,))
    return loops


def _continues(layouts: Layouts, operand: Operand, outer: int, inner: int) -> bool:
    if operand.spread[outer] or operand.spread[inner]:
        return operand.spread[outer] and operand.spread[inner]
    a, b = operand.at.dims[outer], operand.at.dims[inner]
    if a is None or b is None or not _covers(layouts, operand, inner):
        return False
    if operand.straight:
        return b == a + 1
    between = tensor(operand.at.root).dims
    assert between is not None
    return a < b and all(size == 1 for size in between[a + 1 : b])


def _is_unit(operand: Operand, run: tuple[int, ...]) -> bool:
    """Return whether an operand has stride 0 or 1 along a loop."""
    if operand.spread[run[-1]]:
        return True
    last, dims = operand.at.dims[run[-1]], tensor(operand.at.root).dims
    if operand.straight == "sc_fit":
        return run[-1] == len(operand.spread) - 1
    assert dims is not None
    return last is not None and all(size == 1 for size in dims[last + 1 :])


def lower(kernel: Kernel, nest: Nest) -> list[Value]:
    return _Lowering(kernel, nest).run()


class _Lowering:
    def __init__(self, kernel: Kernel, nest: Nest):
        self.kernel, self.nest, self.low, self.at = kernel, nest, kernel.low, kernel.at
        self.roots: dict[Operand, Value] = {}  # values of the loop IR
        self.results: list[Value] = []

    def run(self) -> list[Value]:
        for operand in sorted(self.nest.operands, key=lambda o: o.straight == "sc_fit"):  # sc_fit reads others' sizes
            self.roots[operand] = self.root(operand)
        self.results = [self.new(r) for r in self.at.results]
        pointers = [
            self.pointer(r, tensor(r).dtype, made) for r, made in zip(self.at.results, self.results, strict=True)
        ]
        pointers += [self.start(o) for o in self.nest.operands]
        self.loops(pointers, 0)
        return self.results

    def root(self, operand: Operand) -> Value:
        held = self.low.one(operand.at.root)
        if not operand.straight:
            return held
        args = Args(held)
        if operand.straight == "sc_fit":
            sizes = [self.size(d) for d in range(len(self.nest.sizes))]
            args.sizes(sizes).add(len(sizes))
        (made,) = self.low.call(self.at, operand.straight, args, operand.value.type)
        assert isinstance(made, Value)
        return made

    def size(self, d: int) -> int | Value:
        size = self.nest.sizes[d]
        if isinstance(size, int):
            return size
        operand, dim = size
        return self.low.expr("c.size", [self.roots[operand]], INT, self.at, dim=dim)

    def new(self, result: Value) -> Value:
        """Build the tensor of a result.

        It may reuse the memory of an operand that is read only at the elements that are written.
        """
        found = [self.size(d) for d in range(tensor(result).rank)]
        if (put := put_of(result)) is not None:
            return self.in_place(put, found, result)
        operands = [size for size in found if isinstance(size, Value)]
        numbers = iter(range(len(operands)))
        sizes = [size if isinstance(size, int) else f"%{next(numbers)}" for size in found]
        held = [self.roots[o] for o in self.nest.operands]
        over = [o for o in self.nest.operands if self.is_same_place(o, result) and held.count(self.roots[o]) == 1]
        first = len(operands)
        operands += [self.roots[o] for o in over]
        return self.low.build(
            "c.new", operands, (result.type,), self.at.loc, dtype=tensor(result).dtype, sizes=tuple(sizes),
            over=tuple(range(first, len(operands))), take=-1, names=[result.name],
        ).result  # fmt: skip

    def in_place(self, put: Op, sizes: list[int | Value], result: Value) -> Value:
        """Build the tensor of a result in its place in a stack."""
        stack, total = self.low.one(put.operands[0]), self.low.one(put.operands[2])
        args = Args(stack, total, dtype(tensor(result).dtype)).sizes(sizes).add(len(sizes))
        (made,) = self.low.call(self.at, "sc_stacked_place", args, result.type)
        assert isinstance(made, Value)
        made.name = result.name
        return made

    def is_same_place(self, operand: Operand, result: Value) -> bool:
        made = operand.value.op
        if made is not None and made.name == "linear_rows":  # a part of a window, which other values alias
            return False
        whole = operand.at.root is operand.value and not operand.straight
        return whole and not any(operand.spread) and tensor(operand.value).dtype == tensor(result).dtype

    def pointer(self, named: Value, dtype: str, held: Value) -> Value:
        made = self.low.expr("c.data", [held], PtrType(dtype), self.at)
        made.name = f"{named.name or 'x'}_p"
        return made

    def start(self, operand: Operand) -> Value:
        """Return the pointer to the first element of an operand."""
        dtype, root = tensor(operand.value).dtype, self.roots[operand]
        made = self.pointer(operand.value, dtype, root)
        for index, dim in operand.at.offset:
            if constant_int(index) == 0:
                continue
            step = self.stride(operand, dim)
            made = self.moved(made, self.low.one(index), step)
        return made

    def moved(self, pointer: Value, by: Value, step: int | Value) -> Value:
        operands = [pointer, by, *([step] if isinstance(step, Value) else [])]
        number = None if isinstance(step, Value) else step
        made = self.low.expr("c.offset", operands, pointer.type, self.at, step=number)
        made.name = pointer.name
        return made

    def stride(self, operand: Operand, dim: int) -> int | Value:
        sizes = tensor(operand.at.root).dims
        if operand.straight == "sc_fit":
            return self.low.expr("c.stride", [self.roots[operand]], INT, self.at, dim=dim)
        assert sizes is not None
        inner = [s for s in sizes[dim + 1 :] if isinstance(s, int)]
        if len(inner) == len(sizes) - dim - 1:
            return prod(inner)
        return self.low.expr("c.stride", [self.roots[operand]], INT, self.at, dim=dim)

    def loops(self, pointers: list[Value], depth: int) -> None:
        """Build the loops from `depth` on; the innermost one computes."""
        low, run = self.low, self.nest.loops[depth] if self.nest.loops else ()
        kept = [*self.results, *(self.roots[o] for o in self.nest.operands)] if depth == 0 else []
        length = self.length(run)
        is_innermost = depth + 1 >= len(self.nest.loops)
        still = [False] * len(self.results) + [bool(run) and o.spread[run[-1]] for o in self.nest.operands]
        row = self.kernel.row(pointers, still) if is_innermost else None
        with low.builder.at(body := Block([(INT, "k" if is_innermost else "i")])):
            at = body.args[0]
            if row is not None:
                row.elements(at)
            else:
                self.loops([self.row(j, p, run, at) for j, p in enumerate(pointers)], depth + 1)
            low.build("yield", (), (), self.at.loc)
        low.build("c.for", [length, *dict.fromkeys(kept)], (), self.at.loc, regions=[body])

    def length(self, run: Sequence[int]) -> Value:
        sizes = [self.size(d) for d in run]
        number = prod(s for s in sizes if isinstance(s, int))
        values = [s for s in sizes if isinstance(s, Value)]
        if not values:
            return self.low.const(number, self.at.loc)
        made = self.low.expr("c.product", values, INT, self.at, factor=number)
        made.name = "n"
        return made

    def row(self, j: int, pointer: Value, run: Sequence[int], at: Value) -> Value:
        """Return the pointer of an operand in an iteration of an outer loop."""
        if j < len(self.results):
            return self.moved(pointer, at, self.result_stride(run[-1]))
        operand = self.nest.operands[j - len(self.results)]
        if operand.spread[run[-1]]:
            return pointer
        dim = operand.at.dims[run[-1]]
        assert dim is not None
        return self.moved(pointer, at, self.stride(operand, dim))

    def result_stride(self, d: int) -> int | Value:
        sizes = [self.size(inner) for inner in range(d + 1, len(self.nest.sizes))]
        if all(isinstance(s, int) for s in sizes):
            return prod(s for s in sizes if isinstance(s, int))
        return self.low.expr("c.stride", [self.results[0]], INT, self.at, dim=d)
