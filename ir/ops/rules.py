"""Type rules that rows share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptc.ir.dtypes import PARTS
from scriptc.ir.opdef import Infer, TypeRuleError
from scriptc.ir.types import BOOL, FLOAT, INT, DictType, Dim, ListType, SetType, TensorType, TupleType, Type

if TYPE_CHECKING:
    from scriptc.ir.core import Value

Operands = Sequence["Value"]
Attrs = Mapping[str, Any]


def fixed(*types: Type) -> Infer:
    """Return the rule that gives these types for all operands."""
    return lambda operands, attrs: types


def given(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    """Return the result types of an op that its builder gives, since they do not follow from the operands."""
    raise TypeRuleError("the result types of this op are given when it is built")


def tensor(value: Value) -> TensorType:
    if not isinstance(value.type, TensorType):
        raise TypeRuleError(f"expected a tensor, not {value.type}")
    return value.type


def as_dim(value: Value) -> Dim:
    """Return the dim of an i64 value: a constant, or the dim that a `size` op reads."""
    op = value.op
    if op is None:
        return None
    if op.name == "const":
        size = op.attrs["value"]
        return size if isinstance(size, int) and size >= 0 else None
    if op.name == "size":
        dims = tensor(op.operands[0]).dims
        return dims[op.attrs["dim"]] if dims is not None else None
    return None


def tuple_items(value: Value) -> Sequence[Value]:
    """Return the operands of the `tuple` op that made a value."""
    if value.op is None or value.op.name != "tuple":
        raise TypeRuleError("the sizes are not a tuple that is written out")
    return value.op.operands


def normal_dim(dim: int, rank: int, *, extra: int = 0) -> int:
    """Return a dim counted from the front. Raise TypeRuleError with IndexError's text if it is out of range."""
    n = max(rank + extra, 1)
    if not -n <= dim < n:
        raise TypeRuleError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def own_dim(dim: int, rank: int) -> int:
    """Return `normal_dim` of a tensor, which must have dims."""
    if rank == 0:
        raise TypeRuleError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normal_dim(dim, rank)


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    if a == b:
        return a
    if a == 1:
        return b
    if b == 1:
        return a
    if isinstance(a, int) or isinstance(b, int):  # the other size is 1 or equal
        return a if isinstance(a, int) else b
    return None


def broadcast_dims(shapes: Sequence[tuple[Dim, ...] | None]) -> tuple[Dim, ...] | None:
    """Return the shape to which shapes broadcast, as far as it is known."""
    result: tuple[Dim, ...] = ()
    for shape in shapes:
        if shape is None:
            return None
        n = max(len(result), len(shape))
        padded = [((1,) * (n - len(s)) + s) for s in (result, shape)]
        result = tuple(map(broadcast_dim, *padded))
    return result


def tensors_of(operands: Operands) -> list[TensorType]:
    return [v.type for v in operands if isinstance(v.type, TensorType)]


def elementwise(operands: Operands, attrs: Attrs) -> Sequence[Type]:
    """Return the type of an elementwise op, with the one dtype of its tensors. Python numbers do not change it."""
    types = tensors_of(operands)
    if not types:
        raise TypeRuleError("an elementwise op needs a tensor")
    if len({t.dtype for t in types}) > 1:
        raise TypeRuleError(f"operands differ in dtype: {', '.join(map(str, types))}")
    return (TensorType(types[0].dtype, broadcast_dims([t.dims for t in types])),)


def real_part(operands: Operands, attrs: Attrs) -> Sequence[Type]:
    """Return the type of an elementwise op whose dtype is that of the parts of complex elements."""
    (t,) = elementwise(operands, attrs)
    assert isinstance(t, TensorType)
    return (TensorType(PARTS.get(t.dtype, t.dtype), t.dims),)


def predicate(operands: Operands, attrs: Attrs) -> Sequence[Type]:
    """Return the type of an elementwise op with a bool result."""
    (t,) = elementwise(operands, attrs)
    assert isinstance(t, TensorType)
    return (TensorType("bool", t.dims),)


def same_type(operands: Operands, attrs: Attrs) -> Sequence[Type]:
    return (operands[0].type,)


def with_dtype(operands: Operands, attrs: Attrs) -> Sequence[Type]:
    return (TensorType(attrs["dtype"], tensor(operands[0]).dims),)


def numbers(operands: Operands) -> None:
    for v in operands:
        if v.type not in (INT, FLOAT, BOOL):
            raise TypeRuleError(f"expected a number, not {v.type}")


def elem_of(value: Value) -> Type:
    """Return the type of the items of a list, or of the values of a dict."""
    if not isinstance(value.type, (ListType, DictType)):
        raise TypeRuleError(f"expected a list, not {value.type}")
    value.type.variable.find().observed = True
    return value.type.elem


def key_of(value: Value) -> Type:
    if not isinstance(value.type, (DictType, SetType)):
        raise TypeRuleError(f"expected a dict or set, not {value.type}")
    value.type.key_variable.find().observed = True
    return value.type.key


def items_of(value: Value) -> tuple[Type, ...]:
    if not isinstance(value.type, TupleType):
        raise TypeRuleError(f"expected a tuple, not {value.type}")
    return value.type.items
