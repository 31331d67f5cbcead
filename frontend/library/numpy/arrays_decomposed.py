"""Conversions of NumPy arrays, and checks with NumPy's errors, as code over tensors."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import torch

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.library.registry import decomposes

# ---- what handlers serve ----


def tensor_of(a: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return a tensor with the elements of an array, a number, or a sequence of these."""
    raise NotImplementedError


def array_of(x: torch.Tensor) -> Any:
    """Return the array of a tensor's memory."""
    raise NotImplementedError


def read_only(x: torch.Tensor) -> Any:
    """Return the array of a tensor's memory, which NumPy does not let a program write through."""
    raise NotImplementedError


def result_of(x: torch.Tensor) -> Any:
    """Return the array of a tensor's memory, or a scalar for a tensor without dims."""
    raise NotImplementedError


def memory_of(a: Any) -> torch.Tensor:
    """Return the tensor whose memory an array shares, for a view."""
    raise NotImplementedError


def is_of_numpy(a: Any) -> bool:
    """Return whether a value is an array or a scalar of NumPy."""
    raise NotImplementedError


def is_array(a: Any) -> bool:
    """Return whether a value is an array."""
    raise NotImplementedError


def is_scalar(a: Any) -> bool:
    """Return whether a value is a number of Python or a scalar of NumPy."""
    raise NotImplementedError


def promoted(*operands: Any) -> torch.dtype:
    """Return the dtype to which NumPy promotes arrays and numbers."""
    raise NotImplementedError


def common_of(arrays: Any, dtype: Any) -> Any:
    """Return the dtype of joined arrays, which `dtype` may name."""
    raise NotImplementedError


def accumulator(t: torch.Tensor, dtype: Any) -> torch.dtype:
    """Return the dtype in which sums and products of a tensor are made."""
    raise NotImplementedError


def few_numbers(a: Any) -> bool:
    """Return whether a value is a sequence of one to seven ints and floats. NumPy reduces them one after another."""
    raise NotImplementedError


def dtype_of(dtype: Any) -> Any:
    """Return torch's dtype for one of NumPy; None for None."""
    raise NotImplementedError


def axis_of(axis: Any, rank: int) -> int:
    """Return an axis counted from the front."""
    raise NotImplementedError


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes of a reduction counted from the front: all for None."""
    raise NotImplementedError


def flipped(a: Any, axes: tuple[int, ...]) -> Any:
    """Return the view that runs backward along axes."""
    raise NotImplementedError


def refuse_form(name: str, why: str) -> NoReturn:
    """Reject a call that reaches this one."""
    raise NotImplementedError


# ---- sequences ----


def elements_of_list(xs: list[Any], dtype: torch.dtype | None) -> torch.Tensor:
    """Return a tensor of the items of a list whose length is known at run time only."""
    if len(xs) == 0:
        if dtype is None:
            raise NotImplementedError("scriptc: np.array of a list without items needs a dtype")
        return torch.zeros(0, dtype=dtype)
    if isinstance(xs[0], torch.Tensor):
        return rows_of([tensor_of(np.asarray(x), dtype) for x in xs])
    if is_of_numpy(xs[0]):
        return rows_of([tensor_of(x, dtype) for x in xs])
    if isinstance(xs[0], (list, tuple)):
        width = len(xs[0])
        for row in xs:
            if len(row) != width:
                raise ValueError(
                    "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
                    f"dimensions. The detected shape was ({len(xs)},) + inhomogeneous part."
                )
        return elements_of_list([x for row in xs for x in row], dtype).unflatten(0, (len(xs), width))
    found = lists.numbers_of(xs)
    return found if dtype is None else found.to(dtype)


def rows_of(rows: Any) -> torch.Tensor:
    for row in rows:
        if row.shape != rows[0].shape:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
                f"dimensions. The detected shape was ({len(rows)},) + inhomogeneous part."
            )
    return torch.stack(rows)


# ---- checks ----


def check_one_truth(x: torch.Tensor) -> None:
    if x.numel() == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    if x.numel() != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")


def check_index(index: int, size: int, axis: int) -> None:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")


_HELD = {
    "u8": (0, 255, "uint8"), "i8": (-128, 127, "int8"), "i16": (-(2**15), 2**15 - 1, "int16"),
    "i32": (-(2**31), 2**31 - 1, "int32"), "i64": (-(2**63), 2**63 - 1, "int64"),
}  # fmt: skip


def check_held(number: int, dtype: str) -> None:
    low, high, name = _HELD[dtype]
    if dtype == "i64" and not low <= number <= high:
        raise OverflowError("Python int too large to convert to C long")
    if not low <= number <= high:
        raise OverflowError(f"Python integer {number} out of bounds for {name}")


def shape_text(shape: Any) -> str:
    """Return a shape as NumPy writes it: (3,) or (2,3)."""
    return "(" + ",".join([str(n) for n in shape]) + (",)" if len(shape) == 1 else ")")


def check_broadcast(*tensors: torch.Tensor) -> None:
    """Raise NumPy's ValueError for operands whose shapes do not broadcast."""
    for a in tensors[:-1]:
        b = tensors[-1]
        for i in range(1, 1 + min(a.dim(), b.dim())):
            if a.size(-i) != b.size(-i) and a.size(-i) != 1 and b.size(-i) != 1:
                shapes = " ".join([shape_text(t.shape) for t in tensors])
                raise ValueError(f"operands could not be broadcast together with shapes {shapes} ")


