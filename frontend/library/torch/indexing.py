"""Gather, scatter, sorting, scans and index_put."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.library.torch.creation import as_dtype
from scriptc.frontend.library.torch.indexing_decomposed import (
    in_strides_of,
    masked_fill,
    masked_scatter,
    refuse_more_dims,
)
from scriptc.frontend.library.torch.memory import axis
from scriptc.frontend.library.torch.placing_decomposed import check_scattered
from scriptc.frontend.library.torch.reductions import axes
from scriptc.frontend.library.torch.shapes_decomposed import tril, triu
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.indexing import indexed, is_bool_index, is_mask, put_by_index
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op, make_tuple
from scriptc.frontend.operations.scalars import converted, new_filled
from scriptc.frontend.operations.sizes import shape_of_tensor, shape_tuple, size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import is_none, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.dtypes import COMPLEX, INEXACT, INTEGRAL
from scriptc.ir.ops.views import OWN_OFFSET

_NONE, _FALSE, _TRUE, _ZERO, _LAST = Known(None), Known(False), Known(True), Known(0), Known(-1)


@serves("torch.gather", "Tensor.gather")
def gather(
    r: Reader, input: AbstractValue, dim: AbstractValue, index: AbstractValue, *, sparse_grad: AbstractValue = _FALSE
) -> AbstractValue:
    return apply_op(r, "gather", input, index, dim=axis(r, input, dim))


@serves("torch.index_select", "Tensor.index_select")
def index_select(r: Reader, input: AbstractValue, dim: AbstractValue, index: AbstractValue) -> AbstractValue:
    d = axis(r, input, dim)
    if tensor_type(index).dtype not in ("i32", "i64"):
        r.emit.raise_error("RuntimeError", "index_select(): Expected dtype int32 or int64 for index")
    return apply_op(r, "index_select", input, index, dim=d)


def scatter_into(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue,
    index: AbstractValue,
    src: AbstractValue,
    reduce: str,
    include_self: bool = True,
) -> AbstractValue:
    """Write `src`, a tensor or a number, into `input` at the indices along a dim."""
    d = axis(r, input, dim)
    if is_tensor(src) and tensor_type(src).dtype != tensor_type(input).dtype:
        r.emit.raise_error("RuntimeError", "scatter(): Expected self.dtype to be equal to src.dtype")
    if tensor_type(input).dtype in COMPLEX and not (reduce == "set" or reduce == "add" and include_self):
        r.reject("complex_scatter", how=reduce)
    if is_none(src):
        r.emit.raise_error("TypeError", "received an invalid combination of arguments: None in place of a number")
    if not is_tensor(src):
        dtype = tensor_type(input).dtype
        filled = new_filled(r, (), converted(r, src, dtype), dtype)
        src = apply_op(r, "expand", filled, shape_tuple(r, tuple(r.iterate(shape_of_tensor(r, index)))))
    if len({max(tensor_type(t).rank, 1) for t in (input, index, src)}) > 1:
        r.call(Known(check_scattered), [input, index, src], {})
    return apply_op(r, "scatter", input, index, src, dim=d, reduce=reduce, include_self=include_self)


@serves("torch.scatter", "Tensor.scatter")
def scatter(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue,
    index: AbstractValue,
    src: AbstractValue = _NONE,
    *,
    value: AbstractValue = _NONE,
    reduce: AbstractValue = _NONE,
) -> AbstractValue:
    how = require_known(r, reduce, "reduce")
    name = {None: "set", "add": "add", "multiply": "prod"}.get(how)
    if name is None:
        r.emit.raise_error("RuntimeError", "reduce argument must be either add or multiply.")
    given = value if is_none(src) else src
    return scatter_into(r, input, dim, index, given, name)


@serves("torch.scatter_add", "Tensor.scatter_add")
def scatter_add(
    r: Reader, input: AbstractValue, dim: AbstractValue, index: AbstractValue, src: AbstractValue
) -> AbstractValue:
    return scatter_into(r, input, dim, index, src, "add")


@serves("torch.scatter_reduce", "Tensor.scatter_reduce")
def scatter_reduce(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue,
    index: AbstractValue,
    src: AbstractValue,
    reduce: AbstractValue,
    *,
    include_self: AbstractValue = _TRUE,
) -> AbstractValue:
    how = require_known(r, reduce, "reduce")
    name = {"sum": "add", "prod": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}.get(how)
    if name is None:
        r.emit.raise_error("RuntimeError", "reduce argument must be either sum, prod, mean, amax or amin.")
    return scatter_into(r, input, dim, index, src, name, bool(require_known(r, include_self, "include_self")))


def _scan(name: str) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, input: AbstractValue, dim: AbstractValue, *, dtype: AbstractValue = _NONE) -> AbstractValue:
        own = tensor_type(input).dtype
        wanted = as_dtype(r, dtype, own if own in INEXACT else "i64")
        if wanted in COMPLEX and name in ("cumsum", "cumprod"):
            if not tensor_type(input).rank:
                return apply_op(r, "clone", cast_to(r, input, wanted))
            function = complexes.running_sum if name == "cumsum" else complexes.running_product
            return r.call(Known(function), [cast_to(r, input, wanted), Known(axis(r, input, dim))], {})
        return apply_op(r, name, input, dim=axis(r, input, dim), dtype=wanted)


for _name in ("cumsum", "cumprod", "logcumsumexp"):
    _scan(_name)


def picked(r: Reader, input: AbstractValue, dim: int, indices: AbstractValue, cls: type) -> TupleValue:
    """Return the values at the indices, and the indices."""
    return TupleValue([apply_op(r, "gather", input, indices, dim=dim), indices], cls)


def _running_extreme(name: str, largest: bool) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, input: AbstractValue, dim: AbstractValue) -> AbstractValue:
        d = axis(r, input, dim)
        both = [apply_op(r, op, input, dim=d, largest=largest) for op in ("extreme_scan", "arg_scan")]
        return TupleValue(both, getattr(torch.return_types, name))


_running_extreme("cummax", True)
_running_extreme("cummin", False)


@serves("torch.argsort", "Tensor.argsort")
def argsort(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue = _LAST,
    descending: AbstractValue = _FALSE,
    *,
    stable: AbstractValue = _FALSE,
) -> AbstractValue:
    down, in_order = bool(require_known(r, descending, "descending")), bool(require_known(r, stable, "stable"))
    return apply_op(r, "argsort", input, dim=axis(r, input, dim), descending=down, stable=in_order)


@serves("torch.sort", "Tensor.sort")
def sort(
    r: Reader,
    input: AbstractValue,
    dim: AbstractValue = _LAST,
    descending: AbstractValue = _FALSE,
    *,
    stable: AbstractValue = _FALSE,
) -> AbstractValue:
    values, order = picked(
        r, input, axis(r, input, dim), argsort(r, input, dim, descending, stable=stable), tuple
    ).items
    if tensor_type(input).rank > 1:
        values = r.call(Known(in_strides_of), [input, values], {})
    return TupleValue([values, order], torch.return_types.sort)


@serves("torch.topk", "Tensor.topk")
def topk(
    r: Reader,
    input: AbstractValue,
    k: AbstractValue,
    dim: AbstractValue = _LAST,
    largest: AbstractValue = _TRUE,
    sorted: AbstractValue = _TRUE,
) -> AbstractValue:
    d = axis(r, input, dim)
    size = size_av(r, input, d) if tensor_type(input).rank else Known(1)
    check_that(r, r.compare("LtE", k, size), "RuntimeError", "selected index k out of range")
    best_first, in_order = bool(require_known(r, largest, "largest")), bool(require_known(r, sorted, "sorted"))
    order = apply_op(r, "topk", input, k, dim=d, largest=best_first, sorted=in_order)
    return picked(r, input, d, order, torch.return_types.topk)


@serves("torch.kthvalue", "Tensor.kthvalue")
def kthvalue(
    r: Reader, input: AbstractValue, k: AbstractValue, dim: AbstractValue = _LAST, keepdim: AbstractValue = _FALSE
) -> AbstractValue:
    d = axis(r, input, dim)
    if tensor_type(input).rank:
        some = r.compare("Gt", size_av(r, input, d), Known(0))
        check_that(r, some, "IndexError", "kthvalue(): Expected reduction dim to have non-zero size.")
    indices = apply_op(r, "kthvalue", input, k, dim=d)
    values = apply_op(r, "gather", input, indices, dim=d)
    if tensor_type(input).rank and not require_known(r, keepdim, "keepdim"):
        first = [r.emit.const(0)]
        values, indices = (
            RuntimeValue(r.emit.build("select", [materialize(r, v), *first], dim=d)) for v in (values, indices)
        )
    return TupleValue([values, indices], torch.return_types.kthvalue)


@serves("torch.flip", "Tensor.flip")
def flip(r: Reader, input: AbstractValue, *args: AbstractValue, dims: AbstractValue | None = None) -> AbstractValue:
    given = [require_known(r, d, "the dims of flip") for d in (args if dims is None else (dims,))]
    listed = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return apply_op(r, "flip", input, dims=tuple(axis(r, input, Known(d)) for d in listed))


@serves("torch.nonzero", "Tensor.nonzero")
def nonzero(r: Reader, input: AbstractValue, *, as_tuple: AbstractValue = _FALSE) -> AbstractValue:
    if not require_known(r, as_tuple, "as_tuple"):
        return apply_op(r, "nonzero", input)
    line = input if tensor_type(input).rank else apply_op(r, "unsqueeze", input, dim=0)
    places = materialize(r, apply_op(r, "nonzero", line))
    return TupleValue(
        [RuntimeValue(r.emit.build("select", [places, r.emit.const(i)], dim=1)) for i in range(tensor_type(line).rank)]
    )


@serves("torch.diagonal", "Tensor.diagonal")
def diagonal(
    r: Reader,
    input: AbstractValue,
    offset: AbstractValue = _ZERO,
    dim1: AbstractValue = _ZERO,
    dim2: AbstractValue = Known(1),
) -> AbstractValue:
    d1, d2 = axis(r, input, dim1), axis(r, input, dim2)
    return RuntimeValue(r.emit.build("diagonal", [materialize(r, input), integer(r, offset)], dim1=d1, dim2=d2))


@serves("Tensor.unfold")
def unfold(
    r: Reader, self: AbstractValue, dimension: AbstractValue, size: AbstractValue, step: AbstractValue
) -> AbstractValue:
    operands = [materialize(r, self), integer(r, size), integer(r, step)]
    return RuntimeValue(r.emit.build("unfold", operands, dimension=axis(r, self, dimension)))


@serves("torch.as_strided", "Tensor.as_strided")
def as_strided(
    r: Reader, input: AbstractValue, size: AbstractValue, stride: AbstractValue, storage_offset: AbstractValue = _NONE
) -> AbstractValue:
    absent = is_none(storage_offset)
    offset = r.emit.const(OWN_OFFSET) if absent else integer(r, storage_offset)
    sizes, strides = (materialize(r, shape_tuple(r, tuple(r.iterate(s)))) for s in (size, stride))
    return RuntimeValue(r.emit.build("as_strided", [materialize(r, input), sizes, strides, offset]))


@serves("torch.count_nonzero", "Tensor.count_nonzero")
def count_nonzero(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE) -> AbstractValue:
    return apply_op(r, "sum", cast_to(r, input, "bool"), dim=axes(r, input, dim), keepdim=False, dtype="i64")


@serves("torch.index_put", "Tensor.index_put")
def index_put(
    r: Reader, input: AbstractValue, indices: AbstractValue, values: AbstractValue, accumulate: AbstractValue = _FALSE
) -> AbstractValue:
    given = tuple(r.iterate(indices))
    parts = [_in_a_dim(r, part) for part in given]
    adds = bool(require_known(r, accumulate, "accumulate"))
    if any(is_tensor(part) and is_bool_index(part) for part in parts):
        if len(parts) > 1 or adds or tensor_type(values).rank:
            r.reject("mask_without_dims")  # eager fails by an internal assertion, or ignores the mask
        return r.call(Known(torch.masked_fill), [input, *parts, values], {})
    view, picked = indexed(r, input, make_tuple(parts))
    index_rank = max((tensor_type(p).rank for p in given if is_tensor(p)), default=0)
    has_mask = any(is_mask(p) for p in given)
    if not has_mask and tensor_type(values).rank > tensor_type(view).rank - len(picked) + index_rank:
        dims, places = Known(tuple(picked)), TupleValue(list(picked.values()))
        r.call(Known(refuse_more_dims), [view, dims, places, values, Known(index_rank)], {})
    return put_by_index(r, view, picked, values, accumulate=adds)


def _in_a_dim(r: Reader, part: AbstractValue) -> AbstractValue:
    """Return an index without dims as a vector of one, so that indexing copies."""
    if not is_tensor(part) or tensor_type(part).rank or tensor_type(part).dtype not in INTEGRAL - {"u8"}:
        return part
    return apply_op(r, "unsqueeze", part, dim=0)


def _in_new_strides(name: str, function: Any) -> None:
    """Register a function whose result has the strides of a new tensor, as eager's has."""

    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
        result = r.call(Known(function), args, kwargs)
        return apply_op(r, "plain", result) if tensor_type(result).rank > 1 else result


for _function in (masked_fill, masked_scatter, tril, triu):
    _in_new_strides(_function.__name__, _function)
