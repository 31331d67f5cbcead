"""Python's complex numbers, as pairs of floats, and the complex tensors that need treatment of their own."""

from __future__ import annotations

from scriptc.frontend.library.python import complexes_decomposed as complexes
from scriptc.frontend.operations.logic import bad_operands, logical_and, negated, to_float
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ComplexValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import defining_op, is_complex_number, is_known, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize, structure_of, type_of
from scriptc.ir.analysis import function_body, is_written
from scriptc.ir.core import Module, Value
from scriptc.ir.dtypes import COMPLEX
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.types import BOOL, FLOAT, INT

_OPERATORS = {
    "Add": complexes.added, "Sub": complexes.subtracted, "Mult": complexes.product, "Div": complexes.quotient,
    "Pow": complexes.power,
}  # fmt: skip


def complex_parts(reader: Reader, av: AbstractValue) -> list[AbstractValue] | None:
    """Return the real and the imaginary part of a number, as floats; None for other values."""
    if is_complex_number(av):
        structure = structure_of(av)
        assert structure is not None
        return list(structure.parts)
    if type_of(av) not in (INT, FLOAT, BOOL):
        return None
    real = Known(float(av.obj)) if is_known(av) else RuntimeValue(to_float(reader, materialize(reader, av)))
    return [real, Known(0.0)]


def complex_result(reader: Reader, function: object, *operands: AbstractValue) -> AbstractValue | None:
    """Return the complex number whose parts a function computes from the parts of the operands; None if one is no
    number."""
    parts = [complex_parts(reader, av) for av in operands]
    if None in parts:
        return None
    made = reader.call(Known(function), [p for ps in parts if ps is not None for p in ps], {})
    assert isinstance(made, TupleValue)
    return ComplexValue(*made.items)


def complex_operator(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return the result of a binary operator if one operand is a complex number and none is a tensor; else None."""
    found = complex_result(reader, _OPERATORS[op], a, b) if op in _OPERATORS else None
    return bad_operands(reader, op, a, b) if found is None else found


def compare_complex(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if op not in ("Eq", "NotEq"):
        bad_operands(reader, op, a, b)
    left, right = complex_parts(reader, a), complex_parts(reader, b)
    if left is None or right is None:
        return Known(op == "NotEq")
    same = [reader.compare("Eq", x, y) for x, y in zip(left, right, strict=True)]
    equal = logical_and(reader, *same)
    return negated(reader, equal) if op == "NotEq" else equal


def complex_unary(reader: Reader, name: str, av: AbstractValue) -> AbstractValue:
    if name == "UAdd":
        return av
    found = complex_result(reader, complexes.negated, av) if name == "USub" else None
    if found is None:
        reader.emit.raise_error("TypeError", "bad operand type for unary ~: 'complex'")
    return found


def real_part(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    return _part(reader, tensor, 0) if tensor_type(tensor).dtype in COMPLEX else tensor


def imaginary_part(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    if tensor_type(tensor).dtype not in COMPLEX:
        reader.emit.raise_error("RuntimeError", "imag is not implemented for tensors with non-complex dtypes.")
    return _part(reader, tensor, 1)


def _part(reader: Reader, tensor: AbstractValue, index: int) -> AbstractValue:
    pairs = apply_op(reader, "view_as_real", tensor)
    return RuntimeValue(
        reader.emit.build("select", [pairs.value, reader.emit.const(index)], dim=tensor_type(tensor).rank)
    )


def conjugated(tensor: AbstractValue) -> Value | None:
    """Return the operand of the `conj()` that made a tensor, or None."""
    made = defining_op(tensor) if is_tensor(tensor) else None
    return made.operands[0] if made is not None and made.name == "conj" else None


def is_conjugate(tensor: AbstractValue) -> bool:
    """Return whether a tensor is a lazy conjugate in eager, or a view of one."""
    made = defining_op(tensor)
    while made is not None and made.has("VIEW"):
        made = made.operands[0].op
    return made is not None and made.name == "conj"


def refuse_writes_to_conjugates(module: Module) -> None:
    """Raise CompileError if a conjugate or its operand is written, since eager's conj() is a view and ours is a
    copy."""
    found = [
        Diagnostic(
            op.loc, "conj() of a tensor that is written, or whose conjugate is, is not supported", "use conj_physical()"
        )
        for op in module.walk()
        if op.name == "conj" and any(is_written(v, function_body(op)) for v in (op.operands[0], op.result))
    ]
    if found:
        raise CompileError(found)
