"""Python's complex numbers that compiled code computes: pairs of floats."""

from __future__ import annotations

from scriptc.frontend.environment.results import result_tree
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.operations.attributes import class_itself
from scriptc.frontend.operations.complexes import compare_complex, complex_unary
from scriptc.frontend.operations.materialize import materialize_complex
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Bound, ComplexValue, Known, Structure
from scriptc.frontend.values.structure import complex_structure
from scriptc.ir.core import Value
from scriptc.ir.types import COMPLEX, Type


@verbs.describe.of(ComplexValue)
def complex_description(owner: ComplexValue) -> str:
    return "a complex number"


@verbs.structure_of.of(ComplexValue)
def structure_of_complex(owner: ComplexValue) -> Structure:
    return complex_structure(owner.real, owner.imag)


@verbs.type_of.of(ComplexValue)
def complex_type(owner: ComplexValue) -> Type:
    return COMPLEX


@verbs.result_of.of(ComplexValue)
def complex_value_result(owner: ComplexValue) -> tuple[Spec, list[AbstractValue]]:
    return result_tree([owner.real, owner.imag], lambda specs: TupleSpec(specs, complex))


@verbs.materialize.of(ComplexValue)
def materialize_complex_value(reader: Reader, owner: ComplexValue) -> Value:
    return materialize_complex(reader, owner)


@verbs.python_class.of(ComplexValue)
def class_of_complex(reader: Reader, owner: ComplexValue) -> type:
    return complex


@verbs.class_name_of.of(ComplexValue)
def class_name_of_complex(reader: Reader, owner: ComplexValue) -> str:
    return "complex"


@verbs.attribute.of(ComplexValue)
def read_complex_attribute(reader: Reader, owner: ComplexValue, name: str) -> AbstractValue:
    if name == "__class__":
        return class_itself(reader, owner)
    part = {"real": owner.real, "imag": owner.imag}.get(name)
    if part is None and not hasattr(complex, name):
        reader.emit.raise_error("AttributeError", f"'complex' object has no attribute '{name}'")
    return Bound(owner, name) if part is None else part


@verbs.truth.of(ComplexValue)
def complex_truth(reader: Reader, owner: ComplexValue) -> AbstractValue:
    return compare_complex(reader, "NotEq", owner, Known(0.0))


@verbs.unary.of(ComplexValue)
def complex_value_unary(reader: Reader, owner: ComplexValue, name: str) -> AbstractValue:
    return complex_unary(reader, name, owner)
