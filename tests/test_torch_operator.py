"""Compiled functions as operators of PyTorch: schemas, shapes, gradients, and graphs that hold them as one node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
import torch
from settings import sweep
from torch import Tensor
from torch.library import opcheck

import scriptc

_NUMBERS = itertools.count()


class Outcome(NamedTuple):
    states: Tensor
    last: Tensor


def rnn(x, h, w):
    states = []
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ w + h)
        states.append(h)
    return Outcome(torch.stack(states), h)


def rnn_over_list(steps: list[Tensor], w: Tensor) -> list[Tensor]:
    h = torch.zeros(steps[0].shape[0], w.shape[0])
    for x in steps:
        h = torch.tanh(x @ w + h)
    return [h, h * 2]


def accumulate_(total, x):
    total.add_(x.sum(0))
    total *= 2
    return total.max()


def several_outputs(x):
    return {"mean": x.mean(), "sorted": x.sort().values, "rows": (x[0], x.shape[0] + 1)}


def with_optional(x: Tensor, mask: Tensor | None = None, scale: float = 1.0, *, keep: bool = False) -> Tensor:
    if mask is not None:
        x = x.masked_fill(mask, 0.0)
    return x.sum(-1, keepdim=keep) * scale


def growing(x):
    out = x[:, :1]
    for i in range(x.shape[1]):
        out = torch.cat([out, x[:, i : i + 1] * i], 1)
    return out


def control_flow(x, limit: float):
    """Loops with `break` and `continue`, branches on data, and an early return."""
    total = torch.zeros(x.shape[1])
    for row in x:
        if row.sum() < -limit:
            continue
        total = total + row
        if total.norm() > limit:
            break
    while total.abs().max() > 0.5:
        total = total / 2
    if total[0] > 0:
        return total * 2
    return total


def selected(x):
    return x[x > 0]


def decode(logits, steps: int):
    token = torch.zeros(logits.shape[0], dtype=torch.int64)
    tokens = []
    for _ in range(steps):
        token = (logits[torch.arange(logits.shape[0]), token]).argmax(-1)
        tokens.append(token)
    return torch.stack(tokens, 1)


def warp_perspective(image, matrix, size: tuple[int, int]):
    """Warp an image by a homography, nearest pixel, as the slides' operator does."""
    height, width = size
    out = image.new_zeros(image.shape[0], height, width)
    inverse = torch.linalg.inv(matrix)
    for y in range(height):
        for x in range(width):
            place = inverse @ torch.tensor([float(x), float(y), 1.0])
            u, v = int((place[0] / place[2]).round()), int((place[1] / place[2]).round())
            if 0 <= u < image.shape[2] and 0 <= v < image.shape[1]:
                out[:, y, x] = image[:, v, u]
    return out


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 4)
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True)
        self.out = torch.nn.Linear(3, 5)

    def forward(self, words):
        states, _ = self.lstm(self.embed(words))
        return self.out(states).log_softmax(-1)


def _case(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any], str]:
    torch.manual_seed(0)
    x = torch.randn(5, 3, 4)
    return {
        "rnn": (rnn, (x, torch.randn(3, 4), torch.randn(4, 4)), {}, "(Tensor x, Tensor h, Tensor w) -> (Tensor, Tensor)"),
        "rnn_over_list": (rnn_over_list, ([*x], torch.randn(4, 4)), {}, "(Tensor[] steps, Tensor w) -> Tensor[]"),
        "accumulate_": (accumulate_, (torch.zeros(4), x[0]), {}, "(Tensor(a0!) total, Tensor x) -> Tensor"),
        "several_outputs": (several_outputs, (x[0],), {}, "(Tensor x) -> (Tensor, Tensor, Tensor, SymInt)"),
        "with_optional": (
            with_optional, (x, x > 0), {"keep": True},
            "(Tensor x, Tensor? mask=None, float scale=1.0, bool keep=False) -> Tensor",
        ),
        "growing": (growing, (x[0],), {}, "(Tensor x) -> Tensor"),
        "control_flow": (control_flow, (x[0], 1.5), {}, "(Tensor x, float limit) -> Tensor"),
        "selected": (selected, (x,), {}, "(Tensor x) -> Tensor"),
        "decode": (decode, (torch.randn(3, 6, 6), 4), {}, "(Tensor logits, SymInt steps) -> Tensor"),
        "warp_perspective": (
            warp_perspective, (torch.rand(2, 5, 6), torch.tensor([[1.1, 0.1, 0.2], [0.0, 0.9, 0.3], [0.01, 0.0, 1.0]]), (4, 5)),
            {}, "(Tensor image, Tensor matrix, SymInt[] size) -> Tensor",
        ),
        "tagger": (Tagger().eval(), (torch.randint(0, 10, (2, 7)),), {}, "(Tensor[] weights, Tensor words) -> Tensor"),
    }[name]  # fmt: skip


CASES = [
    "rnn", "rnn_over_list", "accumulate_", "several_outputs", "with_optional", "growing", "control_flow", "selected",
    "decode", "warp_perspective", "tagger",
]  # fmt: skip
FAST = ["accumulate_", "control_flow", "rnn", "tagger", "with_optional"]
DIFFERENTIABLE = ["rnn", "rnn_over_list", "with_optional", "growing", "control_flow", "tagger"]


