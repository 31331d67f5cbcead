"""LSTM, GRU and RNN: layers of torch where the weights are constants and torch has the form, else calls of functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, number_text

GATES = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}  # torch's order of the gates, as places in ONNX's order
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
PLAIN = {
    "relu": "torch.relu", "tanh": "torch.tanh", "sigmoid": "torch.sigmoid", "softsign": "F.softsign", "softplus": "ox.softplus",
}  # fmt: skip
WITH_NUMBERS = {  # the Python, and the defaults of alpha and beta
    "affine": ("{alpha} * t + {beta}", 1.0, 0.0), "leakyrelu": ("F.leaky_relu(t, {alpha})", 0.01, None),
    "thresholdedrelu": ("ox.thresholded_relu(t, {alpha})", 1.0, None), "elu": ("F.elu(t, {alpha})", 1.0, None),
    "scaledtanh": ("{alpha} * torch.tanh({beta} * t)", 1.0, 1.0),
    "hardsigmoid": ("ox.hard_sigmoid(t, {alpha}, {beta})", 0.2, 0.5),
}  # fmt: skip


def directions(op: Operation) -> list[bool]:
    """Return for each direction whether it reads backward."""
    found = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(op.attr("direction", "forward"))
    if found is None:
        raise op.unsupported(f"it has no direction {op.attr('direction')!r}")
    return found


def activation_names(op: Operation, kind: str) -> list[str]:
    """Return the names of the activations of all directions, in small letters."""
    names = op.attr("activations") or DEFAULTS[kind] * len(directions(op))
    if len(names) != len(DEFAULTS[kind]) * len(directions(op)):
        raise op.unsupported(f"{len(names)} activations are given")
    return [name.lower() for name in names]


def _short(number: float | None) -> str:
    return "" if number is None else number_text(number, "float32")


def activations(op: Operation, kind: str) -> list[str]:
    """Return the activations of all directions as functions. Each takes the next alpha and beta if it has them."""
    alphas, betas = list(op.attr("activation_alpha") or []), list(op.attr("activation_beta") or [])
    made = []
    for name in activation_names(op, kind):
        if name in PLAIN:
            made.append(PLAIN[name])
            continue
        if name not in WITH_NUMBERS:
            raise op.unsupported(f"there is no activation {name!r}")
        text, alpha, beta = WITH_NUMBERS[name]
        alpha = alphas.pop(0) if alphas else alpha
        beta = betas.pop(0) if betas and beta is not None else beta
        made.append("lambda t: " + text.format(alpha=_short(alpha), beta=_short(beta)))
    return made


def is_layer_of_torch(op: Operation) -> bool:
    """Return whether a layer of torch computes the call, with weights that are constants."""
    kind = op.node.op
    names = activation_names(op, kind)
    usual = [name.lower() for name in DEFAULTS[kind]] * len(directions(op))
    if names != usual and not (kind == "RNN" and set(names) == {"relu"}):
        return False
    if any(op.has(i) and op.known(i) is None for i in (1, 2, 3)) or op.has(4) or op.has(7):
        return False
    if op.attr("clip") or op.attr("input_forget", 0) or op.dtype(1) not in ("float32", "float64"):
        return False
    return bool(kind != "GRU" or op.attr("linear_before_reset", 0))


def state_of(op: Operation) -> dict[str, Any]:
    """Return the weights under the names that torch's layer gives them, with its order of the gates."""
    from scriptc.onnx.reading.element_types import to_torch

    gates, dtype, state = GATES[op.node.op], op.dtype(1) or "float32", {}
    for index in range(len(directions(op))):
        parts = [op.known(1)[index], op.known(2)[index]]
        if op.has(3):
            parts += np.split(op.known(3)[index], 2)
        for name, part in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), parts, strict=False):
            blocks = np.split(part, len(gates))
            array = np.concatenate([blocks[gate] for gate in gates])
            state[f"{name}_l0{'_reverse' if index else ''}"] = to_torch(array, dtype)
    return state


