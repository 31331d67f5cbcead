"""The models that the seeds show, and variations on a recurrent cell."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class HyTorchRNN(nn.Module):
    """The recurrent test model of the HyTorch article."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hid_init = nn.Parameter(torch.zeros(1, hidden_dim))
        self.in_to_hid = nn.Linear(input_dim, hidden_dim)
        self.hid_to_hid = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        hid: Tensor = self.hid_init.repeat(inputs[0].shape[0], 1)
        for x in inputs:
            hid = torch.sigmoid(self.hid_to_hid(hid) + self.in_to_hid(x))
        return hid


class Pytorch2cNet(nn.Module):
    def __init__(self) -> None:
        super(Pytorch2cNet, self).__init__()  # noqa: UP008
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 320)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        x = F.relu(self.fc2(x))
        return F.log_softmax(x)


class HyTorchNet(nn.Module):
    def __init__(self) -> None:
        super(HyTorchNet, self).__init__()  # noqa: UP008
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    gates = x @ w_ih.t() + h @ w_hh.t() + b
    i, f, g, o = gates.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def lstm(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every size is dynamic: the weights are arguments."""
    outs = []
    for t in range(x.size(0)):
        h, c = lstm_cell(x[t], h, c, w_ih, w_hh, b)
        outs.append(h)
    return torch.stack(outs), h, c


class LSTM(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.w_ih = nn.Parameter(torch.randn(4 * hidden, inputs) * 0.3)
        self.w_hh = nn.Parameter(torch.randn(4 * hidden, hidden) * 0.3)
        self.b = nn.Parameter(torch.randn(4 * hidden))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = torch.zeros(x.size(1), self.hidden)
        c = torch.zeros(x.size(1), self.hidden)
        return lstm(x, h, c, self.w_ih, self.w_hh, self.b)


# Cells whose control flow depends on data. x is time-major, w square.
def with_tensor_if(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
    outs = []
    for t in range(x.size(0)):
        h = torch.tanh(h @ w + x[t])
        if h.sum() > 0:
            h = h * 0.5
        else:
            h = h + 1
        outs.append(h)
    return torch.stack(outs)


def with_while(x: Tensor, h: Tensor, w: Tensor) -> tuple[Tensor, int]:
    steps = 0
    outs = []
    for t in range(x.size(0)):
        h = h @ w + x[t]
        while h.abs().max() > 1.5:
            h = h / 2
            steps += 1
        outs.append(h)
    return torch.stack(outs), steps


def with_break(x: Tensor, h: Tensor, w: Tensor) -> tuple[Tensor, int]:
    outs = [h]
    for t in range(x.size(0)):
        h = torch.tanh(h @ w + x[t])
        if h.mean() > 0.3:
            break
        outs.append(h)
    return torch.stack(outs), len(outs)


def with_continue(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
    outs = [h]
    for t in range(x.size(0)):
        if x[t].sum() < 0:
            continue
        h = torch.tanh(h @ w + x[t])
        outs.append(h)
    return torch.stack(outs)


def with_return(x: Tensor, h: Tensor, w: Tensor) -> tuple[Tensor, int]:
    for t in range(x.size(0)):
        h = torch.tanh(h @ w + x[t])
        if h.mean() > 0.3:
            return h, t
    return h * 2, -1


VARIANTS = [with_tensor_if, with_while, with_break, with_continue, with_return]


def custom_add(a: Tensor, b: Tensor) -> Tensor:
    return a + b + 1
