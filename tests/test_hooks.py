"""Hooks: those of the module that is compiled run around the compiled forward, those of its submodules in it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc

X = torch.arange(6.0).view(2, 3) / 6


def make(target):
    return scriptc.compile(target, optimize=OPTIMIZE)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return torch.tanh(self.linear(x))


HOOKS = {
    "register_forward_hook": lambda module, args, result: result + 1,
    "register_forward_pre_hook": lambda module, args: (args[0] * 2,),
}


@pytest.mark.parametrize("kind", HOOKS)
@torch.no_grad()
def test_hooks_of_the_root_run(kind: str) -> None:
    model = Net()
    made = make(model)
    expected = made(X)
    handle = getattr(model, kind)(HOOKS[kind])
    torch.testing.assert_close(made(X), model(X))
    assert not torch.equal(made(X), expected)
    torch.testing.assert_close(made.forward(X), expected)  # as in eager, where a call alone runs hooks
    handle.remove()
    assert torch.equal(made(X), expected)


@torch.no_grad()
def test_hooks_of_the_root_see_what_eagers_see() -> None:
    seen: list[tuple[Any, ...]] = []

    def before(module, args, kwargs):
        seen.append((args, dict(kwargs)))
        return args, {"x": kwargs["x"] * 2}

    def after(module, args, kwargs, result):
        seen.append((args, kwargs, result))

    model = Net()
    made = make(model)
    model.register_forward_pre_hook(before, with_kwargs=True)
    model.register_forward_hook(after, with_kwargs=True, always_call=True)
    torch.testing.assert_close(made(x=X), model(x=X))
    torch.testing.assert_close(seen[:2], seen[2:])
    seen.clear()
    for net in (made, model):
        with pytest.raises(RuntimeError, match="shapes"):
            net(x=torch.ones(2, 2))
    assert [len(each) for each in seen] == [2, 3, 2, 3]
    assert seen[1][2] is seen[3][2] is None


@torch.no_grad()
def test_a_hook_of_the_root_gets_the_module_that_is_called() -> None:
    made, seen = make(Net()), []
    made.register_forward_hook(lambda module, args, result: seen.append(module))
    made(X)
    assert seen == [made]


@torch.no_grad()
def test_hooks_of_a_method_that_is_called_do_not_run() -> None:
    model = Net()
    model.register_forward_hook(HOOKS["register_forward_hook"])
    torch.testing.assert_close(make(model.forward)(X), model.forward(X))


@torch.no_grad()
def test_hooks_of_an_object_of_a_compiled_class_are_refused() -> None:
    class Own(Net):
        pass

    model = make(Own)()
    model.register_forward_hook(HOOKS["register_forward_hook"])
    with pytest.raises(scriptc.CompileError, match="hooks on a Own"):
        model(X)


@pytest.mark.parametrize("kind", HOOKS)
@torch.no_grad()
def test_hooks_of_submodules_run(kind: str) -> None:
    model = Net()
    made = make(model)
    expected = made(X)
    handle = getattr(model.linear, kind)(HOOKS[kind])
    torch.testing.assert_close(made(X), model(X))
    assert not torch.equal(made(X), expected)
    handle.remove()
    assert torch.equal(made(X), expected)


@torch.no_grad()
def test_global_hooks_are_never_skipped() -> None:
    model = Net()
    made = make(model)
    made(X)
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: out * 0)
    try:
        expected = model(X)
        try:
            actual = made(X)
        except scriptc.CompileError:
            return
        torch.testing.assert_close(actual, expected)
    finally:
        handle.remove()


# ---- of gradients ----


def notes(seen):
    return lambda module, *gradients: seen.append([g.clone() for each in gradients for g in each if g is not None])


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.filterwarnings("ignore:Full backward hook is firing when gradients are computed with respect to module outputs")
def test_backward_hooks_of_the_root_run(kind: str, requires_grad: bool) -> None:
    seen, gradients = [], []
    for compiled in (False, True):
        net, noted = Net(), []
        call, x = make(net) if compiled else net, X.clone().requires_grad_(requires_grad)
        getattr(net, kind)(notes(noted))
        call(x).square().sum().backward()
        seen.append(noted)
        gradients.append([p.grad for p in (*net.parameters(), x) if p.grad is not None])
    assert len(seen[0]) == 1
    torch.testing.assert_close(seen[1], seen[0])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_backward_hooks_of_the_root_change_gradients() -> None:
    gradients = []
    for compiled in (False, True):
        net, x = Net(), X.clone().requires_grad_()
        net.register_full_backward_hook(lambda module, into, out: (into[0] * 2,))
        net.register_full_backward_pre_hook(lambda module, out: (out[0] + 1,))
        (make(net) if compiled else net)(x).sum().backward()
        gradients.append([x.grad, net.linear.weight.grad])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_backward_hooks_of_submodules_are_refused() -> None:
    net = Net()
    net.linear.register_full_backward_hook(notes([]))
    with pytest.raises(scriptc.CompileError, match="hooks on a Linear"):
        make(net)(X)
