"""Views, splits and other changes of shape."""

from __future__ import annotations

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import shapes_decomposed as shapes
from scriptc.frontend.library.torch.creation import as_dtype, size_items
from scriptc.frontend.library.torch.memory import axis, needs_dims
from scriptc.frontend.library.torch.shapes_decomposed import squeeze_dim
from scriptc.frontend.library.torch.splits_decomposed import split_sections
from scriptc.frontend.operations.complexes import is_conjugate
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op, make_tuple, wrap
from scriptc.frontend.operations.sizes import shape_of_tensor, shape_tuple, size_av
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_known, is_sequence, is_tensor, tensor_type
from scriptc.frontend.values.structure import FEW_PARTS
from scriptc.frontend.values.verbs import is_run_time, materialize
from scriptc.ir.dtypes import INTEGRAL

_NONE = Known(None)
_ZERO = Known(0)


def _sized(name: str, keyword: str) -> None:
    @serves(f"Tensor.{name}", *((f"torch.{name}",) if name == "reshape" else ()))
    def handler(r: Reader, input: AbstractValue, *sizes: AbstractValue, **named: AbstractValue) -> AbstractValue:
        return apply_op(r, name, input, shape_tuple(r, tuple(size_items(r, _given(r, name, sizes, named, keyword)))))


def _given(
    r: Reader, name: str, items: tuple[AbstractValue, ...], named: dict[str, AbstractValue], keyword: str
) -> tuple[AbstractValue, ...]:
    """Return sizes or dims that are given one by one, as one sequence, or by torch's keyword."""
    for other in named.keys() - {keyword}:
        r.reject("form_of_call", name=name, why=f"got an unexpected keyword argument '{other}'")
    return (named[keyword],) if named else items


@serves("Tensor.view")
def view(
    r: Reader, input: AbstractValue, *sizes: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue
) -> AbstractValue:
    """Return a view with other sizes, or with elements of another dtype."""
    asked = dtype or (sizes[0] if len(sizes) == 1 and is_known(sizes[0]) else None)
    if asked is not None and is_known(asked) and isinstance(asked.obj, torch.dtype):
        return _as_elements(r, input, as_dtype(r, asked, ""))
    return apply_op(r, "view", input, shape_tuple(r, tuple(size_items(r, _given(r, "view", sizes, named, "size")))))


def _as_elements(r: Reader, input: AbstractValue, dtype: str) -> AbstractValue:
    own = tensor_type(input).dtype
    if dtype == own:
        return view_of(r, input)
    if dtype == "bool":  # bytes of bools are 0 or 1
        r.reject("view_as_bool")
    if is_conjugate(input):
        message = "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype."
        r.emit.raise_error("RuntimeError", message)
    return apply_op(r, "view_dtype", input, dtype=dtype)


for _name, _keyword in (("reshape", "shape"), ("expand", "size"), ("repeat", "repeats")):
    _sized(_name, _keyword)


@serves(shapes.pad_around)
def pad_around(r: Reader, input: AbstractValue, pad: AbstractValue, mode: AbstractValue) -> AbstractValue:
    return apply_op(
        r, "pad", input, shape_tuple(r, tuple(r.iterate(pad))), mode=require_known(r, mode, "the padding mode")
    )


@serves("torch.transpose", "Tensor.transpose", "torch.swapaxes", "Tensor.swapaxes", "torch.swapdims", "Tensor.swapdims")
def transpose(r: Reader, input: AbstractValue, dim0: AbstractValue, dim1: AbstractValue) -> AbstractValue:
    return apply_op(r, "transpose", input, dim0=axis(r, input, dim0), dim1=axis(r, input, dim1))


