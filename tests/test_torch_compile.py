"""The backend of torch.compile: graphs of dynamo, compiled and differentiated as in eager, with errors at the user's lines."""

from __future__ import annotations

import copy
import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fresh_python
import pytest
import torch
import torch._dynamo
from settings import OPTIMIZE
from torch import nn
from torch.utils.checkpoint import checkpoint

import scriptc
from scriptc.dynamo.backend import compile_graph

ROOT = Path(__file__).parent.parent
GROUP = "torch_dynamo_backends"


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    """Let no test find the graphs of others."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def compiled(target: Any, **options: Any) -> Any:
    return torch.compile(target, backend=compile_graph, options={"optimize": OPTIMIZE}, **options)


def graphs() -> int:
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


# ---- registration ----


def entry_points() -> dict[str, str]:
    """Return the entry points of this repository's pyproject.toml in the group that dynamo reads."""
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]


def test_entry_point() -> None:
    made = [importlib.metadata.EntryPoint(name, value, GROUP) for name, value in entry_points().items()]
    assert [(point.name, point.load()) for point in made] == [("scriptc", compile_graph)]


BY_NAME = """
import sys
sys.path.insert(0, {folder!r})
import torch

def f(x):
    return x * 2 + 1

x = torch.arange(3.0)
assert "scriptc" in torch._dynamo.list_backends()
assert "scriptc.dynamo" not in sys.modules
assert torch.equal(torch.compile(f, backend="scriptc", options={{"optimize": 0}})(x), f(x))
assert "scriptc.dynamo.backend" in sys.modules
"""


def test_backend_by_name(tmp_path: Path) -> None:
    """A distribution with the entry points stands for an installation, which may be older than they are."""
    info = tmp_path / "scriptc_backend-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scriptc-backend\nVersion: 1\n")
    lines = [f"{name} = {value}" for name, value in entry_points().items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    program = tmp_path / "program.py"
    program.write_text(BY_NAME.format(folder=str(tmp_path)))
    done = fresh_python.run([str(program)], cwd=ROOT)
    assert done.returncode == 0, done.stderr


# ---- results ----


def shapes(x: Any, n: int) -> Any:
    y = x.reshape(-1, n)
    return y * 2, y.shape[0], None, {"rows": y.shape[0] * n + 1, "sum": y.sum(0)}


def test_dynamic_sizes_need_one_graph() -> None:
    f = compiled(shapes, dynamic=True)
    for rows, n in ((4, 6), (3, 5), (10, 2)):
        x = torch.randn(rows, 2 * n)
        torch.testing.assert_close(f(x, n), shapes(x, n))
    assert graphs() == 1


def test_a_graph_break_leaves_the_rest_to_python(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = x.sin()
        print("between")
        return y.cos(), x.shape[0]

    x = torch.randn(3)
    torch.testing.assert_close(compiled(f)(x), f(x))
    assert graphs() == 2
    assert capsys.readouterr().out == "between\nbetween\n"


def test_writes_and_aliases() -> None:
    def f(x: Any) -> Any:
        x.add_(1)
        return x[1:].view(-1), x, x.T

    given, expected = torch.arange(6.0).view(3, 2), torch.arange(6.0).view(3, 2)
    found, wanted = compiled(f)(given), f(expected)
    assert found[1] is given
    found[0].mul_(10)
    wanted[0].mul_(10)
    torch.testing.assert_close((*found, given), (*wanted, expected))


def test_results_that_are_no_tensors() -> None:
    """dynamo builds these itself; other tracers have them in their graphs."""

    def f(x: Any) -> Any:
        return x + 1, None, 3, [x * 2, None]

    x = torch.ones(2)
    call = compile_graph(torch.fx.symbolic_trace(f), [x], options={"optimize": OPTIMIZE})
    torch.testing.assert_close(call(x), f(x))


def test_random_numbers_are_eagers() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5))
    x, found = torch.randn(3, 4), []
    for target in (compiled(model), model):
        torch.manual_seed(3)
        found.append((target(x), torch.rand(2)))
    torch.testing.assert_close(*found)


