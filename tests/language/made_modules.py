"""Modules with parameters and buffers that compiled code makes."""

from __future__ import annotations

import torch
from torch import nn

from language.cases import cases, construct

X = torch.arange(12.0).view(3, 4) / 7


def even(module):
    """Set all parameters of a module, which are random."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.fill_(0.5 + i)
    return module


@cases(X, X[:1])
def layers_of_torch(x):
    made = [nn.Linear(4, 2), nn.Linear(x.size(1), x.size(0), bias=False), nn.LayerNorm(x.shape[-1]), nn.PReLU()]
    found = [even(layer)(x).detach() for layer in made]
    words = even(nn.Embedding(10, 3, padding_idx=0))(x.long()).detach()
    filtered = even(nn.Conv1d(1, 2, 2, dtype=torch.float64))(x[:, None].double()).detach()
    return found, words, filtered, nn.GroupNorm(2, 4)(x).detach()


@cases(X, X[:1])
def containers_of_layers(x):
    net = even(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))
    x = net(x)
    for layer in nn.ModuleList([even(nn.Linear(2, 2)) for _ in range(2)]):
        x = layer(x)
    return x.detach(), len(net), net[0].weight.requires_grad, sum(p.numel() for p in net.parameters())


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
        self.scale = nn.Parameter(torch.full((size,), 2.0))
        self.register_buffer("shift", torch.ones(size))
        self.register_parameter("gate", None)
        self.reset()

    def reset(self):
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.constant_(self.linear.bias, 0.5)

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale + self.shift


@cases(X, X[:1])
def blocks(x):
    block = even(Block(4))
    block.scale.data.mul_(2)
    for _ in range(x.size(0)):
        x = block(x)
    return x.detach(), block.training, block.gate is None, len(list(block.children()))


@cases((X, True), (X, False))
def attributes_that_nn_module_checks(x, parameter):
    linear = even(nn.Linear(4, 2))
    try:
        linear.weight = nn.Parameter(torch.ones(2, 4)) if parameter else torch.ones(2, 4)
    except TypeError as e:
        return str(e).partition("\n")[0]
    with torch.no_grad():
        linear.bias.zero_()
    return linear(x)


@cases(X, X[:1])
def recurrent_layers(x):
    steps, (h, c) = even(nn.LSTM(4, x.size(1), num_layers=2))(x[:, None])
    gru = even(nn.GRU(4, 2, batch_first=True, bidirectional=True))
    gru.weight_hh_l0 = nn.Parameter(torch.zeros(6, 2))
    return steps.detach(), h.detach(), c.detach(), gru(x[None])[0].detach(), even(nn.RNN(4, 3))(x)[1].detach()


@cases((X, 2), (X, -1), (X, 5))
def sizes_that_recurrent_layers_refuse(x, size):
    if size < 0:
        return nn.GRU(4, size)(x)
    return nn.LSTM(4, 3, proj_size=size)(x)[0].detach() * 0


class Noting(nn.Module):
    """Notes which attributes are set. nn.Module sets `training`, parameters and buffers past this method."""

    def __init__(self, scale):
        super().__init__()
        object.__setattr__(self, "noted", [])
        self.scale = scale
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.ones(4))

    def __setattr__(self, name, value):
        if name == "scale":
            value = value * 2
        if "noted" in self.__dict__:
            self.noted.append(name)
        super().__setattr__(name, value)

    def forward(self, x):
        return x * self.weight * self.scale + self.shift


@cases((X, 3.0), (X, 2.0))
def set_by_a_method(x, scale):
    made = Noting(scale)
    made.scale = made.scale + 1
    return made(x).detach(), made.noted, made.scale


class Grows(nn.Embedding):
    """A table that is made anew for more positions."""

    def forward(self, x):
        if x.size(0) > self.weight.size(0):
            self.weight = nn.Parameter(torch.arange(x.size(0) * 2.0).view(-1, 2))
            self.weight.detach_()
            self.weight.requires_grad = False
        return super().forward(torch.arange(x.size(0)))


cases(X[:1], X, X[:2])(Grows(2, 2, _weight=torch.ones(2, 2)))

construct(
    "Modules and torch's library",
    "modules with parameters and buffers made in compiled code",
    "layers of torch with an `__init__` in Python, and your own; they draw the random numbers that eager draws. They are "
    "called, have attributes, `train()`, `eval()`, `children()` and `parameters()`; they cannot be returned or kept",
    layers_of_torch, recurrent_layers, sizes_that_recurrent_layers_refuse, containers_of_layers, blocks,
    attributes_that_nn_module_checks, set_by_a_method,
)  # fmt: skip
construct(
    "Modules and torch's library",
    "`self.w = nn.Parameter(t)` for a parameter of a module outside",
    "if the call returns nothing that depends on it, or it requires no grad",
    Grows,
)  # fmt: skip
