"""Tables: lists of lists of tensors that one name owns, such as those of dynamic programs.

    table = [[zero] * n for _ in range(m)]
    for i in range(1, m):
        for j in range(1, n):
            table[i][j] = cost(table[i - 1][j], table[i][j - 1])

The shadow of a table is a list of the shadows of its rows. A row that is fetched has the shadow at the same place, so the two
sides have the same objects, as long as each row is made for the table alone, and the table gets rows at its end alone.
"""

from __future__ import annotations

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.types import ListType, TensorType

_FETCHING = ("list.get", "list.at")
_MAKERS = frozenset({"list.new", "list.slice", "list.repeat"})
_READING = frozenset({*_FETCHING, "list.len", "list.slice", "list.repeat", "stack", "cat"})  # of a list, its items alone


def find_tables(block: Block) -> set[Value]:
    """Return the tables that ops of a block, and of what is nested in it, make."""
    return {r for op in block.walk() for r in op.results if op.name == "list.new" and _is_nested(r) and _is_table(r)}


def is_row(value: Value, tables: set[Value]) -> bool:
    """Return whether a value is a row that is fetched from a table."""
    return value.op is not None and value.op.name in _FETCHING and value.op.operands[0] in tables


def _is_nested(value: Value) -> bool:
    t = value.type
    return isinstance(t, ListType) and isinstance(t.elem, ListType) and isinstance(t.elem.elem, TensorType)


def _is_table(value: Value) -> bool:
    """Return whether each row of a list of lists is made for it, and has no other name that lasts."""
    assert value.op is not None
    for user in value.users():
        if user.name == "list.append" and user.operands[0] is value:
            if not _is_made_for(user.operands[1], user):
                return False
        elif user.name in _FETCHING:
            if not _is_named_once(user.result):
                return False
        elif user.name != "list.len":
            return False
    return all(_is_made_for(row, value.op) for row in value.op.operands)


def _is_made_for(row: Value, put: Op) -> bool:
    """Return whether a list is made for an op that puts it into a table: it has no name behind that op."""
    made = row.op
    if made is None or made.name not in _MAKERS or made.parent is not put.parent or put.operands.count(row) != 1:
        return False
    others = [user for user in row.users() if user is not put]
    return _is_named_once(row, put) and all(runs_after(put, user, row) for user in others)


def _is_named_once(row: Value, put: Op | None = None) -> bool:
    """Return whether the ops that take a list, but for one, change it, or read its items."""
    return all(
        user is put or user.name in _READING or i == 0 and "list" in user.defn.writes or i == 3 and user.name == "list.splice"
        for (_, i), user in row.uses.items()
    )
