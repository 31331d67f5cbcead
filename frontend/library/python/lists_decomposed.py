"""Methods of lists and functions over them, in terms of items."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import torch

from scriptc.frontend.library.registry import decomposes


def concatenated(a: list[Any], b: list[Any]) -> list[Any]:
    result = a[:]
    result.extend(b)
    return result


def copied_items(xs: list[Any]) -> list[Any]:
    return [deepcopy(x) for x in xs]


def copy_values(d: dict[Any, Any]) -> None:
    for key, value in d.items():
        d[key] = deepcopy(value)


def same(a: Any, b: Any) -> bool:
    """Return whether two values are one object or equal. A handler serves this function."""
    raise NotImplementedError


def contains(xs: list[Any], value: Any) -> bool:
    for x in xs:
        if same(x, value):
            return True
    return False


def in_range(value: Any, start: int, stop: int, step: int) -> bool:
    inside = start <= value < stop if step > 0 else stop < value <= start
    return inside and (value - start) % step == 0


def range_item(start: int, step: int, length: int, index: int) -> int:
    place = index + length if index < 0 else index
    if place < 0 or place >= length:
        raise IndexError("range object index out of range")
    return start + place * step


def range_slice(start: int, step: int, length: int, first: int, last: int, by: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice of a range."""
    if by == 0:
        raise ValueError("slice step cannot be zero")
    return start + slice_end(first, length, by) * step, start + slice_end(last, length, by) * step, step * by


def slice_end(place: int, length: int, by: int) -> int:
    """Return a bound of a slice, as `slice.indices` does."""
    if place < 0:
        place += length
        return max(place, -1 if by < 0 else 0)
    return min(place, length - 1 if by < 0 else length)


def equal(a: list[Any], b: list[Any]) -> bool:
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if not same(a[i], b[i]):
            return False
    return True


def not_equal(a: list[Any], b: list[Any]) -> bool:
    return not equal(a, b)


def less(a: list[Any], b: list[Any]) -> bool:
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return a[i] < b[i]
    return len(a) < len(b)


def less_equal(a: list[Any], b: list[Any]) -> bool:
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return a[i] <= b[i]
    return len(a) <= len(b)


def greater(a: list[Any], b: list[Any]) -> bool:
    return less(b, a)


def greater_equal(a: list[Any], b: list[Any]) -> bool:
    return less_equal(b, a)


COMPARISONS = {"Eq": equal, "NotEq": not_equal, "Lt": less, "LtE": less_equal, "Gt": greater, "GtE": greater_equal}


@decomposes("list.index")
def index(xs: list[Any], value: Any, start: int = 0, stop: int = 2**63 - 1) -> int:
    first = max(start + len(xs), 0) if start < 0 else start
    last = max(stop + len(xs), 0) if stop < 0 else min(stop, len(xs))
    for i in range(first, last):
        if same(xs[i], value):
            return i
    if isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r} is not in list")
    raise ValueError("value is not in list")


@decomposes("list.count")
def count(xs: list[Any], value: Any) -> int:
    n = 0
    for x in xs:
        if same(x, value):
            n += 1
    return n


@decomposes("list.remove")
def remove(xs: list[Any], value: Any) -> None:
    for i in range(len(xs)):
        if same(xs[i], value):
            del xs[i]
            return
    raise ValueError("list.remove(x): x not in list")


