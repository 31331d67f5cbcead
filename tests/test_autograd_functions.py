"""Gradients through `autograd.Function`s of users: their own `backward`, compiled, against eager."""

from __future__ import annotations

from pathlib import Path

import autograd_functions as programs
import fresh_python
import pytest
import torch
from autograd_functions import Binarize, Reverse
from settings import OPTIMIZE
from test_gradients import assert_same_gradients, assert_same_gradients_of_calls
from torch import Tensor
from torch.autograd import Function

import scriptc


def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(2, 3, requires_grad=True), torch.randn(3, requires_grad=True)


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", programs.FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function):
    assert_same_gradients(function, *inputs())


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", programs.COUNTED, ids=lambda f: f.__name__)
def test_functions_of_a_number(function):
    more = 1 if function is programs.rounded else 0
    assert_same_gradients_of_calls(function, [(*inputs(), n + more) for n in (0, 1, 5)])


@pytest.mark.parametrize("optimize", [1, 3])
def test_code_of_forward_has_nothing_of_backward(optimize):
    compiled = scriptc.compile(programs.binarized, optimize=optimize)
    with torch.no_grad():
        compiled(*(t.detach() for t in inputs()))
    module = compiled._dispatcher.variants[0].translated.entry.module
    assert list(module.funcs) == ["binarized"]
    assert not {op.name for op in module.walk()} & {"linked", "user_gradient"}


def test_a_number_that_backward_reads_is_an_argument():
    x, w = inputs()
    compiled = scriptc.compile(programs.reverse, optimize=OPTIMIZE)
    for alpha in (0.5, 2.0, -1.0):
        (found,) = torch.autograd.grad(compiled(x, w, alpha).sum(), x)
        torch.testing.assert_close(found, -alpha * w.expand(2, 3))
    assert len(compiled._dispatcher.variants) == 1


@pytest.mark.parametrize("requires", [(True, False), (False, True), (False, False)])
def test_only_what_requires_grad_is_differentiated(requires):
    x, w = (t.detach().requires_grad_(r) for t, r in zip(inputs(), requires, strict=True))
    for function in (programs.linear, programs.add, programs.whole_pair, programs.reads_flags):
        expected, result = function(x, w)[0], scriptc.compile(function, optimize=OPTIMIZE)(x, w)[0]
        assert result.requires_grad == expected.requires_grad
        if expected.requires_grad:
            assert_same_gradients(function, x, w)


def test_a_function_of_doubles_passes_gradcheck():
    compiled = scriptc.compile(programs.in_a_helper_of_swish, optimize=OPTIMIZE)
    x, w = (t.detach().double().requires_grad_() for t in inputs())
    assert torch.autograd.gradcheck(lambda x, w: compiled(x, w, 3), (x, w))


def test_several_backwards_of_one_call():
    x, w = inputs()
    y = scriptc.compile(programs.in_a_loop, optimize=OPTIMIZE)(x, w, 3)[1].sum()
    first = torch.autograd.grad(y, (x, w), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(y, (x, w)), first)


def test_an_input_that_was_written_between_forward_and_backward():
    x = torch.randn(3, requires_grad=True)
    base = x * 1
    y = scriptc.compile(lambda x: Binarize.apply(x), optimize=OPTIMIZE)(base).sum()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_training_a_net_of_binary_weights():
    losses = []
    for compile_it in (False, True):
        torch.manual_seed(3)
        net = programs.Net()
        step = scriptc.compile(net, optimize=OPTIMIZE) if compile_it else net
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        xs, wanted = torch.randn(32, 6), torch.randint(3, (32,))
        run = []
        for _ in range(50):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(step(xs), wanted)
            loss.backward()
            optimizer.step()
            run.append(loss.item())
        losses.append(run)
    torch.testing.assert_close(losses[1][:10], losses[0][:10], rtol=1e-4, atol=1e-5)
    assert losses[0][-1] < 0.7 * losses[0][0] and losses[1][-1] < 0.7 * losses[1][0]


def test_random_numbers_of_backward_are_eagers():
    x = torch.randn(5, requires_grad=True)
    found = []
    for function in (programs.noisy, scriptc.compile(programs.noisy, optimize=OPTIMIZE)):
        y = function(x).sum()
        torch.manual_seed(4)
        found += [*torch.autograd.grad(y, x), torch.rand(2)]
    torch.testing.assert_close(found[2:], found[:2])


def test_a_value_that_backward_reads_is_guarded(monkeypatch):
    x, w = inputs()
    compiled = scriptc.compile(programs.once, optimize=OPTIMIZE)
    for scale in (0.25, 3.0):
        monkeypatch.setattr(programs, "SCALE", scale)
        (found,) = torch.autograd.grad(compiled(x, w).sum(), x)
        torch.testing.assert_close(found, 2 * scale * w.expand(2, 3))


