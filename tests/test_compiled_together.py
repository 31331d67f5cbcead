"""Programs that are compiled together do what they do alone, and their libraries are found in the cache as if built alone."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compiled_together
import pytest
import torch
from compiled_together import AT_A_TIME, run_together
from three_ways import assert_same, call, compiled, eager

import scriptc
from scriptc.backend_c import processes

pytestmark = [
    pytest.mark.skipif(not compiled_together.IS_TAKEN, reason="each program is built alone"),
    pytest.mark.usefixtures("compiles_once"),
]
X = torch.arange(4.0)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of the C compiler on generated C and of the linker, in an empty cache."""
    done: list[str] = []
    real = processes.run

    def run(command: Any, *rest: Any) -> subprocess.CompletedProcess[str]:
        last = next((part for part in command if part.endswith(".c")), "")
        done.extend(["link"] * ("-shared" in command) + ["program"] * ("-c" in command and "/runtime/" not in last))
        return real(command, *rest)

    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    scriptc.compile(lambda x: x + 1 if x.sum() > 0 else x.cumsum(0), optimize=0)(X)  # compiles headers, asks the compiler
    monkeypatch.setattr(processes, "run", run)
    return done


def first(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def second(x: torch.Tensor) -> tuple[torch.Tensor, str]:
    return x * 2, f"{x.dim()} locs"


def third(x: torch.Tensor) -> torch.Tensor:
    if x[0] < 9:
        raise ValueError("third")
    return x


def drawn(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand(4)


def checked(function: Callable[..., Any]) -> Callable[[], None]:
    def body() -> None:
        torch.manual_seed(3)
        expected = eager(function, call(X))
        torch.manual_seed(3)
        assert_same(expected, compiled(scriptc.compile(function, optimize=0), call(X)))

    return body


def test_programs_are_compiled_and_linked_once(commands: list[str]) -> None:
    bodies = [checked(first), checked(second), checked(drawn)]
    assert run_together(bodies) == [None] * 3
    assert commands == ["program", "link"]
    assert run_together(bodies) == [None] * 3
    assert [body() for body in bodies] == [None] * 3
    assert commands == ["program", "link"]  # the cache has a library for each


def test_errors_are_those_of_the_functions_and_have_their_lines(commands: list[str]) -> None:
    def refused() -> None:
        scriptc.compile(lambda x: x.to_sparse(), optimize=0)(X)

    errors = run_together([checked(first), lambda: scriptc.compile(third, optimize=0)(X), refused, checked(second)])
    assert errors[0] is None and errors[3] is None
    assert isinstance(errors[1], ValueError) and "third" in str(errors[1]) and "raise ValueError" in str(errors[1])
    assert isinstance(errors[2], scriptc.CompileError)
    assert commands == ["program", "link"]


def test_a_function_that_compiles_twice_waits_twice(commands: list[str]) -> None:
    def twice() -> None:
        function = scriptc.compile(first, optimize=0)
        assert function(X).tolist() == [1, 2, 3, 4] and function(X.int()).tolist() == [1, 2, 3, 4]

    def other() -> None:
        function = scriptc.compile(lambda x: x - 1, optimize=0)
        assert function(X.double())[0] == -1 and function(X.long())[0] == -1

    assert run_together([twice, other]) == [None, None]
    assert commands == ["program", "link"] * 2


def test_programs_at_other_levels_and_alone_are_built_alone(commands: list[str]) -> None:
    assert run_together([lambda: scriptc.compile(first, optimize=3)(X), checked(second)]) == [None, None]
    assert commands.count("link") == 2


def test_what_cannot_be_compiled_together_is_built_alone(commands: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_together, "_renamed", lambda source, number: source)
    assert run_together([checked(first), checked(second)]) == [None, None]
    assert commands.count("link") == 2


def test_more_functions_than_are_compiled_together() -> None:
    order: list[int] = []
    assert run_together([lambda i=i: order.append(i) for i in range(2 * AT_A_TIME + 1)]) == [None] * (2 * AT_A_TIME + 1)  # type: ignore[misc]
    assert order == sorted(order)


def test_pythons_random_numbers_go_on_where_a_function_waits(commands: list[str]) -> None:
    def drawing(function: Callable[..., Any]) -> Callable[[], None]:
        def body() -> None:
            random.seed(1)
            scriptc.compile(function, optimize=0)(X)
            assert random.random() == random.Random(1).random()

        return body

    assert run_together([drawing(first), drawing(second)]) == [None, None]
