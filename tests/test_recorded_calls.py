"""Calls that the bridge records for autograd: what it keeps in C, when that is freed, and the errors of torch's own graphs."""

import gc
import weakref

import pytest
import torch

import scriptc
from scriptc.dispatch import autograd as slow

pytestmark = pytest.mark.filterwarnings("error")


def states(xs, weight, scale):
    """Keep an input list, states that the caller gets, and values of C alone."""
    h = torch.zeros(3)
    kept = []
    for x in xs:
        h = torch.tanh(x * scale + h @ weight)
        kept.append(h)
    return kept, (h * h).exp()


@pytest.fixture(scope="module")
def compiled():
    made = scriptc.compile(states)
    xs, weight, scale = inputs()
    made(xs, weight, scale)[1].sum().backward()  # the first call adds the plan
    return made


@pytest.fixture
def without_python(monkeypatch):
    """Let a call fail that Python would run."""
    monkeypatch.setattr(slow, "_run_differentiable", None)


def inputs(length=4):
    torch.manual_seed(0)
    weight, scale = torch.randn(3, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    return [torch.randn(3) for _ in range(length)], weight, scale


def gradients(function, length, *, use=lambda kept, last: kept[0].sum() + last.sum(), twice=False):
    xs, weight, scale = inputs(length)
    loss = use(*function(xs, weight, scale))
    first = torch.autograd.grad(loss, (weight, scale), retain_graph=twice)
    return (*first, *torch.autograd.grad(loss, (weight, scale))) if twice else first


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("twice", [False, True])
def test_gradients_are_eagers(compiled, without_python, length, twice):
    for a, b in zip(gradients(compiled, length, twice=twice), gradients(states, length, twice=twice), strict=True):
        torch.testing.assert_close(a, b)


def test_an_output_without_a_gradient_has_zeros(compiled, without_python):
    use = lambda kept, last: kept[1].sum()  # noqa: E731
    for a, b in zip(gradients(compiled, 3, use=use), gradients(states, 3, use=use), strict=True):
        torch.testing.assert_close(a, b)


def test_zeros_that_become_a_gradient_are_of_one_call():
    @scriptc.compile
    def parts(x, y):
        return [x + 1, y + 1]

    for size in (0, 1, 3) * 2:
        x, y = (torch.ones(size, requires_grad=True) for _ in range(2))
        gradients = torch.autograd.grad(parts(x, y)[0].sum(), (x, y))
        assert [each.tolist() for each in gradients] == [[1.0] * size, [0.0] * size]
        if size == 1:  # torch writes to no tensor whose elements share memory
            gradients[1].add_(5)


def test_graphs_that_wait_keep_their_own_values(compiled, without_python):
    losses = [(compiled(xs, w, s)[1].sum(), w, s) for xs, w, s in map(inputs, (2, 5, 3))]
    for length, (loss, weight, scale) in zip((2, 5, 3), losses, strict=True):
        found = torch.autograd.grad(loss, (weight, scale))
        for a, b in zip(found, gradients(states, length, use=lambda _, last: last.sum()), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("written", ["an input", "a weight", "a state"])
def test_a_write_before_backward_raises_as_in_eager(compiled, without_python, written):
    raised = []
    for function in (states, compiled):
        xs, weight, scale = inputs()
        kept, last = function(xs, weight, scale)
        with torch.no_grad():
            {"an input": xs[1], "a weight": weight, "a state": kept[1]}[written].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            last.sum().backward()
        raised.append(str(caught.value))
    assert "expected version 0 instead" in raised[1] and raised[1].endswith(raised[0].partition("Hint: ")[2])


def test_a_second_backward_raises_as_in_eager(compiled, without_python):
    raised = []
    for function in (states, compiled):
        loss = function(*inputs())[1].sum()
        loss.backward()
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
        raised.append(str(caught.value))
    assert raised[0] == raised[1]


def test_gradients_of_gradients_are_refused(compiled, without_python):
    xs, weight, scale = inputs()
    with pytest.raises(NotImplementedError, match="gradients of gradients"):
        torch.autograd.grad(compiled(xs, weight, scale)[1].sum(), weight, create_graph=True)


def test_the_list_of_the_caller_may_change_before_backward(compiled, without_python):
    xs, weight, scale = inputs()
    loss = compiled(xs, weight, scale)[1].sum()
    xs.clear()
    expected = gradients(states, 4, use=lambda _, last: last.sum())
    for a, b in zip(torch.autograd.grad(loss, (weight, scale)), expected, strict=True):
        torch.testing.assert_close(a, b)


def test_a_graph_frees_what_it_keeps(compiled, without_python):
    for backward in (True, False):
        xs, weight, scale = inputs()
        seen = [weakref.ref(x) for x in xs]
        kept, last = compiled(xs, weight, scale)
        if backward:
            last.sum().backward()
        del xs, kept, last
        assert not any(ref() is not None for ref in seen), "freed without the garbage collector"
    gc.collect()
    counts = compiled._dispatcher.callable.counts()
    assert counts["objects"] == 0


def test_a_backward_without_retain_graph_frees_at_once(compiled, without_python):
    xs, weight, scale = inputs()
    seen = [weakref.ref(x) for x in xs]
    loss = compiled(xs, weight, scale)[1].sum()
    loss.backward()
    del xs
    assert not any(ref() is not None for ref in seen)


def test_hooks_of_saved_tensors_see_what_a_call_keeps(compiled):
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        loss = compiled(*inputs())[1].sum()
        count = len(packed)
    assert count > 4
    loss.backward()


def test_an_error_in_backward_leaves_the_graph(compiled, without_python):
    xs, weight, scale = inputs()
    loss = compiled(xs, weight, scale)[1].sum()
    with pytest.raises(NotImplementedError):
        loss.backward(create_graph=True)
    loss.backward()
    for a, b in zip((weight.grad, scale.grad), gradients(states, 4, use=lambda _, last: last.sum()), strict=True):
        torch.testing.assert_close(a, b)


def test_one_list_for_two_parameters_runs_in_python():
    @scriptc.compile
    def both(xs, ys):
        return xs[0] * ys[1]

    for _ in range(2):
        xs = [torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)]
        both(xs, [*xs]).sum().backward()
        both(xs, xs).sum().backward()
        assert xs[0].grad.tolist() == [6, 6] and xs[1].grad.tolist() == [2, 2]
