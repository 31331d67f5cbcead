"""Whatever compiled code found outside its arguments is seen to change: objects, functions, classes, patched libraries."""

from __future__ import annotations

import builtins
import functools
import math
import os
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import nn
from watched_programs import LIBRARIES, OBJECTS, Base1, Color, Data, Derived, Meta, Plain, Slots

import scriptc

X = torch.arange(6.0).view(2, 3) / 6 + 0.25
NAMESPACES: list[Any] = [
    torch, torch.functional, nn.functional, builtins, math, torch.Tensor, nn.Module, nn.ReLU, nn.Linear,
    Plain, Derived, Base1, Meta, Slots, Data,
]  # fmt: skip
FUNCTIONS = [nn.Linear.forward, Plain.m, Plain.p.fget]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[Callable[[], None]]:
    """Puts back what programs change of classes and libraries."""
    held = [dict(vars(space)) for space in NAMESPACES]
    codes = [f.__code__ for f in FUNCTIONS]
    folder, deterministic = os.getcwd(), torch.are_deterministic_algorithms_enabled()
    mkldnn = torch._C._get_mkldnn_enabled()

    def restore() -> None:
        for space, names in zip(NAMESPACES, held, strict=True):
            for name in [n for n in vars(space) if n not in names]:
                delattr(space, name)
            for name, value in names.items():
                if vars(space).get(name) is not value:
                    setattr(space, name, value)
        for function, code in zip(FUNCTIONS, codes, strict=True):
            function.__code__ = code
        Derived.__bases__ = (Base1,)
        Color.R._value_ = 1.5
        os.environ.pop("SCRIPTC_TEST_OF_GUARDS", None)
        os.chdir(folder)
        torch.use_deterministic_algorithms(deterministic)
        torch._C._set_mkldnn_enabled(mkldnn)

    with torch.no_grad():
        yield restore
    restore()


def compiled(program: Callable[..., Any], value: Any) -> Any:
    return scriptc.compile(lambda x: program(x, value), optimize=0)


def check(made: Any, program: Callable[..., Any], value: Any) -> None:
    try:
        expected = program(X, value)
    except Exception as e:
        with pytest.raises(type(e)):
            made(X)
        return
    torch.testing.assert_close(made(X), expected)


@pytest.mark.parametrize("name", [*OBJECTS, *LIBRARIES])
def test_a_change_is_seen(name: str) -> None:
    make, program, change = (OBJECTS | LIBRARIES)[name]
    torch.manual_seed(0)
    value = make()
    made = compiled(program, value)
    check(made, program, value)
    change(value)
    check(made, program, value)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_patch_is_seen_that_was_there_before(name: str, as_before: Callable[[], None]) -> None:
    make, program, change = LIBRARIES[name]
    torch.manual_seed(0)
    value = make()
    own = dict(vars(value)) if isinstance(value, nn.Module) else {}
    made = compiled(program, value)
    change(value)
    check(made, program, value)
    as_before()
    if isinstance(value, nn.Module):
        vars(value).clear()
        vars(value).update(own)
    check(made, program, value)
    check(made, program, value)
    assert len(made.signatures()) <= 2


def test_what_is_put_back_finds_its_build(as_before: Callable[[], None]) -> None:
    made = compiled(lambda x, v: torch.tanh(v(x)), nn.ReLU())
    times, plus = lambda x: x * 50, lambda self, x: x + 1  # noqa: E731
    for _ in range(3):
        assert torch.equal(made(X), torch.tanh(torch.relu(X)))
        torch.tanh = times
        assert torch.equal(made(X), torch.relu(X) * 50)
        nn.ReLU.forward = plus  # type: ignore[method-assign]
        assert torch.equal(made(X), (X + 1) * 50)
        as_before()
    assert len(made.signatures()) == 3


def by_name(x: Any, *, k: Any = 2.0) -> Any:
    return x * k


def by_position(x: Any, k: Any = 2.0) -> Any:
    return x + k


CHANGES_OF_ITSELF: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "code": (by_name, lambda f: setattr(f, "__code__", (lambda x, *, k: x - k).__code__)),
    "defaults": (by_position, lambda f: setattr(f, "__defaults__", (7.0,))),
    "defaults by name": (by_name, lambda f: setattr(f, "__kwdefaults__", {"k": 7.0})),
    "item": (by_name, lambda f: f.__kwdefaults__.__setitem__("k", 7.0)),
    "another type": (by_name, lambda f: f.__kwdefaults__.__setitem__("k", 3)),
}


@pytest.mark.parametrize("name", CHANGES_OF_ITSELF)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_change_of_the_compiled_function_itself_is_seen(name: str, wrapped: bool) -> None:
    given, change = CHANGES_OF_ITSELF[name]
    function = FunctionType(given.__code__, globals(), given.__name__, given.__defaults__)
    function.__kwdefaults__ = dict(given.__kwdefaults__) if given.__kwdefaults__ else None
    program = passing_on(function) if wrapped else function
    made = scriptc.compile(program, optimize=0)
    torch.testing.assert_close(made(X), program(X))
    change(function)
    for _ in range(2):
        torch.testing.assert_close(made(X), program(X))
        torch.testing.assert_close(made(X, k=4.0), program(X, k=4.0))


def passing_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_functions_that_torchs_own_compiler_wraps_are_served() -> None:
    """Importing torch._dynamo replaces `torch.manual_seed` by a wrapper of it."""
    import torch._dynamo

    def f(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        return x

    with pytest.raises(scriptc.CompileError, match="cannot be seeded"):
        scriptc.compile(f)(torch.ones(1))
