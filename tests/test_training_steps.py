"""Functions that compute gradients themselves: torch.autograd.grad, backward() and optimizers in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from settings import sweep
from torch import Tensor, nn

import scriptc

F64 = torch.float64
W = torch.randn(3, 4, dtype=F64, generator=torch.Generator().manual_seed(1)).requires_grad_()
U = torch.randn(4, 4, dtype=F64, generator=torch.Generator().manual_seed(2)).requires_grad_()
FROZEN = torch.randn(3, 4, dtype=F64, generator=torch.Generator().manual_seed(3))
X = torch.linspace(-1, 2, 6, dtype=F64).reshape(2, 3)


def of_a_loss(x: Tensor) -> Any:
    loss = ((x @ W) ** 2).mean()
    return torch.autograd.grad(loss, [W])


def of_a_loop(x: Tensor, n: int) -> Any:
    h = torch.zeros(2, 4, dtype=x.dtype)
    for _ in range(n):
        h = torch.tanh(x @ W + h @ U)
        if h.sum() > 3:
            break
    return torch.autograd.grad((h * W.sum() + U.sum()).sum(), (W, U)), h.detach()


def of_a_branch(x: Tensor, n: int) -> Any:
    h = torch.tanh(x @ W)
    if h.sum() > 0:
        h = h @ U
    loss = h.exp().sum()
    if n > 2:
        loss = loss * 2
        return torch.autograd.grad(loss, [W])[0] + 1
    return torch.zeros_like(W)


def behind_a_return(x: Tensor, n: int) -> Any:
    loss = (x @ W).sin().sum()
    if n == 3:
        return torch.zeros_like(W)
    return torch.autograd.grad(loss, W)[0]


def descent(x: Tensor, n: int) -> Any:
    losses = []
    for _ in range(n):
        loss = ((x @ W).tanh() ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, W)
        with torch.no_grad():
            W.sub_(0.1 * gradient)
        losses.append(loss.detach())
    return losses


def in_truncated_time(x: Tensor, n: int) -> Any:
    h, total = torch.zeros(2, 4, dtype=x.dtype), torch.zeros(3, 4, dtype=x.dtype)
    for _ in range(n):
        h = torch.tanh(x @ W + h @ U)
        total = total + torch.autograd.grad(h.sum(), W)[0]
        h = h.detach()
    return total


def of_several(x: Tensor) -> Any:
    y = x @ W
    return torch.autograd.grad([y, y.sum()], W, [torch.ones_like(y), None])


def of_an_inner_value(x: Tensor) -> Any:
    h = x @ W
    return torch.autograd.grad((h * h).sum(), h)


def not_used(x: Tensor) -> Any:
    first, second = torch.autograd.grad((x @ W).sum(), [W, U], allow_unused=True)
    return first, second is None, torch.autograd.grad((x @ W).sum(), [U], materialize_grads=True)


def twice(x: Tensor) -> Any:
    loss = (x @ W).tanh().sum()
    (first,) = torch.autograd.grad(loss, W, retain_graph=True)
    return first + torch.autograd.grad(loss * 2, W)[0]


def through_writes(x: Tensor) -> Any:
    rows = torch.zeros(2, 4, dtype=x.dtype)
    for i in range(x.size(0)):
        rows[i] = (x[i] @ W).tanh()
    return torch.autograd.grad((rows * rows).sum(), W)


def of_an_argument(x: Tensor) -> Any:
    return torch.autograd.grad((x**3).sum(), x)


def without_scalar(x: Tensor) -> Any:
    return torch.autograd.grad(x @ W, W)


def not_needed(x: Tensor) -> Any:
    return torch.autograd.grad((x @ FROZEN).sum(), FROZEN)


def unused(x: Tensor) -> Any:
    return torch.autograd.grad((x @ W).sum(), [W, U])


REQUIRES = X.clone().requires_grad_()
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (of_a_loss, (X,)), *((of_a_loop, (X, n)) for n in (0, 1, 5)), *((of_a_branch, (x, n)) for x in (X, -X) for n in (1, 3)),
    *((behind_a_return, (X, n)) for n in (2, 3)), *((descent, (X, n)) for n in (0, 1, 6)),
    *((in_truncated_time, (X, n)) for n in (0, 3)), (of_several, (X,)), (of_an_inner_value, (X,)), (not_used, (X,)),
    (twice, (X,)), (through_writes, (X,)), (of_an_argument, (REQUIRES,)), (of_an_argument, (REQUIRES * 2,)),
    (of_an_argument, (X,)), (without_scalar, (X,)), (not_needed, (X,)), (unused, (X,)),
]  # fmt: skip


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, str, Tensor]:
    """Return what a call gives, the first line of what it raises, and the weights that it leaves."""
    with torch.no_grad():
        W.copy_(torch.linspace(-1, 1, 12, dtype=F64).reshape(3, 4))
    found, raised = None, ""
    try:
        found = function(*args)
    except RuntimeError as e:
        raised = str(e).partition("\n")[0]
    return found, raised, W.detach().clone()


@pytest.mark.parametrize("level", sweep([0, 3], 0))
def test_gradients_in_functions(level: int) -> None:
    compiled = {f: scriptc.compile(f, optimize=level) for f, _ in CALLS}
    for function, args in CALLS:
        expected, raises, weights = outcome(function, args)
        got, raised, left = outcome(compiled[function], args)
        assert raised == raises, function.__name__
        torch.testing.assert_close(
            (got, left), (expected, weights), rtol=1e-11, atol=1e-13, msg=lambda m, f=function: f"{f.__name__}: {m}"
        )


def test_without_grad_mode_there_is_no_graph() -> None:
    with torch.no_grad():
        for function in (of_a_loss, scriptc.compile(of_a_loss)):
            with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
                function(X)


def test_a_weight_that_no_longer_requires_grad() -> None:
    weight = torch.ones(3, requires_grad=True)

    def step(x: Tensor) -> Any:
        return torch.autograd.grad((x * weight).sum(), weight)

    compiled = scriptc.compile(step)
    assert torch.equal(compiled(X)[0], step(X)[0])
    weight.requires_grad_(False)
    for function in (step, compiled):
        with pytest.raises(RuntimeError, match="does not require grad"):
            function(X.float())


def carried(x: Tensor, n: int) -> Any:
    h = torch.zeros(2, 4, dtype=x.dtype)
    for _ in range(n):
        h = torch.tanh(x @ W + h @ U)
        torch.autograd.grad(h.sum(), W, retain_graph=True)
    return h.detach()


def freed(x: Tensor) -> Any:
    loss = (x @ W).tanh().sum()
    return torch.autograd.grad(loss, W)[0] + torch.autograd.grad(loss * 2, W)[0]


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (carried, (X, 3), "the gradient of what earlier iterations computed"),
        (freed, (X,), "a graph that an earlier backward has freed"),
    ],
)
def test_refused_at_the_line(function: Any, args: Any, message: str) -> None:
    with pytest.raises(scriptc.CompileError, match=message) as e:
        scriptc.compile(function)(*args)
    assert e.value.diagnostics[0].loc.text.strip().startswith(("torch.autograd.grad", "return torch.autograd.grad"))


def test_a_result_whose_graph_is_freed() -> None:
    def step(x: Tensor) -> Any:
        loss = (x @ W).tanh().sum()
        torch.autograd.grad(loss, W)
        return loss

    loss = scriptc.compile(step)(X)
    assert loss.requires_grad
    with pytest.raises(NotImplementedError, match="a graph that a backward has freed"):
        loss.backward()


# ---- backward() and optimizers ----


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()


Step = Callable[[Tensor, Tensor], Tensor]


def by_hand(model: nn.Module) -> Step:
    def step(x: Tensor, y: Tensor) -> Tensor:
        for p in model.parameters():
            p.grad = None
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss.detach()

    return step


def accumulating(model: nn.Module) -> Step:
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward(retain_graph=True)
        loss.backward(inputs=[model[0].weight])
        return loss.detach()

    return step


def several_steps(model: nn.Module) -> Step:
    def step(x: Tensor, y: Tensor) -> Tensor:
        total = torch.zeros(())
        for i in range(3):
            model.zero_grad()
            loss = ((model(x) - y * i) ** 2).mean()
            torch.autograd.backward(loss)
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
            total = total + loss.detach()
        return total

    return step


def with_optimizer(made: Callable[..., torch.optim.Optimizer], **settings: Any) -> Callable[[nn.Module], Step]:
    def make(model: nn.Module) -> Step:
        optimizer = made(model.parameters(), **settings)
        model.optimizers = [optimizer]  # for the comparison of states

        def step(x: Tensor, y: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    return make


def clipping(clip: Callable[[nn.Module], Any], *, halves: bool = False) -> Callable[[nn.Module], Step]:
    """Return the maker of a step that clips gradients, which have two dtypes if `halves`."""

    def make(model: nn.Module) -> Step:
        if halves:
            model[0].float()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Tensor, y: Tensor) -> Any:
            optimizer.zero_grad()
            loss = ((model[1:](model[0](x.to(model[0].weight.dtype)).double()) - y) ** 2).mean()
            loss.backward()
            norm = clip(model)
            optimizer.step()
            return loss.detach(), norm

        return step

    return make


def in_loops(make: Callable[..., Any], **kwargs: Any) -> Callable[[nn.Module], Step]:
    """Return the maker of steps in loops, of which the first one makes the optimizer's state."""

    def maker(model: nn.Module) -> Step:
        optimizer = make(model.parameters(), **kwargs)
        model.optimizers = [optimizer]

        def step(x: Tensor, y: Tensor) -> Tensor:
            total = torch.zeros((), dtype=x.dtype)
            for _ in range(2):
                for rows in torch.arange(x.size(0)).split(3):
                    optimizer.zero_grad()
                    loss = ((model(x[rows]) - y[rows]) ** 2).mean()
                    loss.backward()
                    optimizer.step()
                    total += loss.detach()
            return total

        return step

    return maker