@contextmanager
def _registered(compiled: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
    made = compiled.as_torch_op(f"scriptc_tests::f{next(_NUMBERS)}", *args, **kwargs)
    try:
        yield made
    finally:
        made.unregister()


def _flat(function: Any, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of the operator for a call of the function."""
    values = scriptc.compile(function)._dispatcher.target.bind(args, kwargs).values()
    values = [list(v) if isinstance(v, tuple) else v for v in values]
    return ([container[key] for container, key in op._weights], *values) if op._weights else tuple(values)


def _copied(values: Any, grad: bool = False) -> Any:
    if isinstance(values, torch.Tensor):
        made = values.detach().clone()
        return made.requires_grad_() if grad and values.is_floating_point() else made
    return type(values)(_copied(v, grad) for v in values) if isinstance(values, (list, tuple)) else values


@pytest.mark.parametrize("name", sweep(CASES, *FAST))
def test_operator_passes_opcheck_and_is_one_node(name: str) -> None:
    function, args, kwargs, schema = _case(name)
    with _registered(scriptc.compile(function), *args, **kwargs) as op:
        assert op.schema.partition("(")[2] == schema[1:]
        found = opcheck(op.op, _copied(_flat(function, op, args, kwargs)))
        assert set(found.values()) == {"SUCCESS"}

        class Calls(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = function if isinstance(function, torch.nn.Module) else None

            def forward(self, *given: Any) -> Any:
                return op(*given, **kwargs)

        mine, theirs = _copied(args), _copied(args)
        expected = function(*theirs, **kwargs)
        program = torch.export.export(Calls(), _copied(args))
        calls = [n for n in program.graph.nodes if n.op == "call_function" and n.target is op.op]
        assert len(calls) == 1
        torch.testing.assert_close(program.module()(*mine), expected)
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", sweep(CASES, *FAST))
def test_compiled_graph_with_dynamic_sizes_equals_eager(name: str) -> None:
    function, args, kwargs, _ = _case(name)
    with _registered(scriptc.compile(function), *args, **kwargs) as op:
        torch._dynamo.reset()
        run = torch.compile(lambda *given: op(*given, **kwargs), fullgraph=True, dynamic=True, backend="aot_eager")
        mine, theirs = _copied(args), _copied(args)
        torch.testing.assert_close(run(*mine), function(*theirs, **kwargs))
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", sweep(DIFFERENTIABLE, "rnn", "tagger", "with_optional"))
def test_gradients_of_operator_equal_eager(name: str) -> None:
    function, args, kwargs, _ = _case(name)

    def loss(result: Any) -> Tensor:
        tensors = [result] if isinstance(result, Tensor) else [*result]
        return sum(((i + 1) * (t * t).sum() for i, t in enumerate(tensors)), torch.zeros(()))

    with _registered(scriptc.compile(function), *args, **kwargs) as op:
        torch._dynamo.reset()
        run = torch.compile(lambda *given: loss(op(*given, **kwargs)), fullgraph=True, backend="aot_eager")
        found = []
        for compute in (run, lambda *given: loss(function(*given, **kwargs)), lambda *given: loss(op(*given, **kwargs))):
            mine = _copied(args, grad=True)
            weights = list(function.parameters()) if isinstance(function, torch.nn.Module) else []
            leaves = [t for t in torch.utils._pytree.tree_leaves(mine) if isinstance(t, Tensor) and t.requires_grad]
            found.append(torch.autograd.grad(compute(*mine), [*leaves, *weights]))
        torch.testing.assert_close(found[0], found[1])
        torch.testing.assert_close(found[2], found[1])


def test_sizes_stay_symbols() -> None:
    with _registered(scriptc.compile(rnn), torch.randn(5, 3, 4), torch.randn(3, 4), torch.randn(4, 4)) as op:

        class Calls(torch.nn.Module):
            def forward(self, x: Tensor, h: Tensor, w: Tensor) -> Any:
                return op(x, h, w)

        time, batch = torch.export.Dim("time"), torch.export.Dim("batch")
        example = torch.randn(6, 2, 4), torch.randn(2, 4), torch.randn(4, 4)
        program = torch.export.export(Calls(), example, dynamic_shapes=({0: time, 1: batch}, {0: batch}, None))
        states = next(n for n in program.graph.nodes if n.target is op.op).meta["val"][0]
        sizes = next(n for n in program.graph.nodes if n.op == "placeholder").meta["val"].shape
        assert states.shape == sizes
        other = torch.randn(11, 7, 4), torch.randn(7, 4), torch.randn(4, 4)
        torch.testing.assert_close(program.module()(*other), rnn(*other))


def test_scripted_function_runs_the_operator() -> None:
    image, matrix = torch.rand(2, 5, 6), torch.eye(3)
    with _registered(scriptc.compile(warp_perspective), image, matrix, (5, 6)) as op:
        name = op.name.partition("::")[2]
        call = f"torch.ops.scriptc_tests.{name}(image, matrix, size) + 1"
        source = f"def call(image, matrix, size: List[int]):\n    return {call}\n"
        scripted = torch.jit.CompilationUnit(source)
        assert str(scripted.call.graph).count(op.name) == 1
        torch.testing.assert_close(scripted.call(image, matrix, [5, 6]), warp_perspective(image, matrix, (5, 6)) + 1)


def test_exported_weights_are_those_of_the_graph() -> None:
    module = Tagger().eval()
    words = torch.randint(0, 10, (2, 7))
    with _registered(scriptc.compile(module), words) as op:

        class Calls(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = module

            def forward(self, words: Tensor) -> Tensor:
                return op(words)

        program = torch.export.export(Calls(), (words,))
        other = Tagger().eval()
        again = program.module()
        again.load_state_dict({f"inner.{name}": value for name, value in other.state_dict().items()})
        torch.testing.assert_close(again(words), other(words))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


def _changes_list(xs: list[Tensor]):
    xs.append(xs[0] + 1)
    return xs[0]


def _of_any_structure(x):
    return x if x.sum() > 0 else (x, x)


REFUSED = {
    "state": (Counter(), (torch.ones(2),), "assigns to .*calls"),
    "running statistics": (torch.nn.BatchNorm1d(3), (torch.randn(4, 3),), "writes to num_batches_tracked, a tensor outside"),
    "a list that changes": (_changes_list, ([torch.ones(2)],), "changes its argument xs, a list"),
    "results of several structures": (_of_any_structure, (torch.ones(2),), "the result holds"),
    "an argument that is a dict": (lambda d: d["x"] + 1, ({"x": torch.ones(2)},), "the argument d is dict"),
    "any number of arguments": (lambda *xs: xs[0], (torch.ones(2),), "takes \\*xs"),
    "a text as result": (lambda x: (x, str(x.shape[0])), (torch.ones(2),), "the result holds str"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_operator_has_is_refused(what: str) -> None:
    function, args, message = REFUSED[what]
    with pytest.raises(TypeError, match=message):
        scriptc.compile(function).as_torch_op(f"scriptc_tests::r{next(_NUMBERS)}", *args)


def test_names() -> None:
    compiled = scriptc.compile(growing)
    with pytest.raises(RuntimeError, match="call it once"):
        compiled.as_torch_op("scriptc_tests::uncalled")
    compiled(torch.randn(2, 3))
    with pytest.raises(ValueError, match="named like"):
        compiled.as_torch_op("growing")
    with _registered(compiled) as op:
        with pytest.raises(ValueError, match="exists"):
            compiled.as_torch_op(op.name)


def test_operator_that_writes_refuses_gradients() -> None:
    with _registered(scriptc.compile(accumulate_), torch.zeros(4), torch.randn(3, 4)) as op:
        with pytest.raises(NotImplementedError, match="writes to its arguments"):
            op.op(torch.zeros(4), torch.randn(3, 4, requires_grad=True))


def test_gradients_of_gradients_are_refused() -> None:
    args = torch.randn(5, 3, 4), torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
    with _registered(scriptc.compile(rnn), *args) as op:
        total = op.op(*args)[0].square().sum()
        with pytest.raises(NotImplementedError, match="gradients of gradients"):
            torch.autograd.grad(total, args[2], create_graph=True)


def test_results_share_no_memory_with_arguments() -> None:
    with _registered(scriptc.compile(lambda x: (x, x[0], x + 1)), torch.randn(2, 3)) as op:
        x = torch.randn(2, 3)
        whole, row, more = op.op(x)
        assert len({t.untyped_storage().data_ptr() for t in (x, whole, row, more)}) == 4


def test_errors_of_the_function_are_raised_in_traces() -> None:
    with _registered(scriptc.compile(rnn), torch.randn(5, 3, 4), torch.randn(3, 4), torch.randn(4, 4)) as op:
        run = torch.compile(lambda *given: op(*given), fullgraph=True, backend="aot_eager")
        with pytest.raises(Exception, match="shapes cannot be multiplied|same reduction dim"):
            run(torch.randn(5, 3, 6), torch.randn(3, 4), torch.randn(4, 4))


def test_calls_of_other_kinds_take_the_variants_of_the_function() -> None:
    compiled = scriptc.compile(with_optional)
    x = torch.randn(3, 4)
    with _registered(compiled, x) as op:
        compiled(x, x > 0)
        compiled(x.double())
        made = len(compiled.signatures())
        torch.testing.assert_close(op.op(x, x > 0), with_optional(x, x > 0))
        assert len(compiled.signatures()) == made
        torch.testing.assert_close(op.op(x[0], None, 2.0), with_optional(x[0], None, 2.0))


def _writes_if(x: Tensor, change: bool) -> Tensor:
    if change:
        x.add_(1)
    return x.sum()


def test_a_call_that_writes_to_another_argument_is_refused() -> None:
    with _registered(scriptc.compile(_writes_if), torch.ones(2), False) as op:
        x = torch.ones(2)
        with pytest.raises(TypeError, match="other types than the schema"):
            op.op(x, True)
        assert x.tolist() == [1, 1]
