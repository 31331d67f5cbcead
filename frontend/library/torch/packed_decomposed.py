"""Packed sequences: rows of all samples, step by step. `batch_sizes` has the number of rows of each step.

Samples are in the order of decreasing length, so that the first ones are those that go on.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch import recurrent_decomposed as recurrent
from scriptc.frontend.library.torch.recurrent_decomposed import Pair, State, check_layers, project, step, walk


@decomposes("torch._pack_padded_sequence")
def pack(input: Tensor, lengths: Tensor, batch_first: bool) -> Pair:
    """Pack [T, B, *], or [B, T, *] if `batch_first`, into data [N, *] and batch sizes."""
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
    """Return tensors [L, *] of any lengths as one [T, B, *], or [B, T, *] if `batch_first`."""
    if padding_side not in ("right", "left"):
        raise RuntimeError("padding_side must be either left or right")
    longest = max([s.size(0) for s in sequences])
    padded = sequences[0].new_full((len(sequences), longest, *sequences[0].shape[1:]), padding_value)
    for i, s in enumerate(sequences):
        start = longest - s.size(0) if padding_side == "left" else 0
        padded[i, start : start + s.size(0)] = s
    return padded if batch_first else padded.transpose(0, 1)


def run(
    kind: str, data: Tensor, batch_sizes: Tensor, hx: State, params: list[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    def one_direction(x: Tensor, state: State, weights: list[Tensor], backwards: bool) -> tuple[Tensor, State]:
        return along_packed(kind, x, sizes, state, weights, has_biases, backwards)

    check_layers(num_layers, dropout, train)
    sizes = batch_sizes.tolist()
    y, last = walk(one_direction, data, hx, params, num_layers, 2 if bidirectional else 1, dropout, train)
    return (y, *last)


def along_packed(
    kind: str, data: Tensor, sizes: list[int], first: State, weights: list[Tensor], has_biases: bool, backwards: bool
) -> tuple[Tensor, State]:
    """Return outputs [N, H] of one layer in one direction, and each sample's last state."""
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    inputs = F.linear(data, weights[0], bias_x)
    state = tuple(part.clone() for part in first)
    outputs = data.new_empty((data.size(0), state[0].size(1)))
    start = data.size(0) if backwards else 0
    for t in range(len(sizes)):
        n = sizes[len(sizes) - 1 - t] if backwards else sizes[t]
        if backwards:
            start -= n
        alive = tuple(part[:n] for part in state)
        after = step(kind, inputs[start : start + n], F.linear(alive[0], weights[1], bias_h), alive)
        after = project(after, weights, has_biases)
        for i in range(len(after)):
            state[i][:n] = after[i]
        outputs[start : start + n] = after[0]
        if not backwards:
            start += n
    return outputs, state


# torch.nn passes all arguments by position. For packed data, batch sizes are the second.
@decomposes("torch.lstm")
def lstm(input: Tensor, *args: Any) -> tuple[Tensor, ...]:
    if isinstance(args[0], torch.Tensor):
        return run("lstm", input, args[0], tuple(args[1]), *args[2:])
    return recurrent.run("lstm", input, tuple(args[0]), *args[1:])


def one_state(kind: str, input: Tensor, *args: Any) -> tuple[Tensor, ...]:
    if isinstance(args[1], torch.Tensor):
        return run(kind, input, args[0], (args[1],), *args[2:])
    return recurrent.run(kind, input, (args[0],), *args[1:])


@decomposes("torch.gru")
def gru(*args: Any) -> tuple[Tensor, ...]:
    return one_state("gru", *args)


@decomposes("torch.rnn_tanh")
def rnn_tanh(*args: Any) -> tuple[Tensor, ...]:
    return one_state("tanh", *args)


@decomposes("torch.rnn_relu")
def rnn_relu(*args: Any) -> tuple[Tensor, ...]:
    return one_state("relu", *args)
