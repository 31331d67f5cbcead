"""Packed sequences: rows of all samples, step by step, of which `batch_sizes` says how many each step has.

Samples are in the order of decreasing length, so that at each step the first ones are alive.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.decompositions import recurrent
from scriptc.frontend.decompositions.recurrent import Pair, check_layers, gru_step, join_directions, lstm_step
from scriptc.frontend.library import decomposes


@decomposes("torch._pack_padded_sequence")
def pack(input: Tensor, lengths: Tensor, batch_first: bool) -> Pair:
    """input: [T, B, *], or [B, T, *] if `batch_first`. Gives data [N, *] and batch sizes [T'], T' the longest length."""
    x = input.transpose(0, 1) if batch_first else input
    if lengths.size(0) != x.size(1):
        raise RuntimeError("Expected `len(lengths)` to be equal to batch_size")
    numbers = lengths.tolist()
    for i in range(len(numbers)):
        if numbers[i] <= 0:
            raise RuntimeError("Length of all samples has to be greater than 0")
        if i > 0 and numbers[i] > numbers[i - 1]:
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True")
    longest = numbers[0]
    if longest > x.size(0):
        raise RuntimeError("a sequence is longer than its padded input")
    alive = torch.arange(longest).unsqueeze(1) < lengths
    return x[:longest][alive], alive.sum(1)


@decomposes("torch._pad_packed_sequence")
def pad(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int) -> Pair:
    batch = int(batch_sizes[0])
    padded = data.new_full((total_length, batch, *data.shape[1:]), padding_value)
    alive = torch.arange(batch) < batch_sizes.unsqueeze(1)
    padded[: batch_sizes.size(0)][alive] = data
    return padded.transpose(0, 1) if batch_first else padded, alive.sum(0)


@decomposes("torch._C._nn.pad_sequence")
def pad_sequence(
    sequences: list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors [L, *] of any lengths as one [T, B, *], or [B, T, *] if `batch_first`."""
    if padding_side not in ("right", "left"):
        raise RuntimeError("padding_side must be either left or right")
    longest = max([s.size(0) for s in sequences])
    padded = sequences[0].new_full((len(sequences), longest, *sequences[0].shape[1:]), padding_value)
    for i, s in enumerate(sequences):
        start = longest - s.size(0) if padding_side == "left" else 0
        padded[i, start : start + s.size(0)] = s
    return padded if batch_first else padded.transpose(0, 1)


def lstm_direction(
    data: Tensor, sizes: list[int], h0: Tensor, c0: Tensor, weights: list[Tensor], has_biases: bool, projected: bool,
    backwards: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    from_input = F.linear(data, weights[0], bias_x)
    h, c = h0.clone(), c0.clone()
    outputs = data.new_empty((data.size(0), h.size(1)))
    start = data.size(0) if backwards else 0
    for t in range(len(sizes)):
        n = sizes[len(sizes) - 1 - t] if backwards else sizes[t]
        if backwards:
            start -= n
        gates = from_input[start : start + n] + F.linear(h[:n], weights[1], bias_h)
        h_next, c_next = lstm_step(gates, c[:n])
        if projected:
            h_next = F.linear(h_next, weights[-1])
        h[:n] = h_next
        c[:n] = c_next
        outputs[start : start + n] = h_next
        if not backwards:
            start += n
    return outputs, h, c


def direction(
    kind: str, data: Tensor, sizes: list[int], h0: Tensor, weights: list[Tensor], has_biases: bool, backwards: bool
) -> Pair:
    """GRU and the plain RNNs."""
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    from_input = F.linear(data, weights[0], bias_x)
    h = h0.clone()
    outputs = data.new_empty((data.size(0), h.size(1)))
    start = data.size(0) if backwards else 0
    for t in range(len(sizes)):
        n = sizes[len(sizes) - 1 - t] if backwards else sizes[t]
        if backwards:
            start -= n
        x, hidden = from_input[start : start + n], F.linear(h[:n], weights[1], bias_h)
        if kind == "gru":
            h_next = gru_step(x, hidden, h[:n])
        else:
            h_next = torch.relu(x + hidden) if kind == "relu" else torch.tanh(x + hidden)
        h[:n] = h_next
        outputs[start : start + n] = h_next
        if not backwards:
            start += n
    return outputs, h


def lstm(
    data: Tensor, batch_sizes: Tensor, hx: Pair, params: list[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    check_layers(num_layers, dropout, train)
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    sizes = batch_sizes.tolist()
    last_h, last_c = [], []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            weights = params[k * each : (k + 1) * each]
            y, h, c = lstm_direction(data, sizes, hx[0][k], hx[1][k], weights, has_biases, each in (3, 5), d == 1)
            outputs.append(y)
            last_h.append(h)
            last_c.append(c)
        data = join_directions(outputs)
    return data, torch.stack(last_h), torch.stack(last_c)


def layers(
    kind: str, data: Tensor, batch_sizes: Tensor, hx: Tensor, params: list[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> Pair:  # fmt: skip
    check_layers(num_layers, dropout, train)
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    sizes = batch_sizes.tolist()
    last = []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            weights = params[k * each : (k + 1) * each]
            y, h = direction(kind, data, sizes, hx[k], weights, has_biases, d == 1)
            outputs.append(y)
            last.append(h)
        data = join_directions(outputs)
    return data, torch.stack(last)


# torch.nn calls these with all arguments by position: with batch sizes in the second place for packed data.
@decomposes("torch.lstm")
def any_lstm(input: Tensor, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    return lstm(input, *args) if isinstance(args[0], torch.Tensor) else recurrent.lstm(input, *args)


def any_layers(kind: str, input: Tensor, *args: Any) -> Pair:
    return layers(kind, input, *args) if isinstance(args[1], torch.Tensor) else recurrent.layers(kind, input, *args)


@decomposes("torch.gru")
def gru(*args: Any) -> Pair:
    return any_layers("gru", *args)


@decomposes("torch.rnn_tanh")
def rnn_tanh(*args: Any) -> Pair:
    return any_layers("tanh", *args)


@decomposes("torch.rnn_relu")
def rnn_relu(*args: Any) -> Pair:
    return any_layers("relu", *args)
