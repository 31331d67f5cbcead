"""The seeds' models and cells with control flow equal eager, compiled once for all sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from programs.models import LSTM, VARIANTS, HyTorchNet, HyTorchRNN, Pytorch2cNet, custom_add, lstm
from settings import OPTIMIZE, sweep
from statements import module_of
from three_ways import assert_same, call, compiled, eager

import scriptc

SIZES = [
    (0, 2, 3, 4),
    (1, 1, 1, 1),
    (5, 2, 3, 4),
    (9, 4, 16, 8),
    (3, 0, 2, 2),
    (4, 3, 0, 2),
]  # time, batch, inputs, hidden


def agrees(target, made, *args):
    given = call(*args)
    assert_same(eager(target, given), compiled(made, given))


def loops(c_source: str) -> int:
    return len(re.findall(r"\b(?:for|while) \(", c_source))


@pytest.mark.parametrize("optimize", sweep([OPTIMIZE, 3], OPTIMIZE))
def test_hytorch_rnn_at_all_lengths_and_batches(optimize: int) -> None:
    torch.manual_seed(0)
    model = HyTorchRNN(16, 32)
    made = scriptc.compile(model, optimize=optimize)
    for length in range(1, 65):
        for batch in (length % 9 + 1, (length * 5) % 9 + 1):
            agrees(model, made, [torch.randn(batch, 16) for _ in range(length)])
    for batch in range(1, 10):
        agrees(model, made, [torch.randn(batch, 16) for _ in range(10)])
    assert len(made.signatures()) == 1


def test_hytorch_rnn_has_one_loop_whatever_the_length() -> None:
    model = HyTorchRNN(16, 32)
    sources = []
    for length in (1, 10, 64):
        made = scriptc.compile(model, optimize=OPTIMIZE)
        made([torch.randn(4, 16) for _ in range(length)])
        sources.append(made.c_source())
        assert made.ir("read").count(" = loop ") + made.ir("read").count(" = for ") == 1, made.ir("read")
    assert sources[0] == sources[1] == sources[2]


def test_hytorch_rnn_without_inputs_raises_like_eager() -> None:
    model = HyTorchRNN(16, 32)
    agrees(model, scriptc.compile(model, optimize=OPTIMIZE), [])


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("optimize", sweep([OPTIMIZE, 2], OPTIMIZE))
@pytest.mark.parametrize("net", [Pytorch2cNet, HyTorchNet])
def test_mnist_nets(net, optimize: int) -> None:
    torch.manual_seed(0)
    model = net().eval()
    made = scriptc.compile(model, optimize=optimize)
    for batch in (1, 2, 3, 7, 16, 33, 64):
        agrees(model, made, torch.randn(batch, 1, 28, 28))
    assert len(made.signatures()) == 1


@pytest.mark.parametrize("optimize", [OPTIMIZE, 3])
def test_lstm_with_dynamic_weights(optimize: int) -> None:
    made = scriptc.compile(lstm, optimize=optimize)
    for time, batch, inputs, hidden in SIZES:
        torch.manual_seed(time)
        state = torch.randn(batch, hidden), torch.randn(batch, hidden)
        weights = torch.randn(4 * hidden, inputs), torch.randn(4 * hidden, hidden), torch.randn(4 * hidden)
        agrees(lstm, made, torch.randn(time, batch, inputs), *state, *weights)
    assert len(made.signatures()) == 1


@pytest.mark.parametrize("optimize", [OPTIMIZE, 3])
def test_lstm_module(optimize: int) -> None:
    torch.manual_seed(0)
    model = LSTM(5, 7)
    made = scriptc.compile(model, optimize=optimize)
    for time, batch in ((1, 1), (8, 3), (20, 2), (0, 3), (3, 0)):
        agrees(model, made, torch.randn(time, batch, 5))
    assert len(made.signatures()) == 1


@pytest.mark.parametrize("optimize", [OPTIMIZE, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_cells_whose_control_flow_depends_on_data(variant, optimize: int) -> None:
    made = scriptc.compile(variant, optimize=optimize)
    for seed in range(8):
        torch.manual_seed(seed)
        time, batch, hidden = ((6, 2, 3), (1, 1, 1), (12, 3, 4), (0, 2, 2))[seed % 4]
        agrees(
            variant, made, torch.randn(time, batch, hidden), torch.randn(batch, hidden), torch.randn(hidden, hidden) / 2
        )
    assert len(made.signatures()) == 1


SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 1, 3), (0,), (2, 0), (1, 1, 1)]


@pytest.mark.parametrize("optimize", [OPTIMIZE, 3])
def test_custom_add_on_all_shapes(optimize: int) -> None:
    made = scriptc.compile(custom_add, optimize=optimize)
    for a in SHAPES:
        for b in SHAPES:
            agrees(custom_add, made, torch.randn(a), torch.randn(b))


@pytest.mark.parametrize(
    "expression",
    ["[n] * {}", "list(range({}))", "torch.zeros({}).tolist()", "[v.sum() for v in torch.zeros({}, 2)]", "(n,) * {}"],
)
def test_code_does_not_grow_with_known_lengths(expression: str, tmp_path: Path) -> None:
    body = "def f(n: int):\n    return sum({})\n"
    lines = set()
    for length in (300, 3000):
        folder = tmp_path / str(length)
        folder.mkdir()
        f = module_of("import torch\n" + body.format(expression.format(length)), folder).f
        made = scriptc.compile(f, optimize=OPTIMIZE)
        assert made(2) == f(2)
        lines.add(made.ir().count("\n"))
    assert len(lines) == 1
