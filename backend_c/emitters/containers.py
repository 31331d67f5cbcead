"""Lists, tuples and optionals. Tuples of known length have no representation; items of lists are read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, char, enum
from scriptc.backend_c.c_types import list_member
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.literals import INT64_MAX
from scriptc.backend_c.value_leaves import Shape, flag_and_number, flat_types, unflatten
from scriptc.ir.core import Attr, Op, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.types import (
    BOOL,
    INT,
    NEVER,
    NONE,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    is_counted,
    is_tuple,
    list_of,
)

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()
_MOST_COUNTED = 63  # bits of sc_list.mask
_LOOKUPS = ("dict.find", "dict.set", "dict.enter", "dict.find_or_enter", "set.add")


# An item of a list or dict is one sc_value. If its type has several loop IR values, or none, it is a tuple object.
def is_boxed(elem: Type) -> bool:
    return isinstance(elem, TupleType) or len(flat_types(elem)) != 1


def holds_objects(elem: Type) -> bool:
    """Return whether items of this type are counted objects."""
    return is_boxed(elem) or is_counted(elem)


def _holds(elem: Type) -> Attr:
    """Return the constant that tells the runtime what a list with items of this type holds."""
    return enum("SC_OBJECTS" if holds_objects(elem) else "SC_BOOLS" if elem == BOOL else "SC_VALUES")


def item_leaf(low: Lowerer, op: Op, elem: Type, value: Value) -> tuple[Type, Value]:
    """Return a value as one item of a list or dict, and the type of the item."""
    if is_boxed(elem):
        read = low.boxes.get(value) if value.type == elem else None
        return list_of(NEVER), _tuple(low, op, elem, value) if read is None else read
    return elem, low.widened([value], [elem], op.loc)[0]


def add_item(low: Lowerer, op: Op, elem: Type, value: Value, args: Args) -> Args:
    """Add a value as an item of a list to some arguments."""
    t, item = item_leaf(low, op, elem, value)
    return args.value(list_member(t), item)


def read_item(low: Lowerer, op: Op, name: str, operands: Sequence[Value], elem: Type, **attrs: Attr) -> Sequence[Shape]:
    """Return the value of an item, which the loop IR reads by an op with this name and these attributes."""
    if elem == NEVER:  # never reached: there is no index into an empty list
        return [low.undef(NEVER, op.loc)]
    boxed = is_boxed(elem)
    if boxed and any(_adds(user, op.result) for user in op.result.users()):
        low.boxes[op.result] = low.expr(name, operands, list_of(NEVER), op, leaf=-1, **attrs)
    leaves = [low.expr(name, operands, t, op, leaf=i if boxed else -1, **attrs) for i, t in enumerate(flat_types(elem))]
    return [unflatten(elem, iter(leaves))]


def _elem(container: Value) -> Type:
    assert isinstance(container.type, ListType)
    return container.type.elem


def _adds(user: Op, value: Value) -> bool:
    """Return whether an op adds an item of the value's type to a list or a dict."""
    container = user.results[0] if user.results and user.name.endswith(".new") else user.operands[0]
    return isinstance(container.type, (ListType, DictType)) and container.type.elem == value.type


def counted(op: Op, types: Sequence[Type]) -> int:
    """Return the bits of the leaves of a tuple object that are counted objects. Raises CompileError if one has no bit."""
    mask = sum(1 << i for i, t in enumerate(types) if is_counted(t))
    if mask >> _MOST_COUNTED:
        what = f"a tensor, string or container behind {_MOST_COUNTED} other values, in an item of a list or in an object,"
        raise CompileError(Diagnostic(op.loc, f"{what} is not supported", "put it in front, or in a list of its own"))
    return mask


def box_args(low: Lowerer, op: Op, elem: Type, value: Value, args: Args) -> Args:
    """Add the arguments of sc_list_tuple for a value as an item to some arguments."""
    types, leaves = flat_types(elem), low.widened([value], [elem], op.loc)
    return args.add(counted(op, types), len(types)).leaves("leaves", types, leaves)


