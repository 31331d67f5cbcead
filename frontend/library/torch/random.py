"""Random numbers of torch's default generator of the CPU."""

from __future__ import annotations

import math

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import random_decomposed as random
from scriptc.frontend.library.torch.complexes import view_as_real
from scriptc.frontend.library.torch.creation import as_dtype, full_like, size_items
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, logical_and, to_float
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.options import options
from scriptc.frontend.operations.sizes import shape_tuple
from scriptc.frontend.operations.writes import write
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_none, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.dtypes import COMPLEX, FLOATING

_NONE, _ZERO, _ONE = Known(None), Known(0), Known(1)


def _fill(r: Reader, dst: AbstractValue, kind: str, a: AbstractValue, b: AbstractValue = _ZERO) -> AbstractValue:
    if kind in ("uniform", "normal") and tensor_type(dst).dtype in COMPLEX:
        return _fill_complex(r, dst, kind, a, b)
    if kind != "bernoulli" and tensor_type(dst).dtype not in FLOATING:
        r.reject("random_of_dtype", dtype=tensor_type(dst).dtype)
    numbers = [to_float(r, materialize(r, x)) for x in (a, b)]
    r.emit.effect("random.fill", [materialize(r, dst), *numbers], kind=kind)
    return dst


def _fill_complex(r: Reader, dst: AbstractValue, kind: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Fill the real and imaginary parts, each with half of the variance of normal numbers."""
    _fill(r, view_as_real(r, dst), kind, a, r.binary("Div", b, Known(math.sqrt(2))) if kind == "normal" else b)
    return dst


def _empty(r: Reader, size: list[AbstractValue], dtype: str) -> AbstractValue:
    return apply_op(r, "empty", shape_tuple(r, tuple(size)), dtype=dtype)


def _made(name: str, kind: str, a: AbstractValue, b: AbstractValue) -> None:
    @serves(f"torch.{name}")
    def plain(r: Reader, *size: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue) -> AbstractValue:
        named = (kwargs.pop("size"),) if "size" in kwargs else size
        options(r, kwargs)
        return _fill(r, _empty(r, size_items(r, named), as_dtype(r, dtype, r.environment.default_dtype)), kind, a, b)

    @serves(f"torch.{name}_like")
    def like(
        r: Reader, input: AbstractValue, *, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
    ) -> AbstractValue:
        return _fill(r, full_like(r, input, _ZERO, dtype, **kwargs), kind, a, b)


_made("rand", "uniform", _ZERO, _ONE)
_made("randn", "normal", _ZERO, _ONE)


# ---- in place ----
@serves("Tensor.uniform_")
def uniform_(
    r: Reader,
    self: AbstractValue,
    low: AbstractValue = _ZERO,
    high: AbstractValue = _ONE,
    *,
    generator: AbstractValue = _NONE,
    **bounds: AbstractValue,
) -> AbstractValue:
    options(r, {"generator": generator})
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    check_that(
        r, r.compare("LtE", low, high), "RuntimeError", "uniform_ expects to return a [from, to) range, but from > to"
    )
    return _fill(r, self, "uniform", low, high)


@serves("Tensor.normal_")
def normal_(
    r: Reader,
    self: AbstractValue,
    mean: AbstractValue = _ZERO,
    std: AbstractValue = _ONE,
    *,
    generator: AbstractValue = _NONE,
) -> AbstractValue:
    options(r, {"generator": generator})
    check_that(r, r.compare("GtE", std, _ZERO), "RuntimeError", "normal expects std >= 0.0")
    return _fill(r, self, "normal", mean, std)


@serves("Tensor.exponential_")
def exponential_(
    r: Reader, self: AbstractValue, lambd: AbstractValue = _ONE, *, generator: AbstractValue = _NONE
) -> AbstractValue:
    options(r, {"generator": generator})
    check_that(r, r.compare("Gt", lambd, _ZERO), "RuntimeError", "exponential_ expects lambda > 0.0")
    return _fill(r, self, "exponential", lambd)


@serves("Tensor.bernoulli_")
def bernoulli_(
    r: Reader, self: AbstractValue, p: AbstractValue = Known(0.5), *, generator: AbstractValue = _NONE
) -> AbstractValue:
    options(r, {"generator": generator})
    if is_tensor(p):
        r.emit.effect("random.bernoulli", [materialize(r, self), materialize(r, p)])
        return self
    inside = logical_and(r, r.compare("GtE", p, _ZERO), r.compare("LtE", p, _ONE))
    check_that(r, inside, "RuntimeError", "bernoulli_ expects p to be in [0, 1]")
    return _fill(r, self, "bernoulli", p)


@serves("Tensor.random_")
def random_(r: Reader, self: AbstractValue, *bounds: AbstractValue, generator: AbstractValue = _NONE) -> AbstractValue:
    options(r, {"generator": generator})
    if not bounds:
        r.reject("random_without_bounds")
    low, high = (_ZERO, *bounds)[-2:]
    message = "random_ expects 'from' to be less than 'to'"
    check_that(r, r.compare("Lt", low, high), "RuntimeError", message)
    r.emit.effect("random.ints", [materialize(r, self), integer(r, low), integer(r, high)])
    return self


# ---- new tensors ----
@serves("torch.randint")
def randint(r: Reader, *args: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue) -> AbstractValue:
    named = [kwargs.pop(name) for name in ("low", "high", "size") if name in kwargs]
    options(r, kwargs)
    *bounds, size = [*args, *named]
    return random_(r, _empty(r, r.iterate(size), as_dtype(r, dtype, "i64")), *bounds)


@serves("torch.randint_like")
def randint_like(
    r: Reader, input: AbstractValue, *bounds: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    named = [kwargs.pop(name) for name in ("low", "high") if name in kwargs]
    return random_(r, full_like(r, input, _ZERO, dtype, **kwargs), *bounds, *named)


@serves("torch.randperm")
def randperm(r: Reader, n: AbstractValue, *, dtype: AbstractValue = _NONE, **kwargs: AbstractValue) -> AbstractValue:
    options(r, kwargs)
    made = _empty(r, [n], "i64")
    r.emit.effect("random.permute", [materialize(r, made)])
    return cast_to(r, made, as_dtype(r, dtype, "i64"))


@serves("torch.bernoulli", "Tensor.bernoulli")
def bernoulli(
    r: Reader, input: AbstractValue, p: AbstractValue = _NONE, *, generator: AbstractValue = _NONE
) -> AbstractValue:
    drawn = full_like(r, input, _ZERO)
    return bernoulli_(r, drawn, input if is_none(p) else p, generator=generator)


@serves("torch.normal")
def normal(
    r: Reader,
    mean: AbstractValue,
    std: AbstractValue = _ONE,
    size: AbstractValue = _NONE,
    *,
    dtype: AbstractValue = _NONE,
    generator: AbstractValue = _NONE,
) -> AbstractValue:
    """Return standard normal numbers times `std` plus `mean`."""
    options(r, {"generator": generator})
    if is_tensor(std) and tensor_type(std).dtype in COMPLEX:
        r.reject("random_of_dtype", dtype=tensor_type(std).dtype)
    if not is_tensor(mean) and not is_tensor(std):
        return normal_(r, _empty(r, r.iterate(size), as_dtype(r, dtype, r.environment.default_dtype)), mean, std)
    if not is_tensor(mean):
        shaped: AbstractValue = std
    elif not is_tensor(std):
        return write(r, drawn := normal_(r, full_like(r, mean, _ZERO), _ZERO, std), elementwise(r, "add", drawn, mean))
    else:
        shaped = elementwise(r, "add", mean, std)
    drawn = normal_(r, full_like(r, shaped, _ZERO))
    return elementwise(r, "add", elementwise(r, "mul", drawn, std), mean)


@serves(random.slopes_of)
def slopes_of(r: Reader, x: AbstractValue, lower: AbstractValue, upper: AbstractValue) -> AbstractValue:
    whole = apply_op(r, "contiguous", x)
    made = full_like(r, whole, _ONE)
    bounds = [to_float(r, materialize(r, b)) for b in (lower, upper)]
    r.emit.effect("random.slopes", [materialize(r, made), materialize(r, whole), *bounds])
    return made


@serves(random.places_in)
def places_in(r: Reader, sums: AbstractValue, rows: AbstractValue, count: AbstractValue) -> AbstractValue:
    size = [count] if tensor_type(sums).rank == 1 else [rows, count]
    made = _empty(r, size, "i64")
    r.emit.effect("random.places", [materialize(r, made), materialize(r, apply_op(r, "contiguous", sums))])
    return made
