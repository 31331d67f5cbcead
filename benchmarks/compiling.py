"""Time to compile against the size of the source: functions of 10, 100 and 1,000 statements, and loops of any length."""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_model, save

_SIZES = (10, 100, 1000)
# A block that is repeated: eight statements, ten lines.
_PIECE = """\
    h{i} = torch.tanh(x @ w + h{j})
    if n > {i}:
        h{i} = h{i} * 0.5
    g{i} = torch.sigmoid(h{i}) * x
    for k in range(n):
        g{i} = g{i} + h{i} * k
    total = total + g{i}.sum() * {i}
    counts.append(n + {i})
"""
_STATEMENTS = 8


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sizes", type=int, nargs="+", default=_SIZES, help="statements (default: 10 100 1000)")
    command.add_argument("--samples", type=int, default=3, help="compilations of each (default: 3)")
    command.add_argument("--json", type=Path, help="also write the numbers to this file")


def source(statements: int) -> str:
    """Return the source of a function of about `statements` statements."""
    pieces = [_PIECE.format(i=i, j=i - 1) for i in range(1, max(1, round(statements / _STATEMENTS)) + 1)]
    head = "import torch\n\n\ndef made(x, w, n: int):\n    h0 = x\n    total = x.sum()\n    counts = [n]\n"
    return head + "".join(pieces) + "    return total, counts\n"


def run(options: argparse.Namespace) -> None:
    import torch

    from scriptc.inspect.text_table import table

    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        _phases(_load(Path(directory), "warm", 2 * _STATEMENTS), (torch.ones(2, 2), torch.ones(2, 2), 3))
        for size in options.sizes:
            taken = []
            for sample in range(options.samples):
                function = _load(Path(directory), f"made_{size}_{sample}", size)
                taken.append(_phases(function, (torch.ones(2, 2), torch.ones(2, 2), 3)))
            rows[str(size)] = {k: statistics.median(t[k] for t in taken) for k in taken[0]}
    print(f"{cpu_model()}; milliseconds to compile one signature, the runtime already built; medians of {options.samples}\n")
    names = list(next(iter(rows.values())))
    cells = [(size, *(f"{row[n] * 1e3:,.0f}" for n in names)) for size, row in rows.items()]
    print(table(("statements", *names), cells, right=range(len(names) + 1)))
    save(options.json, rows)


def _load(directory: Path, name: str, statements: int) -> Any:
    path = directory / f"{name}.py"
    path.write_text(source(statements))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.made


def _phases(function: Any, args: tuple[Any, ...]) -> dict[str, float]:
    """Return the seconds of each phase. The build of another function builds the runtime's objects first."""
    from scriptc.backend_c.build import build_library
    from scriptc.backend_c.emit import emit_program
    from scriptc.driver.options import Options
    from scriptc.driver.pipeline import run_passes
    from scriptc.driver.target import target_of
    from scriptc.frontend.entry import read

    options = Options()
    target = target_of(function)
    start = time.perf_counter()
    entry = read(target.func, target.receiver, target.bind(args, {}))
    read_at = time.perf_counter()
    run_passes(entry.module, options)
    passes_at = time.perf_counter()
    program = emit_program(entry.module)
    emitted_at = time.perf_counter()
    build_library(
        program.source, entry.module.name, optimize=options.optimize, debug=False, kernels=program.kernels
    )
    built_at = time.perf_counter()
    return {
        "front end": read_at - start,
        "passes": passes_at - read_at,
        "C generation": emitted_at - passes_at,
        "C compiler": built_at - emitted_at,
        "together": built_at - start,
    }
