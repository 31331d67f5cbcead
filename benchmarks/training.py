"""Forward and backward of recurrent cells, and of torch's own layers, whole steps, and the memory that they take.

Rivals are eager, torch.jit.script, torch.compile, and JAX. JAX compiles for the one length, and so does torch.compile.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, save
from scriptc.inspect.text_table import table

EAGER, JIT, COMPILED, JAX, SCRIPTC, FORWARD = "eager", "jit", "torch.compile", "JAX scan", "scriptc", "scriptc forward"
ONE_CALL = "scriptc, one call"  # a compiled function that asks autograd for the gradients, as JAX's value_and_grad is one
EAGER_STEP, SCRIPTC_STEP = "eager step", "scriptc step"  # with an update by SGD; scriptc compiles all of it
CELLS = ("LSTM", "GRU", "layer-norm LSTM", "SRU", "minGRU", "IndRNN", "Elman")
TOLERANCE = 0.02  # of the largest gradient: after 100 steps, eager's own of the layer-norm LSTM are 0.003 off
LAYERS = ("nn.LSTM", "nn.GRU")


def add_options(command: argparse.ArgumentParser) -> None:
    names = (*CELLS, *LAYERS)
    command.add_argument("--cells", nargs="+", choices=names, default=list(names), metavar="CELL", help=", ".join(names))
    command.add_argument("--batch", type=int, nargs="+", default=[1, 16, 32])
    command.add_argument("--hidden", type=int, nargs="+", default=[64, 128, 256, 512])
    command.add_argument("--steps", type=int, default=100)
    command.add_argument("--samples", type=int, default=15, help="samples that a median is taken of (default: 15)")
    command.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes long")
    command.add_argument("--no-jax", action="store_true", help="without JAX, which takes long")
    command.add_argument("--compile-timeout", type=float, default=300, metavar="S", help="for each row (default: 300)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing

    comparing.one_thread()
    sizes = [(name, batch, hidden) for name in options.cells for hidden in options.hidden for batch in options.batch]
    memory = {_row(*size): _peaks(*size, options.steps) for size in sizes}  # in children, before JAX starts threads
    rows = {_row(*size): _measure(*size, options) for size in sizes}
    names = [EAGER, JIT, COMPILED, JAX, SCRIPTC, ONE_CALL, FORWARD, EAGER_STEP, SCRIPTC_STEP]
    rivals = [(rival, SCRIPTC) for rival in (EAGER, JIT, COMPILED, JAX)]
    pairs = [*rivals, (JAX, ONE_CALL), (SCRIPTC, FORWARD), (EAGER_STEP, SCRIPTC_STEP)]
    print(f"{cpu_model()}, one thread; {options.steps} steps; microseconds, medians of interleaved samples\n")
    print(comparing.show(rows, names, pairs))
    for rival, own in (*rivals, (JAX, ONE_CALL)):
        if speedups := [times[rival] / times[own] for times in rows.values() if rival in times]:
            mean = math.prod(speedups) ** (1 / len(speedups))
            print(f"\n{rival} / {own}, geometric mean of {len(speedups)} rows: {mean:.1f}")
    print("\npeak of resident memory over one forward and backward, in MB above what was resident before\n")
    cells = [[row, f"{peaks[EAGER] / 1024:.1f}", f"{peaks[SCRIPTC] / 1024:.1f}"] for row, peaks in memory.items()]
    print(table(["", EAGER, SCRIPTC], cells, right=(1, 2)))
    save(options.json, {row: {"seconds": times, "peak KiB": memory[row]} for row, times in rows.items()})


def _row(name: str, batch: int, hidden: int) -> str:
    return f"{name}, {hidden} units, batch {batch}"


def _model(name: str, batch: int, hidden: int, steps: int) -> tuple[Any, Any]:
    """Return a model and a sequence for it, which needs no gradient; the Elman net takes a list."""
    import torch

    from benchmarks.models import CASES, Size, cell, elman

    if name in LAYERS:
        torch.manual_seed(0)
        return getattr(torch.nn, name.removeprefix("nn."))(hidden // 2, hidden), torch.randn(steps, batch, hidden // 2)
    size = Size(batch, hidden // 2, hidden, steps)
    if name == "Elman":
        net, sequence = elman(size)
        return net.train(), sequence
    model, inputs, _ = cell(CASES[name], size)
    return model.train(), inputs[0]


def _output(target: Callable[..., Any], xs: Any) -> Any:
    result = target(xs)
    return result[0] if isinstance(result, tuple) else result


def _cotangent(model: Any, xs: Any) -> Any:
    """Return the gradient of the output from which backward starts, so that no time goes into a loss."""
    import torch

    with torch.no_grad():
        return torch.randn_like(_output(model, xs))


def _gradients(target: Callable[..., Any], xs: Any, cotangent: Any, parameters: Any) -> Callable[[], Any]:
    """Return a call that computes the gradients of a model's weights."""
    import torch

    return lambda: torch.autograd.grad(_output(target, xs), parameters, cotangent)


