"""Objects: each is stored like a tuple of the leaves of its fields, but is changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args
from scriptc.backend_c.emitters.containers import counted
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape, flat_types, unflatten
from scriptc.ir.core import Op
from scriptc.ir.types import ObjectType, Record, Type

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


def _types(record: Record) -> list[Type]:
    return [record.type_of(i) for i in range(len(record.fields))]


def _place(op: Op) -> tuple[int, Type]:
    """Return the index of the first leaf of the field that an op accesses, and the type of the field."""
    t = op.operands[0].type
    assert isinstance(t, ObjectType)
    types = _types(t.record)
    field: int = op.attrs["field"]
    return sum(len(flat_types(before)) for before in types[:field]), types[field]


@emitter
def object_new(low: Lowerer, op: Op) -> Sequence[Shape]:
    assert isinstance(op.result.type, ObjectType)
    fields = _types(op.result.type.record)
    types = [leaf for t in fields for leaf in flat_types(t)]
    args = Args(counted(op, types), len(types)).leaves("leaves", types, low.widened(op.operands, fields, op.loc))
    return low.call(op, "sc_list_tuple", args, op.result.type)


@emitter
def object_get(low: Lowerer, op: Op) -> Sequence[Shape]:
    at, t = _place(op)
    held = low.one(op.operands[0])
    leaves = [low.expr("c.field", [held], leaf, op, index=at + i) for i, leaf in enumerate(flat_types(t))]
    return [unflatten(t, iter(leaves))]


@emitter
def object_set(low: Lowerer, op: Op) -> Sequence[Shape]:
    target, value = op.operands
    at, t = _place(op)
    types = flat_types(t)
    args = Args(low.one(target), at, len(types))
    return low.call(op, "sc_object_set", args.leaves("leaves", types, low.widened([value], [t], op.loc)))
