"""The modules of torch.nn by PyTorch's own inputs (`module_db`), each compiled with the values it was made with."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleInfo, module_db

from .command import Measure
from .outcome import Program, compare

MODULES = {info.name: info for info in module_db}


def listed(mode: str) -> list[str]:
    """The modules; in training only those that draw no random numbers."""
    return [name for name in MODULES if mode == "eval" or _is_deterministic(MODULES[name])]


def made(info: ModuleInfo, mode: str, dtype: torch.dtype = torch.float32) -> list[Program]:
    """Return a module for each constructor and input, in training or not, with parameters of a dtype."""
    torch.manual_seed(0)
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=False, training=mode == "train"
    )
    found = []
    for given in inputs:
        module = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs)
        module.to(dtype).train(mode == "train")
        args, kwargs = given.forward_input.args, given.forward_input.kwargs
        if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
            copy.deepcopy(module)(*args, **kwargs) if not module.has_uninitialized_params() else module(*args, **kwargs)
        found.append(Program(module, tuple(args), f"{module!r} {given.desc}".replace("\n", " "), kwargs))
    return found


def _is_deterministic(info: ModuleInfo) -> bool:
    """Whether two calls from different seeds agree."""
    return all(_agrees(program) for program in made(info, "train"))


def _agrees(program: Program) -> bool:
    results: list[Any] = []
    with torch.no_grad():
        for seed in (1, 2):
            torch.manual_seed(seed)
            try:
                results.append(copy.deepcopy(program.function)(*program.args, **program.kwargs))
            except Exception:
                return True
    try:
        compare(*results)
    except Exception:
        return False
    return True


def programs(name: str, mode: str, count: int, directory: Path) -> list[Program]:
    return made(MODULES[name], mode)[:count]


MEASURE = Measure(
    package="tests.moduleinfo",
    variants=("eval", "train"),
    names=listed,
    calls=programs,
    samples=100,
    title="Modules in {variant}",
    intro="`python -m tests.moduleinfo --variant {variant}`: the modules of `torch.nn` that PyTorch tests (`module_db`), every "
    "constructor and input, forward in float32; results, and what running statistics hold behind the call. {passed} of {total} "
    "agree with eager.",
)
