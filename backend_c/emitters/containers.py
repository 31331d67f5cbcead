"""Lists, tuples and optionals. Tuples vanish; list elements are read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.backend_c.ctypes import list_member
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.values import Shape, flag_and_number, flat_types, unflatten
from scriptc.ir.core import Op, Value
from scriptc.ir.errors import InternalError
from scriptc.ir.types import BOOL, INT, NEVER, NONE, ListType, OptionalType, TupleType, Type, is_counted, list_of

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


def _elem(low: Lowerer, op: Op, container: Value) -> Type:
    assert isinstance(container.type, ListType)
    elem = container.type.elem
    if not isinstance(elem, TupleType) and flat_types(elem) != [elem]:
        raise InternalError(f"lists of {elem} have no C form yet", op.loc)
    return elem


def _boxed(low: Lowerer, op: Op, container: Value, value: Value) -> tuple[str, Value]:
    """An element as an sc_value: the text around it, with {0} for the value."""
    elem = _elem(low, op, container)
    held = low.widened([value], [elem], op.loc)
    return ("l", _tuple(low, op, elem, held)) if isinstance(elem, TupleType) else (list_member(elem), held[0])


def _tuple(low: Lowerer, op: Op, elem: TupleType, leaves: list[Value]) -> Value:
    """A tuple as an object, in which it is an element of a list."""
    types = flat_types(elem)
    mask = sum(1 << i for i, t in enumerate(types) if is_counted(t))
    args = Args("cx", str(mask), str(len(types)))
    items = [f"{{{{.{list_member(t)} = {args.slot(v)}}}}}" for t, v in zip(types, leaves, strict=True)]
    args.add(f"(sc_value[]){{{{{', '.join(items)}}}}}")
    (made,) = low.call(op, "sc_list_tuple", args, list_of(NEVER))
    assert isinstance(made, Value)
    return made


def _append(low: Lowerer, op: Op, target: Value, container: Value, value: Value) -> None:
    member, held = _boxed(low, op, container, value)
    args = Args("cx", target)
    low.call(op, "sc_list_append", args.add(f"(sc_value){{{{.{member} = {args.slot(held)}}}}}"))


@emitter
def list_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    elem = _elem(low, op, op.result)
    counted = "true" if is_counted(elem) or isinstance(elem, TupleType) else "false"
    (made,) = low.call(op, "sc_list_new", Args("cx", counted, str(len(op.operands))), op.result.type)
    assert isinstance(made, Value)
    made.name = op.result.name
    for value in op.operands:
        _append(low, op, made, op.result, value)
    return [made]


@emitter
def list_append(low: Lowerer, op: Op) -> Sequence[Shape]:
    container, value = op.operands
    _append(low, op, low.one(container), container, value)
    return []


@emitter
def list_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    container, index, value = op.operands
    member, held = _boxed(low, op, container, value)
    args = Args("cx", low.one(container), low.one(index))
    return low.call(op, "sc_list_set", args.add(f"(sc_value){{{{.{member} = {args.slot(held)}}}}}"))


@emitter
def list_insert(low: Lowerer, op: Op) -> Sequence[Shape]:
    container, index, value = op.operands
    member, held = _boxed(low, op, container, value)
    args = Args("cx", low.one(container), low.one(index))
    return low.call(op, "sc_list_insert", args.add(f"(sc_value){{{{.{member} = {args.slot(held)}}}}}"))


@emitter
def list_argsort(low: Lowerer, op: Op) -> Sequence[Shape]:
    member = list_member(_elem(low, op, op.operands[0]))
    reverse = "true" if op.attrs["reverse"] else "false"
    return low.call(op, "sc_list_argsort", Args("cx", *low.operands(op), f"'{member}'", reverse), op.result.type)


@emitter
def list_tensor(low: Lowerer, op: Op) -> Sequence[Shape]:
    member = list_member(_elem(low, op, op.operands[0]))
    return low.call(op, "sc_list_tensor", Args("cx", *low.operands(op), f"'{member}'"), op.result.type)


@emitter
def list_len(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.expr("{0}->len", low.operands(op), INT, op, read=True)]


def _item(low: Lowerer, op: Op, index: Value) -> Sequence[Shape]:
    elem = _elem(low, op, op.operands[0])
    if isinstance(elem, TupleType):
        operands, types = [low.one(op.operands[0]), index], flat_types(elem)
        texts = [f"{{0}}->items[{{1}}].l->items[{i}].{list_member(t)}" for i, t in enumerate(types)]
        leaves = [low.expr(text, operands, t, op, read=True) for text, t in zip(texts, types, strict=True)]
        return [unflatten(elem, iter(leaves))]
    text = f"{{0}}->items[{{1}}].{list_member(elem)}"
    if elem == NEVER:  # never reached: there is no index into an empty list
        return [low.undef(NEVER, op.loc)]
    return [low.expr(text, [low.one(op.operands[0]), index], elem, op, read=True)]


@emitter
def list_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    (at,) = low.call(op, "sc_list_index", Args("cx", *low.operands(op)), INT)
    assert isinstance(at, Value)
    return _item(low, op, at)


@emitter
def list_at(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _item(low, op, low.one(op.operands[1]))


@emitter
def tuple_(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [tuple(low.get(v) for v in op.operands)]


@emitter
def tuple_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    shape = low.get(op.operands[0])
    assert isinstance(shape, tuple)
    return [shape[op.attrs["index"]]]


@emitter
def optional_present(low: Lowerer, op: Op) -> Sequence[Shape]:
    (value,) = op.operands
    shape = low.get(value)
    if not isinstance(value.type, OptionalType):
        return [low.const(value.type != NONE, op.loc)]
    if flag_and_number(value.type):
        assert isinstance(shape, tuple)
        return [shape[0]]
    return [low.expr("({0} != NULL)", [low.one(value)], BOOL, op)]


@emitter
def optional_unwrap(low: Lowerer, op: Op) -> Sequence[Shape]:
    (value,) = op.operands
    shape = low.get(value)
    if not flag_and_number(value.type):
        return [shape]
    assert isinstance(shape, tuple)
    return [shape[1]]
