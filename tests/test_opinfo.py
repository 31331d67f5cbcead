"""What docs/operators.md does not except agrees with eager, on PyTorch's first sample of it or fewer of them.

`python -m tests.opinfo`, `tests.coreaten` and `tests.moduleinfo` run all samples, and with `--report` write that page.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from measure import coreaten, modules, opinfo
from measure.command import Measure
from measure.outcome import Program, compare, run_calls, run_call
from measure.report import not_passing
from measure.source import together

import scriptc

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
            assert run_call(together(f"together{at}", [p for _, p in part], directory), 0) is not None
        except Exception:
            for name, program in part:
                for reason, text in run_calls(name, lambda p=program: [p], 0).reasons:
                    failed.append(f"{name}: {reason}\n    {text}")
    return failed