@decomposes("list.reverse")
def reverse(xs: list[Any]) -> None:
    for i in range(len(xs) // 2):
        xs[i], xs[-1 - i] = xs[-1 - i], xs[i]


@decomposes("list.copy")
def copy(xs: list[Any]) -> list[Any]:
    return xs[:]


@decomposes("list.clear")
def clear(xs: list[Any]) -> None:
    xs[:] = []


def add_column(column: list[Any], rows: list[Any], i: int) -> None:
    for row in rows:
        column.append(row[i])


def first_of(columns: tuple[Any, ...], count: int) -> list[Any]:
    return [*columns][:count]


def transposed(rows: list[Any]) -> list[Any]:
    """Return zip(*rows) as a list."""
    count = min([len(row) for row in rows]) if rows else 0
    return [tuple([row[i] for row in rows]) for i in range(count)]


def argsort(xs: list[Any], reverse: bool) -> list[int]:
    raise NotImplementedError  # an op


def argsort_compared(xs: list[Any], reverse: bool) -> list[int]:
    """Return the order of a stable merge sort, which begins with runs of one item."""
    order = [i for i in range(len(xs))]
    width = 1
    while width < len(xs):
        merged: list[int] = []
        for start in range(0, len(xs), 2 * width):
            a, middle, end = start, min(start + width, len(xs)), min(start + 2 * width, len(xs))
            b = middle
            while a < middle and b < end:
                if xs[order[a]] < xs[order[b]] if reverse else xs[order[b]] < xs[order[a]]:
                    merged.append(order[b])
                    b += 1
                else:
                    merged.append(order[a])
                    a += 1
            merged.extend(order[a:middle])
            merged.extend(order[b:end])
        order = merged
        width *= 2
    return order


def item_at(xs: list[Any], i: int) -> Any:
    """Return `xs[i]`, where it is known that 0 <= i < len(xs)."""
    raise NotImplementedError  # an op


def sorted_list(xs: list[Any], *, key: Any = None, reverse: bool = False) -> list[Any]:
    """Sort `xs`, to which nothing else refers."""
    keys = xs if key is None else [key(x) for x in xs]
    return [item_at(xs, i) for i in argsort(keys, reverse)]


@decomposes("list.sort")
def sort(xs: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    xs[:] = sorted(xs, key=key, reverse=reverse)


def set_slice(xs: list[Any], start: int | None, stop: int | None, step: int, ys: Any) -> None:
    """Execute `xs[start:stop:step] = ys`."""
    if step == 1:
        xs[start:stop] = ys
        return
    items = list(ys)
    places = list(range(len(xs)))[start:stop:step]
    if len(items) != len(places):
        raise ValueError(
            f"attempt to assign sequence of size {len(items)} to extended slice of size {len(places)}"
        )
    for place, item in zip(places, items, strict=True):
        xs[place] = item


def delete_slice(xs: list[Any], start: int | None, stop: int | None, step: int) -> None:
    """Execute `del xs[start:stop:step]`."""
    places = sorted(list(range(len(xs)))[start:stop:step])
    for i in range(len(places)):
        del xs[places[i] - i]


def total(xs: list[Any], start: Any) -> Any:
    if len(xs) == 0:
        return start
    result = start + xs[0]
    for i in range(1, len(xs)):
        result = result + xs[i]
    return result


def compensated_total(xs: Any, start: Any) -> Any:
    """Return the sum() of Python 3.12, with Neumaier's compensation (ZAMM 54, 1974)."""
    result, lost = start, 0.0
    for x in xs:
        if isinstance(result, float) and isinstance(x, float):
            total = result + x
            lost += (result - total) + x if abs(result) >= abs(x) else (x - total) + result
            result = total
        elif isinstance(result, float) and not isinstance(x, int):
            result, lost = _compensated(result, lost) + x, 0.0
        else:
            result = result + x
    return _compensated(result, lost)


def _compensated(total: Any, lost: float) -> Any:
    """Return a sum plus its compensation. The sign of a zero, and infinity, stay as they are."""
    return total + lost if isinstance(total, float) and lost != 0.0 and math.isfinite(lost) else total


def smallest(xs: list[Any], key: Any) -> Any:
    if len(xs) == 0:
        raise ValueError("min() arg is an empty sequence")
    best = xs[0]
    least = best if key is None else key(best)
    for i in range(1, len(xs)):
        found = xs[i] if key is None else key(xs[i])
        if found < least:
            best, least = xs[i], found
    return best


def largest(xs: list[Any], key: Any) -> Any:
    if len(xs) == 0:
        raise ValueError("max() arg is an empty sequence")
    best = xs[0]
    most = best if key is None else key(best)
    for i in range(1, len(xs)):
        found = xs[i] if key is None else key(xs[i])
        if found > most:
            best, most = xs[i], found
    return best


def every(xs: Any) -> bool:
    for x in xs:
        if not x:
            return False
    return True


def some(xs: Any) -> bool:
    for x in xs:
        if x:
            return True
    return False


def numbers_of(xs: list[Any]) -> torch.Tensor:
    raise NotImplementedError  # an op


def all_present(xs: list[Any], message: str) -> list[Any]:
    """Return the items; raise TypeError if one is None."""
    made = []
    for x in xs:
        if x is None:
            raise RuntimeError(message)
        made.append(x)
    return made


def tensor_of(xs: list[Any], dtype: torch.dtype | None) -> torch.Tensor:
    """Return torch.tensor of a list of numbers, of tensors with one element, or of such lists."""
    if len(xs) == 0:
        return torch.zeros(0) if dtype is None else torch.zeros(0, dtype=dtype)
    if isinstance(xs[0], (list, tuple)):
        width = len(xs[0])
        for row in xs:
            if len(row) != width:
                raise ValueError(f"expected sequence of length {width} at dim 1 (got {len(row)})")
        if width == 0:
            return torch.zeros(len(xs), 0) if dtype is None else torch.zeros(len(xs), 0, dtype=dtype)
        return tensor_of([x for row in xs for x in row], dtype).unflatten(0, (len(xs), width))
    numbers = numbers_of([x.item() for x in xs]) if isinstance(xs[0], torch.Tensor) else numbers_of(xs)
    if dtype is None:
        return numbers.to(torch.get_default_dtype()) if numbers.is_floating_point() else numbers
    return converted(numbers, dtype)


def converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor in a dtype, or raise torch.tensor's error for an int beyond it."""
    if x.dtype == torch.int64 and dtype in (torch.uint8, torch.int8, torch.int16, torch.int32) and x.numel() > 0:
        limits = torch.iinfo(dtype)
        if bool((x < limits.min).any()) or bool((x > limits.max).any()):
            raise RuntimeError("value cannot be converted to this type without overflow")
    return x.to(dtype)


@decomposes("Tensor.tolist")
def tolist(x: Any) -> Any:
    if x.dim() == 0:
        return x.item()
    if x.dim() == 1:
        return [element.item() for element in x]
    return [tolist(row) for row in x]


def items_of(xs: Any) -> list[Any]:
    return [x for x in xs]


def reduced_alone(function: Any, xs: Any) -> Any:
    if not xs:
        raise TypeError("reduce() of empty iterable with no initial value")
    result = xs[0]
    for i in range(1, len(xs)):
        result = function(result, xs[i])
    return result


def reduced(function: Any, xs: Any, initial: Any) -> Any:
    result = initial
    for x in xs:
        result = function(result, x)
    return result


def range_length(start: int, stop: int, step: int) -> int:
    """Return the length of range(start, stop, step)."""
    if step > 0:
        return (
            (_count_apart(start, stop - 1, step) if start < 0 < stop else (stop - start - 1) // step + 1)
            if start < stop
            else 0
        )
    return (
        (
            _count_apart(start, stop + 1, step)
            if stop < 0 <= start or step < -(2**62)
            else (start - stop - 1) // -step + 1
        )
        if start > stop
        else 0
    )


def _count_apart(first: int, last: int, step: int) -> int:
    """Return the number of steps from `first` to `last`, both included, where their difference may take more than 64
    bits."""
    fits = last % step >= first % step if step > 0 else last % step <= first % step
    return last // step - first // step + fits


def has_items(start: int, stop: int, step: int) -> bool:
    """Return whether range(start, stop, step) has items. Its length may take more than 64 bits."""
    return start < stop if step > 0 else start > stop
