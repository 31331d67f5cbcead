"""torch.utils.checkpoint in compiled code: gradients and random numbers are eager's, and less is kept."""

from __future__ import annotations

from typing import Any

import checkpoint_programs as programs
import gradient_programs
import pytest
import torch
from settings import OPTIMIZE, sweep
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import scriptc


def results(function: Any, inputs: list[Tensor], args: tuple[Any, ...]) -> list[Tensor | None]:
    """Return the result of a call, the gradients of `inputs`, and the state of the generator behind backward."""
    torch.manual_seed(1)
    y = function(*args)
    gradients = torch.autograd.grad(y.square().sum(), inputs, allow_unused=True)
    return [y, *gradients, torch.get_rng_state()]


def assert_as_eager(function: Any, compiled: Any, inputs: list[Tensor], *args: Any) -> None:
    for have, want in zip(results(compiled, inputs, args), results(function, inputs, args), strict=True):
        torch.testing.assert_close(have, want)


def matrices() -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    x, w = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    return x.requires_grad_(), w.requires_grad_()


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", programs.FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function):
    x, w = matrices()
    assert_as_eager(function, scriptc.compile(function, optimize=OPTIMIZE), [x, w], x, w)


@pytest.mark.parametrize("function", [programs.nested, programs.of_a_loop], ids=lambda f: f.__name__)
def test_gradients_are_those_of_differences(function):
    assert torch.autograd.gradcheck(scriptc.compile(function, optimize=OPTIMIZE), matrices())


def test_backward_runs_twice():
    x, w = matrices()
    y = scriptc.compile(programs.with_dropout, optimize=OPTIMIZE)(x, w).sum()
    first = torch.autograd.grad(y, [x, w], retain_graph=True)
    second = torch.autograd.grad(y, [x, w])
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def kept_bytes(call: Any) -> int:
    """Return the bytes of all tensors that autograd saves in a call, each counted once."""
    found: dict[int, int] = {}

    def save(tensor: Tensor) -> Tensor:
        found[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        call()
    return sum(found.values())


def test_layers_of_a_module():
    for checkpoints in (False, True):
        torch.manual_seed(0)
        net = programs.Deep(3, checkpoints).double()
        x = torch.randn(4, 8, dtype=torch.float64)
        assert_as_eager(net, scriptc.compile(net, optimize=OPTIMIZE), list(net.parameters()), x)


def test_inputs_alone_are_kept():
    kept = []
    for checkpoints in (False, True):
        net = programs.Deep(6, checkpoints)
        compiled, x = scriptc.compile(net, optimize=OPTIMIZE), torch.randn(512, 8)
        weights = sum(p.nbytes for p in net.parameters())
        kept.append((kept_bytes(lambda call=compiled, x=x: call(x)) - weights) / x.nbytes)
    states = 6 * 5056 / (512 * 8 * 4)
    assert kept[1] <= 6 + states + 0.1
    assert kept[0] >= 12


# ---- effects ----


def prints(x: Tensor) -> Tensor:
    print("here")
    return torch.tanh(x)


def checkpoints_what_prints(x: Tensor) -> Tensor:
    return checkpoint(prints, x, use_reentrant=False)


def writes_a_tensor_from_outside(x: Tensor) -> Tensor:
    total = torch.zeros_like(x)

    def add(x: Tensor) -> Tensor:
        total.add_(x)
        return torch.tanh(x) * total

    return checkpoint(add, x, use_reentrant=False)


NORM = nn.BatchNorm1d(3).double()


def updates_a_norm(x: Tensor) -> Tensor:
    return checkpoint(NORM, x, use_reentrant=False)


def draws_other_numbers(x: Tensor) -> Tensor:
    return checkpoint(lambda x: torch.dropout(x, 0.5, True), x, use_reentrant=False, preserve_rng_state=False)


def checkpoints_a_try(x: Tensor) -> Tensor:
    def f(x: Tensor) -> Tensor:
        try:
            return torch.tanh(x[int(x.sum())])
        except IndexError:
            return x[0] * 2

    return checkpoint(f, x, use_reentrant=False)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (checkpoints_what_prints, "`print` in a checkpoint, which eager runs again in backward"),
        (writes_a_tensor_from_outside, "a write in a checkpoint to a value from outside"),
        (updates_a_norm, "in a checkpoint"),
        (draws_other_numbers, "random numbers with preserve_rng_state=False"),
        (checkpoints_a_try, "a `try` in a checkpoint"),
    ],
    ids=["print", "write", "batch norm", "random numbers", "try"],
)
def test_effects_that_eager_repeats_are_refused(function, reason, capsys):
    x = matrices()[0]
    y = scriptc.compile(function, optimize=0)(x)
    with pytest.raises(NotImplementedError, match=reason):
        y.sum().backward()


