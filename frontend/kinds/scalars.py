"""Numbers, strings and None that compiled code computes, and the answers that all SSA values share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from scriptc.frontend.environment.results import spec_of_type
from scriptc.frontend.environment.specs import Spec
from scriptc.frontend.operations.attributes import method_or_error
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.logic import to_int
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.operators import bad_operand
from scriptc.frontend.operations.strings import character, text_contains, text_item
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.errors import NeedsKnown
from scriptc.frontend.reader.exceptions import may_be_cause
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.element_types import spelt
from scriptc.frontend.values.verbs import class_name_of, kind_of, materialize
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, NONE, STR, ScalarType, Type

_CLASSES: dict[Type, type] = {INT: int, FLOAT: float, BOOL: bool, STR: str}

# ---- all SSA values ----


@verbs.describe.of(RuntimeValue)
def run_time_description(owner: RuntimeValue) -> str:
    return spelt(owner.type)


@verbs.type_of.of(RuntimeValue)
def type_of_run_time_value(owner: RuntimeValue) -> Type:
    return owner.type


@verbs.joined_type.of(RuntimeValue)
def type_of_joined(owner: RuntimeValue) -> Type:
    return owner.type


@verbs.kind_of.of(RuntimeValue)
def run_time_kind(owner: RuntimeValue) -> Hashable:
    return str(owner.type)


@verbs.result_of.of(RuntimeValue)
def run_time_result(owner: RuntimeValue) -> tuple[Spec, list[AbstractValue]]:
    return spec_of_type(owner.type), [owner]


@verbs.materialize.of(RuntimeValue)
def materialize_run_time_value(reader: Reader, owner: RuntimeValue) -> Value:
    return owner.value


@verbs.attribute.of(RuntimeValue)
def read_run_time_attribute(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    return method_or_error(reader, owner, name)


@verbs.class_name_of.of(RuntimeValue)
def class_name_of_others(reader: Reader, owner: RuntimeValue) -> str:
    return "Tensor"


# ---- numbers, strings and None ----


@verbs.python_class.of(INT, FLOAT, BOOL, STR)
def class_of_scalar(reader: Reader, owner: RuntimeValue) -> type:
    return _CLASSES[owner.type]


@verbs.class_name_of.of(INT, FLOAT, BOOL, STR)
def class_name_of_scalar(reader: Reader, owner: RuntimeValue) -> str:
    return _CLASSES[owner.type].__name__


@verbs.truth.of(BOOL)
def bool_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return owner


@verbs.truth.of(INT)
def int_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("int.to_bool", [owner.value]))


@verbs.truth.of(FLOAT)
def float_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("float.to_bool", [owner.value]))


@verbs.truth.of(STR)
def text_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("int.to_bool", [reader.emit.build("str.len", [owner.value])]))


@verbs.truth.of(NONE)
def none_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return Known(False)


@verbs.length.of(ScalarType)
def refuse_length(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    reader.emit.raise_error("TypeError", f"object of type '{class_name_of(reader, owner)}' has no len()")


@verbs.length.of(STR)
def text_length(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("str.len", [owner.value]))


@verbs.unary.of(INT, FLOAT, BOOL)
def number_unary(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    if owner.type == FLOAT:
        if name == "Invert":
            bad_operand(reader, name, owner)
        return owner if name == "UAdd" else RuntimeValue(reader.emit.build("float.neg", [owner.value]))
    value = to_int(reader, owner.value)
    if name == "UAdd":
        return RuntimeValue(value)
    return RuntimeValue(reader.emit.build("int.neg" if name == "USub" else "int.invert", [value]))


@verbs.unary.of(STR)
def text_unary(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    bad_operand(reader, name, owner)


@verbs.item.of(STR)
def character_of(reader: Reader, owner: RuntimeValue, index: AbstractValue) -> AbstractValue:
    return text_item(reader, owner, index)


@contains.of(STR)
def text_has(reader: Reader, owner: RuntimeValue, item: AbstractValue) -> AbstractValue:
    return text_contains(reader, item, owner)


@verbs.is_walked.of(ScalarType)
def is_number_walked(owner: RuntimeValue) -> bool:
    return False


@verbs.is_walked.of(STR)
def is_text_walked(owner: RuntimeValue) -> bool:
    return True


@verbs.is_run_time.of(STR)
def is_text_run_time(reader: Reader, owner: RuntimeValue) -> bool:
    return True


@verbs.walk.of(STR)
def walk_text(reader: Reader, owner: RuntimeValue, site: Any) -> Walk:
    length = RuntimeValue(reader.emit.build("str.len", [owner.value]))
    at = lambda i: character(reader, owner.value, materialize(reader, i))  # noqa: E731
    return Walk(count=(Known(0), length, Known(1)), item=at)


@verbs.text_parts.of(INT, FLOAT, BOOL)
def number_text(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield owner


@verbs.text_parts.of(STR)
def own_text_of(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield apply_op(reader, "str.repr", owner) if quoted else owner


@verbs.leaf_kinds.of(RuntimeValue)
def kind_of_run_time_value(owner: RuntimeValue) -> Iterator[Hashable]:
    yield kind_of(owner)


@may_be_cause.of(RuntimeValue)
def may_run_time_value_be_cause(owner: RuntimeValue) -> bool:
    return owner.type in (EXC, NONE)


@require_known.of(ScalarType)
def object_of_scalar(reader: Reader, owner: RuntimeValue, what: str) -> Any:
    made = owner.value.op
    if made is not None and made.name == "const":
        return made.attrs["value"]
    raise NeedsKnown(owner.value, reader.diagnostics.error("computed_at_run_time", what=what))
