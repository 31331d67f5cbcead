"""The choice of expressions that are written in their use instead of in a variable. It decides spelling only.

An expression with one use is written there if both are in one block and no statement lies between them. If the
expression reads no object, statements may lie between. Constants are always written in their uses. A NULL whose members
the C would access is an exception: such code is unreachable, and compiles only with a variable. A bound of a loop is
evaluated in each iteration, so an expression that reads an object is not written there: an iteration may free the object.
"""

from __future__ import annotations

from scriptc.backend_c.arguments import operands_of
from scriptc.backend_c.expressions import read_template
from scriptc.backend_c.literals import as_element
from scriptc.backend_c.op_templates import template
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.dtypes import FLOATING
from scriptc.ir.types import ElemType, ScalarType, is_counted

MAX_LENGTH = 64
_DIFFERENCE = read_template("({0} - {1})")
_LITERALS = frozenset({"const", "undef", "c.weight", "c.line", "c.lines"})


def _reads_object(op: Op) -> bool:
    return any(is_counted(v.type) or not isinstance(v.type, (ScalarType, ElemType)) for v in op.operands)


def _slot_count(user: Op, value: Value) -> int:
    """Return how often the C of `user` spells the value."""
    index = user.operands.index(value)
    if user.name == "c.call":
        return sum(list(operands_of(arg)).count(index) for arg in user.attrs["args"])
    found = template(user)
    return found.operands.count(index) if found.pieces else 1


def _may_move(op: Op, user: Op) -> bool:
    """Return whether a read may move to its use.

    A read of an object is retained first. A loop would repeat a read of its bounds.
    """
    reads = op.defn.reads and op.name != "c.load"
    return not reads or not (is_counted(op.result.type) or user.name in ("loop", "c.for"))


def is_literal(op: Op) -> bool:
    is_null = op.name == "undef" or (op.name == "const" and op.attrs["value"] is None)
    if is_null and any(_follows(user, op.result) for user in op.result.users()):
        return False  # `NULL->member` is not valid C
    return op.name in _LITERALS or (op.has("EXPRESSION") and not op.operands and not op.defn.reads)


def _follows(user: Op, value: Value) -> bool:
    """Return whether the C of `user` has a member of what the value points to."""
    return template(user).follows(user.operands.index(value))


def _is_taken_from_zero(user: Op, value: Value) -> bool:
    """Return whether the C of `user` is 0 - value.

    GCC makes -value of that where it sees that the value is a converted int or an absolute value; for 0 the sign is
    then wrong. GCC does not look through a variable.
    """
    if user.name != "c.expr" or template(user).pieces != _DIFFERENCE.pieces or user.operands[1] is not value:
        return False
    return _is_zero(user.operands[0])


def _is_zero(value: Value) -> bool:
    """Return whether the C compiler sees the constant 0 here, or a conversion of it."""
    op, t = value.op, value.type
    if op is None:
        return False
    if op.name == "const":
        number = op.attrs["value"]
        return number == 0 if not isinstance(t, ElemType) else t.dtype in FLOATING and as_element(number, t.dtype) == 0
    return op.name in ("c.expr", "c.cast") and len(op.operands) == 1 and _is_zero(op.operands[0])


def inlined(block: Block) -> set[Op]:
    """Return the ops of a block whose text is written in their uses."""
    chosen = {op for op in block.ops if is_literal(op)}
    lengths: dict[Op, int] = {}
    candidates: dict[Op, Op] = {}  # op -> its user
    reading: set[Op] = set()  # candidates whose text reads an object
    moving: set[Op] = set()  # ops whose value is the same anywhere in the block
    for op in block.ops:
        if not op.has("EXPRESSION") or op in chosen:
            continue
        makers = [v.op for v in op.operands if v.op is not None]
        lengths[op] = template(op).length + sum(lengths.get(m, 4) for m in makers if m in candidates)
        users = list(op.result.uses.values())
        fits = len(users) == 1 and users[0].parent is block and _slot_count(users[0], op.result) == 1
        fits = fits and not _is_taken_from_zero(users[0], op.result)
        room = MAX_LENGTH * (2 if fits and users[0].name == "if" else 1)
        if fits and lengths[op] <= room and _may_move(op, users[0]):
            if _reads_object(op) or not reading.isdisjoint(makers):
                if users[0].name == "loop":
                    continue
                reading.add(op)
            candidates[op] = users[0]
            pure = not op.defn.reads and not _reads_object(op)
            if pure and all(m in moving for m in makers if m in candidates):
                moving.add(op)
    place: dict[Op, int] = {}  # index of the op where an op's text ends up
    for i in range(len(block.ops) - 1, -1, -1):
        op = block.ops[i]
        place[op] = i
        if op in candidates:
            to = place[candidates[op]]
            between = block.ops[i + 1 : to]
            if op in moving or all(o in chosen for o in between):
                chosen.add(op)
                place[op] = to
    return chosen
