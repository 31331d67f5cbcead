"""Gradients of the modules of torch.nn in training, by PyTorch's own inputs (`module_db`), compiled against eager."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch

import scriptc

from .command import Measure
from .gradients import compare_gradients, gradients, require_grad
from .modules import MODULES, made
from .outcome import Differs, Program, compare, leaves


def differentiable(dtype: str) -> list[str]:
    """Return the modules that take a dtype and have gradients."""
    return [name for name, info in MODULES.items() if getattr(torch, dtype) in info.dtypes]


def programs(name: str, dtype: str, count: int, directory: Path) -> list[Program]:
    return made(MODULES[name], "train", getattr(torch, dtype))[:count]


def _requiring(program: Program, *, first: bool) -> tuple[Any, Any]:
    """Return the arguments of a program, of which tensors of floats require grad, or only the first of these."""
    given = copy.deepcopy((program.args, program.kwargs))
    require_grad(given, first=first)
    return given


def _inputs(module: torch.nn.Module, given: Any) -> list[torch.Tensor]:
    tensors = [t for t in leaves(given) if isinstance(t, torch.Tensor) and t.requires_grad]
    return tensors + [p for p in module.parameters() if p.requires_grad]


def _results(value: Any) -> list[torch.Tensor]:
    return [t for t in leaves(value) if isinstance(t, torch.Tensor) and t.requires_grad]


def check_module(program: Program, optimize: int) -> int | None:
    """Compare the gradients of one call of a module; None where eager has none."""
    with torch.enable_grad():
        compared = _check(program, optimize, first=False)
        return _check(program, optimize, first=True) if compared is None else compared


def _check(program: Program, optimize: int, *, first: bool) -> int | None:
    """Compare the gradients of parameters and inputs, or of the first input where eager has none for others."""
    assert isinstance(program.function, torch.nn.Module)
    eager = copy.deepcopy(program.function)
    given, ours = _requiring(program, first=first), _requiring(program, first=first)
    try:
        torch.manual_seed(0)
        results = _results(eager(*given[0], **given[1]))
        expected = gradients(results, _inputs(eager, given))
    except Exception:
        return None
    if not results:
        return None
    compiled = scriptc.compile(program.function, optimize=optimize)
    torch.manual_seed(0)
    found = _results(compiled(*ours[0], **ours[1]))
    if len(found) != len(results):
        raise Differs(f"{len(found)} results require grad, not {len(results)}")
    compare_gradients(expected, gradients(found, _inputs(program.function, ours)))
    compare(list(eager.state_dict().values()), list(program.function.state_dict().values()))
    return 0


MEASURE = Measure(
    package="tests.module_gradients",
    variants=("float64", "float32"),
    names=differentiable,
    calls=programs,
    samples=100,
    title="Gradients of modules in {variant}",
    intro="`python -m tests.module_gradients --variant {variant}`: the modules of `torch.nn` that PyTorch tests (`module_db`), "
    "in training, every constructor and input; gradients with respect to inputs and parameters, and running statistics "
    "after the call. {passed} of {total} agree with eager.",
    check=check_module,
)
