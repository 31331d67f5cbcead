"""Programs of many statements that are listed in a table."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from measure.source import write_once
from three_ways import Args, assert_same, compile_at, compiled, eager, interpreted


def statements(table: str) -> list[str]:
    return [part.strip() for line in table.strip().splitlines() for part in line.split("|")]


def module_of(source: str, directory: Path) -> ModuleType:
    path = write_once("programs", source, directory)
    spec = importlib.util.spec_from_file_location("programs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agree(function: Callable[..., Any], calls: list[Args], optimize: int = 0) -> None:
    target = compile_at(function, optimize)
    for given in calls:
        expected = eager(function, given)
        assert_same(expected, compiled(target, given))
        assert_same(expected, interpreted(function, given, target))
