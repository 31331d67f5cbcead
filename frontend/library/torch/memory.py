"""Sizes, elements, conversions and writes."""

from __future__ import annotations

import torch

from scriptc.frontend.environment.host_objects import torch_dtype
from scriptc.frontend.environment.state import is_new
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.complexes import item as complex_item
from scriptc.frontend.library.torch.creation import as_dtype
from scriptc.frontend.operations.autograd_flags import DTYPE_OF_METHOD, detach_in_place, known_flag, set_requires_grad
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.options import options
from scriptc.frontend.operations.sizes import shape_of_tensor, size_av
from scriptc.frontend.operations.writes import copy_into, spread_into
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import defining_op, is_none, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.dtypes import COMPLEX, FLOATING, SIZES, TORCH_NAMES
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops.rules import normal_dim, own_dim

_NONE = Known(None)


def axis(r: Reader, tensor: AbstractValue, dim: AbstractValue, *, extra: int = 0) -> int:
    """Return a dim argument counted from the front; build an IndexError if it is out of range."""
    try:
        return normal_dim(require_known(r, dim, "a dim"), tensor_type(tensor).rank, extra=extra)
    except TypeRuleError as e:
        r.emit.raise_error("IndexError", str(e))


def needs_dims(r: Reader, tensor: AbstractValue, type: str, message: str) -> None:
    """Build the error of eager for a tensor without dims, which eager takes as no vector."""
    if tensor_type(tensor).rank == 0:
        r.emit.raise_error(type, message)


def own_axis(r: Reader, tensor: AbstractValue, dim: AbstractValue) -> int:
    """Return a dim argument counted from the front, of a tensor that must have dims."""
    try:
        return own_dim(require_known(r, dim, "a dim"), tensor_type(tensor).rank)
    except TypeRuleError as e:
        r.emit.raise_error("IndexError", str(e))


@serves("Tensor.size")
def size(r: Reader, self: AbstractValue, dim: AbstractValue = _NONE) -> AbstractValue:
    if is_none(dim):
        return shape_of_tensor(r, self)
    return size_av(r, self, own_axis(r, self, dim))


@serves("Tensor.stride")
def stride(r: Reader, self: AbstractValue, dim: AbstractValue = _NONE) -> AbstractValue:
    if is_none(dim):
        return TupleValue([stride(r, self, Known(d)) for d in range(tensor_type(self).rank)])
    return RuntimeValue(r.emit.build("stride", [materialize(r, self), r.emit.const(own_axis(r, self, dim))]))


@serves("Tensor.storage_offset")
def storage_offset(r: Reader, self: AbstractValue) -> AbstractValue:
    made = defining_op(self)
    if not is_new(r, self) or made is None or made.has("VIEW"):
        r.reject("storage_offset")
    return Known(0)


@serves("torch.clone", "Tensor.clone")
def clone(
    r: Reader, input: AbstractValue, *, memory_format: AbstractValue = Known(torch.preserve_format)
) -> AbstractValue:
    return in_format(r, apply_op(r, "clone", input), memory_format)


@serves("Tensor.is_same_size")
def is_same_size(r: Reader, self: AbstractValue, other: AbstractValue) -> AbstractValue:
    return r.compare("Eq", shape_of_tensor(r, self), shape_of_tensor(r, other))


@serves("torch.is_nonzero", "Tensor.is_nonzero")
def is_nonzero(r: Reader, input: AbstractValue) -> AbstractValue:
    return r.truth(input)


@serves("Tensor.is_contiguous")
def is_contiguous(
    r: Reader, self: AbstractValue, memory_format: AbstractValue = Known(torch.contiguous_format)
) -> AbstractValue:
    """Return whether elements are contiguous; in channels_last, with the channels as last dim."""
    wanted, rank = require_known(r, memory_format, "the memory format"), tensor_type(self).rank
    if wanted in (torch.channels_last, torch.channels_last_3d):
        if rank != (4 if wanted == torch.channels_last else 5):
            return Known(False)
        self = apply_op(r, "permute", self, dims=(0, *range(2, rank), 1))
    return RuntimeValue(r.emit.build("is_contiguous", [materialize(r, self)]))


@serves("Tensor.element_size")
def element_size(r: Reader, self: AbstractValue) -> AbstractValue:
    return Known(SIZES[tensor_type(self).dtype])


@serves("Tensor.dim", "Tensor.ndimension")
def dim(r: Reader, self: AbstractValue) -> AbstractValue:
    return Known(tensor_type(self).rank)


@serves("Tensor.item")
def item(r: Reader, self: AbstractValue) -> AbstractValue:
    dtype = tensor_type(self).dtype
    if dtype in COMPLEX:
        return complex_item(r, self)
    kind = "float" if dtype in FLOATING else "bool" if dtype == "bool" else "int"
    return RuntimeValue(r.emit.build(f"item.{kind}", [materialize(r, self)]))


