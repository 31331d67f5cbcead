"""Dicts and sets: the runtime has the hash table, and items are read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, text
from scriptc.backend_c.emitters.containers import add_item, box_args, holds_objects, is_boxed, read_item
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flat_types, flatten
from scriptc.ir.core import Op, Value
from scriptc.ir.errors import InternalError
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, STR, DictType, ListType, SetType, TupleType, Type, is_tuple

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()
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


def _key(low: Lowerer, value: Value, args: Args) -> Args:
    """Add a key, which is an array of its leaves, to some arguments."""
    return args.leaves("key", flat_types(value.type), flatten(low.get(value)))


@emitter
def hash_(low: Lowerer, op: Op) -> Sequence[Shape]:
    key = op.operands[0]
    return low.call(op, "sc_hash", _key(low, key, Args(text(_kind(key.type)))), INT)


@emitter
def dict_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    args = Args(text(_kind(_key_type(op.result))), holds_objects(_elem(op.result)))
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
    """Return a key. A tuple of any length may be in parts until it is read (sc_tuple_parts)."""
    key = _key_type(op.operands[0])
    found = read_item(low, op, "c.key", [table, number], key)
    if is_tuple(key):
        low.call(op, "sc_tuple_make_whole", Args(*found))
    return found


@emitter
def dict_key(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, number = low.operands(op)
    return _read_key(low, op, table, number)


@emitter
def dict_at(low: Lowerer, op: Op) -> Sequence[Shape]:
    return read_item(low, op, "c.value", low.operands(op), _elem(op.operands[0]))


@emitter
def dict_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key, value = op.operands
    args = _key(low, key, Args(low.one(table)))
    return low.call(op, "sc_dict_set", add_item(low, op, _elem(table), value, args))


@emitter
def dict_enter(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, key, value = op.operands
    args = _key(low, key, Args(low.one(table)))
    return low.call(op, "sc_dict_enter", add_item(low, op, _elem(table), value, args), INT)


@emitter
def dict_put(low: Lowerer, op: Op) -> Sequence[Shape]:
    table, number, value = op.operands
    args, elem = Args(low.one(table), low.one(number)), _elem(table)
    if is_boxed(elem) and value not in low.boxes:
        return low.call(op, "sc_dict_put_tuple", box_args(low, op, elem, value, args))
    return low.call(op, "sc_dict_put", add_item(low, op, elem, value, args))


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
