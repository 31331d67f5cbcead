"""Round weights in eager as compiled code does: the frozen weights of linears in a 16-bit weight format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CellType
from typing import Any

import torch

from scriptc.frontend.environment.specs import LateBoundTensor
from scriptc.ir.core import Module, Value
from scriptc.ir.dtypes import TORCH_NAMES

Rounded = Sequence[tuple[torch.Tensor, torch.dtype]]


def rounded_weights(module: Module, tensors: Iterable[LateBoundTensor]) -> Rounded:
    """Return those of some tensors that a module keeps in a 16-bit weight format, each with its dtype."""
    formats = {
        _param(weight): op.attrs["store"]
        for op in module.walk()
        if op.name == "pack_linear.kept" and op.attrs["store"]
        for weight in op.operands
    }
    found = []
    for live in tensors:
        if live.name in formats:
            container: Any = live.container
            tensor = container.cell_contents if isinstance(container, CellType) else container[live.key]
            found.append((tensor, getattr(torch, TORCH_NAMES[formats[live.name]])))
    return found


def _param(weight: Value) -> str:
    """Return the name of the parameter that a weight is, or is a view of."""
    made = weight.op
    while made is not None and made.name != "param":
        made = made.operands[0].op
    assert made is not None
    return str(made.attrs["name"])


@contextmanager
def rounded(weights: Rounded) -> Iterator[None]:
    """Round tensors in place, and restore them when the block ends."""
    exact = [tensor.detach().clone() for tensor, _ in weights]
    try:
        for tensor, dtype in weights:
            tensor.detach().copy_(tensor.detach().to(dtype))
        yield
    finally:
        for (tensor, _), value in zip(weights, exact, strict=True):
            tensor.detach().copy_(value)
