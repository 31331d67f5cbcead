"""Compiled functions, methods and modules are ordinary objects: copied, pickled, decorated, looked at and typed as others."""

from __future__ import annotations

import copy
import functools
import inspect
import io
import multiprocessing
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

import scriptc

X = torch.ones(2, 3)
compiled = scriptc.compile(optimize=0)


@compiled
def doubled(x: Tensor, k: int = 2, *, bias: float = 0.5) -> Tensor:
    """Double a tensor."""
    return x * k + bias


def plain(x: Tensor) -> Tensor:
    return x + 1


renamed = scriptc.compile(plain, optimize=0, freeze=True)


class Net(nn.Module):
    FACTOR = 4

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.act = doubled
        self.scale = 2.0
        self.bound = scriptc.compile(self.scaled, optimize=0)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.linear(x)) * self.scale

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    @compiled
    def method(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.scale

    @property
    @compiled
    def getter(self) -> Tensor:
        return self.linear.weight * self.scale

    @compiled
    @property
    def outer_getter(self) -> Tensor:
        return self.linear.weight * self.scale

    @functools.cached_property
    @compiled
    def cached(self) -> Tensor:
        return self.linear.weight * self.scale

    @classmethod
    @compiled
    def of_class(cls, x: Tensor) -> Tensor:
        return x * cls.FACTOR

    @compiled
    @classmethod
    def outer_of_class(cls, x: Tensor) -> Tensor:
        return x * cls.FACTOR

    @staticmethod
    @compiled
    def static(x: Tensor) -> Tensor:
        return x * 3

    @compiled
    @staticmethod
    def outer_static(x: Tensor) -> Tensor:
        return x * 3


@compiled
class WholeClass(Net):
    """Compiled as a class."""


def saved_and_loaded(obj: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def pickled(obj: Any) -> Any:
    return pickle.loads(pickle.dumps(obj))


COPIES = [copy.deepcopy, copy.copy, pickled, saved_and_loaded]
MODULES: list[Callable[[], nn.Module]] = [
    Net,
    WholeClass,
    lambda: compiled(Net()),
    lambda: nn.Sequential(compiled(Net()), Net()),
]


# ---- copies ----


@pytest.mark.parametrize("make", MODULES)
@pytest.mark.parametrize("copied", COPIES)
@torch.no_grad()
def test_copies_of_modules_compute_the_same(make: Callable[[], nn.Module], copied: Callable[[Any], Any]) -> None:
    module = make()
    expected = module(X)
    other = copied(module)
    assert torch.equal(other(X), expected)
    assert hasattr(other, "signatures") == hasattr(module, "signatures")


@pytest.mark.parametrize("make", [WholeClass, lambda: compiled(Net())])
@pytest.mark.parametrize("copied", COPIES)
@torch.no_grad()
def test_copies_have_attributes_of_their_own(make: Callable[[], Any], copied: Callable[[Any], Any]) -> None:
    module = make()
    module(X), module.method(X), module.getter
    other = copied(module)
    other.scale = 100.0
    assert torch.allclose(other(X), Net.forward(other, X))
    assert torch.allclose(other.method(X), other.linear(X) * 100.0)
    assert torch.allclose(other.getter, other.linear.weight * 100.0)
    assert torch.allclose(module.method(X), module.linear(X) * 2.0)
    if copied is not copy.copy:  # which copies `bound` as what it is: a method of the first object
        assert torch.equal(other.bound(X), X * 100.0)


def test_functions_and_methods_keep_their_identity() -> None:
    net = Net()
    for same in (*COPIES, pickled):
        assert same(doubled) is doubled
    assert copy.copy(net.method) is net.method
    assert copy.deepcopy(net.method).__self__ is not net
    assert pickled(Net.of_class) == Net.of_class


def test_a_compiled_function_without_a_name_is_compiled_again() -> None:
    other = pickled(renamed)
    assert isinstance(other, scriptc.Compiled) and other.__wrapped__ is plain
    assert other._options == renamed._options and torch.equal(other(X), X + 1)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(compiled(lambda x: x))


def test_pickles_name_the_module_of_earlier_versions() -> None:
    earlier = f"cscriptc.compiled\nrecompiled\n(c{__name__}\nplain\n(dtR.".encode()
    assert pickle.loads(earlier)(torch.ones(2)).tolist() == plain(torch.ones(2)).tolist()
    assert b"scriptc.compiled" in pickle.dumps(renamed) and b"scriptc.api" not in pickle.dumps(renamed)


@torch.no_grad()
def test_averaged_models() -> None:
    for module in (Net(), WholeClass(), compiled(Net())):
        average = AveragedModel(module)
        average.update_parameters(module)
        with torch.no_grad():
            module.linear.weight.zero_()
        average.update_parameters(module)
        assert torch.allclose(average(X), Net.forward(average.module, X))
        assert not torch.allclose(average(X), module(X))


def _called(function: Callable[..., Tensor], rows: list[float]) -> list[float]:
    return function(torch.tensor(rows)).tolist()


def test_spawned_processes_take_compiled_callables() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        given = [1.0, 2.0, 3.0]
        for function in (doubled, renamed, Net().bound, compiled(nn.ReLU())):
            assert pool.apply(_called, (function, given)) == function(torch.tensor(given)).tolist()


# ---- decorators ----


@torch.no_grad()
def test_decorators_of_classes_over_and_under() -> None:
    net = Net()
    for getter in (net.getter, net.outer_getter, net.cached):
        assert torch.equal(getter, net.linear.weight * 2.0)
    for function in (Net.of_class, net.of_class, Net.outer_of_class, net.outer_of_class):
        assert torch.equal(function(X), X * 4) and function.signatures()
    for function in (Net.static, net.static, Net.outer_static, net.outer_static):
        assert torch.equal(function(X), X * 3) and function.signatures()


class Doubly(Net):
    FACTOR = 5


def test_classmethods_know_their_class() -> None:
    assert torch.equal(Doubly.of_class(X), X * 5) and torch.equal(Net.of_class(X), X * 4)


@torch.no_grad()
def test_getters_compile_once_for_each_object() -> None:
    nets = [Net() for _ in range(3)]
    for net in nets:
        net.scale = 3.0
        assert torch.equal(net.getter, net.linear.weight * 3.0)
    fget = vars(Net)["getter"].fget
    assert not fget.signatures()


class Caller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()

    def forward(self, x: Tensor) -> Tensor:
        net = self.net
        return net.method(net.static(net.of_class(x))) + net.getter.sum() + net.outer_getter.sum() + net.outer_static(x)


class Over(Net):
    @compiled
    def method(self, x: Tensor) -> Tensor:
        return super().method(x) + 1

    @classmethod
    def of_class(cls, x: Tensor) -> Tensor:
        return super().of_class(x) + 1

    def from_base(self, x: Tensor) -> Tensor:
        return super().method(x)


@torch.no_grad()
def test_compiled_code_follows_them() -> None:
    caller = Caller()
    assert torch.allclose(compiled(caller)(X), caller(X))


@torch.no_grad()
def test_methods_of_a_class_and_its_base_are_two() -> None:
    over = Over()
    base = over.linear(X) * 2.0
    assert torch.allclose(over.method(X), base + 1)
    assert torch.allclose(over.from_base(X), base)
    assert torch.allclose(compiled(over.from_base)(X), base)
    assert torch.equal(compiled(Over.of_class)(X), X * 4 + 1)


class Point:
    def __init__(self, x: Tensor):
        self.x = x

    @property
    @compiled
    def twice(self) -> Tensor:
        return self.x * 2


def test_getters_of_objects_that_compiled_code_makes() -> None:
    assert torch.equal(compiled(lambda x: Point(x).twice)(X), X * 2)


# ---- what they tell ----


def test_wrapped_data() -> None:
    function = inspect.unwrap(doubled)
    assert doubled.__wrapped__ is function and doubled.__module__ == __name__
    for name in ("__name__", "__qualname__", "__doc__", "__annotations__", "__defaults__", "__kwdefaults__"):
        assert getattr(doubled, name) == getattr(function, name)
    assert inspect.signature(doubled) == inspect.signature(function)
    assert "return x * k + bias" in inspect.getsource(doubled) and inspect.getdoc(doubled) == "Double a tensor."
    net = Net()
    assert net.method.__self__ is net and net.method.__name__ == "method"
    assert list(inspect.signature(net.method).parameters) == ["x"]
    module = compiled(net)
    for called in (module, module.forward):
        assert list(inspect.signature(called).parameters) == ["x"]
    assert list(inspect.signature(type(module)).parameters) == []


def test_representations_say_what_is_compiled() -> None:
    function = compiled(inspect.unwrap(doubled))
    assert repr(function) == (
        "<function doubled(x: 'Tensor', k: 'int' = 2, *, bias: 'float' = 0.5) -> 'Tensor': compiled, not called yet>"
    )
    function(X)
    assert repr(function).endswith(": compiled for (x: f32[?, ?], k: int, bias: float)>")
    method = Net().method
    assert repr(method) == "<method Net.method(x: 'Tensor') -> 'Tensor' of Net: compiled, not called yet>"
    for module in (WholeClass(), compiled(Net())):
        assert "compiled, not called yet" in repr(module)
        module(X)
        assert "compiled for (x: f32[?, ?])" in repr(module) and "(linear): Linear" in repr(module)
    assert repr(compiled(nn.Linear(1, 1, bias=False))) == (
        "Linear(in_features=1, out_features=1, bias=False, compiled, not called yet)"
    )


def test_help_shows_the_original_and_how_to_look_inside() -> None:
    for function in (doubled, Net().method):
        text = pydoc.render_doc(function, renderer=pydoc.plaintext)
        assert function.__name__ + "(" in text and ".c_source()" in text
    assert "Double a tensor." in pydoc.render_doc(doubled, renderer=pydoc.plaintext)
    text = pydoc.render_doc(WholeClass(), renderer=pydoc.plaintext)
    assert "Compiled as a class." in text and "c_source(self" in text


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.Linear(3, 3)

    def profile(self) -> str:
        return "own"

    def forward(self, x: Tensor) -> Tensor:
        return self.memory(x)


def test_names_of_the_users_module_are_kept() -> None:
    module = compiled(Named())
    assert isinstance(module.memory, nn.Linear) and module.profile() == "own" and module.signatures() == []


# ---- the package ----


def test_dir_lists_public_names_also_before_they_are_used() -> None:
    program = "import scriptc; a = dir(scriptc); scriptc.compile; print(a == dir(scriptc), *a)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    same, *names = done.stdout.split()
    public = [name for name in names if not name.startswith("_")]
    assert same == "True" and public == sorted(scriptc.__all__) and "__version__" in names


def test_errors_of_the_toolchain_are_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    with pytest.raises(scriptc.ToolchainError, match="does not exist"):
        compiled(lambda x: x * 123)(X)
    assert issubclass(scriptc.BuildError, RuntimeError)


def test_wrong_options_name_the_nearest() -> None:
    with pytest.raises(TypeError, match="no option 'optimise'; did you mean 'optimize'"):
        scriptc.compile(optimise=0)
    with pytest.raises(TypeError, match="no option 'zzz'. Options: optimize, "):
        scriptc.compile(zzz=0)
    with pytest.raises(ValueError, match="freeze is True or False, not 'no'"):
        scriptc.compile(freeze="no")


def test_options_are_typed_as_they_are() -> None:
    from dataclasses import fields

    from scriptc.driver.options import Options

    assert list(scriptc.CompileOptions.__annotations__) == [f.name for f in fields(Options)]


TORCH_STUB = """
from typing import Any
class Tensor:
    def __mul__(self, other: Any) -> Tensor: ...
"""
MODULE_STUB = """
from typing import Any
class Module:
    training: bool
    def train(self, mode: bool = True) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
"""
TYPED = """
from torch import Tensor, nn
import scriptc

@scriptc.compile
def f(x: Tensor, n: int = 1) -> Tensor: return x * n
@scriptc.compile(optimize=0)
def g(x: Tensor) -> int: return 1
class Net(nn.Module):
    own = 1
    @scriptc.compile
    def method(self, x: Tensor) -> Tensor: return x
    @staticmethod
    @scriptc.compile
    def static(x: Tensor) -> int: return 1
@scriptc.compile(freeze=True)
class Whole(nn.Module):
    own = 2
net = scriptc.compile(Net(), dynamic=False)
reveal_type(f)
reveal_type(g)
reveal_type(f(Tensor(), n=2))
reveal_type(net)
reveal_type(net.method)
reveal_type(Net.method)
reveal_type(Net.static(Tensor()))
reveal_type(Whole().own)
reveal_type(f.ir())
reveal_type(scriptc.compile(net.method).c_source())
f("text")
scriptc.compile(f, optimise=1)
scriptc.compile(f, optimize=7)
scriptc.compil(f)
"""


def test_type_checkers_know_what_is_compiled(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    root = Path(__file__).parents[1]
    package = tmp_path / "scriptc"
    package.mkdir()
    for path in (root / "scriptc").glob("*"):
        if path.suffix in (".py", ".typed") or path.name in ("api", "driver"):
            (package / path.name).symlink_to(path)
    (package / "ir").symlink_to(root / "ir")
    for name, text in (("torch/__init__.pyi", "from . import nn as nn" + TORCH_STUB), ("torch/nn.pyi", MODULE_STUB)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "use.py").write_text(TYPED)
    skipped = "frontend backend_c runtime dispatch inspect package driver.pipeline driver.variant driver.target ir"
    config = ["[mypy]", "follow_imports = silent", "ignore_missing_imports = True"]
    for name in skipped.split():
        config += [f"[mypy-scriptc.{name}.*]", "follow_imports = skip"]
    for name in ("torch.*", "numpy.*"):  # mypy would read a thousand files that the stubs of torch above do not name
        config += [f"[mypy-{name}]", "follow_imports = skip"]
    for name in ("torch", "torch.nn"):
        config += [f"[mypy-{name}]", "follow_imports = silent"]
    (tmp_path / "mypy.ini").write_text("\n".join(config))
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(pytestconfig.cache.mkdir("mypy")), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = [line.partition(": ")[2].replace("builtins.", "") for line in done.stdout.splitlines()[:-1]]
    found = [line.replace("use.", "") for line in lines if not line.startswith("note: Possible")]
    module = "scriptc.api.compiled.Compiled"
    assert found[:10] == [
        f'note: Revealed type is "{module}[[x: torch.Tensor, n: int =], torch.Tensor]"',
        f'note: Revealed type is "{module}[[x: torch.Tensor], int]"',
        'note: Revealed type is "torch.Tensor"',
        'note: Revealed type is "Net"',
        f'note: Revealed type is "{module}[[x: torch.Tensor], torch.Tensor]"',
        f'note: Revealed type is "{module}[[self: Net, x: torch.Tensor], torch.Tensor]"',
        'note: Revealed type is "int"',
        'note: Revealed type is "int"',
        'note: Revealed type is "str"',
        'note: Revealed type is "str"',
    ], done.stdout
    errors = [line for line in found[10:] if line.startswith("error")]
    wanted = ("incompatible type", "did you mean", "No overload", "No overload", 'has no attribute "compil"')
    assert len(errors) == len(wanted) and all(map(str.__contains__, errors, wanted)), done.stdout
