"""Objects: references with identity to fields of one type each."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, given
from scriptc.ir.types import BOOL, ObjectType, Record, Type, is_subtype

_MEMORY = frozenset({"list"})


def record_of(operands: Operands) -> Record:
    t = operands[0].type
    if not isinstance(t, ObjectType):
        raise TypeRuleError(f"expected an object, not {t}")
    return t.record


def _get(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    variable = record_of(operands).fields[attrs["field"]].find()
    variable.observed = True
    return (variable.type,)


def _set(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    held = record_of(operands).type_of(attrs["field"])
    if not is_subtype(operands[1].type, held):
        raise TypeRuleError(f"a field of type {held} cannot hold {operands[1].type}")
    return ()


def _same(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if record_of(operands[:1]).name != record_of(operands[1:]).name:
        raise TypeRuleError("objects of different classes are never the same")
    return (BOOL,)


ROWS = [
    # takes the fields in order; the result's type names the class
    OpDef("object.new", "(Value[] fields) -> Value", given, frozenset({"ALLOCATES"}), emit="object_new"),
    OpDef("object.get", "(Value self, *, int field) -> Value", _get, frozenset({"PURE", "FETCHES"}), reads=_MEMORY,
          emit="object_get"),
    OpDef("object.set", "(Value self, Value value, *, int field) -> ()", _set, writes=_MEMORY, emit="object_set"),
    OpDef("object.is", "(Value self, Value other) -> Value", _same, frozenset({"PURE"}), ref="operator.is_",
          c="({0} == {1})"),
]  # fmt: skip
