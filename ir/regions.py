"""Values that enter and leave ops with regions. Only this module knows `if`, `loop`, `try`, `scope` and `checkpoint`.

A region argument is one value that enters or leaves a region op: a carried argument of a loop with its result, a result
of another op, or an argument of `fuse`. Its operands are all values that may become it. An `activation`, whose region other
ops run, has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scriptc.ir.core import Block, Op, Value

Operand = tuple[Op, int]


@dataclass(frozen=True)
class RegionArgument:
    """A region's value `inner`, or the `result` of the region's op, or both.

    into_inner: the operands that may become `inner`. into_result: the operands that may become `result`.
    """

    op: Op
    inner: Value | None
    result: Value | None
    into_inner: tuple[Operand, ...]
    into_result: tuple[Operand, ...]

    @property
    def operands(self) -> list[Operand]:
        return list(dict.fromkeys(self.into_inner + self.into_result))


def target(terminator: Op) -> Op | None:
    """Return the region op that a terminator passes its operands to; None if the terminator leaves the function."""
    label = terminator.attrs.get("to")
    if label is not None:
        return terminator.enclosing(lambda op: op.attrs.get("label") == label)
    assert terminator.parent is not None
    return terminator.parent.parent if terminator.name == "yield" else None


def exits(op: Op) -> list[Op]:
    """Return the terminators whose target is `op`: the yields of its regions, and jumps to its label."""
    if "label" not in op.attrs:
        return [t for region in op.regions if (t := region.terminator) is not None and target(t) is op]
    found: list[Op] = []
    for region in op.regions:
        _add_terminators(region, found)
    return [t for t in found if target(t) is op]


def _add_terminators(block: Block, found: list[Op]) -> None:
    """Append the terminators of a block and of all nested blocks to `found`, in program order."""
    for op in block.ops:
        if op.regions:
            for region in op.regions:
                _add_terminators(region, found)
    if block.terminator is not None:
        found.append(block.terminator)


def counter(loop: Op) -> Value | None:
    """Return the counter of a counted loop, None for other ops."""
    return loop.regions[0].args[0] if loop.attrs.get("counted") else None


def loop_of_counter(value: Value) -> Op | None:
    """Return the loop whose counter a value is."""
    owner = value.owner
    if isinstance(owner, Block) and owner.parent is not None and counter(owner.parent) is value:
        return owner.parent
    return None


def is_loop(op: Op) -> bool:
    return op.name == "loop"


def before_loops(op: Op) -> Op:
    """Return the outermost loop around an op, or the op if there is none."""
    while (loop := op.enclosing(is_loop)) is not None:
        op = loop
    return op


def is_constant(value: Value) -> bool:
    return value.op is not None and value.op.name == "const"


def may_raise(op: Op) -> bool:
    """Return whether an op may raise. Any loop may, since Ctrl-C ends it."""
    return op.defn.raises or is_loop(op)


def may_run_forever(op: Op) -> bool:
    return is_loop(op) and not op.attrs["counted"]


def runs_to_its_end(loop: Op) -> bool:
    """Return whether each iteration reaches its end, so that only the range or an error ends the loop."""
    body = loop.regions[0]

    def stays(leaving: Op) -> bool:
        to = target(leaving)
        inside = to is not None and to.parent is not None and body.encloses(to.parent)
        return leaving is body.ops[-1] or inside or leaving.name in ("raise", "reraise", "unreachable")

    return all(map(stays, (op for op in body.walk() if op.has("TERMINATOR"))))


def region_arguments(op: Op) -> Iterator[RegionArgument]:
    """Yield the region arguments of an op; none if the op has no regions."""
    if not op.regions or op.name == "activation":
        return
    leaving = exits(op)
    if not is_loop(op):
        for i, arg in enumerate(op.regions[0].args):
            yield RegionArgument(op, arg, None, ((op, i),), ())
        for k, result in enumerate(op.results):
            yield RegionArgument(op, None, result, (), tuple((t, k) for t in leaving))
        return
    counted = op.attrs["counted"]
    args = op.regions[0].args[1 if counted else 0 :]
    breaks = [t for t in leaving if t.name == "break"]
    for k, (arg, result) in enumerate(zip(args, op.results, strict=True)):
        carried = ((op, k + (3 if counted else 0)), *((t, k) for t in leaving if t not in breaks))
        # A counted loop may end without a break. The carried values are then its results.
        ends = carried if counted else ()
        yield RegionArgument(op, arg, result, carried, (*ends, *((t, k) for t in breaks)))


def region_argument_of(value: Value) -> RegionArgument | None:
    """Return the region argument that a value belongs to."""
    op = value.op or (value.block.parent if isinstance(value.owner, Block) else None)
    if op is None or not op.regions:
        return None
    return next((a for a in region_arguments(op) if value is a.inner or value is a.result), None)


def fed_arguments(op: Op, index: int) -> list[RegionArgument]:
    """Return the region arguments to which a use of a value contributes."""
    receiver = target(op) if op.has("TERMINATOR") else op
    return [a for a in region_arguments(receiver) if (op, index) in a.operands] if receiver is not None else []


def fed_values(op: Op, index: int) -> list[Value]:
    """Return the values that a use of a value may become: arguments inside regions, and results of the ops around."""
    return [v for a in fed_arguments(op, index) for v in (a.inner, a.result) if v is not None]


def defined_by(ops: Iterable[Op]) -> dict[Value, None]:
    """Return the results of ops and the arguments of their regions, in order. ops: those of regions as well, as by `walk`."""
    return dict.fromkeys(v for op in ops for v in (*op.results, *(arg for region in op.regions for arg in region.args)))


def ancestor_in(block: Block, op: Op) -> Op | None:
    """Return the op of `block` that is or contains `op`."""
    at: Op | None = op
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
    return at


def precedes(value: Value, op: Op) -> bool:
    """Return whether a value is defined where an op stands."""
    at, made = ancestor_in(value.block, op), value.op
    return at is not None and (made is None or (block := value.block).ops.index(made) < block.ops.index(at))


def try_around(op: Op) -> Op | None:
    """Return the `try` whose handler catches an exception of `op`; None if the exception leaves the function."""
    block = op.parent
    while block is not None and block.parent is not None:
        if block.parent.name == "try" and block is block.parent.regions[0]:
            return block.parent
        block = block.parent.parent
    return None


def dominates(a: Op, b: Op) -> bool:
    """Return whether `a` has always run when control reaches `b`."""
    assert a.parent is not None
    at = ancestor_in(a.parent, b)
    return at is not None and at is not a and a.is_before(at)
