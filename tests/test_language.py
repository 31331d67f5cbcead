"""Each feature of the language does the same in Python, in the IR interpreter and in C: values and exception types."""

from __future__ import annotations

import pytest
from language import expressions, lists, modules, objects, optional, statements  # noqa: F401  (they list their programs)
from language.cases import LANGUAGE
from three_ways import Program, assert_same, compile_at, compiled, eager, interpreted

IDS = [f"{p.target.__module__.rpartition('.')[2]}-{p.name}" for p in LANGUAGE]


@pytest.mark.parametrize("program", LANGUAGE, ids=IDS)
def test_interpreter_equals_python(program: Program) -> None:
    for given in program.calls:
        assert_same(eager(program.target, given), interpreted(program.target, given))


@pytest.mark.parametrize("program", LANGUAGE, ids=IDS)
def test_compiled_equals_python(program: Program) -> None:
    target = compile_at(program.target, 0)
    for given in program.calls:
        assert_same(eager(program.target, given), compiled(target, given))
