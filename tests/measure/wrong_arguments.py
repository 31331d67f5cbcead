"""The op library with arguments that do not fit: compiled functions raise where eager raises, an error of the same type.

Where eager takes the arguments after all, results agree. The texts of errors are not compared.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from compiled_together import run_together
from torch.testing._internal.opinfo.core import OpInfo

import scriptc

from .command import Measure
from .opinfo import OPS, call_text, listed, programs, samples
from .outcome import Differs, Outcome, Program, leaves, reason, run_call
from .source import functions

DTYPES = (torch.float32, torch.int64, torch.bool, torch.float64, torch.complex64)
SAMPLES = 40  # among which the first of each combination of ranks and dtypes are looked for


def _changed(t: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield a tensor with fewer and more dims, with other sizes, with other dtypes, and with indices that are out of range."""
    if t.dim() and t.size(0):
        yield t[0].clone()
    if t.dim() > 1 and t.size(0) and t.size(1):
        yield t[0][0].clone()
    yield t.unsqueeze(0).clone()
    yield t.unsqueeze(0).repeat(2, *[1] * t.dim())
    for d in range(t.dim()):
        if t.size(d):
            yield torch.cat([t, t.narrow(d, 0, 1)], d)
            yield from (t.narrow(d, 0, n).clone() for n in sorted({0, 1, t.size(d) - 1} - {t.size(d)}))
    yield from (t.to(dtype) for dtype in DTYPES if dtype != t.dtype)
    if t.dtype == torch.int64:
        yield from (t + 100, t - 100)


def _first_of_each_kind(made: Iterable[Program], count: int) -> list[Program]:
    kinds: dict[tuple[tuple[int, torch.dtype], ...], Program] = {}
    for program in made:
        kinds.setdefault(tuple((t.dim(), t.dtype) for t in program.args), program)
    return list(kinds.values())[:count]


def changed_programs(name: str, count: int, directory: Path) -> list[Program]:
    """Return calls of an op with one tensor changed."""
    made = [p for p in programs(name, "float32", SAMPLES, directory) if p.function is not None]
    return [
        Program(p.function, (*p.args[:i], other, *p.args[i + 1 :]), f"{p.text}, x{i} {_type_of(other)}")
        for p in _first_of_each_kind(made, count)
        for i, t in enumerate(p.args)
        for other in _changed(t)
    ]


def _tensors(sample: Any) -> list[torch.Tensor]:
    return [t for t in leaves((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)]


def _error_samples(op: OpInfo) -> list[Any]:
    """Return PyTorch's samples of errors that are on the CPU."""
    given = [e.sample_input for e in op.error_inputs("cpu")] if op.error_inputs_func is not None else []
    return [s for s in given if s is not None and all(t.device.type == "cpu" for t in _tensors(s))]


@cache
def _has_calls(name: str, variant: str) -> bool:
    op = OPS[name]
    return bool(_error_samples(op)) if variant == "errors" else any(map(_tensors, samples(op, torch.float32, 1)))


def names(variant: str) -> list[str]:
    """Return the ops that have a tensor to change, or samples of errors."""
    return [name for name in listed("float32") if _has_calls(name, variant)]


def error_programs(name: str, directory: Path) -> list[Program]:
    """Return the calls of an op that PyTorch's tests expect to raise."""
    op = OPS[name]
    made = functions(f"errors_{name}", [lambda w, s=s: call_text(op, s, w) for s in _error_samples(op)], directory)
    return [p for p in made if p.function is not None]


def _type_of(t: torch.Tensor) -> str:
    return f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"


def calls(name: str, variant: str, count: int, directory: Path) -> list[Program]:
    return changed_programs(name, count, directory) if variant == "changed" else error_programs(name, directory)


def raises_as_eager(program: Program, optimize: int) -> int | None:
    """Compare what a call raises, or its results where eager takes the arguments."""
    assert program.function is not None
    wanted = _raised(program.function, program.args)
    if wanted is None:
        return run_call(program, optimize)
    raised = _raised(scriptc.compile(program.function, optimize=optimize), program.args)
    if raised is None:
        raise Differs(f"nothing is raised, but {type(wanted).__name__} in eager")
    if isinstance(raised, (scriptc.InternalError, scriptc.BuildError)):
        raise raised
    if type(raised) is not type(wanted) and not isinstance(raised, scriptc.CompileError):
        raise Differs(f"{type(raised).__name__}, not {type(wanted).__name__}")
    return 0


def _raised(function: Callable[..., Any], args: tuple[Any, ...]) -> Exception | None:
    try:
        torch.default_generator.manual_seed(0)
        function(*copy.deepcopy(args))
    except Exception as e:
        return e
    return None


def run_calls(name: str, make: Callable[[], Iterable[Program]], optimize: int, check: Callable[[Program, int], Any]) -> Outcome:
    """Make and run the calls of an entry; many are in one build."""
    outcome = Outcome(name)
    with torch.no_grad():
        made = list(make())
        errors = run_together([lambda p=p: check(p, optimize) for p in made])
    for program, error in zip(made, errors, strict=True):
        if error is None:
            outcome.passed += 1
        else:
            outcome.reasons.append((reason(error), program.text))
    return outcome


MEASURE = Measure(
    package="tests.wrongarguments",
    variants=("changed", "errors"),
    names=names,
    calls=calls,
    samples=3,
    title="Arguments that do not fit ({variant})",
    intro="`python -m tests.wrongarguments --variant {variant}`: the functions of `op_db`, "
    "called with samples of which one tensor has other dims, sizes or dtypes (`changed`), or with PyTorch's own samples of "
    "errors (`errors`). {passed} of {total} raise the type of error that eager raises, or agree with it, in every call.",
    check=raises_as_eager,
    runs=run_calls,
)