def layer(op: Operation) -> tuple[str, int]:
    """Return the attribute of a layer of torch, and its hidden size."""
    kind, state = op.node.op, state_of(op)
    size, taken = state["weight_hh_l0"].shape[1], state["weight_ih_l0"].shape[1]
    options = [str(taken), str(size)]
    if not op.has(3):
        options.append("bias=False")
    if kind == "RNN" and activation_names(op, kind)[0] == "relu":
        options.append('nonlinearity="relu"')
    if op.attr("layout", 0):
        options.append("batch_first=True")
    if len(directions(op)) == 2:
        options.append("bidirectional=True")
    if op.dtype(1) == "float64":
        options.append("dtype=torch.float64")
    name = op.writer.module.weights.layer(op.node.name or kind.lower(), f"nn.{kind}({', '.join(options)})", state)
    return name, size


@operator("LSTM", "GRU", "RNN")
def recurrent(op: Operation) -> Any:
    return by_layer(op) if is_layer_of_torch(op) else by_steps(op, op.node.op, [op[1], op[2]])


def by_layer(op: Operation) -> Any:
    kind, both, batch_first = op.node.op, len(directions(op)) == 2, bool(op.attr("layout", 0))
    name, size = layer(op)
    x, steps = op[0], 1 if batch_first else 0
    backward = directions(op) == [True]
    if backward:
        x = f"torch.flip({x}, ({steps},))"
    states = [op[i] if op.has(i) else None for i in ((5, 6) if kind == "LSTM" else (5,))]
    states = [f"{s}.transpose(0, 1).contiguous()" if s and batch_first else s for s in states]
    if any(states):
        given = next(s for s in states if s)
        texts = [s or f"torch.zeros_like({given})" for s in states]
        x += f", ({', '.join(texts)})" if kind == "LSTM" else f", {texts[0]}"
    names = [op.fresh(text or "unused") for text in (*op.node.outputs, "", "")[: 3 if kind == "LSTM" else 2]]
    last = f"({', '.join(names[1:])})" if kind == "LSTM" else names[1]
    op.emit(f"{names[0]}, {last} = self.{name}({x})")
    y = f"torch.flip({names[0]}, ({steps},))" if backward else names[0]
    y = f"{y}.unflatten(2, (2, {size}))" if both else f"{y}.unsqueeze({2 if batch_first else 1})"
    if both and not batch_first:
        y = f"{y}.transpose(1, 2)"
    return (y, *(f"{text}.transpose(0, 1)" if batch_first else text for text in names[1:]))[: op.outputs]


def by_steps(op: Operation, kind: str, weights: list[str], options: str = "") -> Any:
    """Write a call of a function for each direction. `weights` are W and R; `options` are further arguments."""
    batch_first = bool(op.attr("layout", 0))
    functions, count = activations(op, kind), len(DEFAULTS[kind])
    kinds = 3 if kind == "LSTM" else 2
    x = f"{op[0]}.transpose(0, 1)" if batch_first else op[0]
    states = [op[i] if op.has(i) else None for i in ((5, 6) if kind == "LSTM" else (5,))]
    results: list[list[str]] = [[] for _ in range(kinds)]
    for index, backward in enumerate(directions(op)):

        def part(text: str, axis: int = 0, index: int = index) -> str:
            return f"{text}[{index}]" if axis == 0 else f"{text}[:, {index}]"

        given = [x, part(weights[0]), part(weights[1]), part(op[3]) if op.has(3) else "None", op.optional(4)]
        given += [part(s, 1 if batch_first else 0) if s else "None" for s in states]
        if kind == "LSTM":
            given.append(part(op[7]) if op.has(7) else "None")
        given += [str(backward), *functions[index * count : (index + 1) * count], repr(op.attr("clip", 0.0))]
        if kind != "RNN":
            given.append(str(bool(op.attr("input_forget" if kind == "LSTM" else "linear_before_reset", 0))))
        names = [op.fresh(text or "unused") for text in (*op.node.outputs, "", "", "")[:kinds]]
        op.emit(f"{', '.join(names)} = ox.{kind.lower()}({', '.join(given)}{options})")
        for found, text in zip(results, names, strict=True):
            found.append(text)
    made: list[str | Value] = []
    for place, texts in enumerate(results):
        axis = 1 if batch_first or place == 0 else 0
        parts = [f"{text}.transpose(0, 1)" for text in texts] if batch_first and place == 0 else texts
        axis = 2 if batch_first and place == 0 else axis
        made.append(f"torch.stack([{', '.join(parts)}], {axis})" if len(parts) > 1 else f"{parts[0]}.unsqueeze({axis})")
    return tuple(made[: op.outputs])
