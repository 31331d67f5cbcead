"""Runs IR functions on random inputs and writes down all that a caller can see, so that two runs can be compared."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from scriptc.ir.core import Module
from scriptc.ir.dtypes import FLOATING, TORCH_NAMES
from scriptc.ir.interp import Interpreter
from scriptc.ir.types import BOOL, FLOAT, INT, NONE, STR, DictType, ListType, OptionalType, TensorType, TupleType, Type

SIZES = {"B": 2, "T": 3}
TEXTS = ("s", "", "a b", "Ǆß1", "12", "\U0001f34e\n")


@dataclass
class Inputs:
    args: list[Any]
    params: dict[str, Any]


def make_value(t: Type, rng: random.Random) -> Any:
    if isinstance(t, TensorType):
        dims = t.dims if t.dims is not None else (None, None)
        shape = [rng.choice((1, 3, 3)) if d is None else SIZES.get(d, 2) if isinstance(d, str) else d for d in dims]
        return _random_tensor(shape, t.dtype, rng)
    if isinstance(t, ListType):
        items = [make_value(t.elem, rng) for _ in range(rng.randrange(4))]
        return tuple(items) if t.is_tuple else items
    if isinstance(t, DictType):
        return {make_value(t.key, rng): make_value(t.elem, rng) for _ in range(rng.randrange(4))}
    if isinstance(t, OptionalType):
        return make_value(t.item, rng) if rng.random() < 0.5 else None
    if isinstance(t, TupleType):
        return tuple(make_value(item, rng) for item in t.items)
    makers = {INT: lambda: rng.choice((0, 1, 3, -1)), FLOAT: lambda: rng.choice((0.0, -0.5, 2.0)),
              BOOL: lambda: rng.random() < 0.5, STR: lambda: rng.choice(TEXTS), NONE: lambda: None}  # fmt: skip
    return makers[t]()  # type: ignore[index]


def _random_tensor(shape: list[int], dtype: str, rng: random.Random) -> torch.Tensor:
    torch_dtype = getattr(torch, TORCH_NAMES[dtype])
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    swapped = [shape[1], shape[0], *shape[2:]] if len(shape) > 1 and rng.random() < 0.3 else None
    x = torch.randn(swapped or shape, generator=generator)
    if dtype in FLOATING and x.numel() and rng.random() < 0.2:
        x.view(-1)[0] = rng.choice((float("nan"), float("inf"), -0.0))
    x = (x if dtype in FLOATING else x.mul(3).abs()).to(torch_dtype)
    return x.transpose(0, 1) if swapped else x


def make_inputs(module: Module, name: str, rng: random.Random) -> Inputs:
    args = [make_value(a.type, rng) for a in module.funcs[name].body.args]
    return Inputs(args, {p.name: make_value(p.type, rng) for p in module.params.values()})


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
    if isinstance(value, dict):
        return {key: _copy(held) for key, held in value.items()}
    return type(value)(map(_copy, value)) if isinstance(value, (list, tuple)) else value


class _Seen:
    """Names objects and storages in the order in which they are met, so that aliasing can be compared across runs."""

    def __init__(self, exact: bool) -> None:
        self.elements = _bits if exact else _Near
        self.objects: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.kept: list[Any] = []

    def describe(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.describe, value))
        if not isinstance(value, (torch.Tensor, list, dict)):
            return type(value).__name__, repr(value)
        self.kept.append(value)  # an id is the object's own only while the object lives
        name = self.objects.setdefault(id(value), len(self.objects))
        if isinstance(value, list):
            return name, [self.describe(v) for v in value]
        if isinstance(value, dict):
            return name, [(key, self.describe(v)) for key, v in value.items()]
        storage = self.storages.setdefault(value.untyped_storage().data_ptr(), len(self.storages))
        where = (name, storage, value.storage_offset()) if value.numel() else (name,)
        return where, value.dtype, tuple(value.shape), value.stride(), self.elements(value)


def _bits(value: torch.Tensor) -> bytes:
    """The elements, with one bit pattern for all NaNs."""
    flat = value.detach().reshape(-1).clone(memory_format=torch.contiguous_format)
    if flat.is_floating_point():
        flat[flat.isnan()] = float("nan")
    return bytes(flat.view(torch.uint8).tolist())


@dataclass(eq=False)
class _Near:
    """Elements up to the rounding of sums in another order."""

    value: torch.Tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Near) and torch.allclose(self.value, other.value, 1e-4, 1e-5, equal_nan=True)


def outcome(module: Module, name: str, inputs: Inputs, *, exact: bool = True) -> Any:
    """What the caller sees: results or exception, what became of arguments and weights, warnings."""
    args, params = _copy(inputs.args), _copy(list(inputs.params.values()))
    interpreter = Interpreter(module, dict(zip(inputs.params, params, strict=True)))
    numpy.random.seed(0)  # the rows of NumPy draw from its global generator
    try:
        with torch.no_grad():
            result: Any = interpreter.run(name, *args)
    except Exception as error:  # whatever the function raises is an outcome
        result = (type(error).__name__, str(error))
    seen = _Seen(exact)
    return [seen.describe(tuple(args)), seen.describe(tuple(params)), seen.describe(result), interpreter.warnings]
