"""The element types of ONNX, and the dtypes of torch that hold them.

torch tensors in compiled code have no unsigned integers beyond uint8, no integers below 8 bits and no floats below 16
bits. A wider dtype carries such elements: every value of the element type is a value of the carrier, except that an
int64 carries the bits of a uint64.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26,
}  # fmt: skip
_NAMES = {number: name for name, number in NUMBERS.items()}
BITS = {
    "float32": 32, "uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "int32": 32, "int64": 64, "bool": 8, "float16": 16,
    "float64": 64, "uint32": 32, "uint64": 64, "complex64": 64, "complex128": 128, "bfloat16": 16, "float8e4m3fn": 8,
    "float8e4m3fnuz": 8, "float8e5m2": 8, "float8e5m2fnuz": 8, "uint4": 4, "int4": 4, "float4e2m1": 4, "float8e8m0": 8,
    "uint2": 2, "int2": 2,
}  # fmt: skip
CARRIERS = {  # the dtype of torch that carries elements of a type that compiled tensors lack
    "uint16": "int32", "uint32": "int64", "uint64": "int64", "uint4": "uint8", "int4": "int8", "uint2": "uint8",
    "int2": "int8", "float8e4m3fn": "float32", "float8e4m3fnuz": "float32", "float8e5m2": "float32",
    "float8e5m2fnuz": "float32", "float8e8m0": "float32", "float4e2m1": "float32",
}  # fmt: skip
FLOATS = {"float16", "float32", "float64", "bfloat16"}
INTEGERS = {name for name in NUMBERS if name.startswith(("int", "uint"))}
UNSIGNED = {name for name in NUMBERS if name.startswith("uint")}
SMALL_FLOATS = {name for name in NUMBERS if name.startswith(("float8", "float4"))}


def of_number(number: int) -> str | None:
    """Return the name of an element type by its number in `TensorProto.DataType`."""
    return _NAMES.get(number)


def type_name(dtype: str, dims: Iterable[Any]) -> str:
    return f"{dtype}[{', '.join('?' if size is None else str(size) for size in dims)}]"


def carrier(dtype: str) -> str:
    """Return the name of the dtype of torch whose tensors hold elements of this type."""
    return CARRIERS.get(dtype, dtype)


def numpy_dtype(dtype: str) -> Any:
    """Return the dtype of arrays that `onnx.numpy_helper` makes of tensors of this type."""
    from onnx import helper

    return helper.tensor_dtype_to_np_dtype(NUMBERS[dtype])


def to_torch(array: Any, dtype: str) -> Any:
    """Return the tensor that carries an array with elements of this type."""
    import torch

    if dtype == "bfloat16":
        return torch.from_numpy(np.array(array).astype(np.float32)).to(torch.bfloat16)
    if dtype == "uint64":
        return torch.from_numpy(np.array(array).astype(np.uint64).view(np.int64))
    wanted = carrier(dtype)
    return torch.from_numpy(np.array(array).astype(wanted, copy=True))


def to_numpy(tensor: Any, dtype: str) -> Any:
    """Return the array with elements of this type that a tensor carries."""
    import torch

    tensor = tensor.detach().cpu()
    if dtype == "bfloat16":
        return tensor.to(torch.float32).numpy().astype(numpy_dtype(dtype))
    array = tensor.numpy()
    if dtype == "uint64" and array.dtype == np.int64:
        return array.view(np.uint64)
    return array.astype(numpy_dtype(dtype)) if dtype in CARRIERS else array
