"""Tensor.resize_ and Tensor.resize_as_."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.creation import size_items
from scriptc.frontend.operations.resizing import resize_as_called
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import tensor_type


@serves("Tensor.resize_")
def resize_(r: Reader, self: AbstractValue, *size: AbstractValue) -> AbstractValue:
    return resize_as_called(r, self, size_items(r, size))


@serves("Tensor.resize_as_")
def resize_as_(r: Reader, self: AbstractValue, the_template: AbstractValue) -> AbstractValue:
    return resize_as_called(r, self, [size_av(r, the_template, dim) for dim in range(tensor_type(the_template).rank)])