# ---- loops that are cut into chunks ----


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors of a result, in order."""
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for item in items for t in tensors(item)]


LOOPS = gradient_programs.FUNCTIONS


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", sweep(LOOPS, *LOOPS[1::5]), ids=lambda f: f.__name__)
def test_gradients_of_cut_loops_have_the_same_bits(function):
    calls = [scriptc.compile(function, optimize=0, checkpoint=cut) for cut in ("none", "sqrt")]
    for n in (0, 1, 4, 11):
        whole, cut = (results_and_gradients(call, n) for call in calls)
        torch.testing.assert_close(cut, whole, rtol=0, atol=0, msg=lambda m, n=n: f"n = {n}: {m}")


def results_and_gradients(call: Any, n: int) -> list[Tensor]:
    """Return what a call returns, and the gradients of its arguments: zeros for None, which cut loops may give (limits.md)."""
    torch.manual_seed(1)
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    values = tensors(call(x, w, n))
    total = sum(t.square().sum() for t in values if t.requires_grad)
    return [*values, *torch.autograd.grad(total, [x, w], materialize_grads=True)]


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", programs.LOOPS, ids=lambda f: f.__name__)
def test_loops(function):
    x, w = matrices()
    assert_as_eager(function, scriptc.compile(function, optimize=OPTIMIZE, checkpoint="sqrt"), [x, w], x, w)


def test_forward_alone_prints(capfd):
    x, w = matrices()
    scriptc.compile(programs.prints_steps, optimize=OPTIMIZE, checkpoint="sqrt")(x, w).sum().backward()
    assert capfd.readouterr().out.splitlines() == [f"step {i}" for i in range(6)]


def test_gradients_of_a_cut_loop_are_those_of_differences():
    compiled = scriptc.compile(programs.stacks_of_nested_loops, optimize=OPTIMIZE, checkpoint="sqrt")
    assert torch.autograd.gradcheck(compiled, matrices())


@pytest.mark.parametrize("optimize", sweep([0, 3], 0))
@pytest.mark.parametrize("every", [False, True])
def test_recurrent_nets(every, optimize):
    torch.manual_seed(0)
    net = programs.Recurrent(every, dropout=0.2).double()
    compiled = scriptc.compile(net, optimize=optimize, checkpoint="sqrt")
    for length in (1, 2, 50):
        assert_as_eager(net, compiled, list(net.parameters()), torch.randn(length, 3, 8, dtype=torch.float64))


def test_a_cut_loop_keeps_the_root_of_its_iterations():
    net = programs.Recurrent(every=False)
    kept = {}
    for cut in ("none", "sqrt"):
        compiled = scriptc.compile(net, optimize=OPTIMIZE, checkpoint=cut)
        for length in (100, 400):
            xs = torch.randn(length, 32, 8)
            fixed = xs.nbytes + sum(p.nbytes for p in net.parameters())
            kept[cut, length] = (kept_bytes(lambda call=compiled, xs=xs: call(xs)) - fixed) // (32 * 16 * 4)
    assert kept["none", 400] >= 400
    assert kept["sqrt", 400] <= 21
    assert kept["sqrt", 100] <= 11


def test_a_step_that_asks_for_gradients_itself():
    x, w = matrices()

    def step(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        h = x
        for _ in range(10):
            h = torch.dropout(torch.tanh(h @ w), 0.2, True)
        return torch.autograd.grad(h.square().sum(), (x, w))

    found = []
    for call in (step, *(scriptc.compile(step, optimize=o, checkpoint="sqrt") for o in (0, 3))):
        torch.manual_seed(0)
        found.append([*call(x, w), torch.get_rng_state()])
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])


@pytest.mark.parametrize("optimize", sweep([0, 3], 3))
def test_a_step_keeps_the_root_of_its_iterations(optimize):
    net = programs.Recurrent(every=False)

    def step(xs: Tensor) -> Tensor:
        return torch.autograd.grad(net(xs).square().sum(), net.state.weight)[0]

    xs = torch.randn(400, 16, 8) if optimize else torch.randn(144, 2, 8)
    none, sqrt = (scriptc.compile(step, optimize=optimize, checkpoint=cut).memory(xs).measured for cut in ("none", "sqrt"))
    assert sqrt < none / 2


@pytest.mark.usefixtures("compiles_once_in_test")
@pytest.mark.parametrize("every", sweep([False, True], True))
def test_the_step_of_a_package_runs_again(every, tmp_path):
    net = programs.Recurrent(every=every).double()

    def step(xs: Tensor) -> Tensor:
        return torch.autograd.grad(net(xs).square().sum(), net.state.weight)[0]

    xs, sources = torch.randn(9, 2, 8, dtype=torch.float64), {}
    for cut in ("none", "sqrt"):
        folder = scriptc.build(step, xs, out=tmp_path / cut, name="net", optimize=0, march="native", checkpoint=cut)
        torch.testing.assert_close(torch.from_numpy(scriptc.load(folder)(xs.numpy())), step(xs))
        sources[cut] = (folder / "src" / "net.c").read_text()
    assert ("sqrt(" in sources["none"], "sqrt(" in sources["sqrt"]) == (False, True)


def test_the_option_is_checked():
    with pytest.raises(ValueError, match="checkpoint is one of none, sqrt, not 'log'"):
        scriptc.compile(programs.chain, checkpoint="log")


# ---- formulas of the memory ----


def test_the_memory_of_a_cut_loop_is_a_formula_of_the_root():
    xs = torch.randn(100, 4, 8)
    found = {
        cut: scriptc.compile(programs.Recurrent(every=False), optimize=1, checkpoint=cut).memory(xs, gradients=True)
        for cut in ("none", "sqrt")
    }
    assert found["none"].kept.formula == "64*xs_0*xs_1 + 128*xs_1"
    assert found["sqrt"].kept.formula == "64*xs_1*ceil(sqrt(xs_0))"
    assert found["sqrt"].kept.at(xs_0=400) == 64 * 4 * 20
    assert found["sqrt"].kept.at(xs_0=390) == 64 * 4 * 20
    for sizes in ({"xs_0": 400, "xs_1": 16}, {"xs_0": 900, "xs_1": 16}):
        none, sqrt = (found[cut].kept.at(**sizes) + found[cut].backward.at(**sizes) for cut in ("none", "sqrt"))
        assert sqrt < none / 4


def test_the_memory_of_backward_is_that_of_other_calls():
    net = programs.Recurrent(every=True)
    made = scriptc.compile(net, optimize=1, checkpoint="sqrt")
    found = made.memory(torch.randn(100, 4, 8), gradients=True)
    again = made.memory(torch.randn(144, 6, 8), gradients=True)
    for part in ("forward", "kept", "backward"):
        formula = getattr(found, part)
        assert formula.at(xs_0=144, xs_1=6) == pytest.approx(getattr(again, part).measured, rel=0.1), str(formula)
    assert "memory that forward keeps for backward, in bytes" in str(found)
    assert found._repr_html_().count("<table") == 3


def test_a_call_without_gradients_has_no_memory_of_training():
    with pytest.raises(ValueError, match="no gradient flows from a result of chain to an input that requires grad"):
        scriptc.compile(programs.chain, optimize=0).memory(torch.ones(2, 2), torch.ones(2, 2), gradients=True)
    with pytest.raises(NotImplementedError, match="`print` in a checkpoint"):
        scriptc.compile(checkpoints_what_prints, optimize=0).memory(matrices()[0], gradients=True)
