"""Results whose gradients are not given: inputs that eager does not reach have no gradients, and code for them does not run."""

import gc
import threading
import weakref

import pytest
import torch

import scriptc
from scriptc.dispatch import autograd
from scriptc.dispatch.gradient_groups import Layout, layout_of
from scriptc.frontend.derivatives import LibraryDerivatives
from scriptc.ir.gradients.reverse import differentiate
from scriptc.ir.parser import parse_module
from scriptc.ir.phases import OPTIMIZED
from scriptc.ir.verifier import verify

pytestmark = pytest.mark.filterwarnings("error")


def heads(x, trunk, first, second):
    """Return two heads on a trunk, and the trunk."""
    h = torch.tanh(x @ trunk)
    return torch.sqrt(h @ first).exp(), torch.relu(h @ second), h * 2


def apart(x, first, second):
    """Return results that have no weight in common, the second one infinitely steep at 0."""
    return x * first, torch.sqrt(x * 0) * second


def listed(xs, first, second):
    kept = []
    for x in xs:
        kept.append(torch.tanh(x * first))
    return kept, kept[0] * second


USES = {
    "first": lambda a, b, h: a.sum(),
    "second": lambda a, b, h: b.sum(),
    "trunk": lambda a, b, h: h.sum(),
    "heads": lambda a, b, h: (a * b).sum(),
    "second and trunk": lambda a, b, h: b.sum() + h.mean(),
    "all": lambda a, b, h: (a + b + h).sum(),
}