MAKERS = {
    "Adam in loops": in_loops(torch.optim.Adam, lr=0.1),
    "SGD with momentum in loops": in_loops(torch.optim.SGD, lr=0.1, momentum=0.9),
    "clipped norm": clipping(lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.1)),
    "clipped maximum": clipping(lambda model: nn.utils.clip_grad_norm_(list(model.parameters()), 10.0, math.inf)),
    "clipped norm of two dtypes": clipping(lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.1), halves=True),
    "clipped values": clipping(lambda model: nn.utils.clip_grad_value_(model.parameters(), 0.05)),
    "by hand": by_hand,
    "accumulating": accumulating,
    "several steps": several_steps,
    "SGD": with_optimizer(torch.optim.SGD, lr=0.1),
    "SGD with momentum": with_optimizer(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": with_optimizer(torch.optim.Adam, lr=0.1),
    "Adam with amsgrad": with_optimizer(torch.optim.Adam, lr=0.1, amsgrad=True, weight_decay=0.1),
    "AdamW": with_optimizer(torch.optim.AdamW, lr=0.1, maximize=True),
}


def trained(make: Callable[[nn.Module], Step], compiles: bool) -> Any:
    """Return losses, weights, gradients and the optimizer's state after some steps."""
    model = net()
    step = make(model)
    run = scriptc.compile(step, optimize=1) if compiles else step
    x, y = torch.linspace(-1, 2, 12, dtype=F64).reshape(4, 3), torch.linspace(1, 0, 8, dtype=F64).reshape(4, 2)
    losses = [run(x * k, y) for k in (1, 2, 0.5, 1)]
    weights = [p.detach() for p in model.parameters()]
    states = [dict(s) for o in getattr(model, "optimizers", ()) for s in o.state.values()]
    return losses, weights, [p.grad for p in model.parameters()], states


