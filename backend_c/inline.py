"""Which expressions are written where they are used instead of in a variable. A matter of spelling only.

An expression with one use stands in that use if both are in one block and nothing that runs lies between them, or if it
reads no object, so that it means the same later. Constants always stand in their uses, but for a NULL that is followed: it
can only be in code that is never reached, and compiles as the variable that it would be there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from scriptc.backend_c.arguments import operands_of
from scriptc.backend_c.spelling import constant, template
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.types import ElemType, ScalarType, is_counted

MAX_LENGTH = 64
_SLOT = re.compile(r"\{\{|\}\}|\{(\d+)\}")
_LITERALS = frozenset({"const", "undef", "c.weight"})


def fill(template: str, value: Callable[[int], str]) -> str:
    """The template with its slots replaced, and doubled braces made single."""

    def replace(m: re.Match[str]) -> str:
        if m[1] is None:
            return m[0][0]
        text = value(int(m[1]))
        before, after = template[: m.start()], template[m.end() :]
        is_argument = (not before or before.endswith(("(", ", "))) and (not after or after.startswith((")", ", ")))
        return unwrapped(text) if is_argument else as_operand(text)

    return _SLOT.sub(replace, template)


def is_primary(text: str) -> bool:
    """Whether text can stand as any operand: a name, a number, a call, something in parentheses, with postfixes."""
    rest = text
    if m := re.match(r"[A-Za-z_]\w*|\d[\w.]*(?:(?<=e)[+-]\d+f?)?|\"[^\"]*\"", rest):
        rest = rest[m.end() :]
    elif rest.startswith("("):
        rest = _after_group(rest)
    else:
        return False
    while rest:
        if rest[0] in "([":
            rest = _after_group(rest)
        elif m := re.match(r"(?:->|\.)\w+", rest):
            rest = rest[m.end() :]
        else:
            return False
    return True


def _after_group(text: str) -> str:
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth == 0:
            return text[i + 1 :]
    return ""


def as_operand(text: str) -> str:
    return text if is_primary(text) else f"({text})"


def unwrapped(text: str) -> str:
    """Without parentheses around the whole."""
    return text[1:-1] if text.startswith("(") and _after_group(text) == "" else text


def _reads_object(op: Op) -> bool:
    return any(is_counted(v.type) or not isinstance(v.type, (ScalarType, ElemType)) for v in op.operands)


def _slot_count(user: Op, value: Value) -> int:
    """How often the C of `user` spells the value."""
    index = user.operands.index(value)
    if user.name == "c.call":
        return sum(list(operands_of(arg)).count(index) for arg in user.attrs["args"])
    text = template(user)
    return text.count(f"{{{index}}}") if text else 1


def _may_move(op: Op, user: Op) -> bool:
    """Objects that are read are retained first; loops would read their bounds again and again."""
    reads = op.defn.reads and op.name != "c.load"
    return not reads or not (is_counted(op.result.type) or user.name in ("loop", "c.for"))


def is_literal(op: Op) -> bool:
    is_null = op.name == "undef" or (op.name == "const" and op.attrs["value"] is None)
    if is_null and any(_follows(user, op.result) for user in op.result.users()):
        return False  # C knows of no members of NULL
    return op.name in _LITERALS or (op.has("EXPRESSION") and not op.operands and not op.defn.reads)


def _follows(user: Op, value: Value) -> bool:
    """Whether the C of `user` has a member of what the value points to."""
    return f"{{{user.operands.index(value)}}}->" in template(user)


def _is_taken_from_zero(user: Op, value: Value) -> bool:
    """Whether the C of `user` is 0 - value. GCC makes -value of that where it reads that value is an int converted, or an
    absolute value; for 0 the sign is then wrong. It does not look through a variable."""
    if user.name != "c.expr" or template(user) != "({0} - {1})" or user.operands[1] is not value:
        return False
    return _is_zero(user.operands[0])


def _is_zero(value: Value) -> bool:
    """Whether the compiler sees the constant 0 here, or a conversion of it."""
    op = value.op
    if op is None:
        return False
    if op.name == "const":
        return constant(op).strip("-f") == "0.0" if isinstance(op.result.type, ElemType) else op.attrs["value"] == 0
    return op.name in ("c.expr", "c.cast") and len(op.operands) == 1 and _is_zero(op.operands[0])


def inlined(block: Block) -> set[Op]:
    """The ops of a block whose text stands in their uses."""
    chosen = {op for op in block.ops if is_literal(op)}
    lengths: dict[Op, int] = {}
    candidates: dict[Op, Op] = {}  # to the user
    moving: set[Op] = set()  # those that mean the same anywhere in the block
    for op in block.ops:
        if not op.has("EXPRESSION") or op in chosen:
            continue
        makers = [v.op for v in op.operands if v.op is not None]
        lengths[op] = len(template(op)) + sum(lengths.get(m, 4) for m in makers if m in candidates)
        users = list(op.result.uses.values())
        fits = len(users) == 1 and users[0].parent is block and _slot_count(users[0], op.result) == 1
        fits = fits and not _is_taken_from_zero(users[0], op.result)
        room = MAX_LENGTH * (2 if fits and users[0].name == "if" else 1)
        if fits and lengths[op] <= room and _may_move(op, users[0]):
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
