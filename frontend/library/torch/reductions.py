"""Reductions: sum, prod, mean, extremes, and argmax and argmin."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.library.torch import reductions_decomposed as reductions
from scriptc.frontend.library.torch.creation import as_dtype
from scriptc.frontend.library.torch.memory import axis
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import is_none, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.dtypes import COMPLEX, INEXACT

_NONE, _FALSE = Known(None), Known(False)


def axes(r: Reader, input: AbstractValue, dim: AbstractValue) -> tuple[int, ...]:
    """Return the reduced dims counted from the front; None and () mean all dims."""
    rank = tensor_type(input).rank
    obj = require_known(r, dim, "the dims of a reduction")
    dims = (
        tuple(axis(r, input, Known(d)) for d in (obj if isinstance(obj, (tuple, list)) else (obj,)))
        if obj is not None
        else ()
    )
    if len(set(dims)) != len(dims):
        r.emit.raise_error("RuntimeError", f"dim {dims[0]} appears multiple times in the list of dims")
    return (dims if rank else ()) or tuple(range(rank))


def _complex(
    r: Reader, name: str, input: AbstractValue, dim: AbstractValue, keepdim: AbstractValue, dtype: str
) -> AbstractValue:
    """Reduce a complex tensor: sums and means by its parts, products one dim after another."""
    dims, keep = axes(r, input, dim), Known(bool(require_known(r, keepdim, "keepdim")))
    x = cast_to(r, input, dtype)
    if name != "prod":
        if not tensor_type(x).rank:
            return apply_op(r, "clone", x)
        function = complexes.total if name == "sum" else complexes.average
        return r.call(Known(function), [x, Known(dims), keep], {})
    if not dims:
        return apply_op(r, "clone", x)
    for d in sorted(dims, reverse=True):
        x = r.call(Known(complexes.whole_product), [x, Known(d), keep], {})
    return x


def reduce(
    r: Reader, name: str, input: AbstractValue, dim: AbstractValue, keepdim: AbstractValue, dtype: str, **more: Any
) -> AbstractValue:
    if dtype in COMPLEX and name in ("sum", "mean", "prod"):
        return _complex(r, name, input, dim, keepdim, dtype)
    return apply_op(
        r, name, input, dim=axes(r, input, dim), keepdim=bool(require_known(r, keepdim, "keepdim")), dtype=dtype, **more
    )


@serves("torch.sum", "Tensor.sum")
def sum(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue = _NONE,
    keepdim: AbstractValue = _FALSE,
    *,
    dtype: AbstractValue = _NONE,
) -> AbstractValue:
    own = tensor_type(input).dtype
    return reduce(r, "sum", input, dim, keepdim, as_dtype(r, dtype, own if own in INEXACT else "i64"))


@serves(reductions.sum_of_squares)
def sum_of_squares(r: Reader, input: AbstractValue, dim: AbstractValue, keepdim: AbstractValue) -> AbstractValue:
    return reduce(r, "sum_squares", input, dim, keepdim, tensor_type(input).dtype)


@serves("torch.mean", "Tensor.mean")
def mean(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue = _NONE,
    keepdim: AbstractValue = _FALSE,
    *,
    dtype: AbstractValue = _NONE,
) -> AbstractValue:
    name = as_dtype(r, dtype, tensor_type(input).dtype)
    if name not in INEXACT:
        r.emit.raise_error(
            "RuntimeError",
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {'Long' if name == 'i64' else name}",
        )
    return reduce(r, "mean", input, dim, keepdim, name)


@serves("torch.prod", "Tensor.prod")
def prod(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue = _NONE,
    keepdim: AbstractValue = _FALSE,
    *,
    dtype: AbstractValue = _NONE,
) -> AbstractValue:
    own = tensor_type(input).dtype
    return reduce(r, "prod", input, dim, keepdim, as_dtype(r, dtype, own if own in INEXACT else "i64"))


def _along_dims(r: Reader, name: str, input: AbstractValue, dim: AbstractValue, keepdim: AbstractValue) -> AbstractValue:
    """Return the extremes along dims, which are all dims where `dim` is None or ()."""
    if require_known(r, dim, "the dims of a reduction") in (None, (), []):
        _check_some_elements(r, name, input)
    return reduce(r, name, input, dim, keepdim, tensor_type(input).dtype)


def _check_some_elements(r: Reader, name: str, input: AbstractValue) -> None:
    """Raise eager's error for an extreme over all dims of a tensor without elements."""
    check_that(
        r,
        r.compare("NotEq", RuntimeValue(r.emit.build("numel", [materialize(r, input)])), Known(0)),
        "RuntimeError",
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
        "Specify the reduction dim with the 'dim' argument.",
    )


@serves("torch.amax", "Tensor.amax")
def amax(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE, keepdim: AbstractValue = _FALSE) -> AbstractValue:
    return _along_dims(r, "amax", input, dim, keepdim)


@serves("torch.amin", "Tensor.amin")
def amin(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE, keepdim: AbstractValue = _FALSE) -> AbstractValue:
    return _along_dims(r, "amin", input, dim, keepdim)


@serves("torch.all", "Tensor.all")
def all(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE, keepdim: AbstractValue = _FALSE) -> AbstractValue:
    return _of_truths(r, "all", input, dim, keepdim)


@serves("torch.any", "Tensor.any")
def any(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE, keepdim: AbstractValue = _FALSE) -> AbstractValue:
    return _of_truths(r, "any", input, dim, keepdim)


def _of_truths(r: Reader, name: str, input: AbstractValue, dim: AbstractValue, keepdim: AbstractValue) -> AbstractValue:
    """Return all() or any() over dims.

    An empty list means no dims here, and all dims in other reductions.
    """
    dtype = "u8" if tensor_type(input).dtype == "u8" else "bool"
    if require_known(r, dim, "the dims of a reduction") in ((), []):
        return cast_to(r, elementwise(r, "ne", input, Known(0)), dtype)
    return reduce(r, name, input, dim, keepdim, dtype)


def _arg(name: str) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(
        r: Reader, input: AbstractValue, dim: AbstractValue = _NONE, keepdim: AbstractValue = _FALSE
    ) -> AbstractValue:
        along = None if require_known(r, dim, "dim") is None else axis(r, input, dim)
        return apply_op(r, name, input, dim=along, keepdim=bool(require_known(r, keepdim, "keepdim")))


def _extreme(name: str) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(
        r: Reader,
        input: AbstractValue,
        other: AbstractValue = _NONE,
        keepdim: AbstractValue = _FALSE,
        *,
        dim: AbstractValue = _NONE,
    ) -> AbstractValue:
        """Return max(x), max(x, dim) with indices, or max(a, b)."""
        along = dim if is_none(other) else other
        if is_none(along):
            _check_some_elements(r, name, input)
            return reduce(r, f"a{name}", input, _NONE, _FALSE, tensor_type(input).dtype, equal_nan=True)
        if is_tensor(along):
            return elementwise(r, f"{name}imum", input, along)
        keep = bool(require_known(r, keepdim, "keepdim"))
        values = reduce(r, f"a{name}", input, along, keepdim, tensor_type(input).dtype, first=True)
        numbers = cast_to(r, input, "u8") if tensor_type(input).dtype == "bool" else input
        indices = apply_op(r, f"arg{name}", numbers, dim=axis(r, input, along), keepdim=keep)
        return TupleValue([values, indices], getattr(torch.return_types, name))


for _name in ("max", "min"):
    _arg(f"arg{_name}")
    _extreme(_name)