@serves("torch.is_signed", "Tensor.is_signed")
def is_signed(r: Reader, input: AbstractValue) -> AbstractValue:
    return Known(getattr(torch, TORCH_NAMES[tensor_type(input).dtype]).is_signed)


@serves("torch.get_device", "Tensor.get_device")
def get_device(r: Reader, input: AbstractValue) -> AbstractValue:
    return Known(-1)  # -1 is the CPU


@serves("torch.is_floating_point", "Tensor.is_floating_point")
def is_floating_point(r: Reader, input: AbstractValue) -> AbstractValue:
    return Known(tensor_type(input).dtype in FLOATING)


@serves("torch.promote_types")
def promote_types(r: Reader, type1: AbstractValue, type2: AbstractValue) -> AbstractValue:
    return call_in_python(
        r, torch.promote_types, require_known(r, type1, "a dtype"), require_known(r, type2, "a dtype")
    )


@serves("torch.result_type")
def result_type(r: Reader, tensor1: AbstractValue, tensor2: AbstractValue) -> AbstractValue:
    return Known(torch_dtype(dtype_of_result(r, tensor1, tensor2)))


@serves("Tensor.to")
def to(
    r: Reader, self: AbstractValue, *args: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    """Return a tensor in another dtype, or itself if it has that dtype.

    Devices other than the CPU are refused.
    """
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


def in_format(r: Reader, tensor: AbstractValue, memory_format: AbstractValue) -> AbstractValue:
    """Return a tensor with the strides of a memory format, or itself if it has them."""
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
def contiguous(r: Reader, self: AbstractValue, memory_format: AbstractValue = _NONE) -> AbstractValue:
    wanted = require_known(r, memory_format, "the memory format")
    return (
        apply_op(r, "contiguous", self)
        if wanted in (None, torch.contiguous_format)
        else in_format(r, self, memory_format)
    )


def _conversion(method: str, name: str) -> None:
    @serves(f"Tensor.{method}")
    def handler(r: Reader, self: AbstractValue, memory_format: AbstractValue = Known(None)) -> AbstractValue:
        return in_format(r, cast_to(r, self, name), memory_format)


for _method, _name in (
    ("float", "f32"), ("double", "f64"), ("half", "f16"), ("bfloat16", "bf16"), ("long", "i64"), ("int", "i32"),
    ("short", "i16"), ("char", "i8"), ("byte", "u8"), ("bool", "bool"), ("cfloat", "c64"), ("cdouble", "c128"),
):  # fmt: skip
    _conversion(_method, _name)


@serves("Tensor.type_as")
def type_as(r: Reader, self: AbstractValue, other: AbstractValue) -> AbstractValue:
    return cast_to(r, self, tensor_type(other).dtype)


@serves("Tensor.cpu")
def cpu(r: Reader, self: AbstractValue) -> AbstractValue:
    return self


@serves("Tensor.detach", "torch.detach")
def detach(r: Reader, self: AbstractValue) -> AbstractValue:
    return apply_op(r, "alias", self)


@serves("Tensor.detach_", "torch.detach_")
def detach_(r: Reader, self: AbstractValue) -> AbstractValue:
    detach_in_place(r, self)
    return self


@serves("Tensor.requires_grad_")
def requires_grad_(r: Reader, self: AbstractValue, requires_grad: AbstractValue = Known(True)) -> AbstractValue:
    set_requires_grad(r, self, known_flag(r, requires_grad, "", "TypeError"), DTYPE_OF_METHOD)
    return self


@serves("Tensor.copy_")
def copy_(
    r: Reader, self: AbstractValue, src: AbstractValue, non_blocking: AbstractValue = Known(False)
) -> AbstractValue:
    if is_tensor(src):
        r.emit.effect("check.store", [materialize(r, self), materialize(r, src)])
    copy_into(r, self, src)
    return self


@serves("Tensor.fill_")
def fill_(r: Reader, self: AbstractValue, value: AbstractValue) -> AbstractValue:
    if is_tensor(value) and (rank := tensor_type(value).rank):
        message = f"fill_ only supports 0-dimension value tensor but got tensor with {rank} dimensions."
        r.emit.raise_error("RuntimeError", message)
    spread_into(r, self, value)
    return self


@serves("Tensor.zero_", "torch.zero_")
def zero_(r: Reader, self: AbstractValue) -> AbstractValue:
    copy_into(r, self, Known(0))
    return self


@serves("Size.numel")
def size_numel(r: Reader, size: AbstractValue) -> AbstractValue:
    total: AbstractValue = Known(1)
    for n in r.iterate(size):
        total = r.binary("Mult", total, n)
    return total
