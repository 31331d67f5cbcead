"""Lists of tuples as one list for each part of the tuples, since gradients flow through lists of tensors.

    %t = tuple(%h, %c)                         list.append(%xs0, %h)
    list.append(%xs, %t)              =>       list.append(%xs1, %c)
    %u = list.get(%xs, %i)                     %h1 = list.get(%xs0, %i)
    %h1 = tuple.get(%u) {index = 0}

A list stays as it is if it is passed on to a region or function, or into another container. A list that is returned is made of
the lists of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from scriptc.ir.analysis import may_be_undefined, roots
from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.gradients.lists import for_each, item_type
from scriptc.ir.loc import Loc
from scriptc.ir.types import ListType, TupleType, Type, list_of

# The ops that are split into one for each part, by the numbers of their operands that are lists, and that are items.
_SPLIT: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "list.append": ((0,), (1,)), "list.insert": ((0,), (2,)), "list.set": ((0,), (2,)), "list.put": ((0,), (2,)),
    "list.delete": ((0,), ()), "list.splice": ((0, 3), ()), "list.get": ((0,), ()), "list.at": ((0,), ()),
    "list.slice": ((0,), ()), "list.repeat": ((0,), ()),
}  # fmt: skip
_MAKERS = ("list.new", "list.slice", "list.repeat")


def run(module: Module, label: Callable[[], str]) -> bool:
    """Split all lists of tuples that are not passed on, those with tuples in tuples again. label: gives fresh labels."""
    changed = False
    while lists := _find(module.walk()):
        _split(lists, label)
        changed = True
    return changed


def _find(ops: Iterable[Op]) -> dict[Value, TupleType]:
    """Return the lists that can be split, in the order of the program, with the types of their items."""
    made = [(r, r.type) for op in ops if op.name in _MAKERS for r in op.results]
    lists = [(v, t) for v, t in made if isinstance(t, ListType) and not t.is_tuple]
    found = {v: t.elem for v, t in lists if isinstance(t.elem, TupleType) and t.elem.items}
    while wrong := [v for v in found if not _is_alone(v, found)]:
        for value in wrong:
            del found[value]
    return found


def _is_alone(value: Value, found: dict[Value, TupleType]) -> bool:
    """Return whether only ops that can be split make or take a list, and all lists that they take or make are split."""
    lists = [op.operands[i] for op in (value.op, *value.users()) if op and op.name in _SPLIT for i in _SPLIT[op.name][0]]
    lists += [r for op in value.users() for r in op.results if isinstance(r.type, ListType)]
    takes = all(op.name in ("list.len", "return") or i in _SPLIT.get(op.name, ((), ()))[0] for (_, i), op in value.uses.items())
    ops = [op for op in (value.op, *value.users()) if op is not None]
    if not all(_is_defined(item, found) for op in ops for item in _items(op)):
        return False
    names = {op.name for op in value.users()}
    is_read = "return" not in names or not names.isdisjoint(("list.get", "list.at"))  # tensors in a result need no such lists
    return takes and is_read and all(v in found for v in lists)


def _items(op: Op) -> Sequence[Value]:
    """Return the items that an op puts into a list."""
    return op.operands if op.name == "list.new" else [op.operands[i] for i in _SPLIT.get(op.name, ((), ()))[1]]


def _is_defined(item: Value, found: dict[Value, TupleType]) -> bool:
    """Return whether all parts of a tuple are defined. Those of other kinds are not in a tuple for one of several kinds."""
    made = [v.op for v in roots(item) if v not in found]
    parts = [part for op in made if op is not None for part in op.operands]
    is_made = all(op is not None and op.name == "tuple" for op in made)
    nested = [part for part in parts if isinstance(part.type, TupleType)]
    return is_made and not any(may_be_undefined(part, ()) for part in parts) and all(_is_defined(v, found) for v in nested)


def _whole(before: Builder, parts: list[Value], t: Type, label: Callable[[], str], loc: Loc) -> Value:
    """Return the list of tuples that lists of their parts are."""
    assert isinstance(t, ListType)
    elem, made = t.elem, before.op("list.new", [], loc, types=[t]).result

    def add_item(inner: Builder, k: Value) -> None:
        items = [inner.op("list.at", [part, k], loc, types=[item_type(part)]).result for part in parts]
        inner.op("list.append", [made, inner.op("tuple", items, loc, types=[elem]).result], loc)

    for_each(label, before, parts[0], loc, add_item)
    return made


def _split(lists: dict[Value, TupleType], label: Callable[[], str]) -> None:
    parts: dict[Value, list[Value]] = {}
    ops = dict.fromkeys(op for value in lists for op in (value.op, *value.users()) if op is not None)
    for op in sorted(ops, key=lambda op: op.name not in _MAKERS):  # `lists` are in the order of the program
        before = Builder.before(op)
        if op.name == "list.len":
            op.set_operands(parts[op.operands[0]][:1])
            continue
        if op.name == "return":
            whole = {v: _whole(before, parts[v], v.type, label, op.loc) for v in op.operands if v in parts}
            op.set_operands([whole.get(v, v) for v in op.operands])
            continue
        t = lists[op.result if op.name in _MAKERS else op.operands[0]]
        items = range(len(op.operands)) if op.name == "list.new" else _SPLIT[op.name][1]
        of_lists = () if op.name == "list.new" else _SPLIT[op.name][0]
        made = []
        for j, part in enumerate(t.items):
            operands = list(op.operands)
            for i in items:
                operands[i] = before.op("tuple.get", [op.operands[i]], op.loc, index=j).result
            for i in of_lists:
                operands[i] = parts[op.operands[i]][j]
            types = [list_of(part)] if op.name in _MAKERS else [part] * len(op.results)
            made.append(before.op(op.name, operands, op.loc, types=types, **op.attrs))
        if op.name in _MAKERS:
            parts[op.result] = [new.result for new in made]
        elif op.results:
            item = before.op("tuple", [new.result for new in made], op.loc, types=[op.result.type])
            op.result.replace_all_uses(item.result)
    split = [op for op in ops if op.name not in ("list.len", "return")]
    for op in split:
        op.drop()
    for op in split:
        op.erase()
