"""Arguments and modules as they were: copies for calls that may write, and what was written put back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def copied(value: Any) -> Any:
    """A deep copy that keeps who shares memory with whom, and takes tensors that autograd made.

    Modules are not copied: compiled code is specialised on the very object.
    """
    leaves = [leaf for _, leaf in leaves_of("", value)]
    memo: dict[int, Any] = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.nn.Module)}
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf and id(leaf) not in memo:
            memo[id(leaf)] = copy.deepcopy(leaf.detach(), memo)
    return copy.deepcopy(value, memo)


def leaves_of(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(path, leaf) of lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves_of(f"{path}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves_of(f"{path}[{key!r}]", item)
    else:
        yield path, value


def tensors_of(receiver: torch.nn.Module | None) -> Iterator[tuple[str, torch.Tensor]]:
    if receiver is not None:
        yield from receiver.named_parameters()
        yield from receiver.named_buffers()


@contextmanager
def kept(receiver: torch.nn.Module | None) -> Iterator[None]:
    """Puts back what a call writes to the module's parameters and buffers."""
    saved = [(tensor, tensor.detach().clone()) for _, tensor in tensors_of(receiver)]
    try:
        yield
    finally:
        for tensor, value in saved:
            if not identical(tensor, value):
                tensor.detach().copy_(value)


def identical(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return False
        return bool(((a == b) | (a != a) & (b != b)).all())
    if isinstance(a, (int, float, str)):
        return type(a) is type(b) and (a == b or a != a)
    return type(a) is type(b)