@pytest.fixture(scope="module", params=["bridge", "Python"])
def compiled(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Python":
            patch.setattr(autograd, "plan_of_calls", lambda *arguments: None)
        made = {f: scriptc.compile(f) for f in (heads, apart, listed)}
        for f, c in made.items():
            c(*inputs(f))
        yield made


def inputs(function=heads):
    torch.manual_seed(0)
    count = 3 if function is heads else 2
    x = [torch.rand(4, 4) for _ in range(3)] if function is listed else torch.rand(4, 4)
    return [x, *(torch.rand(4, 4, requires_grad=True) for _ in range(count))]


def assert_same(have, want):
    for a, b in zip(have, want, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b)


def grads_of(function, use, given):
    use(*function(*given)).backward()
    return [t.grad for t in given[1:]]


@pytest.mark.parametrize("use", USES)
def test_inputs_that_are_not_reached_have_none(compiled, use):
    assert_same(*(grads_of(f, USES[use], inputs()) for f in (compiled[heads], heads)))


@pytest.mark.parametrize("use", [lambda kept, last: kept[1].sum(), lambda kept, last: last.sum()])
def test_a_list_beside_a_tensor(compiled, use):
    assert_same(*(grads_of(f, use, inputs(listed)) for f in (compiled[listed], listed)))


class Gated(torch.nn.Linear):
    """Returns results of the parts of a product, one of which only the second result needs."""

    def forward(self, x):
        a, gate, b = torch.split(super().forward(x), 2, dim=1)
        c = a * b
        return c, torch.sigmoid(gate) * torch.tanh(c)


def test_parts_of_a_product():
    torch.manual_seed(0)
    x, eager = torch.randn(3, 4), Gated(4, 6)
    made = scriptc.compile(eager)
    for use in (lambda c, h: c, lambda c, h: h, lambda c, h: c * h):
        assert_same(*(torch.autograd.grad(use(*f(x)).sum(), list(eager.parameters())) for f in (made, eager)))


@pytest.mark.parametrize("use", USES)
def test_hooks_run_as_in_eager(compiled, use):
    calls = []
    for f in (compiled[heads], heads):
        given, seen = inputs(), []
        for i, t in enumerate(given[1:]):
            t.register_hook(lambda grad, i=i, seen=seen: seen.append((i, grad.shape)))
            t.register_post_accumulate_grad_hook(lambda t, i=i, seen=seen: seen.append((i, "accumulated")))
        grads_of(f, USES[use], given)
        calls.append(sorted(map(str, seen)))
    assert calls[0] == calls[1]


@pytest.mark.parametrize("use", USES)
def test_inputs_with_a_graph_of_their_own(compiled, use):
    found = []
    for f in (compiled[heads], heads):
        leaves, seen = inputs(), []
        leaves[2].register_hook(seen.append)
        given = [leaves[0], *(t * 2 for t in leaves[1:])]
        for t in given[1:]:
            t.retain_grad()
        USES[use](*f(*given)).backward()
        found.append([*(t.grad for t in leaves[1:]), *(t.grad for t in given[1:]), *seen])
    assert_same(*found)


def test_unused_inputs_raise_or_have_zeros_as_in_eager(compiled):
    for f in (compiled[heads], heads):
        given = inputs()
        a = f(*given)[0].sum()
        assert torch.autograd.grad(a, given[1:], allow_unused=True, retain_graph=True)[2] is None
        assert not torch.autograd.grad(a, given[1:], materialize_grads=True, retain_graph=True)[2].any()
        with pytest.raises(RuntimeError, match="not have been used in the graph"):
            torch.autograd.grad(a, given[1:])


def test_several_backwards(compiled):
    """Each backward has the gradients that are given to it alone."""
    found = []
    for f in (compiled[heads], heads):
        given = inputs()
        a, b, h = f(*given)
        grads = [torch.autograd.grad(t.sum(), given[1:], retain_graph=True, allow_unused=True) for t in (a, b, h, a)]
        b.sum().backward(retain_graph=True)
        (a.sum() + h.sum()).backward()
        with pytest.raises(RuntimeError, match="a second time"):
            h.sum().backward()
        found.append([*sum(grads, ()), *(t.grad for t in given[1:])])
    assert_same(*found)


def test_results_without_a_common_input_have_backwards_of_their_own(compiled):
    found = []
    for f in (compiled[apart], apart):
        given = inputs(apart)
        a, b = f(*given)
        b.sum().backward()
        first = [given[1].grad, given[2].grad.clone()]
        a.sum().backward()
        found.append([*first, given[1].grad, given[2].grad])
    assert_same(*found)


def test_a_derivative_behind_a_result_that_is_not_used_is_not_run(compiled):
    """The gradient of `sqrt` at 0 is infinite: times zero it would be NaN."""
    found = []
    for f in (compiled[apart], apart):
        x, first, second = inputs(apart)
        x.requires_grad_()
        f(x, first, second)[0].sum().backward()
        found.append([x.grad, first.grad, second.grad])
    assert_same(*found)
    assert found[0][0].isfinite().all() and found[0][2] is None


@pytest.mark.parametrize("retain", [False, True])
def test_a_gradient_that_arrives_late(compiled, retain):
    """Autograd runs nodes that another thread made in another order."""
    found = []
    for f in (compiled[heads], heads):
        given = inputs()
        a, b, h = f(*given)
        late = []
        thread = threading.Thread(target=lambda b=b, late=late: late.append((b * 3).sum()))
        thread.start()
        thread.join()
        loss = a.sum() + late[0]
        loss.backward(retain_graph=retain)
        found.append([t.grad for t in given[1:]])
    assert_same(*found)


def test_gradients_of_some_inputs_alone(compiled):
    for i in (1, 2, 3):
        found = []
        for f in (compiled[heads], heads):
            given = inputs()
            found.append(torch.autograd.grad(USES["all"](*f(*given)), given[i]))
        assert_same(*found)


def test_a_graph_is_freed(compiled):
    for f in (compiled[heads], compiled[apart]):
        for use in (lambda a, *_: a.sum(), lambda *all_: sum(t.sum() for t in all_)):
            given = inputs(heads if f is compiled[heads] else apart)
            seen = [weakref.ref(t) for t in given]
            results = f(*given)
            use(*results).backward()
            del given, results
            gc.collect()
            assert [r() for r in seen] == [None] * len(seen)
            given = inputs(heads if f is compiled[heads] else apart)
            seen = [weakref.ref(t) for t in given]
            f(*given)
            del given
            gc.collect()
            assert [r() for r in seen] == [None] * len(seen)


def test_gradients_that_another_backward_leaves_out(compiled):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    found = []
    for f in (compiled[heads], heads):
        given = inputs()
        a, b, h = f(*given)
        Half.apply(a, b).sum().backward()
        found.append([t.grad for t in given[1:3]])
    assert_same(*found)


HEADS = """
module "m" entries(@f)

func @f(%x: f32[2, 3], %v: f32[3, 3], %w: f32[3, 3]) -> (f32[2, 3], f32[2, 3]) {
  %h = tanh(%x) -> (f32[2, 3])
  %s = matmul(%h, %v) -> (f32[2, 3])
  %y = exp(%s) -> (f32[2, 3])
  %z = matmul(%h, %w) -> (f32[2, 3])
  return(%y, %z)
}
"""


def test_code_of_one_result_is_in_a_branch():
    module = parse_module(HEADS)
    made = differentiate(module, "f", [0, 1, 2], [], LibraryDerivatives())
    verify(module, OPTIMIZED)
    assert made.flags == (0, 1) and made.reaches == (frozenset({0, 1}), frozenset({0, 2}))
    assert not any(op.name == "if" for op in made.forward.body.walk())
    flags = made.backward.body.args[-2:]
    branches = {op.operands[0]: op.regions for op in made.backward.body.ops if op.name == "if"}
    for flag in flags:
        then, orelse = branches[flag]
        assert sum(op.name == "matmul" for op in then.walk()) == 2
        assert not any(op.name == "matmul" for op in orelse.walk())
    assert not any(op.name in ("matmul", "exp") for op in made.backward.body.ops)


def test_a_single_result_has_no_flag():
    text = HEADS.replace("return(%y, %z)", "return(%y)").replace("-> (f32[2, 3], f32[2, 3]) {", "-> (f32[2, 3]) {")
    module = parse_module(text)
    assert differentiate(module, "f", [0, 1], [], LibraryDerivatives()).flags == ()


def test_calls_with_one_node_for_all_results():
    both, one = frozenset({0, 1}), frozenset({0})
    assert layout_of([both, both], [True, True], [True, True]) is None
    assert layout_of([both, one], [True, False], [True, True]) is None
    assert layout_of([both, one], [True, True], [True, False]) is None
    assert layout_of([both, one], [True, True], [True, True]) == Layout((0, 1), (0, 1), ((0, 1), (0,)))
