"""Sizes, elements, conversions and writes."""

from __future__ import annotations

import torch

from scriptc.frontend.environment.host_objects import torch_dtype
from scriptc.frontend.environment.state import is_new
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.complexes import item as complex_item
from scriptc.frontend.library.creation import as_dtype
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.materialize import apply_op, materialize
from scriptc.frontend.operations.options import options
from scriptc.frontend.operations.sizes import shape_of_tensor, size_av
from scriptc.frontend.operations.writes import copy_into, spread_into
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AV, Dyn, Known, Tup, is_tensor, tensor_type
from scriptc.ir.dtypes import COMPLEX, FLOATING, SIZES, TORCH_NAMES
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops.rules import normal_dim, own_dim

_NONE = Known(None)


def axis(r: Reader, tensor: AV, dim: AV, *, extra: int = 0) -> int:
    """A dim argument counted from the front; IndexError at run time where it is out of range."""
    try:
        return normal_dim(require_known(r, dim, "a dim"), tensor_type(tensor).rank, extra=extra)
    except TypeRuleError as e:
        r.emit.raise_error("IndexError", str(e))


def needs_dims(r: Reader, tensor: AV, type: str, message: str) -> None:
    """Raises what eager raises for a tensor without dims, where it does not count that as one dim."""
    if tensor_type(tensor).rank == 0:
        r.emit.raise_error(type, message)


def own_axis(r: Reader, tensor: AV, dim: AV) -> int:
    """The same of a tensor that must have dims."""
    try:
        return own_dim(require_known(r, dim, "a dim"), tensor_type(tensor).rank)
    except TypeRuleError as e:
        r.emit.raise_error("IndexError", str(e))


@serves("Tensor.size")
def size(r: Reader, self: AV, dim: AV = _NONE) -> AV:
    if isinstance(dim, Known) and dim.obj is None:
        return shape_of_tensor(r, self)
    return size_av(r, self, own_axis(r, self, dim))


@serves("Tensor.stride")
def stride(r: Reader, self: AV, dim: AV = _NONE) -> AV:
    if isinstance(dim, Known) and dim.obj is None:
        return Tup([stride(r, self, Known(d)) for d in range(tensor_type(self).rank)])
    return Dyn(r.emit.build("stride", [materialize(r, self), r.emit.const(own_axis(r, self, dim))]))


@serves("Tensor.storage_offset")
def storage_offset(r: Reader, self: AV) -> AV:
    if not is_new(r, self):
        r.reject("storage_offset")
    return Known(0)


@serves("torch.clone", "Tensor.clone")
def clone(r: Reader, input: AV, *, memory_format: AV = Known(torch.preserve_format)) -> AV:  # noqa: B008
    return in_format(r, apply_op(r, "clone", input), memory_format)


@serves("Tensor.is_same_size")
def is_same_size(r: Reader, self: AV, other: AV) -> AV:
    return r.compare("Eq", shape_of_tensor(r, self), shape_of_tensor(r, other))


@serves("torch.is_nonzero", "Tensor.is_nonzero")
def is_nonzero(r: Reader, input: AV) -> AV:
    return r.truth(input)


@serves("Tensor.is_contiguous")
def is_contiguous(r: Reader, self: AV, memory_format: AV = Known(torch.contiguous_format)) -> AV:  # noqa: B008
    """Of channels_last: whether it is contiguous with the channels behind."""
    wanted, rank = require_known(r, memory_format, "the memory format"), tensor_type(self).rank
    if wanted in (torch.channels_last, torch.channels_last_3d):
        if rank != (4 if wanted == torch.channels_last else 5):
            return Known(False)
        self = apply_op(r, "permute", self, dims=(0, *range(2, rank), 1))
    return Dyn(r.emit.build("is_contiguous", [materialize(r, self)]))


@serves("Tensor.element_size")
def element_size(r: Reader, self: AV) -> AV:
    return Known(SIZES[tensor_type(self).dtype])


@serves("Tensor.dim", "Tensor.ndimension")
def dim(r: Reader, self: AV) -> AV:
    return Known(tensor_type(self).rank)


@serves("Tensor.item")
def item(r: Reader, self: AV) -> AV:
    dtype = tensor_type(self).dtype
    if dtype in COMPLEX:
        return complex_item(r, self)
    kind = "float" if dtype in FLOATING else "bool" if dtype == "bool" else "int"
    return Dyn(r.emit.build(f"item.{kind}", [materialize(r, self)]))


@serves("torch.is_signed", "Tensor.is_signed")
def is_signed(r: Reader, input: AV) -> AV:
    return Known(getattr(torch, TORCH_NAMES[tensor_type(input).dtype]).is_signed)


@serves("torch.get_device", "Tensor.get_device")
def get_device(r: Reader, input: AV) -> AV:
    return Known(-1)  # the CPU


