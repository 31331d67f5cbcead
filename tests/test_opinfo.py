"""Functions that tests/measure/results.md does not except agree with eager, on PyTorch's first sample of it or fewer of them.

`python -m tests.opinfo`, `tests.coreaten` and `tests.moduleinfo` run all samples, and with `--report` write that page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from measure import coreaten, modules, opinfo, wrong_arguments
from measure.command import Measure
from measure.outcome import Program, run_call, run_calls
from measure.report import not_passing, reported
from measure.source import together
from settings import sweep

GROUPS = 16
AT_ONCE = 24  # calls in a build


def entries(measure: Measure, variant: str, group: int) -> Iterator[str]:
    excepted = not_passing(measure.title_of(variant))
    for i, name in enumerate(measure.names(variant)):
        if i % GROUPS == group and name not in excepted:
            yield name


def first_calls(measure: Measure, variant: str, names: Iterator[str], directory: Path) -> list[tuple[str, Program]]:
    return [(name, p) for name in names for p in measure.calls(name, variant, 1, directory) if p.function is not None]


def failures(calls: list[tuple[str, Program]], directory: Path) -> list[str]:
    """Many calls in one build; each by itself where that fails."""
    failed = []
    for at in range(0, len(calls), AT_ONCE):
        part = calls[at : at + AT_ONCE]
        try:
            with torch.no_grad():
                assert run_call(together(f"together{at}", [p for _, p in part], directory), 0) is not None
        except Exception:
            for name, program in part:
                for reason, text in run_calls(name, lambda p=program: [p], 0).reasons:
                    failed.append(f"{name}: {reason}\n    {text}")
    return failed


@pytest.mark.parametrize("group", sweep(range(GROUPS), 11))
def test_functions(group: int, lasting_path: Path) -> None:
    """In float32, and in one of the other dtypes that were measured."""
    others = [dtype for dtype in opinfo.DTYPES[1:] if opinfo.MEASURE.title_of(dtype) in reported()]
    calls = []
    for variant in ("float32", others[group % len(others)]):
        calls += first_calls(opinfo.MEASURE, variant, entries(opinfo.MEASURE, variant, group), lasting_path)
    assert not failures(calls, lasting_path)


@pytest.mark.parametrize("group", sweep(range(0, GROUPS, 4), 12))
def test_core_aten(group: int, lasting_path: Path) -> None:
    names = [name for g in range(group, group + 4) for name in entries(coreaten.MEASURE, "float32", g)]
    assert not failures(first_calls(coreaten.MEASURE, "float32", iter(names), lasting_path), lasting_path)


@pytest.mark.parametrize("group", sweep(range(0, GROUPS, 4), 0))
def test_modules(group: int, lasting_path: Path) -> None:
    names = [name for g in range(group, group + 4) for name in entries(modules.MEASURE, "eval", g)]
    assert not failures(first_calls(modules.MEASURE, "eval", iter(names), lasting_path), lasting_path)


@pytest.mark.parametrize("name", ["nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "nn.InstanceNorm1d"])
def test_modules_that_keep_statistics(name: str, lasting_path: Path) -> None:
    outcome = modules.MEASURE.run(name, "train", 4, lasting_path)
    assert outcome.ok, outcome.reasons


@pytest.mark.parametrize("group", sweep(range(4 * GROUPS), 5))
def test_arguments_that_do_not_fit(group: int, lasting_path: Path) -> None:
    """Compiled functions raise what eager raises."""
    for variant in wrong_arguments.MEASURE.variants:
        excepted = not_passing(wrong_arguments.MEASURE.title_of(variant))
        for name in wrong_arguments.MEASURE.names(variant)[group :: 4 * GROUPS]:
            if name not in excepted:
                outcome = wrong_arguments.MEASURE.run(name, variant, 3, lasting_path)
                assert outcome.ok, (name, outcome.reasons)
