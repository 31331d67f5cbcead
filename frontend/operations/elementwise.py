"""Operators on tensors, with eager's type promotion and eager's errors."""

from __future__ import annotations

import torch

from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.operations.autocast import call_with_casts
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.logic import bad_operands, check_that, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import new_filled
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_complex_number, is_known, is_tensor, tensor_type
from scriptc.frontend.values.verbs import as_argument, class_name_of, materialize, type_of
from scriptc.ir.dtypes import COMPLEX as COMPLEX_DTYPES
from scriptc.ir.dtypes import INEXACT, SCALAR_TYPES, SIZES
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops import OPS
from scriptc.ir.ops.contractions import same_dtype
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT

MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}  # b < a is a > b
_DIVIDES = ("floor_divide", "floor_div", "trunc_div", "remainder", "fmod")
_NOT_OF_BOOLS = {
    "sub": "Subtraction, the `-` operator, with a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    "neg": "Negation, the `-` operator, on a bool tensor is not supported. "
    "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    "relu": "Boolean inputs not supported for relu",
}
_TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead."
)


def elementwise(reader: Reader, name: str, *operands: AbstractValue, dtype: str | None = None) -> RuntimeValue:
    """Build an elementwise op with eager's type promotion. `dtype` overrides the dtype of the computation."""
    operands = tuple(as_argument(reader, av) for av in operands)
    operands = tuple(RuntimeValue(materialize(reader, av)) if is_complex_number(av) else av for av in operands)
    for av in operands:
        if not is_tensor(av) and type_of(av) not in (INT, FLOAT, BOOL, COMPLEX):
            reader.emit.raise_error(
                "TypeError", f"{name}(): argument must be Tensor or number, not {class_name_of(reader, av)}"
            )
    if not any(map(is_tensor, operands)):  # torch.add and others make a tensor of the first number
        operands = (new_filled(reader, (), operands[0], dtype_of_result(reader, operands[0])), *operands[1:])
    if name == "sub":
        refuse_bools(reader, *operands)
    common = dtype or dtype_of_result(reader, *operands)
    if "FLOATING" in OPS[name].traits and common not in INEXACT:
        common = reader.environment.default_dtype
    if common in COMPLEX_DTYPES and common not in OPS[name].takes and name not in MIRRORED:
        reader.reject("complex_operator", name=name)
    if common not in OPS[name].takes:
        if common == "bool" and name in _NOT_OF_BOOLS:
            reader.emit.raise_error("RuntimeError", _NOT_OF_BOOLS[name])
        reader.emit.raise_error("NotImplementedError", f"\"{name}_cpu\" not implemented for '{SCALAR_TYPES[common]}'")
    if name in _DIVIDES and common not in INEXACT:
        check_divisor(reader, operands[0], operands[1], common)
    if name == "pow" and common not in INEXACT and type_of(operands[1]) == INT:
        natural = reader.compare("GtE", operands[1], Known(0))
        check_that(reader, natural, "RuntimeError", "Integers to negative integer powers are not allowed.")
    return apply_op(reader, name, *(cast_to(reader, av, common) for av in operands))


def refuse_bools(reader: Reader, *operands: AbstractValue) -> None:
    """Raise eager's error for a difference of which an operand is a bool."""
    bools = [tensor_type(av).dtype == "bool" if is_tensor(av) else type_of(av) == BOOL for av in operands]
    if any(bools):
        reader.emit.raise_error("RuntimeError", _TWO_BOOLS if all(bools) else _NOT_OF_BOOLS["sub"])


def check_divisor(reader: Reader, dividend: AbstractValue, divisor: AbstractValue, dtype: str) -> None:
    """Raise for a division of integers by the number zero, if the tensor has elements."""
    if not is_tensor(divisor) and type_of(divisor) == INT and SIZES[dtype] < 8:  # the divisor wraps to the dtype
        divisor = reader.binary("BitAnd", divisor, Known(2 ** (8 * SIZES[dtype]) - 1))
    zero = reader.compare("Eq", divisor, Known(0))
    if is_tensor(zero):
        dims = tuple(range(tensor_type(zero).rank))
        zero = apply_op(reader, "any", zero, dim=dims, keepdim=False, dtype="bool")
    valid = negated(reader, reader.truth(zero))
    if is_tensor(dividend) and not (is_known(valid) and valid.obj):
        none = reader.compare("Eq", reader.call(reader.attribute(dividend, "numel"), [], {}), Known(0))
        valid = RuntimeValue(reader.emit.build("bool.or_", [materialize(reader, valid), materialize(reader, none)]))
    check_that(reader, valid, "RuntimeError", "ZeroDivisionError")


def multiply_matrices(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    for av in (a, b):
        if not is_tensor(av):
            bad_operands(reader, "MatMult", a, b)
    cast = call_with_casts(reader, torch.matmul, [a, b], {}, lambda args, _: multiply_matrices(reader, *args))
    if cast is not None:
        return cast
    try:
        dtype = same_dtype(tensor_type(a), tensor_type(b))
    except TypeRuleError as e:
        reader.emit.raise_error("RuntimeError", str(e))
    if dtype in COMPLEX_DTYPES:
        return reader.call(Known(complexes.matrix_product), [a, b], {})
    return apply_op(reader, "matmul", a, b)
