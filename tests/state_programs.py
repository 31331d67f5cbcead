"""Modules that keep state from call to call, each with a sequence of calls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

X = torch.arange(6.0).reshape(2, 3) / 3 - 1
SEQUENCES: list[tuple[type, list[tuple[Any, ...]]]] = []


def sequence(*calls: Any):
    """Each call is a tuple of arguments or a single argument."""

    def listed(cls: type) -> type:
        SEQUENCES.append((cls, [c if type(c) is tuple else (c,) for c in calls]))
        return cls

    return listed


class Pair(NamedTuple):
    h: Tensor
    steps: int


@dataclass
class Box:
    h: Any = None
    n: int = 0


@sequence(("eval", X), ("train", X), ("both", X), ("layer", X), ("layer", X[:1]), ("neither", X))
class SwitchesRecurrentLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 2, num_layers=2, dropout=1.0)

    def forward(self, how, x):
        if how == "layer":
            self.rnn.train(not self.rnn.training)
        elif how != "neither":
            self.train(how == "train")
        y = self.rnn(x)[0]
        if how == "both":
            self.train()
        return y, self.rnn(x)[0], self.rnn.training


@sequence(X, X + 1, X[:1], X)
class BeginsAsNone(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.h = None

    def forward(self, x):
        if self.h is None or self.h.shape[0] != x.shape[0]:
            self.h = torch.zeros_like(x)
        self.h = torch.tanh(self.cell(x) + self.h)
        return self.h


class Doubling:
    def __init__(self):
        object.__setattr__(self, "sets", 0)
        self.n = 1

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)
        object.__setattr__(self, "sets", self.sets + 1)


@sequence(X, X[0], X + 1, X)
class AssignsThroughSetattr(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = []
        self.doubling = Doubling()
        self.h = None
        self.register_buffer("row", torch.zeros(3))

    def __setattr__(self, name, value):
        if name == "h" and value is not None:
            if value.dim() != 2:
                raise ValueError(f"{name} has {value.dim()} dims")
            self.log.append(name)
        super().__setattr__(name, value)

    def forward(self, x):
        self.row = x[0]
        self.h = x
        self.doubling.n = self.doubling.n + 1
        self.doubling.behind = len(self.log)
        return self.h + self.row, self.doubling.sets, self.doubling.n


@sequence(X, X, (X, True), X)
class Counts(nn.Module):
    steps = 0

    def __init__(self):
        super().__init__()
        self.total = 0.5
        self.mode = "a"

    def forward(self, x, stop: bool = False):
        self.steps += 1
        self.total += x.sum().item()
        self.mode = "b" if self.mode == "a" else "a"
        if stop:
            raise ValueError(self.mode)
        self.steps += 1
        return x * self.steps + len(self.mode)


@sequence(X, X * 0, X, X)
class RaisesInTheMiddle(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.last = None
        self.n = 0

    def forward(self, x):
        for i in range(x.size(0)):
            self.n += 1
            self.seen.append(x[i])
            self.last = x[i] * 2
            assert x[i].abs().sum() > 0, "empty"
        self.n += 10
        return len(self.seen)


@sequence(X, X, X)
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("maybe", None)
        self.register_buffer("count", torch.tensor(0), persistent=False)

    def forward(self, x):
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        self.count += 1
        if self.maybe is None:
            self.maybe = x.sum(0)
        self.maybe = self.maybe + self.mean
        return x - self.mean


@sequence(X, X, X)
class WrongForABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.n = 0

    def forward(self, x):
        self.n += 1
        self.mean = 3
        return x


@sequence(X, X, torch.cat([X, X]), X)
class Lazy(nn.Module):
    def forward(self, x):
        if not hasattr(self, "pe"):
            self.pe = torch.arange(3.0)
        if getattr(self, "size", None) != x.size(0):
            self.size = x.size(0)
        return x + self.pe + self.size


@sequence((X, True), (X, False), (X, False), (X, True))
class OnAPath(nn.Module):
    def forward(self, x, c: bool):
        if x.sum() > 100 or c:
            self.h = x
        if x.sum() < -1:
            self.n = 1
        if hasattr(self, "n"):
            x = x + self.n
        if not c:
            del self.h
        return x


@sequence(X, X)
class ReadsUnset(nn.Module):
    def forward(self, x):
        if x.sum() > 100:
            self.h = x
        return self.h + 1


@sequence(X, X + 1, X - 1)
class ListItems(nn.Module):
    def __init__(self):
        super().__init__()
        self.states = [torch.zeros(2, 3) for _ in range(2)]
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.tanh(layer(x) + self.states[i])
            self.states[i] = x
        return torch.stack(self.states).sum(0)


@sequence(X, X + 1, X - 1)
class ListOfNone(nn.Module):
    def __init__(self):
        super().__init__()
        self.states = [None, None]
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) if self.states[i] is None else torch.tanh(layer(x) + self.states[i])
            self.states[i] = x
        for s in self.states:
            x = x + s
        return x + len(self.states) + self.states[-1]


@sequence(X, X, X, X, X)
class Window(nn.Module):
    """A cache of the last three inputs."""

    def __init__(self):
        super().__init__()
        self.cache = []

    def forward(self, x):
        self.cache.append(x)
        if len(self.cache) > 3:
            self.cache.pop(0)
        return torch.cat(self.cache).sum(0), len(self.cache)


@sequence(X, X, X)
class NewList(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = [torch.zeros(2, 3)]

    def forward(self, x):
        self.cache = self.cache[-2:] + [x]
        self.cache.append(x * 2)
        self.cache += [x * 3]
        return torch.stack(self.cache).sum(0)


@sequence(X, X, X)
class KeyValueCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache: dict[str, Tensor] = {}

    def forward(self, x):
        if "k" in self.cache:
            self.cache["k"] = torch.cat([self.cache["k"], x])
        else:
            self.cache["k"] = x
        self.cache["n"] = self.cache.get("n", 0) + 1
        return self.cache["k"].sum(0), len(self.cache), list(self.cache)


@sequence(X, (X, True), X, X, (X, True))
class DictOrder(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = {"a": 1, "b": X, 3: {"deep": 0.5}}

    def forward(self, x, drop: bool = False):
        if drop:
            del self.d["a"]
        self.d["a"] = 2
        self.d[3]["deep"] += 1
        self.d.update(c=x)
        found = self.d.pop("c") if drop else self.d["c"]
        self.d["b"] = self.d["b"] + found
        return self.d["b"], list(self.d.keys())


@sequence(X, X, X)
class NewDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = {"h": torch.zeros(2, 3), "n": 0}

    def forward(self, x):
        old = self.state
        self.state = {"h": old["h"] + x}
        self.state["n"] = old["n"] + 1
        return self.state["h"] * self.state["n"]


@sequence(X, X, X)
class Tuples(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 3)
        self.state = None
        self.pair = Pair(torch.zeros(3), 0)

    def forward(self, x):
        if self.state is None:
            self.state = self.cell(x)
        else:
            self.state = self.cell(x, self.state)
        self.pair = Pair(self.pair.h + x[0], self.pair.steps + 1)
        return self.state[0] + self.pair.h


@sequence(X, X, X)
class Elsewhere(nn.Module):
    """Attributes of submodules, of plain objects, of objects in lists."""

    def __init__(self):
        super().__init__()
        self.child = nn.Linear(3, 3)
        self.child.calls = 0
        self.box = Box()
        self.space = Box(n=1.5)
        self.boxes = [Box(n=1), Box(n=2)]

    def forward(self, x):
        self.child.calls += 1
        self.box.h = x if self.box.h is None else self.box.h + x
        self.box.n = self.box.n + self.child.calls
        self.space.n *= 2
        for b in self.boxes:
            b.n += 1
        return self.box.h * self.box.n + self.space.n + self.boxes[1].n


@sequence(X, X, X)
class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(2):
            setattr(self, f"h{i}", torch.zeros(3))

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self._level = value * 2

    def forward(self, x):
        for i in range(2):
            setattr(self, f"h{i}", getattr(self, f"h{i}") + x[i])
        self.level = 3
        self.level += 1
        delattr(self, "h0")
        self.h0 = self.h1
        return self.h0 + self.h1 + self.level


@sequence((X, 0), (X, 3), (X, 2))
class InLoops(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)
        self.n = 0
        self.best = None

    def step(self, row):
        self.h = torch.tanh(self.h + row)
        self.n += 1
        if self.n > 4:
            return self.h * 0
        if self.best is None or self.h.sum() > self.best.sum():
            self.best = self.h
        return self.h

    def forward(self, x, n: int):
        out = x.sum(0)
        for i in range(n):
            out = out + self.step(x[i % 2])
            if self.n == 4:
                break
        while self.n % 3 != 0:
            self.n += 1
        return out


@sequence(X, X, X)
class Kinds(nn.Module):
    """One attribute that holds values of several kinds."""

    def __init__(self):
        super().__init__()
        self.v = None
        self.w = 1

    def forward(self, x):
        if x.sum() > 0:
            self.v = 1
        elif self.v is None:
            self.v = x
        else:
            self.v = None
        self.w = self.w + 1 if x.sum() > 0 else 0.5
        return self.w


@sequence(X, X)
class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sums", torch.zeros(3))
        self.h = torch.zeros(2, 3)
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.sums += x.sum(0)
        self.h.mul_(0.5).add_(x)
        self.kept = self.h
        self.kept.add_(1)
        self.weight += 1
        return self.h + self.sums + self.weight


@sequence((X, X + 1), (X, X))
class KeepsArguments(nn.Module):
    def forward(self, x, y):
        self.x = x
        self.row = y[0]
        self.both = [x, y]
        x.add_(1)
        return self.x, self.row


@sequence(X, X)
class Deletes(nn.Module):
    level = 7

    def __init__(self):
        super().__init__()
        self.h = X
        self.level = 1

    def forward(self, x):
        self.tmp = x * 2
        y = self.tmp + self.level
        del self.tmp
        if self.level == 1:
            del self.level
            y = y + self.level
            self.level = 1
        del self.h
        self.h = y
        return y


@sequence((X, 1), (X, 7), (X, 9), (X, 0))
class ChangedBeforeAnException(nn.Module):
    """What was set before an exception stays set, whether it is caught or not."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, n):
        try:
            self.count += 1
            self.total = self.total + x[0]
            y = x[n]
            self.count += 10
        except IndexError:
            self.total = self.total - 1
            y = self.total.sum()
            if n > 8:
                raise
        finally:
            self.count += 100
        return y, self.count


