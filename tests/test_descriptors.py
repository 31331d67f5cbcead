"""Attributes that descriptors written in Python compute, while the call changes what they read."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import scriptc


class Counted:
    def __get__(self, owner: Any, cls: type) -> int:
        return len(owner.seen) + 100


class Doubled:
    def __set_name__(self, cls: type, name: str) -> None:
        self.kept = f"_{name}"

    def __get__(self, owner: Any, cls: type) -> float:
        return getattr(owner, self.kept)

    def __set__(self, owner: Any, value: float) -> None:
        setattr(owner, self.kept, value * 2)


class Members:
    count = Counted()
    doubled = Doubled()

    def start(self) -> None:
        self.seen: list[int] = []
        self.scale = 1.0
        self._doubled = 1.0

    @functools.cached_property
    def size(self) -> int:
        return len(self.seen) + 10

    @functools.cached_property
    def scaled(self) -> Tensor:
        return torch.ones(2) * self.scale


class Net(Members, nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start()


class Plain(Members):
    def __init__(self) -> None:
        self.start()


def cached(net: Any, x: Tensor) -> tuple[Tensor, int]:
    net.seen.append(1)
    first = net.size
    net.seen.append(2)
    return x + net.size, first


def cached_tensor(net: Any, x: Tensor) -> Tensor:
    net.scale += 1
    return x + net.scaled


def cached_on_a_path(net: Any, x: Tensor) -> tuple[Tensor, int]:
    net.seen.append(1)
    if x.sum() > 2:
        x = x * net.size
    net.seen.append(2)
    return x, net.size


def cached_and_deleted(net: Any, x: Tensor) -> tuple[int, int]:
    first = net.size
    net.seen.append(1)
    del net.size
    return first, net.size


def computed(net: Any, x: Tensor) -> Tensor:
    net.seen.append(1)
    return x + net.count


def shadowed(net: Any, x: Tensor) -> tuple[int, int]:
    net.seen.append(1)
    first = net.count
    net.count = 7
    return first, net.count


def set_by_descriptor(net: Any, x: Tensor) -> Tensor:
    net.doubled = net.doubled + 1
    return x * net.doubled


FUNCTIONS = [cached, cached_tensor, cached_on_a_path, computed, shadowed, set_by_descriptor]


@pytest.mark.parametrize(
    ("function", "cls"), [*((f, cls) for f in FUNCTIONS for cls in (Net, Plain)), (cached_and_deleted, Net)]
)
def test_calls_do_as_eager(function: Callable[..., Any], cls: type) -> None:
    eager, own = cls(), cls()
    compiled = scriptc.compile(function, optimize=0)
    for x in (torch.ones(2), torch.full((2,), 3.0), torch.ones(2)):
        expected, found = function(eager, x), compiled(own, x)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert _held(own) == _held(eager)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    @functools.cached_property
    def scale(self) -> Tensor:
        return torch.full((3,), 2.0)

    def scaled(self, x: Tensor, k: float) -> Tensor:
        return self.linear(x) * self.scale * k

    doubled = functools.partialmethod(scaled, k=2.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.doubled(x)


def test_methods_that_python_binds() -> None:
    eager = Layers()
    compiled = scriptc.compile(copy.deepcopy(eager), optimize=0)
    for x in (torch.ones(2, 3), torch.zeros(1, 3)):
        torch.testing.assert_close(compiled(x), eager(x))


def test_a_getter_that_is_replaced() -> None:
    class Changing:
        def __get__(self, owner: Any, cls: type) -> float:
            return 2.0

    class Owner(nn.Module):
        value = Changing()

        def forward(self, x: Tensor) -> Tensor:
            return x * self.value

    net = Owner()
    compiled = scriptc.compile(net, optimize=0)
    assert compiled(torch.ones(1)).item() == 2
    Changing.__get__ = lambda self, owner, cls: 5.0  # type: ignore[method-assign, assignment]
    assert compiled(torch.ones(1)).item() == net(torch.ones(1)).item() == 5


@torch.no_grad()
def test_packages_compute_what_is_not_cached_yet(tmp_path: Path) -> None:
    class Halved(nn.Module):
        @functools.cached_property
        def half(self) -> Tensor:
            return torch.full((2,), 0.5)

        def forward(self, x: Tensor) -> Tensor:
            return x * self.half

    x = torch.ones(2)
    loaded = scriptc.load(scriptc.build(Halved(), x, out=tmp_path / "net", optimize=0))
    for _ in range(2):
        assert loaded(x.numpy()).tolist() == [0.5, 0.5]


def _held(net: Any) -> dict[str, Any]:
    names = ("seen", "scale", "_doubled", "size", "scaled", "count")
    held = {name: copy.copy(vars(net)[name]) for name in names if name in vars(net)}
    return {name: v.tolist() if isinstance(v, Tensor) else v for name, v in held.items()}
