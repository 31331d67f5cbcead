"""Runs the samples of an op: compiled against eager, each sample by itself."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.opinfo.core import OpInfo

import scriptc

from .programs import Program, op_name, programs


class Differs(Exception):
    """What compiled code returned is not what eager returns."""


@dataclass
class Outcome:
    """What became of an op. `reasons`: why samples fail, each with the call; `strides`: results with other strides."""

    name: str
    passed: int = 0
    reasons: list[tuple[str, str]] = field(default_factory=list)
    strides: int = 0

    @property
    def ok(self) -> bool:
        return not self.reasons and self.passed > 0


def leaves(value: Any) -> list[Any]:
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def compare(expected: Any, got: Any, exact: Any) -> int:
    """Raises where results differ in structure, dtype, shape or value; the number of tensors with other strides.

    exact: the result in float64, or None. Values also agree within twice eager's own error against it.
    """
    a, b = leaves(expected), leaves(got)
    if len(a) != len(b):
        raise Differs(f"{len(b)} results, not {len(a)}")
    wide = leaves(exact) if exact is not None else [None] * len(a)
    other_strides = 0
    for x, y, w in zip(a, b, wide, strict=True):
        if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor):
            raise Differs(f"a {type(y).__name__}, not a {type(x).__name__}")
        if not isinstance(x, torch.Tensor):
            if type(x) is not type(y) or not (x == y or x != x and y != y):
                raise Differs(f"{y!r}, not {x!r}")
            continue
        if x.dtype != y.dtype:
            raise Differs(f"dtype {y.dtype}, not {x.dtype}")
        if x.shape != y.shape:
            raise Differs(f"another shape: {tuple(y.shape)}, not {tuple(x.shape)}")
        other_strides += x.numel() > 1 and x.stride() != y.stride()
        try:
            torch.testing.assert_close(y, x, equal_nan=True)
        except AssertionError as e:
            if w is None or not _as_good(x, y, w):
                raise Differs("other values: " + str(e).replace("\n", " ")[:200]) from None
    return other_strides


def _as_good(eager: torch.Tensor, got: torch.Tensor, exact: torch.Tensor) -> bool:
    if not eager.is_floating_point() or not isinstance(exact, torch.Tensor) or exact.shape != eager.shape:
        return False
    errors = [(t.double() - exact).abs() for t in (eager, got)]
    if not torch.equal(errors[0].isnan(), errors[1].isnan()):
        return False
    worst = [float(e[~e.isnan()].max()) if (~e.isnan()).any() else 0.0 for e in errors]
    return worst[1] <= 2 * worst[0]


def _in_double(program: Program, args: list[torch.Tensor]) -> Any:
    assert program.function is not None
    try:
        return program.function(*(a.double() if a.is_floating_point() else a for a in copy.deepcopy(args)))
    except Exception:
        return None


def run_sample(program: Program, optimize: int) -> int | None:
    """Compares one sample; None where eager raises too. Raises what went wrong."""
    assert program.function is not None
    args = [a.detach() for a in program.args]
    eager_args, our_args = copy.deepcopy(args), copy.deepcopy(args)
    try:
        expected = program.function(*eager_args)
    except Exception:
        return None
    got = scriptc.compile(program.function, optimize=optimize)(*our_args)
    exact = _in_double(program, args) if any(a.is_floating_point() for a in args) else None
    strides = compare(expected, got, exact)
    compare(eager_args, our_args, None)
    return strides


def reason(error: BaseException) -> str:
    """An error as one line that is the same for all samples that fail for one cause."""
    if isinstance(error, scriptc.CompileError):
        return error.diagnostics[0].message
    first = str(error).strip().split("\n")[0]
    kind = "" if isinstance(error, Differs) else f"{type(error).__name__}: "
    return kind + re.sub(r"/\S+/", "", first)[:160]


def run_op(op: OpInfo, dtype: torch.dtype, count: int, directory: Path, optimize: int) -> Outcome:
    outcome = Outcome(op_name(op))
    try:
        made = programs(op, dtype, count, directory)
    except Exception as e:
        outcome.reasons.append((f"no samples: {reason(e)}", ""))
        return outcome
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for program in made:
            if program.function is None:
                outcome.reasons.append((program.text, ""))
                continue
            try:
                strides = run_sample(program, optimize)
            except Exception as e:
                outcome.reasons.append((reason(e), program.text))
                continue
            if strides is not None:
                outcome.passed += 1
                outcome.strides += bool(strides)
    return outcome
