"""Modules, and what TorchScript users write around them."""

from __future__ import annotations

from typing import Dict, Final, List, NamedTuple, Optional  # noqa: UP035

import torch
from three_ways import Program, call
from torch import Tensor, nn

from language.cases import LANGUAGE

X = torch.arange(6.0).reshape(2, 3) / 3


def listed(module, *calls):
    torch.manual_seed(0)
    LANGUAGE.append(Program(module().eval(), list(calls)))


class ModuleDicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
        self.order = ["a", "b", "a"]
        self.plain = {"x": nn.Sigmoid()}

    def forward(self, x, key: str):
        for name in self.order:
            x = self.layers[name](x)
        for name, layer in self.layers.items():
            x = layer(x) + len(name)
        if key in self.layers:
            x = self.layers[key](x)
        for layer in self.layers.values():
            x = layer(x)
        return self.plain["x"](x), list(self.layers.keys()), len(self.layers)


listed(ModuleDicts, call(X, "a"), call(X, "b"), call(X, "c"))


class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = nn.ParameterList([nn.Parameter(torch.randn(3, 3)) for _ in range(3)])
        self.named = nn.ParameterDict({"u": nn.Parameter(torch.randn(3)), "v": nn.Parameter(torch.randn(3))})

    def forward(self, x):
        for w in self.ws:
            x = x @ w
        for i, w in enumerate(self.ws):
            x = x @ w * i
        for k, v in self.named.items():
            x = x + v * len(k)
        return x + self.ws[-1][0] + self.named["u"], len(self.ws)


listed(Parameters, call(X))


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)])
        for i in range(2):
            setattr(self, f"extra{i}", nn.Linear(3, 3))

    @property
    def depth(self):
        return len(self.layers)

    @staticmethod
    def double(x):
        return x * 2

    def forward(self, x, skip: bool = False):
        for layer in self.layers[:2]:
            x = layer(x)
        for layer in reversed(self.layers):
            x = layer(x)
        for i, (a, b) in enumerate(zip(self.layers, self.layers[1:])):  # noqa: B905
            x = b(a(x)) + i
        for i in range(2):
            x = getattr(self, f"extra{i}")(x)
        return self.double(x) * self.depth if not skip else self.layers[-1](x)


listed(Lists, call(X), call(X, True))


class Base(nn.Module):
    scale: Final[int] = 3

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.maybe: Optional[nn.Module] = None  # noqa: UP045
        self.register_buffer("buf", torch.ones(3))

    def forward(self, x):
        return self.lin(x) * self.scale

    @torch.jit.export
    def helper(self, x):
        return x + self.buf

    @torch.jit.unused
    def never(self, x):
        raise NotImplementedError

    @torch.jit.ignore
    def ignored(self, x):
        return x * 5


class Child(Base):
    def forward(self, x: Tensor, xs: List[Tensor], named: Dict[str, Tensor]) -> Tensor:  # noqa: UP006
        acc = torch.jit.annotate(List[Tensor], [])  # noqa: UP006
        acc.append(x)
        if torch.jit.is_scripting():
            return self.never(x)
        if self.maybe is not None:
            x = self.maybe(x)
        for t in xs:
            acc.append(self.helper(t))
        for k in named:
            acc.append(named[k])
        return super().forward(torch.stack(acc).sum(0)) + self.ignored(x)


listed(Child, call(X, [X, X], {"k": X}), call(X, [], {}))


class Stateful(nn.Module):
    """A state that is handed from step to step, as the fastrnns of PyTorch do it."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x, state: Optional[tuple[Tensor, Tensor]] = None):  # noqa: UP045
        outputs = []
        for t in range(x.size(0)):
            if state is None:
                state = (x.new_zeros(1, 4), x.new_zeros(1, 4))
            h, c = self.cell(x[t : t + 1], state)
            state = (self.norm(h), c)
            outputs += [h]
        return torch.cat(outputs), state


listed(Stateful, call(X), call(X, (torch.ones(1, 4), torch.zeros(1, 4))), call(X[:1]))


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.lin.register_forward_pre_hook(before)
        self.lin.register_forward_hook(after)

    def forward(self, x):
        return self.lin(x)


class Scaled:
    """A hook that is an object, as torch's own: called through a class that it inherits from."""

    def __init__(self, name, by):
        self.name = name
        self.by = by

    def __call__(self, module, args):
        setattr(module, self.name, getattr(module, self.name + "_v") * self.by)


