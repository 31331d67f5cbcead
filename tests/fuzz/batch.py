"""Runs generated programs, many in one library: what each does in Python and compiled."""

from __future__ import annotations

import copy
import importlib.util
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

import scriptc
from scriptc.backend_c.build import build_library
from scriptc.backend_c.emit import emit_program
from scriptc.dispatch import Dispatcher, Variant
from scriptc.ir.core import Module
from scriptc.options import Options
from scriptc.pipeline import Translated, translate
from tests.fuzz.generator import Generator
from tests.three_ways import Args, assert_same, compiled, eager

PER_LIBRARY = 40


@dataclass
class Finding:
    """A program whose compiled form does something else, or that the compiler refuses or breaks on."""

    seed: int
    kind: str  # differs, internal, refused
    message: str
    source: str


@dataclass
class Tally:
    """Of one run. `refused`: programs that scriptc says it cannot compile, by reason."""

    programs: int = 0
    calls: int = 0
    raised: int = 0
    overflows: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def arguments(seed: int) -> list[Args]:
    """Calls that take different branches: sizes from 0, signs, both flags."""
    rng = random.Random(seed * 7 + 1)
    made = []
    least = int(rng.random() < 0.9)  # an empty list is another signature, which costs a build of its own
    for _ in range(4):
        vector = lambda: torch.randint(-4, 5, (rng.randint(0, 4),)).double()  # noqa: E731
        matrix = torch.randint(-3, 4, (rng.randint(0, 3), rng.randint(1, 3))).double()
        ints = [rng.randint(-5, 9) for _ in range(rng.randint(least, 4))]
        given = (rng.randint(-2, 5), rng.randint(-9, 9), rng.randint(-6, 6) / 2, rng.random() < 0.5)
        made.append(Args((*given, vector(), matrix, ints, [vector() for _ in range(rng.randint(least, 3))])))
    ints, vectors = made[0].args[6], made[0].args[7]  # the first call decides the signature: no list of it is empty
    if not ints:
        ints.append(1)
    if not vectors:
        vectors.append(torch.ones(2).double())
    return made


def programs(seeds: Iterable[int], directory: Path) -> dict[int, tuple[Any, str]]:
    """Functions by seed, in one file: the front end reads their source from there."""
    texts = {seed: Generator(seed, f"f{seed}").text() for seed in seeds}
    name = f"fuzz_{next(iter(texts))}"
    path = directory / f"{name}.py"
    path.write_text("import torch\n\n\n" + "\n\n".join(texts.values()))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return {seed: (getattr(module, f"f{seed}"), text) for seed, text in texts.items()}


def run(seeds: list[int], directory: Path, optimize: int, tally: Tally) -> None:
    """Compiles the programs of the seeds into one library and adds what they do to the tally."""
    made = programs(seeds, directory)
    read: dict[int, tuple[Dispatcher, Translated]] = {}
    for seed, (function, text) in made.items():
        tally.programs += 1
        torch.manual_seed(seed)
        dispatcher = Dispatcher(function, Options(optimize=optimize))
        try:
            given = copy.deepcopy(arguments(seed)[0])
            read[seed] = (
                dispatcher,
                translate(dispatcher.target, dispatcher.target.bind(given.args, {}), dispatcher.options),
            )
        except scriptc.CompileError as e:
            tally.refused[e.diagnostics[0].message] += 1
        except Exception as e:
            tally.findings.append(Finding(seed, "internal", f"{type(e).__name__}: {e}", text))
    whole = Module("fuzz")
    for _, translated in read.values():
        whole.funcs |= translated.entry.module.funcs
        whole.entries += translated.entry.module.entries
    if not read:
        return
    library = build_library(emit_program(whole).source, "fuzz", optimize=optimize, debug=False)
    for seed, (dispatcher, translated) in read.items():
        entry = whole.entries.index(translated.entry.module.entries[0])
        dispatcher.callable.add_variant(replace(dispatcher.spec(Variant(translated, library)), entry=entry))
        try:
            calls(seed, made[seed][0], dispatcher.call, tally)
        except scriptc.CompileError as e:  # of another signature: an empty list
            tally.refused[e.diagnostics[0].message] += 1
        except Exception as e:
            tally.findings.append(Finding(seed, "differs", f"{type(e).__name__}: {e}", made[seed][1]))


def calls(seed: int, function: Any, target: Any, tally: Tally) -> None:
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in arguments(seed):
            expected, actual = eager(function, given), compiled(target, given)
            tally.calls += 1
            tally.raised += expected.error is not None
            if isinstance(actual.error, OverflowError) and not isinstance(expected.error, OverflowError):
                tally.overflows += 1  # ints are of 64 bits here
                continue
            assert_same(expected, actual)
