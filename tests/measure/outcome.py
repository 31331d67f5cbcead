"""One call, compiled against eager: whether they agree, and why not."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

import scriptc


class Differs(Exception):
    """What compiled code returned is not what eager returns."""


@dataclass
class Program:
    """A compilable function or module and the arguments of a call. function: None where `text` says why there is none."""

    function: Callable[..., Any] | None
    args: tuple[Any, ...]
    text: str
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of an entry. `reasons`: why calls fail, each with the call; `strides`: results with other strides."""

    name: str
    passed: int = 0
    reasons: list[tuple[str, str]] = field(default_factory=list)
    strides: int = 0

    @property
    def ok(self) -> bool:
        return not self.reasons and self.passed > 0


def leaves(value: Any) -> list[Any]:
    """What a nest of containers holds, in order."""
    if isinstance(value, dict):
        return [x for v in value.values() for x in leaves(v)]
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def compare(expected: Any, got: Any, exact: Any = None) -> int:
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


def _is_inexact(t: torch.Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _as_good(eager: torch.Tensor, got: torch.Tensor, exact: torch.Tensor) -> bool:
    if not _is_inexact(eager) or not isinstance(exact, torch.Tensor) or exact.shape != eager.shape:
        return False
    errors = [(t.to(exact.dtype) - exact).abs() for t in (eager, got)]
    if not torch.equal(errors[0].isnan(), errors[1].isnan()):
        return False
    worst = [float(e[~e.isnan()].max()) if (~e.isnan()).any() else 0.0 for e in errors]
    return worst[1] <= 2 * worst[0]


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(torch.complex128 if value.is_complex() else torch.float64) if _is_inexact(value) else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_widened, value))
    return value


def _in_double(program: Program, inputs: tuple[Any, Any]) -> Any:
    if isinstance(program.function, torch.nn.Module):
        function: Any = copy.deepcopy(program.function).double()
    else:
        function = program.function
    args, kwargs = copy.deepcopy(inputs)
    try:
        torch.default_generator.manual_seed(0)  # torch.manual_seed formats the stack
        return function(*map(_widened, args), **{k: _widened(v) for k, v in kwargs.items()})
    except Exception:
        return None


def _state(function: Any) -> list[Any]:
    return leaves(function.state_dict()) if isinstance(function, torch.nn.Module) else []


def run_call(program: Program, optimize: int) -> int | None:
    """Compares one call: results, arguments behind it, the state of a module; None where eager raises too.

    Raises what went wrong. Both draw their random numbers from the same seed.
    """
    assert program.function is not None
    eager = copy.deepcopy(program.function)  # of a function, the function itself
    given, ours = copy.deepcopy((program.args, program.kwargs)), copy.deepcopy((program.args, program.kwargs))
    try:
        torch.default_generator.manual_seed(0)  # torch.manual_seed formats the stack
        expected = eager(*given[0], **given[1])
    except Exception:
        return None
    floats = any(isinstance(a, torch.Tensor) and _is_inexact(a) for a in leaves(program.args))
    exact = _in_double(program, (program.args, program.kwargs)) if floats else None
    compiled = scriptc.compile(program.function, optimize=optimize)
    torch.default_generator.manual_seed(0)
    got = compiled(*ours[0], **ours[1])
    strides = compare(expected, got, exact)
    compare(given, ours)
    compare(_state(eager), _state(program.function))
    return strides


def reason(error: BaseException) -> str:
    """An error as one line that is the same for all calls that fail for one cause."""
    if isinstance(error, scriptc.CompileError):
        return error.diagnostics[0].message
    first, *more = str(error).strip().split("\n")
    if first.endswith(":") and more:
        first = more[0].strip()
    kind = "" if isinstance(error, Differs) else f"{type(error).__name__}: "
    return kind + re.sub(r"/\S+/", "", first)[:160]


def run_calls(
    name: str, make: Callable[[], Iterable[Program]], optimize: int, check: Callable[[Program, int], int | None] = run_call
) -> Outcome:
    """Make and run the calls of an entry, each by itself."""
    outcome = Outcome(name)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            made = list(make())
        except Exception as e:
            outcome.reasons.append((f"no samples: {reason(e)}", ""))
            return outcome
        for program in made:
            if program.function is None:
                outcome.reasons.append((program.text, ""))
                continue
            try:
                strides = check(program, optimize)
            except Exception as e:
                outcome.reasons.append((reason(e), program.text))
                continue
            if strides is not None:
                outcome.passed += 1
                outcome.strides += bool(strides)
    return outcome
