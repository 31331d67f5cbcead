"""Rows that take or give what only other rows make, or that have no value: a function each, in `rows-*.test` files.

Under [args] each line holds the arguments of one call in Python, `t` being `torch.tensor`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from data_suite import Case, parse_cases

from scriptc.ir.core import Module
from scriptc.ir.interp import Interpreter
from scriptc.ir.parser import parse_module

DATA = Path(__file__).parent / "data"
NAMES = {"t": torch.tensor, "torch": torch, "inf": float("inf"), "nan": float("nan")}


def row_module_cases() -> Iterator[Case]:
    for path in sorted(DATA.glob("rows-*.test")):
        yield from parse_cases(path)


def calls_of(case: Case) -> list[tuple[Any, ...]]:
    """Return the arguments of each call, made anew."""
    given = [eval(line, dict(NAMES)) for line in case.section("args")]
    return [call if isinstance(call, tuple) else (call,) for call in given]


def params_of(module: Module) -> dict[str, torch.Tensor]:
    shapes = {name: [d for d in p.type.dims or () if isinstance(d, int)] for name, p in module.params.items()}
    return {name: torch.arange(float(torch.Size(shape).numel())).reshape(shape) / 8 for name, shape in shapes.items()}


def merged(cases: list[Case]) -> Module:
    """Return one module with the functions of all cases, each named for its case."""
    whole = Module("row_modules")
    for case in cases:
        module = parse_module(f'module "m" entries()\n{case.text}')
        for op in module.walk():
            if "func" in op.attrs:
                op.attrs["func"] = case.name
        (func,) = module.funcs.values()
        func.name = case.name
        whole.funcs[case.name] = func
        whole.entries.append(case.name)
        for table in ("params", "records", "exceptions"):
            held, added = getattr(whole, table), getattr(module, table)
            assert not held.keys() & added.keys(), f"{case.name}: names are not unique among all cases"
            held.update(added)
    return whole


def interpreted(module: Module, name: str, call: tuple[Any, ...]) -> list[Any]:
    """Return what a call gives: its results or its error, and what it printed, warned of and set outside."""
    torch.manual_seed(0)
    random.seed(0)
    interpreter, printed = Interpreter(module, params_of(module)), StringIO()
    results: Any
    with redirect_stdout(printed):
        try:
            results = interpreter.run(name, *call)
        except Exception as error:
            results = f"{type(error).__name__}: {error}"
    state = {target: (form, values[0]) for target, form, values in interpreter.state}
    return [results, printed.getvalue(), interpreter.warnings, state]


def described(outcome: list[Any]) -> str:
    """Return an outcome in one line; what is empty is left out."""
    results, *others = outcome
    shown = results if isinstance(results, str) else repr(results)
    parts = [f"{word} {held!r}" for word, held in zip(("prints", "warns", "sets"), others, strict=True) if held]
    return ", ".join([" ".join(shown.split()), *parts])
