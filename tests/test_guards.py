"""What compiled code depends on outside its arguments: every change is seen by the next call."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc


def make(target, **options):
    return scriptc.compile(target, optimize=OPTIMIZE, **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.register_buffer("offset", torch.zeros(3))
        self.steps = 2
        self.scale = 1.5
        self.flag = True
        self.mode = "tanh"
        self.act = nn.ReLU()
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
        self.plain = [nn.Tanh()]
        self.sizes = (1, 2)

    def forward(self, x):
        for _ in range(self.steps):
            x = self.linear(x) * self.scale
        if self.flag:
            x = x + self.offset
        if self.mode == "tanh":
            x = torch.tanh(x)
        if self.training:
            x = x * 10
        x = self.act(x)
        for layer in self.layers:
            x = layer(x)
        for layer in self.plain:
            x = layer(x)
        return x + self.sizes[1]


X = torch.arange(6.0).view(2, 3) / 6


def write_optimizer(model):
    with torch.enable_grad():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step()


def write_state(model):
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})


def write_data(model):
    model.linear.weight.data.mul_(2)


def write_new_data(model):
    model.linear.weight.data = torch.full((3, 3), 0.25)


def write_numpy(model):
    model.linear.weight.detach().numpy()[...] = 3


def write_inference(model):
    with torch.inference_mode():
        model.linear.weight.mul_(-1)


def write_no_grad(model):
    with torch.no_grad():
        model.linear.bias.add_(1)


def write_replaced(model):
    model.linear.weight = nn.Parameter(torch.eye(3))


def write_buffer(model):
    model.offset = torch.full((3,), 2.0)


def write_strided(model):
    model.linear.weight.data = torch.randn(3, 3).t()


def write_nothing_in_linear(model):
    model.linear.bias = None


def write_element(model):
    model.linear.weight.data[1, 2] = 100


WRITES = [v for k, v in list(globals().items()) if k.startswith("write_")]


@pytest.mark.parametrize("optimize", [OPTIMIZE, 3])
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
@torch.no_grad()
def test_writes_of_weights_are_seen(write, optimize: int) -> None:
    model = Net()
    made = scriptc.compile(model, optimize=optimize)
    for _ in range(2):
        torch.testing.assert_close(made(X), model(X))
        before = model(X)
        write(model)
        torch.testing.assert_close(made(X), model(X))
        assert (
            write is write_replaced or write is write_nothing_in_linear or not torch.equal(before, model(X)) or _ == 1
        )


CHANGES = {
    "int": lambda m: setattr(m, "steps", 5),
    "zero": lambda m: setattr(m, "steps", 0),
    "float": lambda m: setattr(m, "scale", -0.5),
    "int for float": lambda m: setattr(m, "scale", 2),
    "negative zero": lambda m: setattr(m, "scale", -0.0),
    "bool": lambda m: setattr(m, "flag", False),
    "str": lambda m: setattr(m, "mode", "none"),
    "tuple": lambda m: setattr(m, "sizes", (3, 4)),
    "submodule": lambda m: setattr(m, "act", nn.Sigmoid()),
    "appended module": lambda m: m.layers.append(nn.Linear(3, 3)),
    "replaced module": lambda m: m.layers.__setitem__(0, nn.Linear(3, 3)),
    "removed module": lambda m: m.layers.__delitem__(0),
    "plain list": lambda m: m.plain.append(nn.ReLU()),
    "plain item": lambda m: m.plain.__setitem__(0, nn.ReLU()),
    "training": lambda m: m.eval(),
    "forward": lambda m: setattr(m, "forward", lambda x: x * 3),
    "dtype": lambda m: m.double(),
}


@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_changes_of_attributes_are_seen(change: str) -> None:
    model = Net()
    made = make(model)
    torch.testing.assert_close(made(X), model(X))
    CHANGES[change](model)
    x = X.double() if change == "dtype" else X
    torch.testing.assert_close(made(x), model(x))
    torch.testing.assert_close(made(x), model(x))


def test_a_value_that_comes_back_finds_its_build() -> None:
    model = Net().eval()
    made = make(model)
    with torch.no_grad():
        for steps in (1, 2, 1, 2, 1):
            model.steps = steps
            torch.testing.assert_close(made(X), model(X))
    assert len(made.signatures()) <= 2


GAIN = 2
TABLE = {"k": 3}
NAMES = [1, 2]


def helper(x):
    return x + 1


def uses_globals(x):
    return helper(x) * GAIN + TABLE["k"] + len(NAMES)


def test_globals_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(uses_globals)
    for change in (
        lambda: None,
        lambda: monkeypatch.setitem(globals(), "GAIN", 5),
        lambda: monkeypatch.setitem(globals(), "GAIN", 2.5),
        lambda: monkeypatch.setitem(globals(), "GAIN", torch.ones(3)),
        lambda: monkeypatch.setitem(globals(), "helper", lambda x: x * 7),
        lambda: monkeypatch.setitem(TABLE, "k", 11),
        lambda: NAMES.append(3),
    ):
        change()
        torch.testing.assert_close(made(X), uses_globals(X))
    NAMES.pop()
    torch.testing.assert_close(made(X), uses_globals(X))


def test_a_shadowed_builtin_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(uses_globals)
    torch.testing.assert_close(made(X), uses_globals(X))
    monkeypatch.setitem(globals(), "len", lambda xs: 100)
    torch.testing.assert_close(made(X), uses_globals(X))


def test_closure_cells_are_seen() -> None:
    def around():
        k, w = 2, torch.ones(3)

        def f(x):
            return x * k + w

        def change(new_k, new_w):
            nonlocal k, w
            k, w = new_k, new_w

        return f, change

    f, change = around()
    made = make(f)
    torch.testing.assert_close(made(X), f(X))
    for k, w in ((3, torch.zeros(3)), (0.5, torch.ones(2, 3)), (2, 7)):
        change(k, w)
        torch.testing.assert_close(made(X), f(X))


def test_a_replaced_method_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(nn.Module):
        def inner(self, x):
            return x + 1

        def forward(self, x):
            return self.inner(x)

    model = Own()
    made = make(model)
    assert torch.equal(made(X), X + 1)
    monkeypatch.setattr(Own, "inner", lambda self, x: x * 2)
    assert torch.equal(made(X), X * 2)
    model.inner = lambda x: x * 3
    assert torch.equal(made(X), X * 3)


def test_default_dtype_is_seen() -> None:
    def f(n):
        return torch.zeros(n) + 0.5, torch.ones(2) * n

    made = make(f)
    assert made(2)[0].dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert [t.dtype for t in made(2)] == [torch.float64] * 2
    finally:
        torch.set_default_dtype(torch.float32)
    assert made(2)[0].dtype == torch.float32


# ---- autograd ----
def test_results_require_grad_where_eagers_do() -> None:
    def f(x, y):
        return x * 2, y + 1, x.detach() * 2, (x * y).sum(), x, x.size(0), x > 0

    made = make(f)
    for a, b in ((True, False), (False, True), (False, False), (True, True)):
        x, y = X.clone().requires_grad_(a), X.clone().requires_grad_(b)
        expected, actual = f(x, y), made(x, y)
        for e, r in zip(expected, actual, strict=True):
            if isinstance(e, torch.Tensor):
                assert (r.requires_grad, r.is_leaf) == (e.requires_grad, e.is_leaf)
        assert actual[4] is x
        with torch.no_grad():
            assert not made(x, y)[0].requires_grad


class Kinds(torch.nn.Module):
    """A result of another kind for each number."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x, kind: int):
        y = self.linear(x)
        if kind == 0:
            return None
        if kind == 1:
            return y
        if kind == 2:
            return y, 5, x
        if kind == 3:
            return Held(y, [y * 2, x])
        if kind == 4:
            return {"a": y, "b": [y + 1]}
        if kind == 7:
            return deque([y, x], 3)
        if kind == 5:
            return OrderedDict([("a", y), ("b", y.argmax())])
        return y.max(0)


