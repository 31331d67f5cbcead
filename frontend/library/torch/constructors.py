"""Legacy constructors: torch.Tensor(2, 3), torch.LongTensor([1, 2]), t.new(2, 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import dtype_name, type_name
from scriptc.frontend.library.registry import resolve, serves
from scriptc.frontend.library.torch.creation import full, name_without_data, size_items, tensor, with_lists
from scriptc.frontend.operations.autograd_flags import known_flag, new_parameter
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.options import options
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_known, is_made_tuple, is_none, is_sequence, is_tensor, tensor_type
from scriptc.frontend.values.verbs import class_name_of
from scriptc.ir.dtypes import TORCH_NAMES

_NONE = Known(None)


def made(r: Reader, args: tuple[AbstractValue, ...], dtype: str, constructor: Callable[..., Any]) -> AbstractValue:
    """Return the result of a legacy constructor.

    Sizes or a torch.Size give a tensor with any content, another sequence a tensor of its items, and a tensor an alias."""
    if len(args) == 1:
        (only,) = args
        if is_tensor(only):
            try:  # other constructors take their own type alone
                constructor(torch.empty(0, dtype=getattr(torch, TORCH_NAMES[tensor_type(only).dtype])))
            except TypeError as e:
                r.emit.raise_error("TypeError", str(e))
            return apply_op(r, "alias", only)
        if (name := name_without_data(r, only)) is not None:
            r.emit.raise_error("TypeError", f"new(): data must be a sequence (got {name})")
        only = with_lists(r, only)
        is_size = is_made_tuple(only) and only.cls is torch.Size or is_known(only) and isinstance(only.obj, torch.Size)
        if is_sequence(only) and not is_size:
            return tensor(r, only, Known(getattr(torch, TORCH_NAMES[dtype])))
    return full(r, size_items(r, args) if args else [Known(0)], Known(0), dtype)


@serves("Tensor.new")
def new(r: Reader, self: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    options(r, kwargs)
    dtype = tensor_type(self).dtype
    return made(r, args, dtype, torch.empty(0, dtype=getattr(torch, TORCH_NAMES[dtype])).new)


@serves("torch.Tensor")
def default(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    options(r, kwargs)
    return made(r, args, r.environment.default_dtype, torch.Tensor)


@serves("torch.autograd.Variable")
def variable(
    r: Reader, data: AbstractValue = _NONE, requires_grad: AbstractValue = _NONE, volatile: AbstractValue = _NONE
) -> AbstractValue:
    """Return an alias of a tensor, as detach() does."""
    if not is_tensor(data):
        r.emit.raise_error("TypeError", f"Variable data has to be a tensor, but got {class_name_of(r, data)}")
    return apply_op(r, "alias", data)


@serves("torch.nn.Parameter")
def parameter(
    r: Reader, data: AbstractValue = _NONE, requires_grad: AbstractValue = Known(True)
) -> AbstractValue:
    """Return a new leaf over the memory of a tensor."""
    if is_none(data):
        data = r.call(Known(torch.empty), [Known(0)], {})
    if not is_tensor(data):
        what = class_name_of(r, data)
        r.emit.raise_error("AttributeError", f"'{what}' object has no attribute 'detach'")
    flag = known_flag(r, requires_grad, "requires_grad must be a bool", "TypeError")
    return new_parameter(r, data, flag)


def _of(cls: Any, dtype: str) -> Any:
    def constructor(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
        options(r, kwargs)
        return made(r, args, dtype, cls)

    return constructor


TYPES = {type_name(dtype): dtype for dtype in TORCH_NAMES}
for cls in filter(None, map(resolve, TYPES)):
    serves(cls)(_of(cls, TYPES[f"{cls.__module__}.{cls.__name__}"]))


@serves("Tensor.type")
def type_(
    r: Reader, self: AbstractValue, dtype: AbstractValue = _NONE, non_blocking: AbstractValue = _NONE
) -> AbstractValue:
    """Return the tensor in a dtype, name or legacy type; without one, the name of its type."""
    obj = require_known(r, dtype, "the type")
    if obj is None:
        return Known(type_name(tensor_type(self).dtype))
    if obj is torch.Tensor:
        return cast_to(r, self, r.environment.default_dtype)
    name = obj if isinstance(obj, str) else f"{getattr(obj, '__module__', '')}.{getattr(obj, '__name__', '')}"
    wanted = dtype_name(obj) if isinstance(obj, torch.dtype) else TYPES.get(name)
    if wanted is None:
        r.emit.raise_error("ValueError", f"invalid type: '{name}'")
    return cast_to(r, self, wanted)
