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
    "called, have attributes, `train()`, `eval()`, `children()` and `parameters()`; they cannot be returned or kept. No "
    "`nn.LSTM`, `nn.GRU`",
    layers_of_torch, containers_of_layers, blocks, attributes_that_nn_module_checks,
)  # fmt: skip
construct(
    "Modules and torch's library",
    "`self.w = nn.Parameter(t)` for a parameter of a module outside",
    "if the call returns nothing that depends on it, or it requires no grad",
    Grows,
)  # fmt: skip
