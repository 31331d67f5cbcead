"""The nets of examples/zoo: eager, torch.compile, ONNX Runtime and OpenVINO beside scriptc with frozen weights."""

from __future__ import annotations

import argparse
import io
import logging
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import net_memory, without_avx512
from benchmarks.harness import Candidate, cpu_model, medians, pin, save
from benchmarks.onnx_session import Unavailable
from scriptc.inspect.text_table import table

EAGER, COMPILE, ONNX, OPENVINO, SCRIPTC = "eager", "torch.compile", "ONNX Runtime", "OpenVINO", "scriptc"
RIVALS = (EAGER, COMPILE, ONNX, OPENVINO)
FIRST, ERROR = "first call", "difference"


def add_options(command: argparse.ArgumentParser) -> None:
    from examples.zoo import NETS

    command.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS), metavar="NAME",
                         help=f"rows of the table (default: all; {', '.join(NETS)})")  # fmt: skip
    command.add_argument("--memory", action="store_true", help="compare the memory of one thread with that of ONNX Runtime")
    command.add_argument("--rivals", nargs="*", default=RIVALS, choices=RIVALS, metavar="NAME",
                         help=f"columns of the table (default: {', '.join(RIVALS)})")  # fmt: skip
    command.add_argument("--samples", type=int, default=15, help="samples that a median is taken of (default: 15)")
    command.add_argument("--level", choices=["avx2"], help="keep all systems from AVX-512, and check that they do without it")
    command.add_argument("--cpu-time", action="store_true", help="measure CPU time, on machines that do other work too")
    command.add_argument("--threads", type=int, default=1, help="threads of each system (default: 1, on a pinned core)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    if options.memory:
        net_memory.run(options.nets, options.json)
        return
    if options.level and not without_avx512.is_possible():
        sys.exit("--level needs a processor with AVX-512, which it hides; others are at that level at most")
    if options.level and not without_avx512.is_active():
        sys.exit(without_avx512.run_again())
    if options.threads == 1:
        pin()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import torch

    from benchmarks.rivals import net_in_onnx_runtime, net_in_openvino, torch_compile
    from examples.zoo import NETS
    from examples.zoo.ahead import difference

    torch.set_num_threads(options.threads)
    logging.disable(logging.WARNING)  # of exporters
    warnings.simplefilter("ignore")
    makers: dict[str, Callable[..., Any]] = {
        EAGER: lambda net, *args: partial(net, *args),
        COMPILE: partial(torch_compile, timeout=300),
        ONNX: partial(net_in_onnx_runtime, threads=options.threads),
        OPENVINO: partial(net_in_openvino, threads=options.threads),
    }
    timer = time.process_time if options.cpu_time else time.perf_counter
    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad(), without_avx512.checker() if options.level else nullcontext() as uses_avx512:
        for name in options.nets:
            first, compiled, net, args = _first_call(NETS[name].small, NETS[name].full)
            expected = net(*args)
            rows[name] = {FIRST: first, ERROR: difference(compiled(*args), expected)}
            candidates = [Candidate(SCRIPTC, partial(compiled, *args))]
            for rival in options.rivals:
                try:
                    with redirect_stdout(io.StringIO()):
                        call = makers[rival](net, *args)
                    assert difference(torch.as_tensor(call()), expected) < 1e-3, f"{rival} computes something else"
                    candidates.append(Candidate(rival, call))
                except Unavailable as error:
                    print(f"{name}: {rival}: {error}")
            for candidate in candidates if uses_avx512 else ():
                assert not uses_avx512(candidate.call), f"{name}: {candidate.name} uses AVX-512"
            rows[name] |= medians(candidates, samples=options.samples, timer=timer)
            print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in rows[name].items()), flush=True)
            save(options.json, rows)
    level = ", no AVX-512" if options.level else ""
    print(f"\n{cpu_model()}{level}, {options.threads} threads; ms per call, medians of interleaved samples\n")
    print(_table(rows, options.rivals))
    ratios = [_best(times) / times[SCRIPTC] for times in rows.values() if _best(times)]
    if ratios:
        print(f"\ngeometric mean of best / scriptc: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


def _first_call(small: Callable[[], Any], full: Callable[[], Any]) -> tuple[float, Any, Any, Any]:
    """Return the seconds of a net's first call in an empty cache, in which a small net like it has built the runtime."""
    import scriptc

    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("SCRIPTC_CACHE_DIR")
        os.environ["SCRIPTC_CACHE_DIR"] = folder
        try:
            net, *args = small()
            scriptc.compile(net, freeze=True)(*args)
            net, *args = full()
            compiled = scriptc.compile(net, freeze=True)
            start = time.perf_counter()
            compiled(*args)
            return time.perf_counter() - start, compiled, net, args
        finally:
            del os.environ["SCRIPTC_CACHE_DIR"]
            if before is not None:
                os.environ["SCRIPTC_CACHE_DIR"] = before


def _best(times: dict[str, float]) -> float:
    return min((times[rival] for rival in RIVALS if rival in times), default=0.0)


def _table(rows: dict[str, dict[str, float]], rivals: list[str]) -> str:
    header = ["net", *rivals, SCRIPTC, "best / scriptc", "first call, s", "largest difference"]
    cells = [
        [
            name,
            *(f"{times[rival] * 1e3:.1f}" if rival in times else "-" for rival in (*rivals, SCRIPTC)),
            f"{_best(times) / times[SCRIPTC]:.2f}" if _best(times) else "-",
            f"{times[FIRST]:.1f}",
            f"{times[ERROR]:.0e}",
        ]
        for name, times in rows.items()
    ]
    return table(header, cells, right=range(1, len(header)))