class Doubled(Scaled):
    def __init__(self, name):
        super().__init__(name, 2.0)


class Normed(nn.Module):
    """The norms of old, which compute a weight ahead of each call."""

    def __init__(self):
        super().__init__()
        self.conv = nn.utils.weight_norm(nn.Conv1d(2, 3, 2))
        self.lin = nn.utils.spectral_norm(nn.Linear(3, 3))
        self.last = nn.Linear(3, 3, bias=False)
        self.last.weight_v = self.last.weight
        del self.last.weight
        self.last.register_forward_pre_hook(Doubled("weight"))

    def forward(self, x):
        y = self.conv(x.expand(2, 3).unsqueeze(0)).mean(2)
        return self.last(self.lin(y)), self.last.weight


def before(module, args):
    return (args[0] * 2,)


def after(module, args, output):
    return output + module.weight.sum() * args[0].shape[0]


listed(Hooked, call(X))
listed(Normed, call(X), call(X[1:]))


@torch.jit.script
def scripted(x, n: int):
    if n > 1:
        x = x * n
    return x + 1


def calls_scripted(x, n):
    return scripted(x, n) * 2


LANGUAGE.append(Program(calls_scripted, [call(X, 1), call(X, 3)]))


class Unset(nn.Module):
    """Whether there is a table of hooks, modules or parameters is asked as Python does it."""

    def __init__(self):
        pass

    def forward(self, x):
        return x


class HoldsGraphs(nn.Module):
    """Modules that torch.fx has written anew."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        self.unset = [Unset()]

    def forward(self, x):
        try:
            return self.unset[0](x)
        except AttributeError:
            return self.inner(x) * 2


listed(HoldsGraphs, call(X))


def doubled(module, args, kwargs):
    kwargs["y"] = kwargs["y"] * 2
    return (args[0] + 1,), kwargs


def seen(module, args, kwargs):
    kwargs["y"] = kwargs["y"] - 1


def scaled(module, args, kwargs, result):
    return result * kwargs["y"] + args[0]


class Adds(nn.Module):
    def forward(self, x, *, y):
        return x + y


class HooksWithKeywords(nn.Module):
    """Hooks that take keyword arguments, and hooks that do not get them."""

    def __init__(self):
        super().__init__()
        self.inner, self.plain = Adds(), Adds()
        self.inner.register_forward_pre_hook(doubled, with_kwargs=True)
        self.inner.register_forward_pre_hook(lambda module, args: (args[0] * 3,))
        self.inner.register_forward_pre_hook(seen, with_kwargs=True)
        self.inner.register_forward_hook(scaled, with_kwargs=True)
        self.plain.register_forward_pre_hook(lambda module, args: (args[0] * 3,))
        self.plain.register_forward_hook(scaled, with_kwargs=True)

    def forward(self, x):
        return self.inner(x, y=x + 1), self.plain(x, y=x - 1)


listed(HooksWithKeywords, call(X))


class Twice(nn.Linear):
    """Has a `__call__` in the place of torch's, which runs forward."""

    def __init__(self):
        super().__init__(3, 3)
        self.calls = 0

    def __call__(self, x, *, n=1):
        self.calls += 1
        for _ in range(n):
            x = super().__call__(x)
        return x + 1


class OnlyCalled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Twice()
        self.both = nn.Sequential(Twice(), nn.Tanh())

    def __call__(self, x, n: int):
        return self.inner(x, n=n), self.both(x), self.inner.forward(x)


listed(Twice, call(X), call(X, n=3))
listed(OnlyCalled, call(X, 0), call(X, 2))


class Halved(nn.Module):
    def forward(self, x):
        return x / 2


class MakesModules(nn.Module):
    """Modules without tensors, made where they are called."""

    def forward(self, x, n: int):
        for _ in range(n):
            x = Halved()(nn.Sequential(nn.Tanh(), nn.Softmax(dim=-1))(x))
        return x, nn.MSELoss(reduction="sum")(x, x + 1), nn.Dropout(0.0)(x)


