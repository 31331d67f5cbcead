"""Gather, scatter, sorting and scans: rows whose arguments have defaults or other names in torch."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.decompositions import complexes
from scriptc.frontend.decompositions.indexing import in_strides_of, masked_fill, masked_scatter
from scriptc.frontend.decompositions.shapes import tril, triu
from scriptc.frontend.library import serves
from scriptc.frontend.library.creation import as_dtype
from scriptc.frontend.library.memory import axis
from scriptc.frontend.library.reductions import axes
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Dyn, Known, Tup, is_tensor, tensor_type
from scriptc.ir.dtypes import COMPLEX, INEXACT, INTEGRAL
from scriptc.ir.ops.views import OWN_OFFSET

_NONE, _FALSE, _TRUE, _ZERO, _LAST = Known(None), Known(False), Known(True), Known(0), Known(-1)


@serves("torch.gather", "Tensor.gather")
def gather(r: Reader, input: AV, dim: AV, index: AV, *, sparse_grad: AV = _FALSE) -> AV:
    return r.op("gather", input, index, dim=axis(r, input, dim))


@serves("torch.index_select", "Tensor.index_select")
def index_select(r: Reader, input: AV, dim: AV, index: AV) -> AV:
    return r.op("index_select", input, index, dim=axis(r, input, dim))


def scatter_into(r: Reader, input: AV, dim: AV, index: AV, src: AV, reduce: str, include_self: bool = True) -> AV:
    """src: a tensor, or a number for all places."""
    if tensor_type(input).dtype in COMPLEX and not (reduce == "set" or reduce == "add" and include_self):
        r.fail("complex_scatter", how=reduce)
    if not is_tensor(src):
        dtype = tensor_type(input).dtype
        filled = r.new_filled((), r.converted(src, dtype), dtype)
        src = r.op("expand", filled, r.shape_tuple(tuple(r.iterate(r.shape(index)))))
    return r.op("scatter", input, index, src, dim=axis(r, input, dim), reduce=reduce, include_self=include_self)


@serves("torch.scatter", "Tensor.scatter")
def scatter(r: Reader, input: AV, dim: AV, index: AV, src: AV = _NONE, *, value: AV = _NONE, reduce: AV = _NONE) -> AV:
    how = r.known(reduce, "reduce")
    name = {None: "set", "add": "add", "multiply": "prod"}.get(how)
    if name is None:
        r.raises_at_run_time("RuntimeError", "reduce argument must be either add or multiply.")
    given = value if isinstance(src, Known) and src.obj is None else src
    return scatter_into(r, input, dim, index, given, name)


@serves("torch.scatter_add", "Tensor.scatter_add")
def scatter_add(r: Reader, input: AV, dim: AV, index: AV, src: AV) -> AV:
    return scatter_into(r, input, dim, index, src, "add")


@serves("torch.scatter_reduce", "Tensor.scatter_reduce")
def scatter_reduce(r: Reader, input: AV, dim: AV, index: AV, src: AV, reduce: AV, *, include_self: AV = _TRUE) -> AV:
    how = r.known(reduce, "reduce")
    name = {"sum": "add", "prod": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}.get(how)
    if name is None:
        r.raises_at_run_time("RuntimeError", "reduce argument must be either sum, prod, mean, amax or amin.")
    return scatter_into(r, input, dim, index, src, name, bool(r.known(include_self, "include_self")))


def _scan(name: str) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, input: AV, dim: AV, *, dtype: AV = _NONE) -> AV:
        own = tensor_type(input).dtype
        wanted = as_dtype(r, dtype, own if own in INEXACT else "i64")
        if wanted in COMPLEX and name in ("cumsum", "cumprod"):
            if not tensor_type(input).rank:
                return r.op("clone", r.cast(input, wanted))
            function = complexes.running_sum if name == "cumsum" else complexes.running_product
            return r.call(Known(function), [r.cast(input, wanted), Known(axis(r, input, dim))], {})
        return r.op(name, input, dim=axis(r, input, dim), dtype=wanted)


for _name in ("cumsum", "cumprod", "logcumsumexp"):
    _scan(_name)


def picked(r: Reader, input: AV, dim: int, indices: AV, cls: type) -> Tup:
    """(values at indices, indices)"""
    return Tup([r.op("gather", input, indices, dim=dim), indices], cls)


def _running_extreme(name: str, largest: bool) -> None:
    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, input: AV, dim: AV) -> AV:
        d = axis(r, input, dim)
        both = [r.op(op, input, dim=d, largest=largest) for op in ("extreme_scan", "arg_scan")]
        return Tup(both, getattr(torch.return_types, name))


_running_extreme("cummax", True)
_running_extreme("cummin", False)


@serves("torch.argsort", "Tensor.argsort")
def argsort(r: Reader, input: AV, dim: AV = _LAST, descending: AV = _FALSE, *, stable: AV = _FALSE) -> AV:
    down, in_order = bool(r.known(descending, "descending")), bool(r.known(stable, "stable"))
    return r.op("argsort", input, dim=axis(r, input, dim), descending=down, stable=in_order)


@serves("torch.sort", "Tensor.sort")
def sort(r: Reader, input: AV, dim: AV = _LAST, descending: AV = _FALSE, *, stable: AV = _FALSE) -> AV:
    values, order = picked(r, input, axis(r, input, dim), argsort(r, input, dim, descending, stable=stable), tuple).items
    if tensor_type(input).rank > 1:
        values = r.call(Known(in_strides_of), [input, values], {})
    return Tup([values, order], torch.return_types.sort)


@serves("torch.topk", "Tensor.topk")
def topk(r: Reader, input: AV, k: AV, dim: AV = _LAST, largest: AV = _TRUE, sorted: AV = _TRUE) -> AV:
    d = axis(r, input, dim)
    size = r.size_av(input, d) if tensor_type(input).rank else Known(1)
    r.check_that(r.compare("LtE", k, size), "RuntimeError", "selected index k out of range")
    best_first, in_order = bool(r.known(largest, "largest")), bool(r.known(sorted, "sorted"))
    order = r.op("topk", input, k, dim=d, largest=best_first, sorted=in_order)
    return picked(r, input, d, order, torch.return_types.topk)


@serves("torch.kthvalue", "Tensor.kthvalue")
def kthvalue(r: Reader, input: AV, k: AV, dim: AV = _LAST, keepdim: AV = _FALSE) -> AV:
    d = axis(r, input, dim)
    if tensor_type(input).rank:
        some = r.compare("Gt", r.size_av(input, d), Known(0))
        r.check_that(some, "IndexError", "kthvalue(): Expected reduction dim to have non-zero size.")
    indices = r.op("kthvalue", input, k, dim=d)
    values = r.op("gather", input, indices, dim=d)
    if tensor_type(input).rank and not r.known(keepdim, "keepdim"):
        first = [r.const(0)]
        values, indices = (Dyn(r.build("select", [r.value(v), *first], dim=d)) for v in (values, indices))
    return Tup([values, indices], torch.return_types.kthvalue)


@serves("torch.flip", "Tensor.flip")
def flip(r: Reader, input: AV, *args: AV, dims: AV | None = None) -> AV:
    given = [r.known(d, "the dims of flip") for d in (args if dims is None else (dims,))]
    listed = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return r.op("flip", input, dims=tuple(axis(r, input, Known(d)) for d in listed))


@serves("torch.nonzero", "Tensor.nonzero")
def nonzero(r: Reader, input: AV, *, as_tuple: AV = _FALSE) -> AV:
    if not r.known(as_tuple, "as_tuple"):
        return r.op("nonzero", input)
    line = input if tensor_type(input).rank else r.op("unsqueeze", input, dim=0)
    places = r.value(r.op("nonzero", line))
    return Tup([Dyn(r.build("select", [places, r.const(i)], dim=1)) for i in range(tensor_type(line).rank)])


@serves("torch.diagonal", "Tensor.diagonal")
def diagonal(r: Reader, input: AV, offset: AV = _ZERO, dim1: AV = _ZERO, dim2: AV = Known(1)) -> AV:  # noqa: B008
    d1, d2 = axis(r, input, dim1), axis(r, input, dim2)
    return Dyn(r.build("diagonal", [r.value(input), r.integer(offset)], dim1=d1, dim2=d2))


@serves("Tensor.unfold")
def unfold(r: Reader, self: AV, dimension: AV, size: AV, step: AV) -> AV:
    operands = [r.value(self), r.integer(size), r.integer(step)]
    return Dyn(r.build("unfold", operands, dimension=axis(r, self, dimension)))


@serves("torch.as_strided", "Tensor.as_strided")
def as_strided(r: Reader, input: AV, size: AV, stride: AV, storage_offset: AV = _NONE) -> AV:
    absent = isinstance(storage_offset, Known) and storage_offset.obj is None
    offset = r.const(OWN_OFFSET) if absent else r.integer(storage_offset)
    sizes, strides = (r.value(r.shape_tuple(tuple(r.iterate(s)))) for s in (size, stride))
    return Dyn(r.build("as_strided", [r.value(input), sizes, strides, offset]))


@serves("torch.count_nonzero", "Tensor.count_nonzero")
def count_nonzero(r: Reader, input: AV, dim: AV = _NONE) -> AV:
    return r.op("sum", r.cast(input, "bool"), dim=axes(r, input, dim), keepdim=False, dtype="i64")


@serves("torch.index_put", "Tensor.index_put")
def index_put(r: Reader, input: AV, indices: AV, values: AV, accumulate: AV = _FALSE) -> AV:
    parts = [_in_a_dim(r, part) for part in r.iterate(indices)]
    adds = bool(r.known(accumulate, "accumulate"))
    if any(is_tensor(part) and r.is_bool(part) for part in parts):
        if len(parts) > 1 or adds or tensor_type(values).rank:
            r.fail("mask_without_dims")  # eager fails by an assertion of its own, or does not look at the mask
        return r.call(Known(torch.masked_fill), [input, *parts, values], {})
    view, picked = r.indexed(input, r.tuple_of(parts))
    return r.put(view, picked, values, accumulate=adds)


def _in_a_dim(r: Reader, part: AV) -> AV:
    """A place without dims as a line of one, which indexes where the other would make a view."""
    if not is_tensor(part) or tensor_type(part).rank or tensor_type(part).dtype not in INTEGRAL - {"u8"}:
        return part
    return r.op("unsqueeze", part, dim=0)


def _in_new_strides(name: str, function: Any) -> None:
    """Eager writes what this computes into a new tensor, whatever the strides of the operands."""

    @serves(f"torch.{name}", f"Tensor.{name}")
    def handler(r: Reader, *args: AV, **kwargs: AV) -> AV:
        result = r.call(Known(function), args, kwargs)
        return r.op("plain", result) if tensor_type(result).rank > 1 else result


for _function in (masked_fill, masked_scatter, tril, triu):
    _in_new_strides(_function.__name__, _function)
