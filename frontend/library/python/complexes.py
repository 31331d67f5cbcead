"""Complex numbers and cmath."""

from __future__ import annotations

import ast
import cmath

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import complexes_decomposed as complexes
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.complexes import item
from scriptc.frontend.operations.complexes import complex_parts, complex_result
from scriptc.frontend.operations.logic import bad_operands
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ComplexValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_complex_number, is_known, is_made_tuple, is_tensor
from scriptc.frontend.values.verbs import class_name_of, materialize


@serves("builtins.complex")
def number(r: Reader, real: AbstractValue = Known(0.0), imag: AbstractValue | None = None) -> AbstractValue:
    """Return complex(real, imag), which is real + imag * 1j for any two numbers."""
    given = [real] if imag is None else [real, imag]
    if all(is_known(av) for av in given):
        return call_in_python(r, complex, *(av.obj for av in given if is_known(av)))
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


@serves("complex.conjugate")
def conjugate(r: Reader, z: AbstractValue) -> AbstractValue:
    if is_known(z):
        return Known(z.obj.conjugate())
    assert isinstance(z, ComplexValue)
    return ComplexValue(z.real, r.unary(ast.USub(), z.imag))


@serves("cmath.exp")
def exp(r: Reader, z: AbstractValue) -> AbstractValue:
    if is_known(z):
        return call_in_python(r, cmath.exp, z.obj)
    found = complex_result(r, complexes.exponential, z)
    return bad_operands(r, "Mult", z, z) if found is None else found


@serves("cmath.rect")
def rect(r: Reader, length: AbstractValue, phi: AbstractValue) -> AbstractValue:
    if is_known(length) and is_known(phi):
        return call_in_python(r, cmath.rect, length.obj, phi.obj)
    made = r.call(Known(complexes.from_polar), [length, phi], {})
    assert is_made_tuple(made)
    return ComplexValue(*made.items)


@serves("cmath.phase")
def phase(r: Reader, z: AbstractValue) -> AbstractValue:
    if is_known(z):
        return call_in_python(r, cmath.phase, z.obj)
    parts = complex_parts(r, z)
    if parts is None:
        r.emit.raise_error("TypeError", f"must be complex, not {class_name_of(r, z)}")
    return RuntimeValue(r.emit.build("math.atan2", [materialize(r, parts[1]), materialize(r, parts[0])]))
