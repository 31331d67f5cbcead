"""Pointwise functions whose arguments say more than their operands: alpha, rounding_mode, bounds."""

from __future__ import annotations

from collections.abc import Callable

import torch

from scriptc.frontend.library import serves
from scriptc.frontend.library.indexing import nonzero
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known, Tup, is_tensor, tensor_type
from scriptc.ir.dtypes import FLOATING, INEXACT, TORCH_NAMES

_ONE = Known(1)
_NONE = Known(None)


def _scaled(r: Reader, other: AV, alpha: AV) -> AV:
    return other if isinstance(alpha, Known) and alpha.obj == 1 else r.binary("Mult", other, alpha)


@serves("torch.add", "Tensor.add", "Tensor.__add__", "Tensor.__radd__")
def add(r: Reader, input: AV, other: AV, *, alpha: AV = _ONE) -> AV:
    return r.elementwise("add", input, _scaled(r, other, alpha))


@serves("torch.sub", "Tensor.sub", "torch.subtract", "Tensor.subtract", "Tensor.__sub__")
def sub(r: Reader, input: AV, other: AV, *, alpha: AV = _ONE) -> AV:
    return r.elementwise("sub", input, _scaled(r, other, alpha))


@serves("torch.rsub", "Tensor.rsub")
def rsub(r: Reader, input: AV, other: AV, *, alpha: AV = _ONE) -> AV:
    return r.elementwise("sub", other, _scaled(r, input, alpha))


@serves("torch.div", "Tensor.div", "torch.divide", "Tensor.divide", "torch.true_divide", "Tensor.true_divide")
def div(r: Reader, input: AV, other: AV, *, rounding_mode: AV = _NONE) -> AV:
    mode = r.known(rounding_mode, "rounding_mode")
    if mode is None:
        return r.elementwise("div", input, other)
    if mode not in ("floor", "trunc"):
        r.raises_at_run_time(
            "RuntimeError", f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )
    return r.elementwise("floor_div" if mode == "floor" else "trunc_div", input, other)


@serves("torch.floor_divide", "Tensor.floor_divide")
def floor_divide(r: Reader, input: AV, other: AV) -> AV:
    return r.elementwise("floor_div", input, other)


@serves("Tensor.__rdiv__", "Tensor.__rtruediv__")
def rdiv(r: Reader, input: AV, other: AV) -> AV:
    return r.elementwise("mul", r.elementwise("reciprocal", input), other)


def _reflected(method: str, op: str) -> None:
    @serves(f"Tensor.{method}")
    def handler(r: Reader, input: AV, other: AV) -> AV:
        return r.binary(op, other, input)


for _method, _op in (
    ("__rsub__", "Sub"), ("__rmod__", "Mod"), ("__rpow__", "Pow"), ("__rfloordiv__", "FloorDiv"), ("__rmul__", "Mult"),
    ("__rmatmul__", "MatMult"), ("__rand__", "BitAnd"), ("__ror__", "BitOr"), ("__rxor__", "BitXor"),
):  # fmt: skip
    _reflected(_method, _op)


@serves("torch.nextafter", "Tensor.nextafter")
def nextafter(r: Reader, input: AV, other: AV) -> AV:
    common = r.result_dtype(input, other)
    if common in ("f16", "bf16"):
        r.fail("nextafter_of_half", dtype=TORCH_NAMES[common])
    return r.elementwise("nextafter", input, other)


@serves("torch.frexp", "Tensor.frexp")
def frexp(r: Reader, input: AV) -> AV:
    exponent = r.cast(r.elementwise("frexp.exponent", input), "i32")
    return Tup([r.elementwise("frexp.mantissa", input), exponent], torch.return_types.frexp)


@serves("torch.round", "Tensor.round")
def round_(r: Reader, input: AV, *, decimals: AV = Known(0)) -> AV:  # noqa: B008
    places = r.known(decimals, "decimals")
    if places == 0 or tensor_type(input).dtype not in FLOATING:
        return r.elementwise("round", input)
    scale = Known(10.0 ** abs(places))
    up, down = ("mul", "div") if places > 0 else ("div", "mul")
    return r.elementwise(down, r.elementwise("round", r.elementwise(up, input, scale)), scale)


@serves("torch.where", "Tensor.where")
def where(r: Reader, condition: AV, *values: AV) -> AV:
    if is_tensor(condition) and tensor_type(condition).dtype != "bool" and len(values) == 2 and is_tensor(values[0]):
        condition, values = values[0], (condition, values[1])  # x.where(condition, other)
    if not values:
        return nonzero(r, condition, as_tuple=Known(True))
    if len(values) != 2:
        r.raises_at_run_time("TypeError", "where() takes one tensor, or three")
    common = r.result_dtype(*values)
    return r.op("where", condition, *(r.cast(v, common) for v in values), dtype=common)


@serves("torch.clamp", "Tensor.clamp", "torch.clip", "Tensor.clip")
def clamp(r: Reader, input: AV, min: AV = _NONE, max: AV = _NONE) -> AV:
    bounds = [(n, b) for n, b in (("maximum", min), ("minimum", max)) if not (isinstance(b, Known) and b.obj is None)]
    if not bounds:
        r.raises_at_run_time("ValueError", "torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = r.result_dtype(input, *(b for _, b in bounds))
    result: AV = r.cast(input, dtype)
    for name, bound in bounds:
        result = r.elementwise(name, result, bound, dtype=dtype)
    return result


@serves("torch.clamp_min", "Tensor.clamp_min")
def clamp_min(r: Reader, input: AV, min: AV) -> AV:
    return clamp(r, input, min=min)


@serves("torch.clamp_max", "Tensor.clamp_max")
def clamp_max(r: Reader, input: AV, max: AV) -> AV:
    return clamp(r, input, max=max)


def _cubed(r: Reader, input: AV) -> AV:
    return r.elementwise("mul", r.elementwise("mul", input, input), input)


_POWERS: dict[float, Callable[[Reader, AV], AV]] = {
    3: _cubed,
    0.5: lambda r, x: r.elementwise("sqrt", x),
    -0.5: lambda r, x: r.elementwise("rsqrt", x),
    -1: lambda r, x: r.elementwise("reciprocal", x),
    -2: lambda r, x: r.elementwise("reciprocal", r.elementwise("mul", x, x)),
}


@serves("torch.pow", "Tensor.pow")
def pow(r: Reader, input: AV, exponent: AV) -> AV:
    """Small whole exponents are products, and halves roots, as in eager: which differs at infinities and -0."""
    if isinstance(exponent, Known) and is_tensor(input):
        if exponent.obj == 2 and tensor_type(input).dtype != "bool":
            return r.elementwise("mul", input, input)
        if exponent.obj in _POWERS and tensor_type(input).dtype in INEXACT:
            return _POWERS[exponent.obj](r, input)
    return r.elementwise("pow", input, exponent)


@serves("torch.square", "Tensor.square")
def square(r: Reader, input: AV) -> AV:
    return pow(r, input, Known(2))