def _tuple(low: Lowerer, op: Op, elem: Type, value: Value) -> Value:
    """Return the tuple object of a value as an item."""
    (made,) = low.call(op, "sc_list_tuple", box_args(low, op, elem, value, Args()), list_of(NEVER))
    assert isinstance(made, Value)
    return made


def _append(low: Lowerer, op: Op, target: Value, container: Value, value: Value) -> None:
    args = Args(target, _holds(_elem(container)))
    low.call(op, "sc_list_append", add_item(low, op, _elem(container), value, args))


@emitter
def list_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    (made,) = low.call(op, "sc_list_new", Args(_holds(_elem(op.result)), len(op.operands)), op.result.type)
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
    return _store(low, op, "sc_list_set")


@emitter
def list_put(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _store(low, op, "sc_list_put")


def _store(low: Lowerer, op: Op, name: str) -> Sequence[Shape]:
    container, index, value = op.operands
    args = Args(low.one(container), low.one(index), _holds(_elem(container)))
    if container.op is not None and container.op.has("ALLOCATES"):
        name += "_own"
    return low.call(op, name, add_item(low, op, _elem(container), value, args))


@emitter
def list_insert(low: Lowerer, op: Op) -> Sequence[Shape]:
    container, index, value = op.operands
    args = Args(low.one(container), low.one(index))
    return low.call(op, "sc_list_insert", add_item(low, op, _elem(container), value, args))


@emitter
def list_argsort(low: Lowerer, op: Op) -> Sequence[Shape]:
    member = char(list_member(_elem(op.operands[0])))
    most = INT64_MAX if op.attrs.get("most", -1) < 0 else op.attrs["most"]
    args = Args(*low.operands(op), member, bool(op.attrs["reverse"]), most)
    return low.call(op, "sc_list_argsort", args, op.result.type)


@emitter
def list_tensor(low: Lowerer, op: Op) -> Sequence[Shape]:
    member = char(list_member(_elem(op.operands[0])))
    return low.call(op, "sc_list_tensor", Args(*low.operands(op), member), op.result.type)


@emitter
def list_len(low: Lowerer, op: Op) -> Sequence[Shape]:
    return [low.expr("c.len", low.operands(op), INT, op)]


def _item(low: Lowerer, op: Op, index: Value) -> Sequence[Shape]:
    operands, elem = [low.one(op.operands[0]), index], _elem(op.operands[0])
    if elem == BOOL:
        return [low.expr("c.flag", operands, BOOL, op)]
    return read_item(low, op, "c.item", operands, elem)


@emitter
def tuple_of(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_list_slice", Args(*low.operands(op), 0, INT64_MAX, 1), op.result.type)


def _looks_up(user: Op, value: Value) -> bool:
    """Return whether an op takes a value as a key of a dict or set, and as nothing else."""
    return user.name in _LOOKUPS and user.operands[1] is value and value not in user.operands[2:]


@emitter
def tuple_append(low: Lowerer, op: Op) -> Sequence[Shape]:
    longer, item = op.operands
    if all(_looks_up(user, op.result) for user in op.result.users()):
        low.parts[op.result] = (low.one(longer), *item_leaf(low, op, _elem(longer), item))
        return [low.undef(op.result.type, op.loc)]
    args = Args(low.one(longer), _holds(_elem(longer)))
    return low.call(op, "sc_tuple_append", add_item(low, op, _elem(longer), item, args), op.result.type)


@emitter
def list_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    name = "sc_tuple_index" if is_tuple(op.operands[0].type) else "sc_list_index"
    (at,) = low.call(op, name, Args(*low.operands(op)), INT)
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
    return [low.expr("c.present", [low.one(value)], BOOL, op)]


@emitter
def optional_unwrap(low: Lowerer, op: Op) -> Sequence[Shape]:
    (value,) = op.operands
    shape = low.get(value)
    if not flag_and_number(value.type):
        return [shape]
    assert isinstance(shape, tuple)
    return [shape[1]]
