"""Recurrent layers in the forms that torch's layers lack: one direction of one layer, step by step."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.onnx.functions.indexing import reverse_sequence


def turned(x: Tensor, lengths, backward: bool) -> Tensor:
    """Return the steps of `x` in the order in which a direction reads them."""
    if not backward:
        return x
    return torch.flip(x, (0,)) if lengths is None else reverse_sequence(x, lengths, 1, 0)


def projected(x: Tensor, w: Tensor, lengths, backward: bool, product=torch.matmul) -> Tensor:
    """Return the product of the inputs of all steps with `w`, in the order of the steps."""
    return product(turned(x, lengths, backward), w.t())


def clipped(x: Tensor, clip: float) -> Tensor:
    return x if clip == 0.0 else torch.clamp(x, -clip, clip)


def running(lengths, step: int) -> Tensor:
    """Return for each sequence whether it has the step."""
    return (lengths > step).unsqueeze(1)


def gathered(steps, x: Tensor, state: Tensor, lengths, backward: bool) -> Tensor:
    """Return the outputs of the steps as one tensor, in the order of the inputs."""
    made = torch.stack(steps) if len(steps) > 0 else x.new_zeros((0,) + state.shape)
    return turned(made, lengths, backward)


def lstm(
    x: Tensor, w: Tensor, r: Tensor, b, lengths, h, c, peepholes, backward: bool, f, g, o, clip: float, coupled: bool,
    product=torch.matmul,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the outputs of an LSTM and its last states.

    x: (steps, batch, input size). w and r have the gates input, output, forget and cell; b has the biases of both.
    f, g, o: the activations of the gates, of the cell gate, and of the cell.
    coupled: the forget gate is 1 minus the input gate.
    product: the product with weights.
    """
    size = r.shape[1]
    if h is None:
        h = x.new_zeros(x.shape[1], size)
    if c is None:
        c = x.new_zeros(x.shape[1], size)
    inputs = projected(x, w, lengths, backward, product)
    if b is not None:
        inputs = inputs + (b[: 4 * size] + b[4 * size :])
    outputs = []
    for step in range(x.shape[0]):
        gates = inputs[step] + product(h, r.t())
        i, out, forget, cell = gates[:, :size], gates[:, size : 2 * size], gates[:, 2 * size : 3 * size], gates[:, 3 * size :]
        if peepholes is not None:
            i, forget = i + peepholes[:size] * c, forget + peepholes[2 * size :] * c
        i = f(clipped(i, clip))
        forget = 1 - i if coupled else f(clipped(forget, clip))
        new_c = forget * c + i * g(clipped(cell, clip))
        if peepholes is not None:
            out = out + peepholes[size : 2 * size] * new_c
        new_h = f(clipped(out, clip)) * o(new_c)
        if lengths is None:
            h, c = new_h, new_c
            outputs.append(h)
        else:
            live = running(lengths, step)
            h, c = torch.where(live, new_h, h), torch.where(live, new_c, c)
            outputs.append(torch.where(live, new_h, torch.zeros_like(new_h)))
    return gathered(outputs, x, h, lengths, backward), h, c


def gru(
    x: Tensor, w: Tensor, r: Tensor, b, lengths, h, backward: bool, f, g, clip: float, linear_before_reset: bool
) -> tuple[Tensor, Tensor]:
    """Return the outputs of a GRU and its last state. w and r have the gates update, reset and hidden."""
    size = r.shape[1]
    if h is None:
        h = x.new_zeros(x.shape[1], size)
    if b is None:
        b = x.new_zeros(6 * size)
    inputs = projected(x, w, lengths, backward) + b[: 3 * size]
    hidden_r, hidden_b = r[2 * size :], b[5 * size :]
    outputs = []
    for step in range(x.shape[0]):
        gates = inputs[step, :, : 2 * size] + torch.matmul(h, r[: 2 * size].t()) + b[3 * size : 5 * size]
        update, reset = f(clipped(gates[:, :size], clip)), f(clipped(gates[:, size:], clip))
        if linear_before_reset:
            hidden = reset * (torch.matmul(h, hidden_r.t()) + hidden_b)
        else:
            hidden = torch.matmul(reset * h, hidden_r.t()) + hidden_b
        new_h = (1 - update) * g(clipped(inputs[step, :, 2 * size :] + hidden, clip)) + update * h
        if lengths is None:
            h = new_h
            outputs.append(h)
        else:
            live = running(lengths, step)
            h = torch.where(live, new_h, h)
            outputs.append(torch.where(live, new_h, torch.zeros_like(new_h)))
    return gathered(outputs, x, h, lengths, backward), h


def rnn(x: Tensor, w: Tensor, r: Tensor, b, lengths, h, backward: bool, f, clip: float) -> tuple[Tensor, Tensor]:
    """Return the outputs of a simple recurrent layer and its last state."""
    size = r.shape[1]
    if h is None:
        h = x.new_zeros(x.shape[1], size)
    inputs = projected(x, w, lengths, backward)
    if b is not None:
        inputs = inputs + (b[:size] + b[size:])
    outputs = []
    for step in range(x.shape[0]):
        new_h = f(clipped(inputs[step] + torch.matmul(h, r.t()), clip))
        if lengths is None:
            h = new_h
            outputs.append(h)
        else:
            live = running(lengths, step)
            h = torch.where(live, new_h, h)
            outputs.append(torch.where(live, new_h, torch.zeros_like(new_h)))
    return gathered(outputs, x, h, lengths, backward), h


def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return torch.clamp(alpha * x + beta, 0, 1)


def thresholded_relu(x: Tensor, alpha: float) -> Tensor:
    return torch.where(x > alpha, x, torch.zeros_like(x))
