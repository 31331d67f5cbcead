"""Read the items of a list that straight-line code makes and appends to.

    %xs = list.new(%a)                                %c = cat.items(%a, %b) {dim = 1}
    list.append(%xs, %b)                        =>    %n = const() {value = 3}
    %c = cat(%xs) {dim = 1}
    list.append(%xs, %d)
    %n = list.len(%xs)

The sizes of joined tensors are then known. All uses of the list must be in the block that makes it. A list that only `append`
still uses is dropped, since nothing observes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.rewrite import fits

_READERS = ("cat", "stack", "list.get", "list.at", "list.len")
_MOST = 256  # items of cat.items


def _is_followed(user: Op, index: int, made: Op) -> bool:
    return index == 0 and user.parent is made.parent and user.name in (*_READERS, "list.append")


def _replace(user: Op, items: list[Value]) -> bool:
    """Let an op use items in place of the list that holds them; return False if that is not possible."""
    b = Builder.before(user)
    if user.name == "stack" or (user.name == "cat" and not 0 < len(items) <= _MOST):
        xs = user.operands[0]
        user.set_operand(0, b.op("list.new", items, user.loc, types=[xs.type], names=[xs.name]).result)
        return True
    if user.name == "cat":
        (made,) = user.results
        joined = b.op("cat.items", items, user.loc, types=[made.type], names=[made.name], dim=user.attrs["dim"])
        user.replace_with(joined.results)
        return True
    if user.name == "list.len":
        user.replace_with([b.const(len(items), user.loc)])
        return True
    index = constant_int(user.operands[1])
    if index is None or not -len(items) <= index < len(items) or not fits(items[index], user.result):
        return False
    user.replace_with([items[index]])
    return True


def _read(made: Op) -> bool:
    xs, block = made.result, made.parent
    assert block is not None
    if not all(_is_followed(user, i, made) for (_, i), user in xs.uses.items()):
        return False
    users = sorted(set(xs.users()), key=block.ops.index)
    if {user.name for user in users}.isdisjoint(("cat", "list.append")):
        return False
    items, changed = list(made.operands), False
    for user in users:
        if user.name == "list.append":
            items.append(user.operands[1])
        else:
            changed |= _replace(user, list(items))
    if all(user.name == "list.append" for user in xs.users()):
        for user in xs.users():
            user.erase()
        made.erase()
        changed = True
    return changed


def run(module: Module, options: Mapping[str, int]) -> bool:
    made = [op for func in module.funcs.values() for op in func.body.walk() if op.name == "list.new"]
    return any([_read(op) for op in made])
