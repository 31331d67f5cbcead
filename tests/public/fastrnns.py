"""Custom LSTMs in the style of PyTorch's fastrnns benchmark: layers of cells, both directions, dropout, layer norm."""

from __future__ import annotations

import numbers
import warnings
from collections import namedtuple
from typing import List, Tuple  # noqa: UP035

import torch
import torch.jit as jit
from torch import Tensor, nn
from torch.nn import Parameter

from public.cases import lengths, public

# ruff: noqa: UP006

LSTMState = namedtuple("LSTMState", ["hx", "cx"])


def reverse(lst: List[Tensor]) -> List[Tensor]:
    return lst[::-1]


class LSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weight_ih = Parameter(torch.randn(4 * hidden_size, input_size) * 0.3)
        self.weight_hh = Parameter(torch.randn(4 * hidden_size, hidden_size) * 0.3)
        self.bias_ih = Parameter(torch.randn(4 * hidden_size) * 0.3)
        self.bias_hh = Parameter(torch.randn(4 * hidden_size) * 0.3)

    def forward(self, input: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        hx, cx = state
        gates = torch.mm(input, self.weight_ih.t()) + self.bias_ih + torch.mm(hx, self.weight_hh.t()) + self.bias_hh
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)

        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate)
        cellgate = torch.tanh(cellgate)
        outgate = torch.sigmoid(outgate)

        cy = (forgetgate * cx) + (ingate * cellgate)
        hy = outgate * torch.tanh(cy)
        return hy, (hy, cy)


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        normalized_shape = torch.Size(normalized_shape)
        assert len(normalized_shape) == 1
        self.weight = Parameter(torch.rand(normalized_shape) + 0.5)
        self.bias = Parameter(torch.randn(normalized_shape) * 0.1)
        self.normalized_shape = normalized_shape

    def compute_layernorm_stats(self, input):
        mu = input.mean(-1, keepdim=True)
        sigma = input.std(-1, keepdim=True, unbiased=False)
        return mu, sigma

    def forward(self, input):
        mu, sigma = self.compute_layernorm_stats(input)
        return (input - mu) / sigma * self.weight + self.bias


class LayerNormLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size, decompose_layernorm=False):
        super().__init__()
        self.weight_ih = Parameter(torch.randn(4 * hidden_size, input_size) * 0.3)
        self.weight_hh = Parameter(torch.randn(4 * hidden_size, hidden_size) * 0.3)
        ln = LayerNorm if decompose_layernorm else nn.LayerNorm
        self.layernorm_i = ln(4 * hidden_size)
        self.layernorm_h = ln(4 * hidden_size)
        self.layernorm_c = ln(hidden_size)

    def forward(self, input: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        hx, cx = state
        igates = self.layernorm_i(torch.mm(input, self.weight_ih.t()))
        hgates = self.layernorm_h(torch.mm(hx, self.weight_hh.t()))
        gates = igates + hgates
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)

        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate)
        cellgate = torch.tanh(cellgate)
        outgate = torch.sigmoid(outgate)

        cy = self.layernorm_c((forgetgate * cx) + (ingate * cellgate))
        hy = outgate * torch.tanh(cy)
        return hy, (hy, cy)


