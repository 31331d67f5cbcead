"""Calls that compute gradients themselves, such as training steps: they run in grad mode, and change weights outside."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.frontend.entry import read
from scriptc.frontend.environment.specs import Contract, PlaceSpec, Raised, WriteBack
from scriptc.inspect.snapshots import identical, leaves_of
from scriptc.ir.errors import CompileError
from scriptc.ir.gradients.inside import ASKS, asks_for_gradients

_ABSENT = object()


class Step:
    """A call as the tools run it. contract: that of a call that computes gradients itself, None of all other calls."""

    def __init__(self, contract: Contract | None):
        self.contract = contract

    def __bool__(self) -> bool:
        """Return whether the call computes gradients itself."""
        return self.contract is not None

    @classmethod
    def of(cls, dispatcher: Dispatcher | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        """Find out whether a call computes gradients itself. Without grad mode, no call does."""
        if dispatcher is None or not torch.is_grad_enabled():
            return cls(None)
        if dispatcher.variants and not any(f" {ASKS}(" in variant.source_ir for variant in dispatcher.variants):
            return cls(None)
        target = dispatcher.target
        try:
            entry = read(target.func, target.receiver, target.bind(args, kwargs), dynamic=dispatcher.options.dynamic,
                         runs_hooks=target.runs_hooks)  # fmt: skip
        except (CompileError, TypeError):  # which the call raises
            return cls(None)
        return cls(entry if asks_for_gradients(entry.module) else None)

    @contextmanager
    def mode(self) -> Iterator[None]:
        """Run the block in grad mode if the call computes gradients itself, and put back what the block changes outside."""
        contents = _Contents()
        if self.contract is not None:
            contents.add(self.contract)
        try:
            with torch.set_grad_enabled(self.contract is not None):
                yield
        finally:
            contents.put_back()

    def leaves(self) -> dict[str, Any]:
        """Return copies of the tensors outside that the call may change, and of what it sets, by name."""
        found: dict[str, Any] = {}
        if self.contract is not None:
            found |= {live.name: live.container[live.key] for live in self.contract.tensors}
            found |= {store.name: _value(store) for store in self.contract.write_backs if _is_outside(store)}
        return {
            name: value.detach().clone() if isinstance(value, torch.Tensor) else value
            for name, value in found.items()
            if isinstance(value, (torch.Tensor, int, float, str))
        }


def _is_outside(store: WriteBack) -> bool:
    return not isinstance(store.owner, (PlaceSpec, Raised))


def _value(store: WriteBack) -> Any:
    """Return the value at a location, or a mark where there is none."""
    if store.path is None:
        return getattr(store.owner, store.key, _ABSENT)
    container = store.owner
    for key in (*store.path, store.key):
        try:
            container = container[key] if not isinstance(container, dict) or key in container else _ABSENT
        except (TypeError, LookupError):
            return _ABSENT
    return container


class _Contents:
    """The tensors, attributes and containers that a call may change, as they are."""

    def __init__(self) -> None:
        self.tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.attributes: list[tuple[Any, Any, Any]] = []
        self.containers: list[tuple[Any, Any]] = []

    def add(self, contract: Contract) -> None:
        for live in contract.tensors:
            self.add_tensor(live.container[live.key])
        for value in contract.values:
            for _, leaf in leaves_of("", value.container[value.key]):
                self.add_tensor(leaf)
        for store in filter(_is_outside, contract.write_backs):
            self.add_tensor(_value(store))
            if store.path is None:
                self.attributes.append((store.owner, store.key, getattr(store.owner, store.key, _ABSENT)))
                continue
            container = store.owner
            for key in (*store.path, store.key):
                if not isinstance(container, (dict, list)):
                    break
                self.containers.append((container, copy.copy(container)))
                container = container[key] if isinstance(container, list) else container.get(key)

    def add_tensor(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.tensors.append((value, value.detach().clone()))

    def put_back(self) -> None:
        for container, content in self.containers:
            if isinstance(container, list):
                container[:] = content
            else:
                container.clear()
                container.update(content)
        for owner, name, value in self.attributes:
            if value is not _ABSENT:
                setattr(owner, name, value)
            elif hasattr(owner, name):
                delattr(owner, name)
        for tensor, value in self.tensors:
            if not identical(tensor.detach(), value):
                tensor.detach().copy_(value)
