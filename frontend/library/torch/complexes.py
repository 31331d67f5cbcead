"""Complex tensors."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.complexes import conjugated, imaginary_part, is_conjugate, real_part
from scriptc.frontend.operations.elementwise import elementwise, multiply_matrices
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ComplexValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
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
    """Return the input, or a clone where eager resolves a lazy conjugate."""
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


def item(r: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return the element of a tensor as a Python number."""
    if not is_complex_tensor(tensor):
        return r.call(r.attribute(tensor, "item"), [], {})
    parts = (real_part(r, tensor), imaginary_part(r, tensor))
    return ComplexValue(*(RuntimeValue(r.emit.build("item.float", [materialize(r, p)])) for p in parts))


# ---- contractions ----
@serves("torch.matmul", "Tensor.matmul", "torch.linalg.matmul")
def matmul(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
    return multiply_matrices(r, input, other)
