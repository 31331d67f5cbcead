"""Assignments to `.data`: the tensor outside stays the same object, and shares the memory of its new data, as in eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc

X = torch.randn(3, 4)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-2, 2, 4))
        self.register_buffer("mean", torch.linspace(-1, 1, 4))
        self.tied = self.weight


class Clamps(Plain):
    def forward(self, x):
        self.weight.data = self.weight.data.clamp(-0.5, 0.5)
        return x * self.weight


class Accumulates(Plain):
    def forward(self, x):
        self.mean.data = self.mean + x.sum(0)
        return x * self.mean


class Tied(Plain):
    def forward(self, x):
        self.tied.data = self.weight * 2
        return x * self.weight + self.tied


class OnOnePath(Plain):
    def forward(self, x):
        if x.sum() < 100:
            self.weight.data = self.weight.data * 2
        return x * self.weight


class Raises(Plain):
    def forward(self, x):
        self.weight.data = self.weight.data * 2
        if x.sum() < 100:
            raise ValueError("after the assignment")
        return x


class SharesMemory(Plain):
    def forward(self, x):
        before, new = self.weight.data, self.weight.data * 2
        self.weight.data = new
        new.add_(1)
        with torch.no_grad():
            self.weight.mul_(2)
        return x * self.weight, new, before


class InLoopOverParameters(Plain):
    def forward(self, x):
        for p in self.parameters():
            p.data = p.data.clamp(-0.3, 0.3)
        return x * self.weight


class Writes(Plain):
    def forward(self, x):
        self.weight.data = self.weight.data * 2
        self.weight.add_(1)
        return x


MODULES = [Clamps, Accumulates, Tied, OnOnePath, Raises, SharesMemory, InLoopOverParameters, Writes]


def told(module: Any, target: Any, mode: str) -> list[Any]:
    """Return what two calls do: results, flags, gradients, and what the module holds."""
    found: list[Any] = []
    weight, mean = module.weight, module.mean
    for _ in range(2):
        x = X.clone().requires_grad_(mode == "required")
        try:
            with torch.set_grad_enabled(mode != "no_grad"):
                result = target(x)
            results = result if isinstance(result, tuple) else (result,)
            found += [t.detach().clone() for t in results]
            found += [torch.tensor(t.requires_grad) for t in results]
            if results[0].requires_grad:
                results[0].sum().backward()
        except (ValueError, RuntimeError) as e:
            found.append(torch.tensor(len(str(e).partition("\n")[0])))
        found += [t.clone() for t in (weight.detach(), mean, weight.grad, x.grad) if t is not None]
        weight.grad = None
    assert module.weight is weight and module.tied is weight and module.mean is mean and weight.is_leaf and weight.requires_grad
    return found


@pytest.mark.compiled_together
@pytest.mark.parametrize("mode", ["plain", "required", "no_grad"])
@pytest.mark.parametrize("cls", MODULES)
def test_the_tensor_has_its_new_data(cls: type[nn.Module], mode: str) -> None:
    module, expected = cls(), cls()
    compiled = scriptc.compile(module, optimize=OPTIMIZE)
    torch.testing.assert_close(told(module, compiled, mode), told(expected, expected, mode))


def test_memory_is_shared() -> None:
    module = SharesMemory()
    _, new, before = scriptc.compile(module, optimize=0)(X)
    assert new.data_ptr() == module.weight.data_ptr() != before.data_ptr()


class UsesOlderData(Plain):
    def forward(self, x):
        y = x * self.weight
        self.weight.data = self.weight.data * 2
        return y


class Doubles(Plain):
    def forward(self, x):
        self.weight.data = self.weight.data * 2
        return x * self.weight


def test_gradients_that_autograd_computes_with_later_data_are_refused() -> None:
    result = scriptc.compile(UsesOlderData(), optimize=0)(X)
    with pytest.raises(NotImplementedError, match="before an assignment to its .data"):
        result.sum().backward()
    compiled = scriptc.compile(Doubles(), optimize=0)
    first = compiled(X)
    compiled(X).sum().backward()
    with pytest.raises(NotImplementedError, match="again before backward"):
        first.sum().backward()


def test_clamped_twice_before_backward() -> None:
    module, expected = Clamps(), copy.deepcopy(Clamps())
    compiled = scriptc.compile(module, optimize=0)
    (compiled(X) + compiled(X)).sum().backward()
    (expected(X) + expected(X)).sum().backward()
    torch.testing.assert_close(module.weight.grad, expected.weight.grad)


def test_packages_refuse_it(tmp_path: Any) -> None:
    with pytest.raises(scriptc.CompileError, match="assignment to .data"):
        scriptc.build(Clamps(), X, out=tmp_path / "clamps")