@serves("torch.is_floating_point", "Tensor.is_floating_point")
def is_floating_point(r: Reader, input: AV) -> AV:
    return Known(tensor_type(input).dtype in FLOATING)


@serves("torch.promote_types")
def promote_types(r: Reader, type1: AV, type2: AV) -> AV:
    return call_in_python(r, torch.promote_types, require_known(r, type1, "a dtype"), require_known(r, type2, "a dtype"))


@serves("torch.result_type")
def result_type(r: Reader, tensor1: AV, tensor2: AV) -> AV:
    return Known(torch_dtype(dtype_of_result(r, tensor1, tensor2)))


@serves("Tensor.to")
def to(r: Reader, self: AV, *args: AV, dtype: AV = _NONE, **kwargs: AV) -> AV:
    """Conversions of dtype; devices other than the CPU are refused. A tensor that needs none is returned as it is."""
    copy = kwargs.pop("copy", Known(False))
    memory_format = kwargs.pop("memory_format", _NONE)
    kwargs.pop("non_blocking", None)
    options(r, kwargs)
    for arg in args:
        if is_tensor(arg):
            dtype = r.attribute(arg, "dtype")
            continue
        obj = require_known(r, arg, "the target of to()")
        if isinstance(obj, torch.dtype):
            dtype = arg
        elif not isinstance(obj, bool):
            options(r, {"device": arg})
    name = as_dtype(r, dtype, tensor_type(self).dtype)
    if name == tensor_type(self).dtype and require_known(r, copy, "copy"):
        return in_format(r, apply_op(r, "clone", self), memory_format)
    return in_format(r, cast_to(r, self, name), memory_format)


def in_format(r: Reader, tensor: AV, memory_format: AV) -> AV:
    """The tensor with the strides of a memory format, itself where it has them."""
    wanted = require_known(r, memory_format, "the memory format")
    rank = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(wanted)
    if rank is None:
        return apply_op(r, "contiguous", tensor) if wanted == torch.contiguous_format else tensor
    if tensor_type(tensor).rank != rank:
        name = "channels_last" if rank == 4 else "channels_last_3d"
        r.emit.raise_error("RuntimeError", f"required rank {rank} tensor to use {name} format")
    last = (0, *range(2, rank), 1)
    first = (0, rank - 1, *range(1, rank - 1))
    return apply_op(r, "permute", apply_op(r, "contiguous", apply_op(r, "permute", tensor, dims=last)), dims=first)


@serves("Tensor.contiguous")
def contiguous(r: Reader, self: AV, memory_format: AV = _NONE) -> AV:
    wanted = require_known(r, memory_format, "the memory format")
    return apply_op(r, "contiguous", self) if wanted in (None, torch.contiguous_format) else in_format(r, self, memory_format)


def _conversion(method: str, name: str) -> None:
    @serves(f"Tensor.{method}")
    def handler(r: Reader, self: AV, memory_format: AV = Known(None)) -> AV:  # noqa: B008
        return in_format(r, cast_to(r, self, name), memory_format)


for _method, _name in (
    ("float", "f32"), ("double", "f64"), ("half", "f16"), ("bfloat16", "bf16"), ("long", "i64"), ("int", "i32"),
    ("short", "i16"), ("char", "i8"), ("byte", "u8"), ("bool", "bool"), ("cfloat", "c64"), ("cdouble", "c128"),
):  # fmt: skip
    _conversion(_method, _name)


@serves("Tensor.type_as")
def type_as(r: Reader, self: AV, other: AV) -> AV:
    return cast_to(r, self, tensor_type(other).dtype)


@serves("Tensor.cpu")
def cpu(r: Reader, self: AV) -> AV:
    return self


@serves("Tensor.detach", "torch.detach")
def detach(r: Reader, self: AV) -> AV:
    return apply_op(r, "alias", self)


@serves("Tensor.requires_grad_")
def requires_grad_(r: Reader, self: AV, requires_grad: AV = _NONE) -> AV:
    r.reject("requires_grad_set")


@serves("Tensor.copy_")
def copy_(r: Reader, self: AV, src: AV, non_blocking: AV = Known(False)) -> AV:  # noqa: B008
    if is_tensor(src):
        r.emit.effect("check.store", [materialize(r, self), materialize(r, src)])
    copy_into(r, self, src)
    return self


@serves("Tensor.fill_")
def fill_(r: Reader, self: AV, value: AV) -> AV:
    if is_tensor(value) and (rank := tensor_type(value).rank):
        message = f"fill_ only supports 0-dimension value tensor but got tensor with {rank} dimensions."
        r.emit.raise_error("RuntimeError", message)
    spread_into(r, self, value)
    return self


@serves("Tensor.zero_", "torch.zero_")
def zero_(r: Reader, self: AV) -> AV:
    copy_into(r, self, Known(0))
    return self
