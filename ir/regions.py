"""How values pass through ops that own regions. Passes ask here, so that only this file knows `if`, `loop`, `try` and
`scope`.

A slot is one value that enters or leaves a region op: for a loop the carried argument with its result, for the others a
result; for `fuse` also each argument. Its operands are everything that may become that value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scriptc.ir.core import Block, Op, Value

Operand = tuple[Op, int]


@dataclass(frozen=True)
class Slot:
    """`into_arg` are the operands that become the argument of the region, `into_result` those that the result."""

    op: Op
    arg: Value | None
    result: Value | None
    into_arg: tuple[Operand, ...]
    into_result: tuple[Operand, ...]

    @property
    def operands(self) -> list[Operand]:
        return list(dict.fromkeys(self.into_arg + self.into_result))


def target(terminator: Op) -> Op | None:
    """The region op that a terminator hands its operands to; None for those that leave the function."""
    label = terminator.attrs.get("to")
    if label is not None:
        return terminator.enclosing(lambda op: op.attrs.get("label") == label)
    assert terminator.parent is not None
    return terminator.parent.parent if terminator.name == "yield" else None


def exits(op: Op) -> list[Op]:
    """The terminators whose target is `op`: what yields ends a region of it, what leaves several names its label."""
    if "label" not in op.attrs:
        return [t for region in op.regions if (t := region.terminator) is not None and target(t) is op]
    found: list[Op] = []
    for region in op.regions:
        _add_terminators(region, found)
    return [t for t in found if target(t) is op]


def _add_terminators(block: Block, found: list[Op]) -> None:
    """Those of a block and of all blocks in it, in program order."""
    for op in block.ops:
        if op.regions:
            for region in op.regions:
                _add_terminators(region, found)
    if block.terminator is not None:
        found.append(block.terminator)


def counter(loop: Op) -> Value | None:
    """The argument of a counted loop that counts; None for other ops."""
    return loop.regions[0].args[0] if loop.attrs.get("counted") else None


def loop_of_counter(value: Value) -> Op | None:
    """The loop whose counter a value is."""
    owner = value.owner
    if isinstance(owner, Block) and owner.parent is not None and counter(owner.parent) is value:
        return owner.parent
    return None


def is_loop(op: Op) -> bool:
    return op.name == "loop"


def may_raise(op: Op) -> bool:
    """Return whether an op may raise; any loop may, since Ctrl-C ends it."""
    return op.defn.raises or is_loop(op)


def may_run_forever(op: Op) -> bool:
    return is_loop(op) and not op.attrs["counted"]


def runs_to_its_end(loop: Op) -> bool:
    """Whether each iteration of the loop reaches its end, and nothing but its range and errors end it."""
    body = loop.regions[0]

    def stays(leaving: Op) -> bool:
        to = target(leaving)
        inside = to is not None and to.parent is not None and body.encloses(to.parent)
        return leaving is body.ops[-1] or inside or leaving.name in ("raise", "reraise", "unreachable")

    return all(map(stays, (op for op in body.walk() if op.has("TERMINATOR"))))


def slots(op: Op) -> Iterator[Slot]:
    """The slots of a region op; none for other ops."""
    if not op.regions:
        return
    leaving = exits(op)
    if not is_loop(op):
        for i, arg in enumerate(op.regions[0].args):
            yield Slot(op, arg, None, ((op, i),), ())
        for k, result in enumerate(op.results):
            yield Slot(op, None, result, (), tuple((t, k) for t in leaving))
        return
    counted = op.attrs["counted"]
    args = op.regions[0].args[1 if counted else 0 :]
    breaks = [t for t in leaving if t.name == "break"]
    for k, (arg, result) in enumerate(zip(args, op.results, strict=True)):
        carried = ((op, k + (3 if counted else 0)), *((t, k) for t in leaving if t not in breaks))
        ends = carried if counted else ()  # a counted loop may end by itself, with what is carried
        yield Slot(op, arg, result, carried, (*ends, *((t, k) for t in breaks)))


def slot_of(value: Value) -> Slot | None:
    """The slot whose argument or result a value is."""
    op = value.op or (value.block.parent if isinstance(value.owner, Block) else None)
    return next((s for s in slots(op) if value is s.arg or value is s.result), None) if op and op.regions else None


def fed_slots(op: Op, index: int) -> list[Slot]:
    """The slots that an operand feeds."""
    receiver = target(op) if op.has("TERMINATOR") else op
    return [s for s in slots(receiver) if (op, index) in s.operands] if receiver is not None else []


def ancestor_in(block: Block, op: Op) -> Op | None:
    """The op of `block` that is or contains `op`."""
    at: Op | None = op
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
    return at


def try_around(op: Op) -> Op | None:
    """The `try` whose handler an exception that `op` raises goes to; None where it leaves the function."""
    block = op.parent
    while block is not None and block.parent is not None:
        if block.parent.name == "try" and block is block.parent.regions[0]:
            return block.parent
        block = block.parent.parent
    return None


def dominates(a: Op, b: Op) -> bool:
    """Whether `a` has always run when `b` is reached."""
    assert a.parent is not None
    at = ancestor_in(a.parent, b)
    return at is not None and at is not a and a.is_before(at)
