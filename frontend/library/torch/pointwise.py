"""Pointwise functions with arguments beside their operands: alpha, rounding_mode, bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.indexing import nonzero
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.elementwise import elementwise, refuse_bools
from scriptc.frontend.operations.logic import logical_and
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import converted, new_filled
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import is_complex_number, is_known, is_none, is_tensor, tensor_type
from scriptc.frontend.values.verbs import type_of
from scriptc.ir.dtypes import COMPLEX, DTYPES, FLOATING, INEXACT, INTEGRAL, TORCH_NAMES
from scriptc.ir.types import COMPLEX as COMPLEX_NUMBER
from scriptc.ir.types import FLOAT, INT

_ONE = Known(1)
_NONE = Known(None)


def _scaled(r: Reader, other: AbstractValue, alpha: AbstractValue, input: AbstractValue) -> AbstractValue:
    """Return alpha times a tensor or number, in the dtype of its sum with `input`."""
    if is_known(alpha) and alpha.obj == 1:
        return other
    common = dtype_of_result(r, input, other)
    if is_tensor(other):
        return elementwise(r, "mul", other, alpha, dtype=common)
    if is_complex_number(other) or is_complex_number(alpha):
        return r.binary("Mult", other, alpha)
    if common not in INTEGRAL:
        return r.binary("Mult", other if common == "bool" else r.call(Known(float), [other], {}), alpha)
    return elementwise(r, "mul", new_filled(r, (), other, "i64"), alpha)  # int64 wraps


def _difference(r: Reader, a: AbstractValue, b: AbstractValue, alpha: AbstractValue) -> AbstractValue:
    """Return a - alpha * b. Eager adds -alpha * b, and the dtype must hold -alpha."""
    if is_known(alpha) and alpha.obj == 1 or is_complex_number(alpha):
        return elementwise(r, "sub", a, _scaled(r, b, alpha, a))
    if type_of(alpha) == INT:  # int64 wraps
        least = r.compare("Eq", alpha, Known(-(2**63)))
        alpha = r.choose(least, lambda: alpha, lambda: r.binary("Sub", Known(0), alpha))
    else:
        alpha = r.binary("Sub", Known(0), alpha)
    common = dtype_of_result(r, a, b)
    alpha = alpha if common in COMPLEX else converted(r, alpha, common)
    return elementwise(r, "add", a, _scaled(r, b, alpha, a))


@serves("torch.add", "Tensor.add", "Tensor.__add__", "Tensor.__radd__")
def add(r: Reader, input: AbstractValue, other: AbstractValue, *, alpha: AbstractValue = _ONE) -> AbstractValue:
    return elementwise(r, "add", input, _scaled(r, other, alpha, input))


@serves("torch.sub", "Tensor.sub", "torch.subtract", "Tensor.subtract", "Tensor.__sub__")
def sub(r: Reader, input: AbstractValue, other: AbstractValue, *, alpha: AbstractValue = _ONE) -> AbstractValue:
    refuse_bools(r, input, other)
    return _difference(r, input, other, alpha)


@serves("torch.rsub", "Tensor.rsub")
def rsub(r: Reader, input: AbstractValue, other: AbstractValue, *, alpha: AbstractValue = _ONE) -> AbstractValue:
    refuse_bools(r, other, input)
    return _difference(r, other, input, alpha)


@serves("torch.div", "Tensor.div", "torch.divide", "Tensor.divide", "torch.true_divide", "Tensor.true_divide")
def div(
    r: Reader, input: AbstractValue, other: AbstractValue, *, rounding_mode: AbstractValue = _NONE
) -> AbstractValue:
    mode = require_known(r, rounding_mode, "rounding_mode")
    if mode is None:
        return elementwise(r, "div", input, other)
    if mode not in ("floor", "trunc"):
        r.emit.raise_error(
            "RuntimeError", f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )
    return elementwise(r, "floor_div" if mode == "floor" else "trunc_div", input, other)


@serves("torch.floor_divide", "Tensor.floor_divide")
def floor_divide(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
    return elementwise(r, "floor_divide", input, other)


@serves("Tensor.__rdiv__", "Tensor.__rtruediv__")
def rdiv(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
    return elementwise(r, "mul", elementwise(r, "reciprocal", input), other)


def _reflected(method: str, op: str) -> None:
    @serves(f"Tensor.{method}")
    def handler(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
        return r.binary(op, other, input)


for _method, _op in (
    ("__rsub__", "Sub"), ("__rmod__", "Mod"), ("__rpow__", "Pow"), ("__rfloordiv__", "FloorDiv"), ("__rmul__", "Mult"),
    ("__rmatmul__", "MatMult"), ("__rand__", "BitAnd"), ("__ror__", "BitOr"), ("__rxor__", "BitXor"),
):  # fmt: skip
    _reflected(_method, _op)


@serves("torch.nextafter", "Tensor.nextafter")
def nextafter(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
    common = dtype_of_result(r, input, other)
    if common in ("f16", "bf16"):
        r.reject("nextafter_of_half", dtype=TORCH_NAMES[common])
    return elementwise(r, "nextafter", input, other)


@serves("torch.frexp", "Tensor.frexp")
def frexp(r: Reader, input: AbstractValue) -> AbstractValue:
    exponent = cast_to(r, elementwise(r, "frexp.exponent", input), "i32")
    return TupleValue([elementwise(r, "frexp.mantissa", input), exponent], torch.return_types.frexp)


@serves("torch.round", "Tensor.round", "torch.special.round")
def round_(r: Reader, input: AbstractValue, *, decimals: AbstractValue = Known(0)) -> AbstractValue:
    places = require_known(r, decimals, "decimals")
    if places == 0 or tensor_type(input).dtype not in FLOATING:
        return elementwise(r, "round", input)
    scale = Known(10.0 ** abs(places))
    up, down = ("mul", "div") if places > 0 else ("div", "mul")
    return elementwise(r, down, elementwise(r, "round", elementwise(r, up, input, scale)), scale)


@serves("Tensor.where")
def where_of(r: Reader, self: AbstractValue, condition: AbstractValue, other: AbstractValue) -> AbstractValue:
    return where(r, condition, self, other)


@serves("torch.where", "aten.where")
def where(
    r: Reader,
    condition: AbstractValue,
    *args: AbstractValue,
    input: AbstractValue | None = None,
    other: AbstractValue | None = None,
) -> AbstractValue:
    values = [*args, *(av for av in (input, other) if av is not None)]
    if not values:
        return nonzero(r, condition, as_tuple=Known(True))
    if len(values) != 2:
        r.emit.raise_error("TypeError", "where() takes one tensor, or three")
    if is_tensor(condition) and tensor_type(condition).dtype == "u8":  # torch still takes it, with a warning
        condition = cast_to(r, condition, "bool")
    common = dtype_of_result(r, *values)
    return apply_op(r, "where", condition, *(_branch(r, v, common) for v in values), dtype=common)


def _branch(r: Reader, value: AbstractValue, dtype: str) -> AbstractValue:
    """Return an operand of where() in a dtype.

    Numbers beyond a half type become infinite, as in a tensor.
    """
    if is_tensor(value) or is_complex_number(value) or dtype in ("f16", "bf16", "bool"):
        return cast_to(r, value, dtype)
    return converted(r, value, dtype)


@serves("torch.clamp", "Tensor.clamp", "torch.clip", "Tensor.clip")
def clamp(r: Reader, input: AbstractValue, min: AbstractValue = _NONE, max: AbstractValue = _NONE) -> AbstractValue:
    bounds = [(n, b) for n, b in (("clamp.min", min), ("clamp.max", max)) if not is_none(b)]
    if not bounds:
        r.emit.raise_error("RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = dtype_of_result(r, input, *(b for _, b in bounds))
    numbers = [b for _, b in bounds if not is_tensor(b)]
    if dtype != "bool":
        _check_bounds(r, numbers, dtype)
    result: AbstractValue = cast_to(r, input, dtype)
    for name, bound in bounds:
        result = elementwise(r, name, result, bound, dtype=dtype)
    return result


def _check_bounds(r: Reader, bounds: Sequence[AbstractValue], dtype: str) -> None:
    """Check that a dtype holds the bounds of clamp. Eager checks neither of two if one is NaN, which gives NaN."""

    def check() -> AbstractValue:
        for bound in bounds:
            converted(r, bound, dtype)
        return Known(None)

    are_numbers: AbstractValue = Known(True)
    for bound in bounds:
        if len(bounds) == 2 and (is_known(bound) or type_of(bound) == FLOAT):
            are_numbers = logical_and(r, are_numbers, r.compare("Eq", bound, bound))
    r.choose(are_numbers, check, lambda: Known(None))


@serves("torch.clamp_min", "Tensor.clamp_min")
def clamp_min(r: Reader, input: AbstractValue, min: AbstractValue) -> AbstractValue:
    return clamp(r, input, min=min)


@serves("torch.clamp_max", "Tensor.clamp_max")
def clamp_max(r: Reader, input: AbstractValue, max: AbstractValue) -> AbstractValue:
    return clamp(r, input, max=max)


def _cubed(r: Reader, input: AbstractValue) -> AbstractValue:
    return elementwise(r, "mul", elementwise(r, "mul", input, input), input)


def _ones(r: Reader, input: AbstractValue) -> AbstractValue:
    return apply_op(r, "fill", input, Known(1))


_ROOTS = ("bf16", "f32", "f64", *COMPLEX)  # dtypes in which eager computes x ** 0.5 as a root
_POWERS: dict[float, tuple[Collection[str], Callable[[Reader, AbstractValue], AbstractValue]]] = {
    0: (set(DTYPES) - FLOATING, _ones),  # of a float, the result requires grad, and its gradient is zeros
    1: (DTYPES, lambda r, x: apply_op(r, "clone", x)),
    2: (INTEGRAL | INEXACT, lambda r, x: elementwise(r, "mul", x, x)),
    3: (INEXACT, _cubed),
    0.5: (_ROOTS, lambda r, x: elementwise(r, "sqrt", x)),
    -0.5: (_ROOTS, lambda r, x: elementwise(r, "rsqrt", x)),
    -1: (INEXACT, lambda r, x: elementwise(r, "reciprocal", x)),
    -2: (INEXACT, lambda r, x: elementwise(r, "reciprocal", elementwise(r, "mul", x, x))),
}


@serves("torch.pow", "Tensor.pow")
def pow(r: Reader, input: AbstractValue, exponent: AbstractValue) -> AbstractValue:
    """Return a power.

    As in eager, small integer exponents are products and 0.5 is a root: infinities and -0 differ.
    """
    if not is_tensor(input) or is_tensor(exponent):
        return elementwise(r, "pow", input, exponent)
    dtype = dtype_of_result(r, input, exponent)
    if dtype in INTEGRAL or dtype in ("f16", "bf16"):
        exponent = converted(r, exponent, dtype)
    if is_known(exponent):
        taken, function = _POWERS.get(exponent.obj, ((), _cubed))
        return function(r, cast_to(r, input, dtype)) if dtype in taken else elementwise(r, "pow", input, exponent)
    if dtype in COMPLEX and type_of(exponent) != COMPLEX_NUMBER:
        nothing = r.compare("Eq", exponent, Known(0))
        return r.choose(
            nothing, lambda: _ones(r, cast_to(r, input, dtype)), lambda: elementwise(r, "pow", input, exponent)
        )
    if dtype in _ROOTS and type_of(exponent) == FLOAT:
        return apply_op(r, "pow.number", cast_to(r, input, dtype), exponent)
    return elementwise(r, "pow", input, exponent)


@serves("torch.square", "Tensor.square")
def square(r: Reader, input: AbstractValue) -> AbstractValue:
    return pow(r, input, Known(2))