listed(MakesModules, call(X, 0), call(X, 2))


class Scaled(nn.Module):
    def __init__(self, func, factor=1.0):
        super(Scaled, self).__init__()  # noqa: UP008
        self.func = func
        self.factor = factor

    def forward(self, t, y):
        return self.factor * self.func(-t, y)


class Counting(Scaled):
    def __init__(self, func, factor):
        super().__init__(func)
        self.k = factor
        self.calls = 0

    def forward(self, t, y):
        self.calls += 1
        return super().forward(t, y) * self.k if self.training else y


class MakesWrappers(nn.Module):
    """Modules of the user's own classes, made where they are called, as solvers wrap what they integrate."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def slope(self, t, y):
        return torch.tanh(self.inner(y)) * t

    def forward(self, y, n: int):
        func = Scaled(Scaled(self.slope, 2.0)) if n > 2 else Scaled(self.slope, 0.5)
        counting = Counting(func, 3)
        for i in range(n):
            y = y + counting(float(i), y)
        try:
            missing = counting.missing
        except AttributeError as e:
            missing = str(e)
        return y, counting.calls, isinstance(counting, nn.Module), type(counting).__name__, missing


listed(MakesWrappers, call(X, 0), call(X, 1), call(X, 4))


class MaskedLinear(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)
        self.register_buffer("mask", torch.eye(3))

    def forward(self, x, y):
        self.weight.data *= self.mask
        y.data += x
        z = x + 1
        z.data -= 2
        return super().forward(x) + z


listed(MaskedLinear, call(X, X + 1), call(X[:0], X[:0]), call(X[:1], X))


class MovedToWhereItIs(ModuleDicts):
    """As models write it that also run on other devices: on the CPU nothing is converted."""

    def forward(self, x):
        layer = self.layers["a"]
        self.layers = self.layers.to(x).cpu()
        return self.layers["a"].to(x.device, torch.float32, non_blocking=True)(x), layer.float() is self.layers["a"]


listed(MovedToWhereItIs, call(X))


class Paired(NamedTuple):
    scale: int
    shift: int

    def both(self) -> int:
        return self.scale + self.shift


class KeepsANamedTuple(nn.Module):
    """The methods of named tuples that modules keep."""

    def __init__(self):
        super().__init__()
        self.pair = Paired(2, 5)

    def forward(self, x):
        moved = self.pair._replace(shift=1)
        return x * self.pair._asdict()["scale"] + moved.shift, self.pair.index(5), self.pair.count(2), self.pair.both()


listed(KeepsANamedTuple, call(X))


class AsksForClasses(nn.Module):
    """Parameters that modules hold are known as such, and so are tensors that ops make."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.rest = nn.ParameterList([torch.ones(2)])
        self.register_buffer("held", torch.ones(3))

    def forward(self, x):
        found = {nn.Parameter: "parameter", Tensor: "tensor"}
        kept = self.weight
        with torch.no_grad():
            self.weight.mul_(1)
        classes = [found[type(t)] for t in (self.weight, kept, self.rest[0], self.held, kept + 1, x)]
        asked = isinstance(self.weight, nn.Parameter), isinstance(x + 1, nn.Parameter), isinstance(kept, Tensor)
        return classes, asked, self.weight.__class__.__name__, x * kept


listed(AsksForClasses, call(X), call(X[:1]))


class MakesASequence(nn.Module):
    """A container of modules of the net, made where it is called."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.BatchNorm1d(3)])

    def forward(self, x):
        sequence = nn.Sequential(*self.layers)
        return sequence(x), nn.Sequential(self.layers[0], nn.Tanh())(x), len(sequence)


listed(MakesASequence, call(X), call(X[:1]))


class WalksLayersBesideLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])

    def forward(self, x, **given):
        settings = [(dict(), dict()) for _ in range(len(self.layers))]
        for layer, (first, _) in list(zip(self.layers, settings)):  # noqa: B905
            x = x + layer(x, **first)
        for layer, (first, _) in [(a, b) for a, b in zip(self.layers, settings)]:  # noqa: B905
            x = layer(x, **first)
        return x


listed(WalksLayersBesideLists, call(X), call(X[:1]))
