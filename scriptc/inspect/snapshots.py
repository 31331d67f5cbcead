"""Copy arguments and modules for calls that may write to them, and undo what a call wrote."""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def forked_generators() -> Iterator[None]:
    """Restore the random number generators of torch, Python and NumPy when the block ends."""
    state, numpy_state = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)


def copied(value: Any) -> Any:
    """Return a deep copy in which tensors share memory as in the original.

    Non-leaf tensors of autograd are allowed.

    Modules are not copied, because compiled code is specialized on the object.
    """
    leaves = [leaf for _, leaf in leaves_of("", value)]
    memo: dict[int, Any] = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.nn.Module)}
    _detach(leaves, memo)
    return copy.deepcopy(value, memo)


def copied_receiver(receiver: Any) -> Any:
    """Return a deep copy of an object.

    Its attributes may be non-leaf tensors of autograd, such as those of weight_norm.
    """
    return copied_receivers([receiver])[0]


def copied_receivers(receivers: Sequence[Any]) -> list[Any]:
    """Return deep copies of objects, which share what the objects share. Gradients of tensors are copied too."""
    memo: dict[int, Any] = {}
    for receiver in receivers:
        for holder in receiver.modules() if isinstance(receiver, torch.nn.Module) else [receiver]:
            _detach([leaf for _, leaf in leaves_of("", getattr(holder, "__dict__", {}))], memo)
    made = copy.deepcopy(list(receivers), memo)
    for original in memo.get(id(memo), ()):  # deepcopy keeps the copied objects alive here
        if isinstance(original, torch.nn.Parameter) and original.grad is not None:
            memo[id(original)].grad = original.grad.clone()
    return made


def _detach(leaves: list[Any], memo: dict[int, Any]) -> None:
    """Copy non-leaf tensors of autograd into `memo`, because deepcopy refuses them."""
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf and id(leaf) not in memo:
            memo[id(leaf)] = copy.deepcopy(leaf.detach(), memo)


def leaves_of(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (path, leaf) for the leaves of nested lists, tuples, deques and dicts."""
    if isinstance(value, (list, tuple, deque)):
        for index, item in enumerate(value):
            yield from leaves_of(f"{path}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves_of(f"{path}[{key!r}]", item)
    else:
        yield path, value


def tensors_of(receiver: torch.nn.Module | None) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the parameters and buffers of a module, by name."""
    if receiver is not None:
        yield from receiver.named_parameters()
        yield from receiver.named_buffers()


def state_of(receiver: torch.nn.Module | None) -> dict[str, Any]:
    """Return copies of the tensors, numbers and strings that a module holds, by path."""
    found: dict[str, Any] = {f"self.{name}": tensor.detach().clone() for name, tensor in tensors_of(receiver)}
    for path, module in () if receiver is None else receiver.named_modules(prefix="self"):
        for name, value in vars(module).items():
            for at, leaf in () if name.startswith("_") else leaves_of(f"{path}.{name}", value):
                if isinstance(leaf, torch.Tensor):
                    found[at] = leaf.detach().clone()
                elif isinstance(leaf, (int, float, str, type(None))):
                    found[at] = leaf
    return found


@contextmanager
def undo_writes(receiver: torch.nn.Module | None) -> Iterator[None]:
    """Restore the tensors and attributes of a module when the block ends."""
    saved = [(tensor, tensor.detach().clone()) for _, tensor in tensors_of(receiver)]
    containers: list[tuple[Any, Any]] = []
    for module in () if receiver is None else receiver.modules():
        own = vars(module)
        containers += [(c, copy.copy(c)) for c in (own, own["_buffers"], own["_parameters"])]
        for name, value in own.items():
            if not name.startswith("_") and isinstance(value, (list, deque, dict)):
                containers.append((value, copy.copy(value)))
            if not name.startswith("_") and isinstance(value, torch.Tensor):
                saved.append((value, value.detach().clone()))
    try:
        yield
    finally:
        for container, content in containers:
            if isinstance(container, list):
                container[:] = content
            elif isinstance(container, deque):
                container.clear()
                container.extend(content)
            else:  # dispatchers that compilation added stay
                ours = {k: v for k, v in container.items() if str(k).startswith("__scriptc")}
                container.clear()
                container.update(content | ours)
        for tensor, value in saved:
            if not identical(tensor, value):
                tensor.detach().copy_(value)


def identical(a: Any, b: Any) -> bool:
    """Return whether two leaves have the same type and value; NaN equals NaN."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return False
        return bool(((a == b) | (a != a) & (b != b)).all())
    if isinstance(a, (int, float, str)):
        return type(a) is type(b) and (a == b or a != a)
    return type(a) is type(b)
