"""Tensors outside that are views of a tensor that a build keeps as state: compiled code computes them from the state."""

from __future__ import annotations

import torch

from scriptc.frontend.environment.state import slot_value
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known


def view_of_state(reader: Reader, tensor: torch.Tensor) -> AbstractValue | None:
    """Return a tensor outside as a view of a slot's tensor that the code writes to; None if the tensor is no such view.

    A view that requires grad has a graph or a gradient of its own, so no op of compiled code is the same.
    """
    if tensor.requires_grad or tensor.is_neg() or tensor.is_conj():
        return None
    for at, slot in reader.state.slots.items():
        base = slot.container[slot.location.key] if reader.state.keeps_object(at) else None
        if isinstance(base, torch.Tensor) and id(base) in reader.assumptions.written and _contains(base, tensor):
            place = tuple(tensor.shape), tensor.stride(), tensor.storage_offset() - base.storage_offset()
            with reader.emit.grad_mode(False):
                return reader.call(Known(torch.as_strided), [slot_value(reader, slot), *map(Known, place)], {})
    return None


def _contains(base: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Return whether the elements of a tensor are elements of another, which is contiguous as its copy in the state is."""
    if base.dtype != tensor.dtype or not base.is_contiguous() or not tensor.numel():
        return False
    if base.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr():
        return False
    first = tensor.storage_offset() - base.storage_offset()
    last = first + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return 0 <= first and last < base.numel()
