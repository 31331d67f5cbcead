"""Recurrent cells as users write them, and programs that decode. torch.jit can script all of them.

Layers take x [steps, batch, input] and return all hidden states, except ConvLSTM, which returns the last.
"""

from __future__ import annotations

from typing import List, Tuple  # noqa: UP035 - torch.jit.script reads these annotations

import torch
from torch import Tensor, nn


class LSTM(nn.Module):
    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.x_to_gates = nn.Linear(input, 4 * hidden)
        self.h_to_gates = nn.Linear(hidden, 4 * hidden)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden)
        c = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            gates = self.x_to_gates(xs[t]) + self.h_to_gates(h)
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs)


class GRU(nn.Module):
    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.x_to_gates = nn.Linear(input, 3 * hidden)
        self.h_to_gates = nn.Linear(hidden, 3 * hidden)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for x in xs.unbind(0):
            x_r, x_z, x_n = self.x_to_gates(x).chunk(3, 1)
            h_r, h_z, h_n = self.h_to_gates(h).chunk(3, 1)
            reset = torch.sigmoid(x_r + h_r)
            update = torch.sigmoid(x_z + h_z)
            new = torch.tanh(x_n + reset * h_n)
            h = (1 - update) * new + update * h
            outputs.append(h)
        return torch.stack(outputs)


class LayerNormLSTM(nn.Module):
    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.x_to_gates = nn.Linear(input, 4 * hidden, bias=False)
        self.h_to_gates = nn.Linear(hidden, 4 * hidden, bias=False)
        self.norm_x = nn.LayerNorm(4 * hidden)
        self.norm_h = nn.LayerNorm(4 * hidden)
        self.norm_c = nn.LayerNorm(hidden)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden)
        c = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            gates = self.norm_x(self.x_to_gates(xs[t])) + self.norm_h(self.h_to_gates(h))
            i, f, g, o = gates.chunk(4, 1)
            c = self.norm_c(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g))
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs)


class SRU(nn.Module):
    """The input has as many features as the state."""

    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.project = nn.Linear(hidden, 3 * hidden, bias=False)
        self.v_f = nn.Parameter(torch.randn(hidden) * 0.1)
        self.v_r = nn.Parameter(torch.randn(hidden) * 0.1)
        self.b_f = nn.Parameter(torch.randn(hidden) * 0.1)
        self.b_r = nn.Parameter(torch.randn(hidden) * 0.1)

    def forward(self, xs: Tensor) -> Tensor:
        candidates, forgets, resets = self.project(xs).chunk(3, 2)
        c = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            forget = torch.sigmoid(forgets[t] + self.v_f * c + self.b_f)
            reset = torch.sigmoid(resets[t] + self.v_r * c + self.b_r)
            c = forget * c + (1 - forget) * candidates[t]
            outputs.append(reset * c + (1 - reset) * xs[t])
        return torch.stack(outputs)


class MinGRU(nn.Module):
    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gate = nn.Linear(input, hidden)
        self.candidate = nn.Linear(input, hidden)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            z = torch.sigmoid(self.gate(xs[t]))
            h = (1 - z) * h + z * self.candidate(xs[t])
            outputs.append(h)
        return torch.stack(outputs)


class IndRNN(nn.Module):
    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.x_to_hidden = nn.Linear(input, hidden)
        self.recurrent = nn.Parameter(torch.rand(hidden))

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden)
        outputs: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            h = torch.relu(self.x_to_hidden(xs[t]) + self.recurrent * h)
            outputs.append(h)
        return torch.stack(outputs)


class ConvLSTM(nn.Module):
    """`input` and `hidden` are channels of square images."""

    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(input + hidden, 4 * hidden, 3, padding=1)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.size(1), self.hidden, xs.size(3), xs.size(4))
        c = torch.zeros(xs.size(1), self.hidden, xs.size(3), xs.size(4))
        for t in range(xs.size(0)):
            i, f, g, o = self.gates(torch.cat([xs[t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class SelectiveScan(nn.Module):
    """The state-space layer of Mamba, step by step; the input has as many features as there are channels."""

    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.states = 16
        self.log_decay = nn.Parameter(torch.log(torch.arange(1, self.states + 1).repeat(hidden, 1).float()))
        self.skip = nn.Parameter(torch.ones(hidden))
        self.to_delta = nn.Linear(hidden, hidden)
        self.to_inputs = nn.Linear(hidden, self.states)
        self.to_outputs = nn.Linear(hidden, self.states)

    def forward(self, xs: Tensor) -> Tensor:
        decay = -torch.exp(self.log_decay)
        delta = nn.functional.softplus(self.to_delta(xs))
        inputs, outputs = self.to_inputs(xs), self.to_outputs(xs)
        state = torch.zeros(xs.size(1), xs.size(2), self.states)
        ys: List[Tensor] = []  # noqa: UP006
        for t in range(xs.size(0)):
            kept = torch.exp(delta[t].unsqueeze(-1) * decay)
            entered = (delta[t] * xs[t]).unsqueeze(-1) * inputs[t].unsqueeze(1)
            state = kept * state + entered
            ys.append((state * outputs[t].unsqueeze(1)).sum(-1) + self.skip * xs[t])
        return torch.stack(ys)


class GreedyDecoder(nn.Module):
    """Translates `xs` word by word, each word chosen by the last one, a GRU's state and attention over the encoded input."""

    def __init__(self, input: int, hidden: int, words: int = 100) -> None:
        super().__init__()
        self.hidden = hidden
        self.encode = nn.Linear(input, hidden)
        self.embed = nn.Embedding(words, hidden)
        self.cell = nn.GRUCell(2 * hidden, hidden)
        self.score = nn.Linear(hidden, words)

    def forward(self, xs: Tensor, longest: int) -> Tuple[Tensor, List[int]]:  # noqa: UP006
        memory = torch.tanh(self.encode(xs)).transpose(0, 1)
        h = memory.mean(1)
        word = torch.zeros(1, dtype=torch.long)
        said: List[int] = []  # noqa: UP006
        scores = torch.zeros(1, 1)
        for _ in range(longest):
            weights = torch.softmax(torch.bmm(memory, h.unsqueeze(2)).squeeze(2), dim=1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            h = self.cell(torch.cat([self.embed(word), context], 1), h)
            scores = self.score(h)
            word = scores.argmax(1)
            chosen = int(word.item())
            if chosen == 1:
                break
            said.append(chosen)
        return scores, said


class CTCDecoder(nn.Module):
    """The best path and its log-likelihood: the likeliest label of each frame, without repetitions and blanks."""

    def __init__(self, input: int, hidden: int) -> None:
        super().__init__()
        self.label = nn.Linear(input, hidden)

    def forward(self, xs: Tensor) -> Tuple[List[int], Tensor]:  # noqa: UP006
        likelihoods = torch.log_softmax(self.label(xs[:, 0]), dim=1)
        total = torch.zeros(())
        labels: List[int] = []  # noqa: UP006
        last = 0
        for t in range(likelihoods.size(0)):
            frame = likelihoods[t]
            best = int(frame.argmax().item())
            total = total + frame[best]
            if best != 0 and best != last:
                labels.append(best)
            last = best
        return labels, total