@serves("torch.t", "Tensor.t")
def t(r: Reader, input: AbstractValue) -> AbstractValue:
    rank = tensor_type(input).rank
    if rank > 2:
        r.emit.raise_error("RuntimeError", f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return apply_op(r, "transpose", input, dim0=0, dim1=1) if rank == 2 else view_of(r, input)


@serves("torch.permute", "Tensor.permute")
def permute(r: Reader, input: AbstractValue, *dims: AbstractValue, **named: AbstractValue) -> AbstractValue:
    given = tuple(size_items(r, _given(r, "permute", dims, named, "dims")))
    if len(given) != tensor_type(input).rank:
        r.emit.raise_error(
            "RuntimeError",
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {tensor_type(input).rank} is not equal to len(dims) = {len(given)}",
        )
    order = tuple(axis(r, input, d) for d in given)
    if len(set(order)) < len(order):
        r.emit.raise_error("RuntimeError", "permute(): duplicate dims are not allowed.")
    return apply_op(r, "permute", input, dims=order)


@serves("torch.unsqueeze", "Tensor.unsqueeze")
def unsqueeze(r: Reader, input: AbstractValue, dim: AbstractValue) -> AbstractValue:
    return apply_op(r, "unsqueeze", input, dim=axis(r, input, dim, extra=1))


@serves("torch.squeeze", "Tensor.squeeze")
def squeeze(r: Reader, input: AbstractValue, dim: AbstractValue = _NONE) -> AbstractValue:
    obj = require_known(r, dim, "the dim of squeeze")
    dims = tensor_type(input).dims or ()
    wanted = (
        range(len(dims))
        if obj is None
        else [axis(r, input, Known(d)) for d in (obj if isinstance(obj, (tuple, list)) else (obj,))]
    )
    if (twice := next((d for i, d in enumerate(wanted) if d in wanted[:i]), None)) is not None:
        r.emit.raise_error("RuntimeError", f"dim {twice} appears multiple times in the list of dims")
    unknown = [d for d in wanted if dims and not isinstance(dims[d], int)]
    if unknown:  # a size that may be 1 gives one of several ranks
        result = input
        for d in sorted(wanted, reverse=True):
            if d in unknown or dims[d] == 1:
                result = r.call(Known(squeeze_dim), [result, Known(d)], {})
        return result
    result = input
    for d in sorted(wanted, reverse=True):
        if dims and dims[d] == 1:
            result = apply_op(r, "squeeze", result, dim=d)
    return result if result is not input else view_of(r, input)


@serves("torch.select", "Tensor.select")
def select(r: Reader, input: AbstractValue, dim: AbstractValue, index: AbstractValue) -> AbstractValue:
    needs_dims(r, input, "IndexError", "select() cannot be applied to a 0-dim tensor.")
    return RuntimeValue(r.emit.build("select", [materialize(r, input), integer(r, index)], dim=axis(r, input, dim)))


@serves("torch.narrow", "Tensor.narrow")
def narrow(
    r: Reader, input: AbstractValue, dim: AbstractValue, start: AbstractValue, length: AbstractValue
) -> AbstractValue:
    if is_tensor(start) and (tensor_type(start).rank or tensor_type(start).dtype not in INTEGRAL):
        r.emit.raise_error("RuntimeError", "start must be an 0-dim integral Tensor.")
    d = axis(r, input, dim)
    needs_dims(r, input, "RuntimeError", "narrow() cannot be applied to a 0-dim tensor.")
    size = size_av(r, input, d)
    check_that(r, r.compare("GtE", length, _ZERO), "RuntimeError", "narrow(): length must be non-negative.")
    for inside in (r.compare("LtE", start, size), r.compare("GtE", r.binary("Add", start, size), _ZERO)):
        check_that(r, inside, "IndexError", "start out of range of the dimension's size")
    start = r.binary("Add", start, r.binary("Mult", r.compare("Lt", start, _ZERO), size))
    end = r.binary("Add", start, length)
    r.call(Known(shapes.check_end), [start, length, size], {})
    return RuntimeValue(
        r.emit.build("slice", [materialize(r, input), integer(r, start), integer(r, end), r.emit.const(1)], dim=d)
    )


@serves("torch.split")
def split(
    r: Reader, tensor: AbstractValue, split_size_or_sections: AbstractValue, dim: AbstractValue = _ZERO
) -> AbstractValue:
    d = axis(r, tensor, dim)
    needs_dims(r, tensor, "RuntimeError", "split expects at least a 1-dimensional tensor")
    if is_sequence(split_size_or_sections):
        if is_run_time(r, split_size_or_sections):
            return r.call(Known(split_sections), [tensor, split_size_or_sections, Known(d)], {})
        return _sections(r, tensor, r.iterate(split_size_or_sections), d)
    size = size_av(r, tensor, d)
    if is_known(size) and is_known(split_size_or_sections) and split_size_or_sections.obj > 0:
        step = split_size_or_sections.obj
        return make_tuple([_piece(r, tensor, d, i, min(i + step, size.obj)) for i in range(0, size.obj, step) or (0,)])
    return wrap(r, r.emit.build("split", [materialize(r, tensor), integer(r, split_size_or_sections)], dim=d))


def _piece(r: Reader, tensor: AbstractValue, dim: int, start: int, end: int) -> AbstractValue:
    return RuntimeValue(
        r.emit.build(
            "slice", [materialize(r, tensor), r.emit.const(start), r.emit.const(end), r.emit.const(1)], dim=dim
        )
    )


def _sections(r: Reader, tensor: AbstractValue, sizes: list[AbstractValue], dim: int) -> AbstractValue:
    total: AbstractValue = Known(0)
    starts = []
    for n in sizes:
        starts.append(total)
        total = r.binary("Add", total, n)
    check_that(r,
        r.compare("Eq", total, size_av(r, tensor, dim)), "RuntimeError",
        "split_with_sizes expects split_sizes to sum exactly to the size of the dimension",
    )  # fmt: skip
    return make_tuple([narrow(r, tensor, Known(dim), start, n) for start, n in zip(starts, sizes, strict=True)])


@serves("Tensor.split")
def split_method(
    r: Reader, self: AbstractValue, split_size: AbstractValue, dim: AbstractValue = _ZERO
) -> AbstractValue:
    return split(r, self, split_size, dim)


@serves("torch.chunk", "Tensor.chunk")
def chunk(r: Reader, input: AbstractValue, chunks: AbstractValue, dim: AbstractValue = _ZERO) -> AbstractValue:
    d = axis(r, input, dim)
    needs_dims(r, input, "RuntimeError", "chunk expects at least a 1-dimensional tensor")
    size = size_av(r, input, d)
    if is_known(size) and is_known(chunks) and chunks.obj > 0:
        if size.obj == 0:  # an empty dim still has as many parts as asked for
            return make_tuple([_piece(r, input, d, 0, 0) for _ in range(chunks.obj)])
        step = -(-size.obj // chunks.obj)
        return make_tuple([_piece(r, input, d, i, min(i + step, size.obj)) for i in range(0, size.obj, step)])
    return wrap(r, r.emit.build("chunk", [materialize(r, input), integer(r, chunks)], dim=d))


@serves("torch.unbind", "Tensor.unbind")
def unbind(r: Reader, input: AbstractValue, dim: AbstractValue = _ZERO) -> AbstractValue:
    d = axis(r, input, dim)
    needs_dims(r, input, "IndexError", "Dimension specified as 0 but tensor has no dimensions")
    size = size_av(r, input, d)
    if is_known(size) and size.obj <= FEW_PARTS:
        return make_tuple(
            [
                RuntimeValue(r.emit.build("select", [materialize(r, input), r.emit.const(i)], dim=d))
                for i in range(size.obj)
            ]
        )
    return wrap(r, r.emit.build("unbind", [materialize(r, input)], dim=d))


@serves("Tensor.expand_as")
def expand_as(r: Reader, self: AbstractValue, other: AbstractValue) -> AbstractValue:
    return apply_op(r, "expand", self, shape_tuple(r, tuple(r.iterate(shape_of_tensor(r, other)))))


@serves("Tensor.view_as", "Tensor.reshape_as")
def view_as(r: Reader, self: AbstractValue, other: AbstractValue) -> AbstractValue:
    return apply_op(r, "view", self, shape_tuple(r, tuple(r.iterate(shape_of_tensor(r, other)))))


@serves("torch.flatten", "Tensor.flatten")
def flatten(
    r: Reader, input: AbstractValue, start_dim: AbstractValue = _ZERO, end_dim: AbstractValue = Known(-1)
) -> AbstractValue:
    first, last = axis(r, input, start_dim), axis(r, input, end_dim)
    rank = tensor_type(input).rank
    if rank == 0:
        return apply_op(r, "reshape", input, shape_tuple(r, (Known(1),)))
    if first > last:
        r.emit.raise_error("RuntimeError", "flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    sizes = [size_av(r, input, i) for i in range(rank)]
    merged: AbstractValue = Known(1)
    for s in sizes[first : last + 1]:
        merged = r.binary("Mult", merged, s)
    return apply_op(r, "reshape", input, shape_tuple(r, (*sizes[:first], merged, *sizes[last + 1 :])))