@sequence((X, 0), (X, 3), (X, 1))
class ChangedByRecursion(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.calls = 0

    def walk(self, x, n):
        self.calls += 1
        if n <= 0:
            return x
        return self.walk(torch.relu(self.linear(x)), n - 1)

    def forward(self, x, n):
        return self.walk(x, n), self.calls


@sequence(X, X + 1, X * 0, X, X)
class KeepsQueues(nn.Module):
    """In attributes, in a list, in a dict, twice, and in a submodule."""

    def __init__(self):
        super().__init__()
        self.window = deque(maxlen=3)
        self.levels = [deque([1], maxlen=2), deque()]
        self.by = {"a": deque(["x"], 3), "b": deque([(1, 2.0)])}
        self.alias = self.by["b"]
        self.child = QueueOfOne()

    def forward(self, x):
        self.window.append(x)
        self.alias.appendleft((len(self.window), x.sum().item()))
        for i, q in enumerate(self.levels):
            q.append(i + len(q))
        for name, q in self.by.items():
            x = x + len(q) * len(name)
        self.by["a"].extend(str(len(self.window)))
        if len(self.window) == 3 and x.sum() > 40:
            self.window.popleft()
        y = self.child(torch.stack(list(self.window)).sum(0))
        return y, "".join(self.by["a"]), self.by["b"][-1], list(self.levels[1]), self.window is self.child.q


class QueueOfOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = deque([torch.zeros(2, 3)], 1)

    @property
    def last(self):
        return self.q[-1]

    def forward(self, x):
        old = self.last
        self.q.append(x)
        return x - old


@sequence(X, X, X + 1, X, X)
class ReplacesItsQueue(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = None
        self.other = deque([1, 2, 3])

    def forward(self, x):
        if self.q is None:
            self.q = deque(maxlen=2)
        self.q += [x]
        if len(self.other) > 4:
            self.other = deque(self.other, maxlen=3)
        self.other.append(len(self.q))
        if x.sum() > 2:
            for t in self.q:
                self.q.append(t)
        return torch.stack(list(self.q)).sum(0), sum(self.other), self.other.maxlen


@sequence(X, X, X)
class BeginsWithTensorsOfTheClass(nn.Module):
    total = torch.zeros(())
    last = torch.zeros(3)
    count = torch.zeros(3)

    def forward(self, x):
        before = self.total + self.last.sum() + self.count.sum()
        self.total = self.total + x.sum()
        self.last = x[0]
        self.count += 0  # makes the tensor of the class an attribute of the module
        return before
