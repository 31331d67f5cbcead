"""Recurrent operators of ONNX models against ONNX Runtime, in eager and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx_calls import Calls, check

from scriptc.onnx.backend import CompiledModel
from scriptc.onnx.reading import imported, read, written

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, TAKEN, SIZE = 4, 3, 2, 5
random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def add(
    calls: Calls, op: str, *, given: str = "B", constant: bool = True, direction: str = "forward", **attributes: Any
) -> None:
    """Add a call with the inputs W and R, and of B, l, h, c and p those that `given` names."""
    both = 2 if direction == "bidirectional" else 1
    gates = GATES[op]
    batch_first = attributes.get("layout", 0)
    state = (BATCH, both, SIZE) if batch_first else (both, BATCH, SIZE)
    inputs = [floats(*((BATCH, STEPS) if batch_first else (STEPS, BATCH)), TAKEN), floats(both, gates * SIZE, TAKEN)]
    inputs += [floats(both, gates * SIZE, SIZE), floats(both, 2 * gates * SIZE) if "B" in given else None]
    inputs.append(np.array([2, 4, 1], np.int32) if "l" in given else None)
    inputs.append(floats(*state) if "h" in given else None)
    if op == "LSTM":
        inputs.append(floats(*state) if "c" in given else None)
        inputs.append(floats(both, 3 * SIZE) if "p" in given else None)
    while inputs[-1] is None:
        inputs.pop()
    weights = (1, 2, 3) if constant else ()
    calls.add(op, inputs, weights, 3 if op == "LSTM" else 2, hidden_size=SIZE, direction=direction, **attributes)


def usual(calls: Calls, op: str) -> None:
    """Add the calls that layers of torch compute."""
    before = {"linear_before_reset": 1} if op == "GRU" else {}
    add(calls, op, direction="bidirectional", **before)
    add(calls, op, given="Bh", direction="reverse", **before)
    add(calls, op, given="hc", **before)
    if op == "RNN":
        add(calls, op, activations=["Relu"])


def unusual(calls: Calls, op: str) -> None:
    """Add calls that layers of torch do not compute."""
    add(calls, op, given="Blhcp", direction="bidirectional", constant=False)
    add(calls, op, given="Blp", direction="reverse", clip=0.5)
    rest = {"LSTM": {"input_forget": 1}, "GRU": {"linear_before_reset": 1}, "RNN": {}}[op]
    names = {"LSTM": ["HardSigmoid", "Elu", "Softsign"], "GRU": ["HardSigmoid", "ScaledTanh"], "RNN": ["LeakyRelu"]}[op]
    add(calls, op, given="Bh", activations=names, activation_alpha=[0.3, 0.7], activation_beta=[0.4, 0.6], **rest)


@pytest.mark.parametrize("op", GATES)
def test_the_usual_forms_are_layers_of_torch(op: str, tmp_path: Path) -> None:
    calls = Calls()
    usual(calls, op)
    check(calls, tmp_path)
    text = (tmp_path / "calls.py").read_text()
    assert f"nn.{op}(2, 5, bidirectional=True)" in text
    assert f"ox.{op.lower()}(" not in text


@pytest.mark.parametrize("op", GATES)
def test_other_forms_are_loops(op: str, tmp_path: Path) -> None:
    calls = Calls()
    unusual(calls, op)
    check(calls, tmp_path)
    assert "nn." + op + "(" not in (tmp_path / "calls.py").read_text()


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("given", ["Bhc", "Blhc"])
def test_layout_1_has_the_batch_in_front(op: str, given: str, tmp_path: Path) -> None:
    """ONNX Runtime has layout 0 only."""
    before = {"linear_before_reset": 1} if op == "GRU" else {}
    first, second = Calls(), Calls()
    add(first, op, given=given, direction="bidirectional", **before)
    add(second, op, given=given, direction="bidirectional", layout=1, **before)
    second.weights = first.weights
    second.inputs = {name: array.swapaxes(0, 1) if array.ndim > 1 else array for name, array in first.inputs.items()}
    made = []
    for calls in (first, second):
        reading = read(calls.model(), "calls")
        written(reading, tmp_path / "calls.py")
        module = imported(tmp_path / "calls.py", reading.class_name)
        made.append(CompiledModel(module, reading).run(list(calls.inputs.values())))
    order = [(2, 0, 1, 3)] + [(1, 0, 2)] * 2
    for ours, theirs, dims in zip(made[1], made[0], order, strict=False):
        np.testing.assert_allclose(ours, theirs.transpose(dims), 1e-5, 1e-6)


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
