"""Creation of tensors: zeros, ones, full, empty and their variants, arange, tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from scriptc.frontend.environment.host_objects import dtype_name, torch_dtype
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.library.python.sequences import as_list
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.operations.arrays import data_of
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.materialize import apply_op, new_list
from scriptc.frontend.operations.options import options
from scriptc.frontend.operations.scalars import filling, new_filled
from scriptc.frontend.operations.sizes import shape_tuple
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import (
    is_array,
    is_complex_number,
    is_known,
    is_made_list,
    is_made_tuple,
    is_none,
    is_sequence,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.verbs import class_name_of, is_run_time, materialize, type_of
from scriptc.ir.dtypes import COMPLEX, FLOATING, INEXACT
from scriptc.ir.ops.rules import elem_of
from scriptc.ir.types import FLOAT, INT, NONE, STR, OptionalType

_NONE = Known(None)
_OF_TEXT = "new(): invalid data type 'str'"
_OF_NONE = "Could not infer dtype of NoneType"
_OF_CLASSES = {float: "f64", int: "i64", bool: "bool", complex: "c128"}
_SURELY_HELD = 65504.0  # all floating dtypes hold numbers up to this


def as_dtype(r: Reader, dtype: AbstractValue, default: str) -> str:
    """Return the dtype that an argument names."""
    obj = require_known(r, dtype, "a dtype")
    if obj is None:
        return default
    name = dtype_name(obj) if isinstance(obj, torch.dtype) else _OF_CLASSES.get(obj)
    if name is None:
        r.reject("dtype_of_other", dtype=obj)
    return name


def size_items(r: Reader, size: tuple[AbstractValue, ...]) -> list[AbstractValue]:
    """Return sizes that are given one by one or as one sequence."""
    if len(size) == 1 and is_sequence(size[0]):
        return r.iterate(size[0])
    return list(size)


def full(r: Reader, size: list[AbstractValue], value: AbstractValue, dtype: str) -> AbstractValue:
    return new_filled(r, size, value, dtype)


def _filled(names: tuple[str, ...], value: int) -> None:
    fill = Known(value)

    @serves(f"torch.{names[0]}")
    def plain(
        r: Reader,
        *sizes: AbstractValue,
        size: AbstractValue | None = None,
        dtype: AbstractValue = _NONE,
        **kwargs: AbstractValue,
    ) -> AbstractValue:
        options(r, kwargs)
        return full(
            r, size_items(r, sizes if size is None else (size,)), fill, as_dtype(r, dtype, r.environment.default_dtype)
        )

    @serves(f"torch.{names[0]}_like")
    def like(
        r: Reader, input: AbstractValue, *, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
    ) -> AbstractValue:
        options(r, kwargs)
        return full_like(r, input, fill, dtype)

    @serves(f"Tensor.new_{names[0]}")
    def new(
        r: Reader,
        self: AbstractValue,
        *sizes: AbstractValue,
        size: AbstractValue | None = None,
        dtype: AbstractValue = _NONE,
        **kwargs: AbstractValue,
    ) -> AbstractValue:
        options(r, kwargs)
        items = size_items(r, sizes if size is None else (size,))
        return full(r, items, fill, as_dtype(r, dtype, tensor_type(self).dtype))


_filled(("zeros",), 0)
_filled(("ones",), 1)
_filled(("empty",), 0)  # empty() promises no content, and zeros are as good


@serves("torch.full_like")
def full_like(
    r: Reader, input: AbstractValue, fill_value: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    """Return a filled tensor with the shape of the input, and strides as of a pointwise op."""
    options(r, kwargs)
    name = as_dtype(r, dtype, tensor_type(input).dtype)
    return apply_op(r, "fill", cast_to(r, input, name), filling(r, input, _number(r, fill_value), name))


def _number(r: Reader, value: AbstractValue) -> AbstractValue:
    """Return a number, or the element of a tensor without dims."""
    return r.call(r.attribute(value, "item"), [], {}) if is_tensor(value) else value


def _default(r: Reader, numbers: Sequence[AbstractValue]) -> str:
    """Return the dtype of a new tensor of Python numbers."""
    if any(map(is_complex_number, numbers)):
        return r.environment.default_complex
    found = [type_of(n) for n in numbers]
    return r.environment.default_dtype if FLOAT in found or not found else "i64" if INT in found else "bool"


@serves("torch.full")
def full_(
    r: Reader, size: AbstractValue, fill_value: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    options(r, kwargs)
    number = _number(r, fill_value)
    return full(r, r.iterate(size), number, as_dtype(r, dtype, _default(r, [number])))


@serves("Tensor.new_full")
def new_full(
    r: Reader,
    self: AbstractValue,
    size: AbstractValue,
    fill_value: AbstractValue,
    dtype: AbstractValue = _NONE,
    **kwargs: AbstractValue,
) -> AbstractValue:
    options(r, kwargs)
    return full(r, r.iterate(size), _number(r, fill_value), as_dtype(r, dtype, tensor_type(self).dtype))


@serves("torch.arange")
def arange(
    r: Reader,
    *bounds: AbstractValue,
    start: AbstractValue = Known(0),
    end: AbstractValue | None = None,
    step: AbstractValue = Known(1),
    dtype: AbstractValue = _NONE,
    **kwargs: AbstractValue,
) -> AbstractValue:
    options(r, kwargs)
    given: tuple[AbstractValue | None, ...] = (*bounds, *(start, end, step)[len(bounds) :])
    if len(bounds) == 1 and end is None:
        given = (start, bounds[0], step)
    first, last, stride = (_number(r, b) for b in given if b is not None)
    floating = any(type_of(b) == FLOAT for b in (first, last, stride))
    kind = as_dtype(r, dtype, r.environment.default_dtype if floating else "i64")
    if kind == "bool" or kind in COMPLEX:
        r.emit.raise_error("NotImplementedError", f"\"arange_cpu\" not implemented for '{NAMES[torch_dtype(kind)]}'")
    return apply_op(r, "arange", first, last, stride, dtype=kind)


@serves("torch.tensor")
def tensor(r: Reader, data: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue) -> AbstractValue:
    """Return torch.tensor of a number or of nested lists of numbers."""
    options(r, kwargs)
    if is_tensor(data):
        r.reject("tensor_of_tensor")
    if (found := data_of(r, data)) is not None:
        name = as_dtype(r, dtype, tensor_type(found).dtype)
        same = is_array(data) and name == tensor_type(found).dtype
        return apply_op(r, "clone", found) if same else cast_to(r, found, name)
    return _of_numbers(r, data, dtype)


@serves("torch.as_tensor")
def as_tensor(r: Reader, data: AbstractValue, dtype: AbstractValue = _NONE, **kwargs: AbstractValue) -> AbstractValue:
    options(r, kwargs)
    if (found := data_of(r, data)) is not None:
        data = found
    return (
        cast_to(r, data, as_dtype(r, dtype, tensor_type(data).dtype))
        if is_tensor(data)
        else _of_numbers(r, data, dtype)
    )


@serves("torch.asarray")
def asarray(
    r: Reader, obj: AbstractValue, *, dtype: AbstractValue = _NONE, copy: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    made = as_tensor(r, obj, dtype, **kwargs)
    copies = require_known(r, copy, "the argument copy")
    if copies is False:
        r.reject("form_of_call", name="torch.asarray", why="copy=False is not supported")
    return new_tensor(r, made, made) if copies and (is_tensor(obj) or is_array(obj)) else made


@serves("Tensor.new_tensor")
def new_tensor(
    r: Reader, self: AbstractValue, data: AbstractValue, *, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    options(r, kwargs)
    name = as_dtype(r, dtype, tensor_type(self).dtype)
    if is_tensor(data):
        return apply_op(r, "clone", data) if tensor_type(data).dtype == name else cast_to(r, data, name)
    return _of_numbers(r, data, Known(torch_dtype(name)))


def _holds_run_time(r: Reader, data: AbstractValue) -> bool:
    """Return whether a display holds a list whose length is known only at run time."""
    items = (data.items if is_made_list(data) or is_made_tuple(data) else None) or ()
    return any(is_made_list(i) and is_run_time(r, i) for i in items)


def with_lists(r: Reader, data: AbstractValue) -> AbstractValue:
    """Return data with lists in place of ranges."""
    if class_name_of(r, data) == "range":
        return as_list(r, data)
    items = (data.items if is_made_list(data) or is_made_tuple(data) else None) or ()
    found = [with_lists(r, item) for item in items]
    return TupleValue(found) if any(new is not old for new, old in zip(found, items, strict=True)) else data


def _refuse_no_data(r: Reader, data: AbstractValue, dtype: str) -> None:
    """Raise what torch.tensor raises for a set or dict. dtype: the one that is asked for, or ""."""
    if (name := name_without_data(r, data)) is None:
        return
    if not dtype:
        r.emit.raise_error("RuntimeError", f"Could not infer dtype of {name}")
    if dtype in INEXACT:
        r.emit.raise_error("TypeError", f"must be real number, not {name}")
    r.emit.raise_error("TypeError", f"'{name}' object cannot be interpreted as an integer")


def name_without_data(r: Reader, data: AbstractValue) -> str | None:
    """Return the name by which torch refuses the class of a set or dict; None for other values."""
    name = class_name_of(r, data)
    if name in ("OrderedDict", "defaultdict"):
        return f"collections.{name}"
    return name if name in ("set", "frozenset", "dict", "Counter") else None


def _of_numbers(r: Reader, data: AbstractValue, dtype: AbstractValue) -> AbstractValue:
    if is_text(data):
        r.emit.raise_error("TypeError", _OF_TEXT)
    asked = as_dtype(r, dtype, "")
    _refuse_no_data(r, data, asked)
    data = with_lists(r, data)
    if is_run_time(r, data) or _holds_run_time(r, data):
        wanted = torch_dtype(asked) if asked else None
        return r.call(Known(lists.tensor_of), [as_list(r, data), Known(wanted)], {})
    shape, items = _flatten(r, data, asked)
    default = _default(r, items)
    name = as_dtype(r, dtype, default)
    if any(map(is_complex_number, items)) and name not in ("bool", *COMPLEX):
        integer = "'complex' object cannot be interpreted as an integer"
        r.emit.raise_error("TypeError", "must be real number, not complex" if name in FLOATING else integer)
    if not shape:
        return _element(r, items[0], name)
    scalars = new_list(r, [_element(r, i, name) for i in items], (r.position.loc, "tensor"))
    if not items:
        return full(r, [Known(n) for n in shape], Known(0), name)
    return apply_op(r, "view", apply_op(r, "stack", scalars, dim=0), shape_tuple(r, tuple(Known(n) for n in shape)))


def _element(r: Reader, number: AbstractValue, dtype: str) -> AbstractValue:
    """Return torch.tensor of one number: floats beyond the dtype become infinite."""
    exact = type_of(number) != FLOAT or is_known(number) and abs(number.obj) < _SURELY_HELD
    if dtype not in INEXACT or exact:
        return full(r, [], number, dtype)
    return cast_to(r, full(r, [], number, "c128" if dtype in COMPLEX else "f64"), dtype)


@serves(lists.numbers_of)
def numbers_of(r: Reader, xs: AbstractValue) -> AbstractValue:
    """Return a list of numbers as a tensor of int64, float64 or bool."""
    elem = elem_of(materialize(r, xs))
    if elem == NONE:
        r.emit.raise_error("RuntimeError", _OF_NONE)
    if elem == STR:
        r.emit.raise_error("ValueError", "too many dimensions 'str'")
    if isinstance(elem, OptionalType):
        xs = r.call(Known(lists.all_present), [xs, Known(_OF_NONE)], {})
    return apply_op(r, "list.tensor", xs)


def _flatten(r: Reader, data: AbstractValue, dtype: str) -> tuple[list[int], list[AbstractValue]]:
    if is_tensor(data):
        return [], [r.call(r.attribute(data, "item"), [], {})]
    if is_none(data):
        r.emit.raise_error("RuntimeError", _OF_NONE)
    if is_text(data):
        r.emit.raise_error("TypeError", _OF_TEXT)
    if not is_sequence(data):
        _refuse_no_data(r, data, dtype)
        return [], [data]
    items = r.iterate(data)
    if items and is_text(items[0]):  # torch takes a string for one more list
        r.emit.raise_error("ValueError", "too many dimensions 'str'")
    parts = [_flatten(r, item, dtype) for item in items]
    if any(p[0] != parts[0][0] for p in parts):
        r.emit.raise_error("ValueError", "expected sequence of equal length")
    return [len(parts), *(parts[0][0] if parts else [])], [i for p in parts for i in p[1]]


@serves("torch.scalar_tensor")
def scalar_tensor(
    r: Reader, s: AbstractValue, *, dtype: AbstractValue = _NONE, **kwargs: AbstractValue
) -> AbstractValue:
    options(r, kwargs)
    return full(r, [], s, as_dtype(r, dtype, r.environment.default_dtype))
