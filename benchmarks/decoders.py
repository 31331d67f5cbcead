"""Decoders as users write them: eager, torch.jit, torch.compile, scriptc, and C that a person wrote for one size."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from benchmarks.harness import cpu_model, save

WITH_DICT = "by hand, dict"


def add_options(command: argparse.ArgumentParser) -> None:
    from benchmarks import comparing
    from benchmarks.decoder_models import CASES

    command.add_argument(
        "--decoders", nargs="+", choices=CASES, default=list(CASES), metavar="NAME", help=", ".join(CASES)
    )
    command.add_argument("--tiny", action="store_true", help="tiny sizes, to test this benchmark")
    comparing.add_options(command)


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing

    comparing.one_thread()
    import torch

    logging.disable(logging.WARNING)  # of torch.compile, about breaks of graphs
    with torch.no_grad():
        rows = {name: _measure(name, options) for name in options.decoders}
    print(f"{cpu_model()}, one thread; microseconds per call, medians of interleaved samples\n")
    names = [comparing.EAGER, comparing.JIT, comparing.COMPILED, comparing.FROZEN, comparing.INSIDE_FROZEN,
             comparing.BY_HAND, WITH_DICT]  # fmt: skip
    ratios = [
        (comparing.EAGER, comparing.FROZEN),
        (comparing.JIT, comparing.FROZEN),
        (comparing.INSIDE_FROZEN, comparing.BY_HAND),
        (comparing.INSIDE_FROZEN, WITH_DICT),
    ]
    print(comparing.show(rows, names, ratios))
    save(options.json, rows)


def _measure(case_name: str, options: argparse.Namespace) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks import comparing, rivals
    from benchmarks.decoder_models import CASES
    from benchmarks.floors import floor

    case = CASES[case_name]
    model, inputs, sizes = case.build(tiny=options.tiny)
    frozen: Any = scriptc.compile(model, freeze=True)
    expected = model(*inputs)
    makers: dict[str, Callable[[], rivals.Call]] = {
        comparing.EAGER: lambda: lambda: model(*inputs),
        comparing.JIT: lambda: rivals.frozen_script(model, *inputs),
        comparing.FROZEN: lambda: lambda: frozen(*inputs),
    }
    if not options.no_compile:
        makers[comparing.COMPILED] = lambda: rivals.torch_compile(model, *inputs, timeout=options.compile_timeout)
    row = comparing.candidates(makers, expected, case_name)
    row.append(comparing.entered(comparing.INSIDE_FROZEN, frozen, *inputs))
    numbers = torch.tensor(_numbers(expected))
    macros = {**sizes, "RESULTS": len(numbers)}
    x = torch.as_tensor(inputs[0]).float()
    programs = {comparing.BY_HAND: case.floor, WITH_DICT: case.dict_floor}
    with ExitStack() as opened:
        for name, program in programs.items():
            if program is not None:
                made = floor(program, macros, list(model.parameters()), x, numbers, plans=1, tolerance=1e-4)
                row += [replace(plan, name=name) for plan in opened.enter_context(made)]
        return comparing.timed(row, options.samples, rounds=min(5, options.samples))


def _numbers(result: Any) -> list[float]:
    """Return the elements of a result in order, as programs by hand write them."""
    import torch

    if isinstance(result, torch.Tensor):
        return [float(element) for element in result.flatten()]
    if isinstance(result, (list, tuple)):
        return [number for each in result for number in _numbers(each)]
    return [float(result)]
