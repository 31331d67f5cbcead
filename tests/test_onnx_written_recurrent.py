"""Loops that become LSTM, GRU and RNN of ONNX, and loops that only look like them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_export import differs, run, session_of  # noqa: E402

from scriptc.onnx.writing.model import model_of  # noqa: E402
from scriptc.onnx.writing.tidying import nodes_of  # noqa: E402

SIZES = ((4, 3), (1, 1), (9, 2))


def check(f: Any, calls: list[tuple[Any, ...]]) -> list[str]:
    """Compare a model with eager on all calls; return the operators of its nodes."""
    model = model_of(f, calls[0], {}, None)[0]
    session = session_of(model)
    for args in calls:
        with torch.no_grad():
            wanted = f(*args)
        flat = [leaf for part in wanted for leaf in (part if isinstance(part, tuple) else (part,))]
        leaves = [leaf for a in args for leaf in (a if isinstance(a, tuple) else (a,))]
        got = run(session, leaves)
        assert len(got) == len(flat)
        assert not any(map(differs, got, flat)), (got, flat)
    return [node.op_type for node in nodes_of(model.graph)]


LAYERS = [
    (nn.LSTM, {}, 1), (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}, 4),
    (nn.GRU, {}, 1), (nn.GRU, {"num_layers": 2, "bias": False}, 2), (nn.GRU, {"bidirectional": True}, 2),
    (nn.RNN, {"bidirectional": True}, 2), (nn.RNN, {"nonlinearity": "relu"}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "options", "count"), LAYERS)
def test_layers_are_operators(layer: Any, options: dict[str, Any], count: int) -> None:
    torch.manual_seed(0)
    found = check(layer(5, 6, **options).eval(), [(torch.randn(*size, 5),) for size in SIZES])
    assert found.count(layer.__name__) == count
    assert "Loop" not in found


def test_given_states_and_projections() -> None:
    states = [tuple(torch.randn(1, b, 6) for _ in range(2)) for _, b in SIZES]
    calls = [(torch.randn(n, b, 5), state) for (n, b), state in zip(SIZES, states, strict=True)]
    check(nn.LSTM(5, 6), calls)
    assert "Loop" in check(nn.LSTM(5, 6, proj_size=3), [(torch.randn(*size, 5),) for size in SIZES])


class Hand(nn.Module):
    """A cell by hand, with gates in an order of its own. It returns the last state, also of no steps."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.x = nn.Linear(5, 24 if kind == "lstm" else 18 if kind.startswith("gru") else 6)
        self.h = nn.Linear(6, self.x.out_features)

    def forward(self, x: Tensor, scale: int) -> tuple[Tensor, Tensor]:
        h = torch.full((x.shape[1], 6), 0.5) * scale
        c = torch.full((x.shape[1], 6), 0.25) * scale
        for t in range(x.shape[0]):
            a, b = self.x(x[t]), self.h(h)
            if self.kind == "lstm":
                g, f, i, o = (a + b).chunk(4, -1)
                c = c * f.sigmoid() + g.tanh() * i.sigmoid()
                h = c.tanh() * o.sigmoid()
            elif self.kind.startswith("gru"):
                update = (b[:, :6] + a[:, :6]).sigmoid()
                reset = torch.sigmoid(a[:, 12:] + b[:, 12:])
                new = torch.tanh(a[:, 6:12] + reset * b[:, 6:12])
                h = update * h + (1 - update) * new if self.kind == "gru" else update * new + (1 - update) * h
            else:
                h = torch.relu(a + b) if self.kind == "rnn" else torch.relu(a + b) + h
        return h, c


@pytest.mark.parametrize(("kind", "operator"), [("lstm", "LSTM"), ("gru", "GRU"), ("rnn", "RNN")])
def test_loops_by_hand_are_operators(kind: str, operator: str) -> None:
    calls = [(torch.randn(n, b, 5), 2) for n, b in (*SIZES, (0, 2), (2, 0))]
    found = check(Hand(kind), calls)
    assert operator in found
    assert "Loop" not in found


@pytest.mark.parametrize("kind", ["gru of another update", "residual rnn"])
def test_other_loops_stay(kind: str) -> None:
    found = check(Hand(kind), [(torch.randn(n, b, 5), 2) for n, b in (*SIZES, (0, 2))])
    assert "Loop" in found
    assert not {"LSTM", "GRU", "RNN"}.intersection(found)
