"""Dicts and sets: the runtime has the hash table, and items are read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, text
from scriptc.backend_c.emitters.containers import box_args, holds_objects, is_boxed, item_leaf, read_item
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flat_types, flatten, unflatten
from scriptc.ir.core import Op, Value
from scriptc.ir.errors import InternalError
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    STR,
    DictType,
    ListType,
    SetType,
    TupleType,
    Type,
    is_counted,
    is_tuple,
)

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()
_MOST_IN_LINE = 32  # leaves, as many as the bridge passes in a container
_KINDS = {INT: "i", FLOAT: "f", BOOL: "b", STR: "s", NEVER: ""}


def _kind(key: Type) -> str:
    """Return the form of keys of a type in the letters of sc_dict."""
    if isinstance(key, TupleType):
        return f"({''.join(map(_kind, key.items))})"
    if isinstance(key, ListType) and key.is_tuple:
        return f"[{_kind(key.elem)}]"
    if key not in _KINDS:
        raise InternalError(f"keys of type {key} have no C form")
    return _KINDS[key]


def _key_type(container: Value) -> Type:
    assert isinstance(container.type, (DictType, SetType))
    return container.type.key


def _elem(container: Value) -> Type:
    assert isinstance(container.type, DictType)
    return container.type.elem


def _is_in_line(elem: Type) -> bool:
    """Return whether a dict keeps the leaves of a value instead of a tuple object: they are few numbers."""
    types = flat_types(elem)
    return is_boxed(elem) and 0 < len(types) <= _MOST_IN_LINE and not any(map(is_counted, types))


def _width(container: Value) -> int:
    """Return how many leaves a value of a dict has in line; none in a set."""
    if isinstance(container.type, SetType):
        return 0
    elem = _elem(container)
    return len(flat_types(elem)) if _is_in_line(elem) else 1


def _stride(container: Value) -> int:
    """Return sc_dict.stride: an item is the hash, the key, the last item of keys in parts, and the value."""
    return 2 + _width(container) + is_tuple(_key_type(container))


def _value(low: Lowerer, op: Op, table: Value, value: Value, args: Args) -> Args:
    """Add a value, which is an array of its leaves, to some arguments."""
    elem = _elem(table)
    if _is_in_line(elem):
        return args.leaves("leaves", flat_types(elem), low.widened([value], [elem], op.loc))
    t, item = item_leaf(low, op, elem, value)
    return args.leaves("leaves", [t], [item])


def _key(low: Lowerer, value: Value, args: Args) -> Args:
    """Add a key, which is an array of its leaves, to some arguments."""
    if value in low.parts:
        front, t, last = low.parts[value]
        return args.leaves("parts", [value.type, t], [front, last])
    return args.leaves("key", flat_types(value.type), flatten(low.get(value)))


@emitter
def hash_(low: Lowerer, op: Op) -> Sequence[Shape]:
    key = op.operands[0]
    return low.call(op, "sc_hash", _key(low, key, Args(text(_kind(key.type)))), INT)


@emitter
def dict_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    elem = _elem(op.result)
    args = Args(text(_kind(_key_type(op.result))), _width(op.result), holds_objects(elem) and not _is_in_line(elem))
    return low.call(op, "sc_dict_new", args, op.result.type)


@emitter
def set_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_set_new", Args(text(_kind(_key_type(op.result)))), op.result.type)


@emitter
def dict_len(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.expr("c.len", low.operands(op), INT, op)]


@emitter
def dict_find(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key = op.operands
    if _key_type(table) == NEVER:  # the dict is always empty
        return [low.const(-1, op.loc)]
    return low.call(op, "sc_dict_find", _key(low, key, Args(low.one(table))), INT)


def _read_key(low: Lowerer, op: Op, table: Value, number: Value) -> Sequence[Shape]:
    """Return a key. A tuple of any length may be in parts until it is read (sc_in_parts)."""
    key, stride = _key_type(op.operands[0]), _stride(op.operands[0])
    if is_tuple(key):
        low.call(op, "sc_dict_whole_key", Args(table, number, stride))
    return read_item(low, op, "c.key", [table, number], key, stride=stride)


@emitter
def dict_key(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, number = low.operands(op)
    return _read_key(low, op, table, number)


@emitter
def dict_at(low: Lowerer, op: Op) -> Sequence[Shape]:
    operands, elem, stride = low.operands(op), _elem(op.operands[0]), _stride(op.operands[0])
    place = stride - _width(op.operands[0])
    if not _is_in_line(elem):
        return read_item(low, op, "c.value", operands, elem, stride=stride, place=place)
    parts = enumerate(flat_types(elem))
    leaves = [low.expr("c.value", operands, t, op, leaf=-1, stride=stride, place=place + i) for i, t in parts]
    return [unflatten(elem, iter(leaves))]


@emitter
def dict_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key, value = op.operands
    args = _key(low, key, Args(low.one(table)))
    return low.call(op, "sc_dict_set", _value(low, op, table, value, args))


@emitter
def dict_enter(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key, value = op.operands
    args = _key(low, key, Args(low.one(table)))
    return low.call(op, "sc_dict_enter", _value(low, op, table, value, args), INT)


@emitter
def dict_find_or_enter(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key, value = op.operands
    elem = _elem(table)
    if holds_objects(elem) and not _is_in_line(elem):
        raise InternalError(f"dict.find_or_enter of values of type {elem}")
    name, args = "sc_dict_reach", Args(low.one(table))
    if key in low.parts and low.parts[key][1] == INT:
        front, _, last = low.parts[key]
        name, args = "sc_dict_reach_parts", args.add(front, last)
    elif key.type == INT:
        name, args = "sc_dict_reach_int", args.add(low.one(key))
    else:
        args = _key(low, key, args)
    args.add(_stride(table), _width(table))
    return low.call(op, name, _value(low, op, table, value, args), INT)


@emitter
def dict_put(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, number, value = op.operands
    args, elem = Args(low.one(table), low.one(number)), _elem(table)
    if _is_in_line(elem):
        stride, width = _stride(table), _width(table)
        return low.call(op, "sc_dict_put_leaves", _value(low, op, table, value, args.add(stride, stride - width, width)))
    if is_boxed(elem) and value not in low.boxes:
        return low.call(op, "sc_dict_put_tuple", box_args(low, op, elem, value, args))
    return low.call(op, "sc_dict_put", _value(low, op, table, value, args))


@emitter
def dict_remove(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_dict_remove", Args(*low.operands(op)))


@emitter
def dict_clear(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_dict_clear", Args(*low.operands(op)))


@emitter
def dict_walk(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_dict_walk", Args(*low.operands(op)), INT)


@emitter
def set_add(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key = op.operands
    return low.call(op, "sc_set_add", _key(low, key, Args(low.one(table))))


@emitter
def set_pop(low: Lowerer, op: Op) -> Sequence[Shape]:
    table = low.one(op.operands[0])
    (number,) = low.call(op, "sc_set_next", Args(table), INT)
    assert isinstance(number, Value)
    found = _read_key(low, op, table, number)
    low.call(op, "sc_dict_remove", Args(table, number))
    return found
