"""Complex tensors and numbers."""

from __future__ import annotations

import ast
import cmath

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.complexes import (
    complex_parts,
    complex_result,
    conjugated,
    imaginary_part,
    is_conjugate,
    real_part,
)
from scriptc.frontend.operations.elementwise import elementwise, multiply_matrices
from scriptc.frontend.operations.logic import bad_operands
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ComplexValue,
    Known,
    RuntimeValue,
    TupleValue,
    is_complex_number,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import class_name_of, materialize
from scriptc.ir.dtypes import COMPLEX, SCALAR_TYPES


def is_complex_tensor(av: AbstractValue) -> bool:
    return is_tensor(av) and tensor_type(av).dtype in COMPLEX


@serves("torch.is_complex", "Tensor.is_complex")
def is_complex(r: Reader, input: AbstractValue) -> AbstractValue:
    return Known(is_complex_tensor(input))


@serves("torch.is_conj", "Tensor.is_conj")
def is_conj(r: Reader, input: AbstractValue) -> AbstractValue:
    made = input.value.op if isinstance(input, RuntimeValue) else None
    if is_complex_tensor(input) and made is not None and made.has("CONTROL"):
        r.reject("lazy_conjugate_unknown")
    return Known(is_conjugate(input))


@serves("torch.real")
def real(r: Reader, input: AbstractValue) -> AbstractValue:
    return real_part(r, input)


@serves("torch.imag")
def imag(r: Reader, input: AbstractValue) -> AbstractValue:
    return imaginary_part(r, input)


@serves("torch.view_as_real")
def view_as_real(r: Reader, input: AbstractValue) -> AbstractValue:
    if is_conjugate(input):
        r.emit.raise_error(
            "RuntimeError", "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so "
            "you can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
            "the original.",
        )  # fmt: skip
    return apply_op(r, "view_as_real", input)


@serves("torch.conj", "Tensor.conj")
def conj(r: Reader, input: AbstractValue) -> AbstractValue:
    if not is_complex_tensor(input):
        return input
    original = conjugated(input)
    return apply_op(r, "conj", input) if original is None else view_of(r, RuntimeValue(original))


@serves("torch.adjoint", "Tensor.adjoint")
def adjoint(r: Reader, input: AbstractValue) -> AbstractValue:
    return conj(r, r.attribute(input, "mT"))


@serves("torch.conj_physical", "Tensor.conj_physical")
def conj_physical(r: Reader, input: AbstractValue) -> AbstractValue:
    return apply_op(r, "conj_physical", input) if is_complex_tensor(input) else input


@serves("torch.resolve_conj", "Tensor.resolve_conj", "torch.resolve_neg", "Tensor.resolve_neg")
def resolve(r: Reader, input: AbstractValue) -> AbstractValue:
    """Results of `conj` are resolved already; where eager makes a new tensor of a lazy one, so is this."""
    return apply_op(r, "clone", input) if is_conjugate(input) else input


@serves("torch.sgn", "Tensor.sgn")
def sgn(r: Reader, input: AbstractValue) -> AbstractValue:
    return elementwise(r, "sgn" if is_complex_tensor(input) else "sign", input)


@serves("torch.angle", "Tensor.angle")
def angle(r: Reader, input: AbstractValue) -> AbstractValue:
    found = elementwise(r, "angle", input)
    return apply_op(r, "plain", found) if is_complex_tensor(input) else found


@serves("torch.isreal", "Tensor.isreal")
def isreal(r: Reader, input: AbstractValue) -> AbstractValue:
    if is_complex_tensor(input):
        return elementwise(r, "eq", imaginary_part(r, input), Known(0))
    return apply_op(r, "fill", cast_to(r, input, "bool"), Known(True))


@serves("torch.complex")
def complex_(r: Reader, real: AbstractValue, imag: AbstractValue) -> AbstractValue:
    names = [SCALAR_TYPES[tensor_type(av).dtype] for av in (real, imag)]
    if any(n not in ("Float", "Double", "Half") for n in names):
        r.emit.raise_error(
            "RuntimeError",
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}",
        )
    if names[0] != names[1]:
        r.emit.raise_error(
            "RuntimeError",
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument",
        )
    if "Half" in names:
        r.reject("complex32")
    return apply_op(r, "complex", real, imag)


# ---- numbers ----
@serves("builtins.complex")
def number(r: Reader, real: AbstractValue = Known(0.0), imag: AbstractValue | None = None) -> AbstractValue:
    """complex(a, b) is a + b * 1j, whatever a and b are."""
    given = [real] if imag is None else [real, imag]
    if all(isinstance(av, Known) for av in given):
        return call_in_python(r, complex, *(av.obj for av in given if isinstance(av, Known)))
    found = [item(r, av) if is_tensor(av) else av for av in given]
    parts = [complex_parts(r, av) for av in found]
    for av, part, words in zip(
        given, parts, ("first argument must be a string or", "second argument must be"), strict=False
    ):
        if part is None:
            r.emit.raise_error("TypeError", f"complex() {words} a number, not '{class_name_of(r, av)}'")
    first, second = parts[0], parts[-1]
    assert first is not None and second is not None
    if imag is None:
        return ComplexValue(*first)
    if any(map(is_complex_number, found)):
        return r.binary("Add", found[0], r.binary("Mult", found[1], Known(1j)))
    return ComplexValue(first[0], second[0])


def item(r: Reader, tensor: AbstractValue) -> AbstractValue:
    """The element of a tensor as a Python number."""
    if not is_complex_tensor(tensor):
        return r.call(r.attribute(tensor, "item"), [], {})
    parts = (real_part(r, tensor), imaginary_part(r, tensor))
    return ComplexValue(*(RuntimeValue(r.emit.build("item.float", [materialize(r, p)])) for p in parts))


@serves("complex.conjugate")
def conjugate(r: Reader, z: AbstractValue) -> AbstractValue:
    if isinstance(z, Known):
        return Known(z.obj.conjugate())
    assert isinstance(z, ComplexValue)
    return ComplexValue(z.real, r.unary(ast.USub(), z.imag))


@serves("cmath.exp")
def exp(r: Reader, z: AbstractValue) -> AbstractValue:
    if isinstance(z, Known):
        return call_in_python(r, cmath.exp, z.obj)
    found = complex_result(r, complexes.exponential, z)
    return bad_operands(r, "Mult", z, z) if found is None else found


@serves("cmath.rect")
def rect(r: Reader, length: AbstractValue, phi: AbstractValue) -> AbstractValue:
    if isinstance(length, Known) and isinstance(phi, Known):
        return call_in_python(r, cmath.rect, length.obj, phi.obj)
    made = r.call(Known(complexes.from_polar), [length, phi], {})
    assert isinstance(made, TupleValue)
    return ComplexValue(*made.items)


@serves("cmath.phase")
def phase(r: Reader, z: AbstractValue) -> AbstractValue:
    if isinstance(z, Known):
        return call_in_python(r, cmath.phase, z.obj)
    parts = complex_parts(r, z)
    if parts is None:
        r.emit.raise_error("TypeError", f"must be complex, not {class_name_of(r, z)}")
    return RuntimeValue(r.emit.build("math.atan2", [materialize(r, parts[1]), materialize(r, parts[0])]))


# ---- contractions and reductions ----
@serves("torch.matmul", "Tensor.matmul", "torch.linalg.matmul")
def matmul(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
    return multiply_matrices(r, input, other)
