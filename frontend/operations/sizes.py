"""Sizes of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from scriptc.frontend.operations.indices import integer
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import is_known, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.core import Value
from scriptc.ir.types import Dim


def shape_of_tensor(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    sizes = [size_av(reader, tensor, i) for i in range(tensor_type(tensor).rank)]
    if all(is_known(s) for s in sizes):
        return Known(torch.Size(s.obj for s in sizes if is_known(s)))
    return TupleValue(sizes, torch.Size)


def shape_tuple(reader: Reader, items: tuple[AbstractValue, ...]) -> AbstractValue:
    if any(is_tensor(i) and tensor_type(i).dtype == "bool" for i in items):
        reader.emit.raise_error("RuntimeError", "Expected scalar.isIntegral(false) to be true, but got false.")
    return RuntimeValue(sizes(reader, items))


def dim_of(reader: Reader, tensor: AbstractValue, dim: int) -> Dim:
    dims = tensor_type(tensor).dims
    if not dims:
        reader.emit.raise_error("IndexError", f"Dimension specified as {dim} but tensor has no dimensions")
    return dims[dim]


def size_of(reader: Reader, tensor: AbstractValue, dim: int) -> Any:
    """Return the SSA value of a size, which is a constant if the tensor type knows the size."""
    size = dim_of(reader, tensor, dim)
    return (
        reader.emit.const(size)
        if isinstance(size, int)
        else reader.emit.build("size", [materialize(reader, tensor)], dim=dim)
    )


def size_av(reader: Reader, tensor: AbstractValue, dim: int) -> AbstractValue:
    size = dim_of(reader, tensor, dim)
    return (
        Known(size)
        if isinstance(size, int)
        else RuntimeValue(reader.emit.build("size", [materialize(reader, tensor)], dim=dim))
    )


def sizes(reader: Reader, items: Sequence[AbstractValue]) -> Value:
    """Return the tuple of i64 values of some sizes."""
    return reader.emit.builder.build("tuple", [integer(reader, i) for i in items], reader.position.loc)
