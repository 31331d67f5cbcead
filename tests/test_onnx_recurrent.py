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