def _gradients_in_one(model: Any, xs: Any, cotangent: Any, parameters: Any) -> Callable[[], Any]:
    """Return a compiled call that computes the gradients of a model's weights."""
    import torch

    import scriptc

    @scriptc.compile
    def gradients(xs: Any, cotangent: Any) -> Any:
        return torch.autograd.grad((_output(model, xs) * cotangent).sum(), parameters)

    return lambda: gradients(xs, cotangent)


def _step(model: Any, xs: Any, cotangent: Any) -> Callable[[], Any]:
    """Return a call that trains a copy of a model by one step."""
    import copy

    import torch

    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step() -> Any:
        optimizer.zero_grad()
        result = model(xs)
        result = result[0] if isinstance(result, tuple) else result
        loss = (result * cotangent).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _peaks(name: str, batch: int, hidden: int, steps: int) -> dict[str, int]:
    """Return the KiB that one forward and backward takes, each measured in a process of its own."""
    context = multiprocessing.get_context("fork")
    found = {}
    for key in (EAGER, SCRIPTC):
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_send_peak, args=(send, key, name, batch, hidden, steps))
        child.start()
        send.close()
        found[key] = receive.recv()
        child.join()
    return found


def _send_peak(pipe: Any, key: str, name: str, batch: int, hidden: int, steps: int) -> None:
    import scriptc
    from benchmarks.memory import peak

    model, xs = _model(name, batch, hidden, steps)
    target: Any = scriptc.compile(model) if key == SCRIPTC else model
    parameters, cotangent = list(model.parameters()), _cotangent(model, xs)
    short = _output(target, xs[:2]).detach()
    _gradients(target, xs[:2], short, parameters)()  # loads what is loaded once
    pipe.send(peak(_gradients(target, xs, cotangent, parameters)))


def _measure(name: str, batch: int, hidden: int, options: argparse.Namespace) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks import comparing, rivals

    model, xs = _model(name, batch, hidden, options.steps)
    parameters, cotangent = list(model.parameters()), _cotangent(model, xs)

    def gradients(target: Callable[..., Any]) -> Callable[[], Any]:
        return _gradients(target, xs, cotangent, parameters)

    compiled: Any = scriptc.compile(model)
    makers: dict[str, Callable[[], rivals.Call]] = {
        EAGER: lambda: gradients(model),
        SCRIPTC: lambda: gradients(compiled),
        ONE_CALL: lambda: _gradients_in_one(model, xs, cotangent, parameters),
    }
    if name not in LAYERS:
        makers[JIT] = lambda: gradients(torch.jit.script(model))
    if not options.no_jax:
        makers[JAX] = lambda: rivals.jax_gradients(name, model, xs, cotangent)
    if not options.no_compile:
        makers[COMPILED] = lambda: rivals.call_of_torch_compile(model, gradients, timeout=options.compile_timeout)
    row = comparing.candidates(makers, gradients(model)(), name, TOLERANCE)

    def forward() -> None:
        with torch.no_grad():
            compiled(xs)

    steps = [
        Candidate(EAGER_STEP, _step(model, xs, cotangent)),
        Candidate(SCRIPTC_STEP, scriptc.compile(_step(model, xs, cotangent))),
    ]
    return comparing.timed([*row, Candidate(FORWARD, forward), *steps], options.samples)