def test_a_backward_that_was_replaced_is_read_again(monkeypatch):
    x = torch.randn(3, requires_grad=True)
    compiled = scriptc.compile(lambda x: Reverse.apply(x, 2.0), optimize=OPTIMIZE)
    (found,) = torch.autograd.grad(compiled(x).sum(), x)
    assert found.tolist() == [-2.0] * 3
    monkeypatch.setattr(Reverse, "backward", staticmethod(lambda ctx, grad: (grad * 4, None)))
    (found,) = torch.autograd.grad(compiled(x).sum(), x)
    assert found.tolist() == [4.0] * 3


CACHED = """
import torch, scriptc
from torch.autograd import Function

class Cubed(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * ctx.k, None

@scriptc.compile(optimize=0)
def f(x):
    return Cubed.apply(x, FACTOR).sum()

x = torch.tensor([1.0, 2.0], requires_grad=True)
f(x).backward()
print(x.grad.tolist())
"""


@pytest.mark.usefixtures("compiles_once_in_test")
def test_a_later_process_takes_backward_from_the_cache(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    program = tmp_path / "program.py"
    for factor, expected in ((3, "[3.0, 6.0]"), (3, "[3.0, 6.0]"), (5, "[5.0, 10.0]")):
        program.write_text(CACHED.replace("FACTOR", str(factor)))
        done = fresh_python.run([program], check=True)
        assert done.stdout.strip() == expected


# ---- errors of backward ----


class WrongShape(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad[:, :2]


class Fails(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        if grad.sum() > 0:
            raise ValueError(f"no gradient of {grad.shape[0]} rows")
        return grad


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (WrongShape, RuntimeError, r"WrongShapeBackward returned an invalid gradient at index 0 - got \[2, 2\] but expected"),
        (Fails, ValueError, "no gradient of 2 rows"),
    ],
)
def test_errors_of_backward_are_eagers(function, error, message):
    def f(x):
        return function.apply(x)

    for each in (f, scriptc.compile(f, optimize=OPTIMIZE)):
        with pytest.raises(error, match=message):
            each(torch.randn(2, 3, requires_grad=True)).sum().backward()


# ---- what is refused ----

CALLS: list[int] = []


class NoBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class Base(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2


class Appends(Base):
    @staticmethod
    def backward(ctx, grad):
        CALLS.append(1)
        return grad


class SetsContext(Base):
    @staticmethod
    def backward(ctx, grad):
        ctx.calls = 1
        return grad


class Evaluates(Base):
    @staticmethod
    def backward(ctx, grad):
        return eval("grad")


class AsksForGradients(Base):
    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            x = ctx.x * 1
            y = x.exp()
        return torch.autograd.grad(y, x, grad)


class TooMany(Base):
    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class NoTensor(Base):
    @staticmethod
    def backward(ctx, grad):
        return 2.0


class HoldsFunction(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.inner = lambda g: g * x
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.inner(grad)


class Holds(Base):
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.x


class SavesNumber(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


class DirtyArgument(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class WritesSaved(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x.mul_(grad)


def holds_what_is_written(x):
    y = x * 1
    z = Holds.apply(y)
    y.add_(1)
    return z + y


def writes_a_view(x):
    y = Reverse.apply(x * 1, 2.0)
    y.mul_(2)
    return y


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (NoBackward, "test_autograd_functions.py:.*NoBackward has no backward"),
        (Appends, r"a list outside is changed\n *CALLS.append\(1\)"),
        (SetsContext, "changes attributes of ctx"),
        (Evaluates, r"(?s)builtin is not supported.*return eval\("),
        (AsksForGradients, r"(?s)calls torch.autograd.grad\(\).*return torch.autograd.grad"),
        (TooMany, r"TooManyBackward returned an incorrect number of gradients \(expected 1, got 2\)"),
        (NoTensor, "returns 2.0 as the gradient at index 0"),
        (HoldsFunction, "ctx.inner is a function"),
        (SavesNumber, "save_for_backward.. was given"),
        (WritesSaved, "whose backward writes to a tensor of its forward"),
        (holds_what_is_written, "(?s)written later, in an attribute of ctx.*Holds.apply.*save_for_backward"),
        (writes_a_view, "output of an autograd.Function that may be a view"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_gradients_that_are_refused(function, message):
    def f(x):
        return function.apply(x) if isinstance(function, type) else function(x)

    x = torch.randn(3, requires_grad=True)
    result = scriptc.compile(f, optimize=OPTIMIZE)(x)
    with torch.no_grad():  # with gradients, eager raises for some of these
        torch.testing.assert_close(result, f(x))
    with pytest.raises(NotImplementedError, match=message):
        result.sum().backward()


def test_a_dirty_argument_is_refused():
    x = torch.randn(3, requires_grad=True) * 1
    with pytest.raises(NotImplementedError, match="wrote in place to an argument that requires grad"):
        scriptc.compile(lambda x: DirtyArgument.apply(x) * 1, optimize=OPTIMIZE)(x)


class SavesWhatMayBeItsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.contiguous())
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 if x.requires_grad else None


def test_a_flag_that_is_not_known_is_refused():
    x, _ = inputs()
    result = scriptc.compile(lambda x: SavesWhatMayBeItsInput.apply(x), optimize=OPTIMIZE)(x)
    with pytest.raises(NotImplementedError, match="compiled code cannot read 'requires_grad'"):
        result.sum().backward()