def test_recurrent_layers_that_dynamo_lets_through() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.LSTM(3, 4, 2, batch_first=True), nn.Linear(4, 2)

        def forward(self, x: Any, state: Any = None) -> Any:
            y, state = self.rnn(x, state)
            return self.out(y).relu(), state

    with torch._dynamo.config.patch(allow_rnn=True):
        net = Net()
        f = compiled(net, dynamic=True, fullgraph=True)
        for batch, steps in ((2, 5), (3, 7)):
            x = torch.randn(batch, steps, 3)
            result, state = net(x)
            torch.testing.assert_close(f(x), (result, state))
        torch.testing.assert_close(f(x, state), net(x, state))
        assert graphs() == 2


@torch.no_grad()
def test_layers_that_dynamo_traces_into_fused_operators() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x, mask = torch.randn(2, 3, 8), torch.tensor([[False, False, True], [False, True, True]])
    torch.testing.assert_close(compiled(layer)(x, src_key_padding_mask=mask), layer(x, src_key_padding_mask=mask))


# ---- training ----


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            self.mean.lerp_(x.mean((0, 2)), 0.1)
        y = self.norm(self.conv(x - self.mean[:, None])).relu()
        with torch.autocast("cpu", torch.bfloat16):
            scores = self.out(y.mean(2))
        return scores.float(), y


def train(target: Callable[..., Any], model: nn.Module) -> list[Any]:
    """Train by three steps, and return what each has computed."""
    optimizer, found = torch.optim.SGD(model.parameters(), 0.1), []
    generator = torch.Generator().manual_seed(5)
    for batch in (3, 5, 4):
        scores, y = target(torch.randn(batch, 2, 6, generator=generator))
        optimizer.zero_grad()
        (scores.sum() + (y**3).sum()).backward()
        found.append([scores.detach(), *(p.grad.clone() for p in model.parameters()), *(b.clone() for b in model.buffers())])
        optimizer.step()
    return found


def test_training_updates_weights_and_buffers() -> None:
    eager = Net()
    model = copy.deepcopy(eager)
    found = train(compiled(model, dynamic=True), model)
    assert graphs() == 1
    torch.testing.assert_close(found, train(eager, eager), rtol=1e-3, atol=1e-3)


def test_checkpoints() -> None:
    layer = nn.Linear(4, 4)

    def f(x: Any) -> Any:
        return checkpoint(lambda t: torch.tanh(layer(t)), x, use_reentrant=False) * 2

    x = torch.randn(3, 4, requires_grad=True)
    found, wanted = (torch.autograd.grad(g(x).sum(), (x, layer.weight)) for g in (compiled(f, fullgraph=True), f))
    torch.testing.assert_close(found, wanted)


# ---- errors ----


def eigenvalues(x):
    return torch.linalg.eigvals(x)  # refused


def calls_eigenvalues(x):
    y = x + 1
    return eigenvalues(y) * 2


def line_of(function: Callable[..., Any], behind: int) -> int:
    return function.__code__.co_firstlineno + behind


def test_a_rejected_graph_names_the_operator_and_the_users_lines() -> None:
    f = compiled(calls_eigenvalues)
    for _ in range(2):  # no call runs in eager
        with pytest.raises(scriptc.CompileError) as caught:
            f(torch.eye(3))
        (found,) = caught.value.diagnostics
        assert "eigvals" in found.message
        lines = [(site.file, site.line, site.func) for site in found.loc.chain()]
        assert lines == [
            (__file__, line_of(eigenvalues, 1), "eigenvalues"), (__file__, line_of(calls_eigenvalues, 2), "calls_eigenvalues"),
        ]  # fmt: skip


def test_errors_at_run_time_name_the_users_line() -> None:
    def f(x: Any, i: Any) -> Any:
        print(end="")
        return x[i]

    with pytest.raises(IndexError, match=rf"(?s)out of bounds.*{Path(__file__).name}:{line_of(f, 2)} in f: return x\[i\]"):
        compiled(f)(torch.ones(3, 4), torch.tensor([7]))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"options": {"optimise": 0}}, "there is no option 'optimise'"), ({"options": {"freeze": True}}, "use scriptc.compile"),
        ({"mode": "max-autotune"}, "mode"),
    ],
    ids=["option", "frozen weights", "mode"],
)  # fmt: skip
def test_what_the_backend_does_not_take(form: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        torch.compile(shapes, backend=compile_graph, **form)(torch.ones(2, 2), 2)


def test_a_backend_is_not_imported_with_scriptc() -> None:
    program = "import scriptc, sys; scriptc.compile; assert 'scriptc.dynamo' not in sys.modules"
    done = fresh_python.run(["-c", program], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert sys.modules["scriptc.dynamo.backend"].compile_graph is compile_graph