def check_output(output: torch.Tensor, found: torch.Tensor) -> None:
    """Raise NumPy's ValueError for a result that is written into an array of another shape."""
    if output.shape != found.shape:
        own, other = shape_text(output.shape), shape_text(found.shape)
        raise ValueError(f"non-broadcastable output operand with shape {own} doesn't match the broadcast shape {other}")


def spread(source: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """Return a value as an assignment to a view broadcasts it."""
    first = source
    for _ in tuple(range(max(source.dim() - view.dim(), 0))):
        if source.size(0) != 1:
            raise ValueError(
                f"could not broadcast input array from shape {shape_text(first.shape)} into shape {shape_text(view.shape)}"
            )
        source = source.select(0, 0)
    for i in range(1, 1 + source.dim()):
        if source.size(-i) != view.size(-i) and source.size(-i) != 1:
            raise ValueError(
                f"could not broadcast input array from shape {shape_text(first.shape)} into shape {shape_text(view.shape)}"
            )
    return source.clone().expand(view.shape)


def forward_bounds(start: int | None, stop: int | None, step: int, size: int) -> tuple[int, int]:
    """Return the bounds of the slice that runs forward over the elements of one that runs backward."""
    first = size - 1 if start is None else min(start + size if start < 0 else start, size - 1)
    last = -1 if stop is None else max(stop + size if stop < 0 else stop, -1)
    if first <= last:
        return 0, 0
    count = (first - last - 1) // -step + 1
    return first + (count - 1) * step, first + 1


def is_in(array: Any, item: Any) -> bool:
    return bool((array == item).any())


# ---- methods of arrays and scalars ----


@decomposes("ndarray.tolist")
def tolist(self: Any) -> Any:
    return tensor_of(self).tolist()


@decomposes("ndarray.copy")
def copy(self: Any, order: str = "C") -> Any:
    if order != "C":
        refuse_form("ndarray.copy", "the only order that is supported is C")
    return array_of(tensor_of(self).clone(memory_format=torch.contiguous_format))


@decomposes("ndarray.nonzero", "numpy.nonzero")
def nonzero(a: Any) -> Any:
    if tensor_of(a).dim() == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. If the context of "
            "this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )
    return tuple([array_of(x) for x in torch.nonzero(tensor_of(a), as_tuple=True)])


@decomposes("numpy.isscalar")
def isscalar(element: Any) -> bool:
    return is_scalar(element) or isinstance(element, str)