@pytest.mark.parametrize("name", sweep(MAKERS, *(MAKERS.keys() - {"AdamW", "Adam with amsgrad"})))
def test_training_steps(name: str) -> None:
    close = {"rtol": 1e-5, "atol": 1e-6} if "dtypes" in name else {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(trained(MAKERS[name], True), trained(MAKERS[name], False), **close)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_a_scheduler_between_steps(set_to_none: bool) -> None:
    """A scheduler replaces the method `step` of its optimizer, on the instance."""

    def losses(compiles: bool) -> Any:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(x: Tensor) -> Tensor:
            optimizer.zero_grad(set_to_none=set_to_none)
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = scriptc.compile(step, optimize=0) if compiles else step
        found = []
        for _ in range(5):
            found.append(run(torch.ones(4, 3, dtype=F64)))
            scheduler.step()
        return found, [p.grad for p in model.parameters()], optimizer.param_groups[0]["lr"]

    torch.testing.assert_close(losses(True), losses(False))


def test_a_function_of_the_graph_has_no_value() -> None:
    x = torch.ones(2)
    asks = scriptc.compile(lambda x: x.grad_fn is None, optimize=0)
    assert asks(x)
    with pytest.raises(NotImplementedError, match="the grad_fn of a tensor that requires grad"):
        asks(x.requires_grad_())


def test_an_argument_that_requires_grad_is_not_a_leaf_of_backward() -> None:
    @scriptc.compile
    def step(x: Tensor) -> Tensor:
        loss = (x @ W).sum()
        loss.backward()
        return loss.detach()

    W.grad = None
    step(X)
    assert W.grad is not None
    with pytest.raises(NotImplementedError, match="use torch.autograd.grad"):
        step(REQUIRES)
    assert REQUIRES.grad is None


def over_pairs(batches: list[tuple[Tensor, Tensor]]) -> Tensor:
    total = torch.zeros((), dtype=F64)
    for x, y in batches:
        loss = ((x @ W).tanh() - y).square().mean()
        loss.backward()
        total += loss.detach()
    return total


def over_lists(batches: list[list[Tensor]]) -> Tensor:
    loss = torch.zeros((), dtype=F64)
    for rows in batches:
        for x in rows:
            loss = loss + (x @ W).tanh().sum()
    loss.backward()
    return loss.detach()


def over_tensors(batches: list[Tensor]) -> Tensor:
    loss = W.sum()
    for x in batches:
        loss = loss + (x @ W).tanh().sum()
    loss.backward()
    return loss.detach()


def over_optionals(batches: list[Tensor | None]) -> Tensor:
    loss = W.sum()
    for x in batches:
        if x is not None:
            loss = loss + (x @ W).tanh().sum()
    loss.backward()
    return loss.detach()


BATCHES = {
    over_pairs: lambda x: (x, torch.ones(2, 4, dtype=F64)),
    over_lists: lambda x: [x, x],
    over_tensors: lambda x: x,
    over_optionals: lambda x: x,
}


@pytest.mark.parametrize("step", BATCHES)
def test_batches_in_a_list(step: Callable[[Any], Tensor]) -> None:
    compiled = scriptc.compile(step, optimize=0)
    for n in (3, 1, 2):
        batches = [BATCHES[step](X * i) for i in range(n)]
        if step is over_optionals:
            batches.append(None)
        results = []
        for run in (step, compiled):
            W.grad = None
            results.append((run(batches), W.grad))
        torch.testing.assert_close(results[1], results[0])
    with pytest.raises(NotImplementedError, match="use torch.autograd.grad"):
        compiled([BATCHES[step](X), BATCHES[step](REQUIRES)])


def test_grad_mode_that_is_left_is_refused() -> None:
    def leaves(x: Tensor) -> Tensor:
        if x.sum() > 0:
            torch.set_grad_enabled(False)
        return x * W.sum()

    with pytest.raises(scriptc.CompileError, match="not switched back on every path"):
        scriptc.compile(leaves)(X)


# ---- packages ----


class TrainsByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = net().float()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        loss = ((self.net(x) - y) ** 2).mean()
        with torch.no_grad():
            for p, g in zip(self.net.parameters(), torch.autograd.grad(loss, list(self.net.parameters())), strict=True):
                p -= 0.1 * g
        return loss.detach()


class TrainsByAdam(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = net().float()
        self.optimizers = [torch.optim.Adam(self.net.parameters(), lr=0.1)]

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        (optimizer,) = self.optimizers
        optimizer.zero_grad()
        loss = ((self.net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()


@pytest.mark.usefixtures("compiles_once_in_test")
@pytest.mark.parametrize("made", [TrainsByHand, TrainsByAdam])
def test_packages_train(made: type[nn.Module], tmp_path: Path) -> None:
    model = made()
    x, y = torch.linspace(-1, 2, 12).reshape(4, 3), torch.linspace(1, 0, 8).reshape(4, 2)
    model(x, y)  # an optimizer makes its state in the first step
    package = scriptc.load(scriptc.build(model, x, y, out=tmp_path / "trainer", optimize=0, march="native"))
    for k in (1, 0.5, 2):
        assert float(package((x * k).numpy(), y.numpy())) == pytest.approx(float(model(x * k, y)), rel=1e-5)


def test_weights_that_are_first_read_in_a_loop() -> None:
    weight = torch.full((3,), 0.5, dtype=F64, requires_grad=True)

    def step(x: Tensor) -> Tensor:
        h = x
        for _ in range(x.shape[0]):
            h = torch.tanh(h * weight)
        h.sum().backward()
        return h.detach()

    x = torch.linspace(-1, 1, 12, dtype=F64).reshape(4, 3)
    step(x)
    assert weight.grad is not None
    expected, weight.grad = weight.grad, None
    scriptc.compile(step)(x)
    torch.testing.assert_close(weight.grad, expected)