class LSTMLayer(nn.Module):
    def __init__(self, cell, *cell_args):
        super().__init__()
        self.cell = cell(*cell_args)

    def forward(self, input: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        inputs = input.unbind(0)
        outputs = torch.jit.annotate(List[Tensor], [])
        for i in range(len(inputs)):
            out, state = self.cell(inputs[i], state)
            outputs += [out]
        return torch.stack(outputs), state


class ReverseLSTMLayer(nn.Module):
    def __init__(self, cell, *cell_args):
        super().__init__()
        self.cell = cell(*cell_args)

    def forward(self, input: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        inputs = reverse(input.unbind(0))
        outputs = jit.annotate(List[Tensor], [])
        for i in range(len(inputs)):
            out, state = self.cell(inputs[i], state)
            outputs += [out]
        return torch.stack(reverse(outputs)), state


class BidirLSTMLayer(nn.Module):
    __constants__ = ["directions"]

    def __init__(self, cell, *cell_args):
        super().__init__()
        self.directions = nn.ModuleList([LSTMLayer(cell, *cell_args), ReverseLSTMLayer(cell, *cell_args)])

    def forward(self, input: Tensor, states: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        # List[LSTMState]: [forward LSTMState, backward LSTMState]
        outputs = jit.annotate(List[Tensor], [])
        output_states = jit.annotate(List[Tuple[Tensor, Tensor]], [])
        for i, direction in enumerate(self.directions):
            state = states[i]
            out, out_state = direction(input, state)
            outputs += [out]
            output_states += [out_state]
        return torch.cat(outputs, -1), output_states


def init_stacked_lstm(num_layers, layer, first_layer_args, other_layer_args):
    layers = [layer(*first_layer_args)] + [layer(*other_layer_args) for _ in range(num_layers - 1)]
    return nn.ModuleList(layers)


class StackedLSTM(nn.Module):
    __constants__ = ["layers"]

    def __init__(self, num_layers, layer, first_layer_args, other_layer_args):
        super().__init__()
        self.layers = init_stacked_lstm(num_layers, layer, first_layer_args, other_layer_args)

    def forward(self, input: Tensor, states: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        output_states = jit.annotate(List[Tuple[Tensor, Tensor]], [])
        output = input
        for i, rnn_layer in enumerate(self.layers):
            state = states[i]
            output, out_state = rnn_layer(output, state)
            output_states += [out_state]
        return output, output_states


class StackedLSTMWithDropout(nn.Module):
    __constants__ = ["layers", "num_layers"]

    def __init__(self, num_layers, layer, first_layer_args, other_layer_args):
        super().__init__()
        self.layers = init_stacked_lstm(num_layers, layer, first_layer_args, other_layer_args)
        self.num_layers = num_layers
        if num_layers == 1:
            warnings.warn("dropout lstm adds dropout layers after all but last recurrent layer", stacklevel=2)
        self.dropout_layer = nn.Dropout(0.4)

    def forward(self, input: Tensor, states: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, List[Tuple[Tensor, Tensor]]]:
        output_states = jit.annotate(List[Tuple[Tensor, Tensor]], [])
        output = input
        for i, rnn_layer in enumerate(self.layers):
            state = states[i]
            output, out_state = rnn_layer(output, state)
            if i < self.num_layers - 1:
                output = self.dropout_layer(output)
            output_states += [out_state]
        return output, output_states


class StackedBidirLSTM(nn.Module):
    def __init__(self, num_layers, layer, first_layer_args, other_layer_args):
        super().__init__()
        self.layers = init_stacked_lstm(num_layers, layer, first_layer_args, other_layer_args)

    def forward(
        self, input: Tensor, states: List[List[Tuple[Tensor, Tensor]]]
    ) -> Tuple[Tensor, List[List[Tuple[Tensor, Tensor]]]]:
        output_states = jit.annotate(List[List[Tuple[Tensor, Tensor]]], [])
        output = input
        for i, rnn_layer in enumerate(self.layers):
            state = states[i]
            output, out_state = rnn_layer(output, state)
            output_states += [out_state]
        return output, output_states


def _state(batch, hidden):
    return LSTMState(torch.randn(batch, hidden), torch.randn(batch, hidden))


@public
def lstm_layer():
    return LSTMLayer(LSTMCell, 3, 4), lengths(lambda n: (torch.randn(n, 2, 3), _state(2, 4)))


@public
def layer_norm_lstm():
    layer = LSTMLayer(LayerNormLSTMCell, 3, 4, True)
    return layer, lengths(lambda n: (torch.randn(n, 2, 3), _state(2, 4)))


@public
def reversed_lstm():
    return ReverseLSTMLayer(LayerNormLSTMCell, 3, 4), lengths(lambda n: (torch.randn(n, 2, 3), _state(2, 4)))


@public
def stacked_lstm():
    model = StackedLSTM(3, LSTMLayer, [LSTMCell, 3, 4], [LSTMCell, 4, 4])
    return model, lengths(lambda n: (torch.randn(n, 2, 3), [_state(2, 4) for _ in range(3)]))


@public
def stacked_lstm_with_dropout():
    model = StackedLSTMWithDropout(2, LSTMLayer, [LayerNormLSTMCell, 3, 4], [LayerNormLSTMCell, 4, 4])
    return model, lengths(lambda n: (torch.randn(n, 2, 3), [_state(2, 4) for _ in range(2)]))


@public
def stacked_bidirectional_lstm():
    model = StackedBidirLSTM(2, BidirLSTMLayer, [LSTMCell, 3, 4], [LSTMCell, 8, 4])
    return model, lengths(lambda n: (torch.randn(n, 2, 3), [[_state(2, 4) for _ in range(2)] for _ in range(2)]))
