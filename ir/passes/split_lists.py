"""Pass on the items of lists of known length one by one.

    %ys = loop L %i = 0 to %n step 1                  %p3, %q3 = loop L %i = 0 to %n step 1
        carry (%xs = %old) {                              carry (%p1 = %p0, %q1 = %q0) {
      %x = list.get(%xs, 0)                             %xs = list.new(%p1, %q1)
      ...                                               %x = list.get(%xs, 0)
      %new = list.new(%p)                       =>      ...
      list.append(%new, %q)                             yield(%p, %q)
      yield(%new)                                     }
    }                                                 %ys = list.new(%p3, %q3)

Results of branches are split alike, and so are tuples in such lists. The list that enters a region and the one that is made
there are two objects, so the program must not tell them apart:

- a list that is passed on is made here, and straight-line code makes all changes to it;
- no other name of it is left: nothing stores it, and behind an op that takes it, nothing uses it; or nothing changes it
  any more, and it leaves the function under no name;
- all lists that reach one place have one length.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_func, clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.list_items import changes, is_list, items_at, reads
from scriptc.ir.loc import Loc
from scriptc.ir.passes import dce, fold, simplify, unroll_lists
from scriptc.ir.passes.read_lists import READING, drop_unread
from scriptc.ir.regions import Operand, RegionArgument, ancestor_in, is_loop, region_arguments, target
from scriptc.ir.rewrite import rewrite
from scriptc.ir.types import ListType, TupleType, Type, is_subtype

_OPS = ("if", "loop", "scope")
_MOST = 64  # values in place of one list


@dataclass(eq=False)
class _Slot:
    """A region argument that is a list.

    length: the number of its items; None while no list of known length reaches it. lists: those that are made of the items
    inside the region, and behind it.
    """

    argument: RegionArgument
    length: int | None = None
    lists: list[Value] = field(default_factory=list)

    @property
    def values(self) -> list[Value]:
        return [v for v in (self.argument.inner, self.argument.result) if v is not None]

    @property
    def elem(self) -> Type:
        t = self.values[0].type
        assert isinstance(t, ListType)
        return t.elem


def run(module: Module, options: Mapping[str, int]) -> bool:
    return any([_split(module, func) for func in module.funcs.values()])


def _split(module: Module, func: Func) -> bool:
    """Split the lists of a function.

    On a copy, each region argument gets the items beside the list, whose length is taken to be that of the first known list
    that reaches it. It is if all lists that reach it have this length in what is left then, by induction over iterations.
    """
    places = list(range(len(_slots(func))))
    while places:
        copy = clone_func(func)
        all_slots = _slots(copy)
        slots = _with_lengths([all_slots[i] for i in places])
        for slot in slots:
            _pass_items(slot)
        _fold(replace(module, funcs={func.name: copy}))
        wrong = _wrong(copy, slots)
        if not wrong:
            break
        places = [i for i in places if all_slots[i] in slots and all_slots[i] not in wrong]
    else:
        return False
    if not slots:
        return False
    rest = replace(module, funcs={func.name: copy})
    dce.run(rest, {})
    drop_unread(rest)
    for xs in (xs for slot in slots for xs in slot.lists):
        _make_where_defined(xs)
    func.body = copy.body
    return True


def _slots(func: Func) -> list[_Slot]:
    """Return the region arguments of a function that are lists."""
    arguments = [a for op in func.body.walk() if op.name in _OPS for a in region_arguments(op)]
    return [_Slot(a) for a in arguments if is_list((a.inner or a.result).type)]  # type: ignore[union-attr]


def _with_lengths(slots: Sequence[_Slot]) -> list[_Slot]:
    """Give region arguments the length of a known list that they are passed. Return those that have one, and few items."""
    by_value = {value: slot for slot in slots for value in slot.values}
    more = True
    while more:
        more = False
        for slot in slots:
            passed = [op.operands[i] for op, i in slot.argument.operands]
            if slot.length is None:
                lengths = (_length(op.operands[i], op, by_value) for op, i in slot.argument.operands)
                slot.length = next((n for n in lengths if n is not None), None)
                more |= slot.length is not None
            for other in (by_value[value] for value in passed if value in by_value and slot.length is not None):
                more |= other.length is None
                other.length = slot.length if other.length is None else other.length
    return [slot for slot in slots if slot.length is not None and len(_types(slot.elem)) * slot.length <= _MOST]


def _length(value: Value, op: Op, by_value: Mapping[Value, _Slot]) -> int | None:
    if value in by_value:
        return by_value[value].length
    items = items_at(value, op)
    return len(items) if items is not None else None


def _fold(module: Module) -> None:
    """Fold what known lengths and items decide."""
    while any([step.run(module, {}) for step in (fold, simplify, unroll_lists)]) or rewrite(module, READING):
        pass


def _make_where_defined(xs: Value) -> None:
    """Make a list of items that some paths leave undefined where it is read, since only such code may read the items."""
    made, users = xs.op, xs.users()
    if made is None or not users or not all(map(reads, users)) or not any(may_be_undefined(item, ()) for item in made.operands):
        return
    for user in users:
        again = clone_op(Builder.before(user), made, {}).result
        user.set_operands([again if v is xs else v for v in user.operands])
    made.erase()


# ---- items beside lists ----


def _pass_items(slot: _Slot) -> None:
    """Pass on the items of a list beside it, and let its users take a list that is made of them."""
    argument, elem = slot.argument, slot.elem
    op = argument.op
    assert slot.length is not None
    types = _types(elem) * slot.length
    for user, index in argument.operands:
        user.set_operands([*user.operands, *_parts(user.operands[index], slot, user)])
    for old in slot.values:
        places, owner = (op.results, op) if old is argument.result else (old.block.args, old.block)
        new = [Value(t, owner, f"{old.name}_{i}" if old.name else "") for i, t in enumerate(types)]
        places += new
        builder = Builder.after(op) if owner is op else Builder(old.block, 0)
        parts = iter(new)
        items = [_item(builder, elem, parts, op.loc) for _ in range(slot.length)]
        made = builder.op("list.new", items, op.loc, types=[old.type], names=[old.name]).result
        old.replace_all_uses(made)
        slot.lists.append(made)


def _types(t: Type) -> list[Type]:
    """Return the types of the values that an item of this type is passed on as."""
    return [leaf for item in t.items for leaf in _types(item)] if isinstance(t, TupleType) else [t]


def _parts(xs: Value, slot: _Slot, op: Op) -> list[Value]:
    """Return the values that `op` passes on beside a list."""
    builder = Builder.before(op)
    assert slot.length is not None
    if _is_undefined(xs):
        return [builder.op("undef", [], op.loc, types=[t]).result for t in _types(slot.elem) * slot.length]
    items = [builder.build("list.at", [xs, builder.const(i, op.loc)], op.loc) for i in range(slot.length)]
    return [part for item in items for part in _flat(builder, item, op.loc)]


def _flat(builder: Builder, item: Value, loc: Loc) -> list[Value]:
    """Return the values that an item is passed on as."""
    if not isinstance(item.type, TupleType):
        return [item]
    parts = [builder.build("tuple.get", [item], loc, index=i) for i in range(len(item.type.items))]
    return [leaf for part in parts for leaf in _flat(builder, part, loc)]


def _item(builder: Builder, t: Type, parts: Iterator[Value], loc: Loc) -> Value:
    """Return an item, built from the values that it was passed on as."""
    if not isinstance(t, TupleType):
        return next(parts)
    items = [_item(builder, item, parts, loc) for item in t.items]
    return builder.op("tuple", items, loc, types=[t]).result


# ---- which lists are split ----


def _wrong(func: Func, slots: Sequence[_Slot]) -> list[_Slot]:
    """Return the region arguments that were given items, and whose lists may not be split."""
    left = {value: slot.argument for slot in _slots(func) for value in slot.values}
    gone = [slot for slot in slots if any(value not in left for value in slot.values)]
    for slot in slots:
        slot.argument = left.get(slot.values[0], slot.argument)
    taken = {operand: slot for slot in slots for operand in slot.argument.operands}
    constant = _constant(slots, taken)
    return [slot for slot in slots if slot in gone or not _is_splittable(slot, taken, constant)]


def _is_splittable(slot: _Slot, taken: Mapping[Operand, _Slot], constant: Container[_Slot]) -> bool:
    """Return whether all lists that reach a region argument have its length and no other name.

    taken: the operands of the region arguments that may be split.
    """
    for op, index in slot.argument.operands:
        value = op.operands[index]
        if _is_undefined(value):
            continue
        items = items_at(value, op)
        if items is None or len(items) != slot.length or not all(is_subtype(item.type, slot.elem) for item in items):
            return False
        if not _is_constant(value, taken, constant) and not _has_one_name(value, taken):
            return False
    return True


def _is_undefined(value: Value) -> bool:
    return value.op is not None and value.op.name == "undef"


# ---- names of lists ----


def _constant(slots: Iterable[_Slot], taken: Mapping[Operand, _Slot]) -> set[_Slot]:
    """Return the region arguments whose lists are only read, under all names that they are passed on by."""
    constant = set(slots)

    def is_read(xs: Value) -> bool:
        return _is_constant(xs, taken, constant) and not any(changes(user, xs) for user in xs.users())

    while wrong := [slot for slot in constant if not all(map(is_read, slot.lists))]:
        constant.difference_update(wrong)
    return constant


def _is_constant(xs: Value, taken: Mapping[Operand, _Slot], constant: Container[_Slot]) -> bool:
    """Return whether a list is only read once it is passed on, under all its names."""
    handed = [use for use in _uses(xs) if use in taken]
    others = [op for op, i in _uses(xs) if (op, i) not in taken]
    changing = [op for op in others if changes(op, xs)]
    return (
        all(reads(op) or op in changing for op in others)
        and all(taken[use] in constant for use in handed)
        and all(change.parent is xs.block and change.is_before(_in_block(xs, op)) for change in changing for op, _ in handed)
    )


def _has_one_name(xs: Value, taken: Container[Operand]) -> bool:
    """Return whether a list that is passed on has no other name afterwards."""
    handed = [use[0] for use in _uses(xs) if use in taken]
    others = [use[0] for use in _uses(xs) if use not in taken]
    if not all(changes(op, xs) or reads(op) or op.name == "return" for op in others):
        return False
    if len(set(handed)) < len(handed) or any(_repeats(op, xs) for op in handed):
        return False
    takers = {at for op in handed if (at := _taker(xs, op)) is not None}
    if not takers:
        return True  # wherever the list is passed on, its block is left
    if len(takers) > 1 or (takers <= set(handed) and len(handed) > 1):
        return False
    (taker,) = takers

    def is_earlier(op: Op) -> bool:
        at = _in_block(xs, op)
        return at is not taker and at.is_before(taker)

    return all(map(is_earlier, others)) and all(is_earlier(op) or _taker(xs, op) is taker for op in handed)


def _uses(value: Value) -> list[Operand]:
    return [(op, i) for (_, i), op in value.uses.items()]


def _in_block(value: Value, op: Op) -> Op:
    """Return the op of a value's block that is `op` or holds it."""
    at = ancestor_in(value.block, op)
    assert at is not None
    return at


def _receiver(op: Op) -> Op:
    """Return the op that gets the operand of a region argument."""
    receiver = target(op) if op.has("TERMINATOR") else op
    assert receiver is not None
    return receiver


def _around(op: Op) -> Block:
    assert op.parent is not None
    return op.parent


def _taker(value: Value, op: Op) -> Op | None:
    """Return the op in a list's block that gets the list, or holds the op that does; None if the block is left thereby."""
    return ancestor_in(value.block, _receiver(op))


def _repeats(op: Op, value: Value) -> bool:
    """Return whether a loop inside the block of a list may reach again an op that passes the list on."""
    receiver = _receiver(op)
    loop = op.enclosing(is_loop)
    while loop is not None and ancestor_in(value.block, loop) is not None:
        inside = receiver is loop or any(region.encloses(_around(receiver)) for region in loop.regions)
        if inside and not (receiver is loop and op.name == "break"):
            return True
        loop = loop.enclosing(is_loop)
    return False
