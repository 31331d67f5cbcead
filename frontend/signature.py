"""The signature of a call: which of its values are dynamic, and of what types."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import torch

from scriptc.frontend.outside import dtype_name, refuse_tensor
from scriptc.frontend.specs import (
    ArgSpec,
    DictSpec,
    KnownSpec,
    ListSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    describe,
)

_SCALARS = {int: "i64", float: "f64", bool: "bool", str: "str"}


def has_place(value: Any) -> bool:
    """Whether a value is counted among those that may have to be known at compile time."""
    if type(value) is list:
        return bool(value) and all(type(v) is str for v in value)
    return type(value) in (int, float, str)


class Signature:
    """Builds specs from the values of one call.

    known: places (counted over all ints, floats, strings and lists of strings, in order) whose values are needed at
    compile time. texts: the strings among those.
    dynamic: False makes all sizes of tensors part of the signature.
    """

    def __init__(self, known: frozenset[int] = frozenset(), dynamic: bool = True):
        self.known = known
        self.dynamic = dynamic
        self.places = 0
        self.texts: dict[int, str] = {}

    def of(self, arguments: Mapping[str, Any]) -> list[ArgSpec]:
        """One spec per parameter; TypeError where a value cannot be passed to compiled code."""
        return [ArgSpec(name, self.spec(value, name)) for name, value in arguments.items()]

    def spec(self, value: Any, name: str) -> Spec:
        if isinstance(value, torch.Tensor):
            return self.tensor(value, name, dynamic=self.dynamic)
        if type(value) is not list and has_place(value):
            place, is_known = self.place()
            if is_known and type(value) is str:
                self.texts[place] = value
            return KnownSpec(value) if is_known else ScalarSpec(_SCALARS[type(value)])
        if type(value) is list:
            return KnownSpec(value) if has_place(value) and self.place()[1] else self.list(value, name)
        if isinstance(value, tuple) and not isinstance(value, enum.Enum):
            return TupleSpec(tuple(self.spec(v, f"{name}[{i}]") for i, v in enumerate(value)), type(value))
        if type(value) is dict and all(type(k) in (str, int) for k in value):
            return DictSpec(tuple(value), tuple(self.spec(v, f"{name}[{k!r}]") for k, v in value.items()))
        return KnownSpec(value)

    def place(self) -> tuple[int, bool]:
        """The place of the next value that may have to be known, and whether it does."""
        self.places += 1
        return self.places - 1, self.places - 1 in self.known

    def tensor(self, value: torch.Tensor, name: str, *, dynamic: bool) -> TensorSpec:
        if reason := refuse_tensor(value):
            raise TypeError(f"the tensor '{name}' cannot be passed to compiled code: {reason}")
        if value.dim() > 12:
            raise TypeError(f"the tensor '{name}' has {value.dim()} dimensions, and at most 12 are supported")
        dtype = dtype_name(value.dtype)
        assert dtype is not None
        return TensorSpec(dtype, (None,) * value.dim() if dynamic else tuple(value.shape))

    def list(self, value: list[Any], name: str) -> Spec:
        """A list of any length if its items are of one type; a list of objects is part of the signature."""
        elems: list[Spec] = []
        for i, item in enumerate(value):
            if isinstance(item, torch.Tensor):
                elem: Spec = self.tensor(item, f"{name}[{i}]", dynamic=True)
            elif type(item) in _SCALARS:
                elem = ScalarSpec(_SCALARS[type(item)])
            elif type(item) is list:
                elem = self.list(item, f"{name}[{i}]")
            else:
                elem = KnownSpec(item)
            if elem not in elems:
                elems.append(elem)
        if not elems:
            return ListSpec(None)
        filled = [e for e in elems if not (isinstance(e, ListSpec) and e.elem is None)] or elems
        if any(isinstance(e, KnownSpec) for e in elems):
            return KnownSpec(value)
        if len(filled) > 1:
            kinds = ", ".join(map(describe, filled[:3]))
            raise TypeError(f"the list '{name}' holds values of different types ({kinds}); pass a tuple instead")
        return ListSpec(filled[0])
