"""Objects: each is a tuple object of the leaves of its fields, which change in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.backend_c.ctypes import list_member
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.values import Shape, flat_types, unflatten
from scriptc.ir.core import Op, Value
from scriptc.ir.types import ObjectType, Record, Type, is_counted

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


def _types(record: Record) -> list[Type]:
    return [record.type_of(i) for i in range(len(record.fields))]


def _place(op: Op) -> tuple[int, Type]:
    """Where the leaves of the field begin that an op is about, and its type."""
    t = op.operands[0].type
    assert isinstance(t, ObjectType)
    types = _types(t.record)
    field: int = op.attrs["field"]
    return sum(len(flat_types(before)) for before in types[:field]), types[field]


def _leaves(args: Args, types: Sequence[Type], leaves: Sequence[Value]) -> Args:
    items = [f"{{{{.{list_member(t)} = {args.slot(v)}}}}}" for t, v in zip(types, leaves, strict=True)]
    return args.add(f"(const sc_value[]){{{{{', '.join(items)}}}}}" if items else "NULL")


@emitter
def object_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    assert isinstance(op.result.type, ObjectType)
    fields = _types(op.result.type.record)
    types = [leaf for t in fields for leaf in flat_types(t)]
    mask = sum(1 << i for i, t in enumerate(types) if is_counted(t))
    args = Args("cx", str(mask), str(len(types)))
    _leaves(args, types, low.widened(op.operands, fields, op.loc))
    return low.call(op, "sc_list_tuple", args, op.result.type)


@emitter
def object_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    at, t = _place(op)
    held = low.one(op.operands[0])
    texts = [(f"{{0}}->items[{at + i}].{list_member(leaf)}", leaf) for i, leaf in enumerate(flat_types(t))]
    return [unflatten(t, iter([low.expr(text, [held], leaf, op, read=True) for text, leaf in texts]))]


@emitter
def object_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    target, value = op.operands
    at, t = _place(op)
    types = flat_types(t)
    args = Args("cx", low.one(target), str(at), str(len(types)))
    return low.call(op, "sc_object_set", _leaves(args, types, low.widened([value], [t], op.loc)), fails="never")
