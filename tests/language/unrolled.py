"""Loops that are unrolled because their bodies need what they count at compile time."""

from __future__ import annotations

import itertools

import torch

from language.cases import cases


class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        for i in range(3):
            setattr(self, f"w{i}", torch.nn.Parameter(torch.randn(2, 2)))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))

    def forward(self, x):
        i = 0
        while hasattr(self, f"w{i}"):
            x = x @ getattr(self, f"w{i}")
            i += 1
        return x, i


class Layers(Weights):
    def forward(self, x, start):
        i, kept = start, []
        while i < len(self.layers):
            if i == 1:
                i += 1
                continue
            x = self.layers[i](x)
            if x.sum() > 3:
                break
            kept.append(i)
            i += 1
        else:
            return x, kept
        return -x, kept


while_hasattr = cases(torch.ones(2), torch.ones(3, 2))(Weights().eval())
while_below_a_length = cases(*((torch.ones(2) * k, n) for k, n in ((1, 0), (50, 0), (1, 2), (1, 3))))(Layers().eval())


@cases((torch.arange(6.0), 2), (torch.arange(6.0), 0))
def dims_to_add(x, n):
    while x.dim() < 3:
        x = x.unsqueeze(0)
    return x + n


@cases(
    (torch.ones(1, 1, 2), 3),
)
def dims_to_remove(x, n):
    depth = 2
    while depth:
        x = x[0]
        depth -= 1
    return x * n


class Zipped(Weights):
    """Modules beside a list whose length is known only at run time: the shorter one ends the loop."""

    def forward(self, x, n):
        states = []
        for i in range(n):
            states.append(x * i)
        kept = []
        for layer, state in zip(self.layers, states, strict=False):
            x = x + layer(state)
            if x.sum() > 20:
                break
            if state.sum() > 7:
                continue
            kept.append(x)
        else:
            x = x + 1
        try:
            for layer, state in zip(self.layers, states, strict=True):
                x = layer(x) + state
        except ValueError:
            x = -x
        numbered = 0
        for i, (state, layer) in enumerate(zip(states, self.layers, strict=False), 1):
            numbered = numbered + i * layer(state)
        return x, kept, [layer(s) for layer, s in zip(self.layers, states, strict=False)], numbered


zip_of_modules = cases(*((torch.ones(2) * k, n) for k, n in ((1, 0), (1, 2), (1, 3), (1, 5), (9, 3), (4, 3))))(
    Zipped().eval()
)


class Cached(Weights):
    """A list of None becomes one of tuples, over modules that a list beside them is walked with."""

    def forward(self, x, n):
        past = [None] * len(self.layers)
        for _ in range(n):
            new = []
            for layer, p in zip(self.layers, past, strict=True):
                x = layer(x)
                new.append((x, x) if p is None else (torch.cat((p[0], x)), x))
            past = new
        return x, past


caches = cases((torch.ones(2), 0), (torch.ones(2), 1), (torch.ones(2), 3))(Cached().eval())


@cases((torch.arange(10.0).reshape(2, 5), torch.tensor([1.0, 2.0, -1.0])))
def rank_behind_a_loop_that_begins_with_a_number(x, w):
    out = 0.0
    for k in range(3):
        window = x[:, : x.shape[1] - k]
        out += torch.nn.functional.pad(window, (k, 0)) * w[k]
    return out.shape == x.shape[-out.ndim :], out.permute(*range(out.dim() - 1, -1, -1))


# A list of dims that a loop puts together: where it is known how many iterations there are, so is its length.
@cases((torch.ones(1, 2, 3),))
def dims_that_a_loop_collects(x):
    outwards, backwards, turned = [0], [], [0, 1, 2]
    for i in range(1, x.dim()):
        outwards += [i]
    for i in range(x.dim()):
        backwards.insert(0, i)
        turned.append(turned.pop(0))
    return x.permute(outwards).shape, x.permute(backwards).shape, x.permute(*turned).shape


@cases((torch.zeros(2), torch.eye(2), torch.ones(3, 2)))
def normal_of_several_variables(mean, covariance, x):
    return torch.distributions.MultivariateNormal(mean, covariance).log_prob(x)


class Residual(torch.nn.Module):
    """Every third of the blocks adds what was there before the last three."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.depth = 6
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(self.depth))
        self.shortcuts = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)])
        self.scales = torch.nn.Parameter(torch.randn(6, 2))

    def forward(self, x):
        kept = x
        for d, _ in enumerate(range(self.depth)):
            x = self.blocks[d](x)
            if d % 3 == 2:
                kept = x = torch.relu(x + self.shortcuts[d // 3](kept))
        return x


class ResidualOfRows(Residual):
    """The counters of loops over other things than ranges are known as well where their trip counts are."""

    def forward(self, x):
        for d, row in enumerate(self.scales):
            x = self.blocks[d](x) * row
        for d, back in zip(range(0, 6, 3), range(5, -1, -1), strict=False):
            x = self.shortcuts[d // 3](x) + self.blocks[back](x)
        for (d, back), _ in zip(enumerate(range(1, 3), 2), range(9), strict=False):
            x = self.blocks[d - back](x)
        for d in itertools.repeat(1, 2):
            x = self.blocks[d](x)
        for _, d in enumerate(reversed(range(2))):
            x = self.shortcuts[d](x)
        return x


residual = cases(torch.ones(2, 2), torch.rand(3, 2))(Residual().eval())
residual_of_rows = cases(torch.ones(2, 2), torch.rand(3, 2))(ResidualOfRows().eval())


class NamedByCounters(Residual):
    """The names of attributes come from the counter of a loop over a list that another loop filled."""

    def __init__(self):
        super().__init__()
        self.first_0, self.first_1, self.first_2 = self.blocks[:3]

    def scaled(self, x, count):
        rows = []
        for scale in self.scales[:count]:
            rows.append(x * scale)
        return rows

    def forward(self, x):
        for i, row in enumerate(self.scaled(x, 3)):
            x = x + getattr(self, f"first_{i}")(row)
        return x


named_by_counters = cases(torch.ones(2, 2), torch.rand(3, 2))(NamedByCounters().eval())