@dataclass
class Held:
    y: torch.Tensor
    others: list[torch.Tensor]


def grads(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        return {k: grads(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [grads(v) for v in value]
    return grads(vars(value)) if isinstance(value, Held) else value


def test_results_of_several_kinds_require_grad_where_eagers_do() -> None:
    model = Kinds()
    made = make(model)
    for kind in range(8):
        x = torch.ones(2, 2)
        expected, actual = model(x, kind), made(x, kind)
        assert type(actual) is type(expected)
        assert grads(actual) == grads(expected), kind


def test_backward_and_modes() -> None:
    model = Net()
    out = make(model)(X)
    assert out.requires_grad
    out.sum().backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(X).sum().backward()
    torch.testing.assert_close(found, [p.grad for p in model.parameters()])
    assert not make(model)(X).detach().requires_grad
    with torch.inference_mode():
        assert make(model)(X).is_inference()


# ---- a compiled module is still a module ----
@torch.no_grad()
def test_compiled_instances_are_modules() -> None:
    model = Net().eval()
    made = make(model)
    expected = model(X)
    assert isinstance(made, Net) and isinstance(made, nn.Module)
    assert torch.equal(made(X), expected)
    assert list(made.state_dict()) == list(model.state_dict())
    assert [id(p) for p in made.parameters()] == [id(p) for p in model.parameters()]
    assert [n for n, _ in made.named_modules()] == [n for n, _ in model.named_modules()]
    assert made.train() is made and model.training
    torch.testing.assert_close(made(X), model(X))
    made.eval()
    made.to(torch.float64)
    assert made(X.double()).dtype == torch.float64
    made.to(torch.float32)
    torch.testing.assert_close(made(X), expected)
    made.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())
    assert repr(made).replace("\n  compiled for (x: f32[?, ?]) and (x: f64[?, ?])", "") == repr(model)


@torch.no_grad()
def test_copies_of_compiled_instances_are_independent() -> None:
    model = Net().eval()
    made = make(model)
    expected = made(X)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(other(X), expected) or torch.allclose(other(X), expected)
        other.linear.weight.data.zero_()
        other.steps = 1
        torch.testing.assert_close(made(X), expected)
        torch.testing.assert_close(other(X), Net.forward(other, X))


@scriptc.compile(optimize=OPTIMIZE)
class CompiledNet(Net):
    """Compiled as a class."""


@scriptc.compile
class CompiledBare(nn.Module):
    def __init__(self, k: int = 2):
        super(CompiledBare, self).__init__()  # noqa: UP008
        self.k = k

    def forward(self, x, extra=None):
        return x * self.k if extra is None else x * self.k + extra


class Inherits(CompiledBare):
    def forward(self, x):
        return super().forward(x) + 1


@torch.no_grad()
def test_compiled_classes() -> None:
    model, plain = CompiledNet(), Net()
    torch.testing.assert_close(model(X), plain(X))
    assert "CompiledNet" in repr(model) and CompiledNet.__doc__ == "Compiled as a class."
    assert list(model.state_dict()) == list(plain.state_dict())
    assert model.c_source() and model.signatures() and model.ir()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.linear.weight.data.zero_()
        plain2 = copy.deepcopy(plain)
        plain2.linear.weight.data.zero_()
        torch.testing.assert_close(other(X), plain2(X))
        torch.testing.assert_close(model(X), plain(X))
    a, b = CompiledBare(2), CompiledBare(3)
    assert torch.equal(a(X), X * 2) and torch.equal(b(X), X * 3) and torch.equal(a(X, extra=X), X * 3)
    assert torch.equal(Inherits(4)(X), X * 4 + 1)
    assert torch.equal(nn.Sequential(CompiledBare(2), CompiledBare(5))(X), X * 10)


# ---- forms of the decorator ----
@scriptc.compile
def bare(x, k: int = 2):
    """Doc."""
    return x * k


@scriptc.compile(optimize=OPTIMIZE, debug=True)
def with_options(x, *, k=2):
    return x * k


class Owner:
    def __init__(self, k):
        self.k = k

    @scriptc.compile
    def method(self, x):
        return x * self.k

    @scriptc.compile(optimize=OPTIMIZE)
    def other(self, x, n=1):
        return self.method(x) + n

    def plain(self, x):
        return x - self.k


def test_forms() -> None:
    assert torch.equal(bare(X), X * 2) and torch.equal(bare(X, k=3), X * 3)
    assert (bare.__name__, bare.__doc__, bare.__module__) == ("bare", "Doc.", __name__)
    assert torch.equal(with_options(X), X * 2) and torch.equal(with_options(X, k=3), X * 3)
    a, b = Owner(2), Owner(3)
    for _ in range(2):
        assert torch.equal(a.method(X), X * 2) and torch.equal(b.method(X), X * 3)
    assert torch.equal(a.other(X), X * 2 + 1) and torch.equal(b.other(x=X, n=5), X * 3 + 5)
    a.k = 10
    assert torch.equal(a.method(X), X * 10)
    assert torch.equal(Owner.method(b, X), X * 3)
    made = make(a.plain)
    assert torch.equal(made(X), X - 10)
    assert torch.equal(make(lambda x: x * 4)(X), X * 4)
    again = scriptc.compile(bare, optimize=OPTIMIZE)
    assert torch.equal(again(X), X * 2)


def test_compiled_calls_compiled() -> None:
    @scriptc.compile(optimize=OPTIMIZE)
    def outer(x):
        return bare(x) + with_options(x, k=5)

    assert torch.equal(outer(X), X * 7)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = CompiledBare(3)
            self.instance = make(Net().eval())

        def forward(self, x):
            return self.inner(x) + self.instance(x)

    whole = Whole()
    with torch.no_grad():
        torch.testing.assert_close(make(whole)(X), whole(X))


@pytest.mark.parametrize("value", [3, "text", int, print, None, object()])
def test_what_cannot_be_compiled(value) -> None:
    if value is None:
        return
    with pytest.raises(TypeError):
        scriptc.compile(value)


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match="optimise"):
        scriptc.compile(bare, optimise=1)
    with pytest.raises(ValueError, match="optimize"):
        scriptc.compile(bare, optimize=7)


def test_static_sizes() -> None:
    made = make(lambda x: x + x.size(0), dynamic=False)
    assert torch.equal(made(torch.ones(3)), torch.ones(3) + 3)
    assert torch.equal(made(torch.ones(4)), torch.ones(4) + 4)
    assert len(made.signatures()) == 2


# ---- threads ----
@torch.no_grad()
def test_threads_call_at_once() -> None:
    model = Net().eval()
    made = make(model)
    failures: list[object] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        start.wait()
        for i in range(50):
            x = torch.randn(1 + (i + seed) % 7, 3, generator=generator)
            x = x.double() if (i + seed) % 10 == 9 else x
            try:
                if x.dtype == torch.float64:
                    with pytest.raises(RuntimeError):
                        made(x)
                else:
                    torch.testing.assert_close(made(x), model(x))
            except BaseException as e:  # noqa: BLE001
                failures.append(e)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]
