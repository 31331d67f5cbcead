"""nn.LSTM beside other systems, and beside C that a person wrote: one row per size."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks.harness import cpu_model, save

ROWS = range(3)


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sizes", type=int, nargs="+", choices=ROWS, default=ROWS, help="rows of the table")
    from benchmarks import comparing

    comparing.add_options(command)


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing
    from benchmarks.models import LAYERS

    comparing.one_thread()
    import torch

    with torch.no_grad():
        rows = {str(LAYERS[index]): _measure(LAYERS[index], options) for index in options.sizes}
    print(f"{cpu_model()}, one thread; microseconds per sequence, medians of interleaved samples\n")
    names = [comparing.EAGER, comparing.COMPILED, comparing.JAX, comparing.ONNX, comparing.SCRIPTC, comparing.FROZEN,
             comparing.INSIDE, comparing.INSIDE_FROZEN, comparing.BY_HAND]  # fmt: skip
    ratios = [(comparing.EAGER, comparing.SCRIPTC), (comparing.INSIDE, comparing.BY_HAND),
              (comparing.INSIDE_FROZEN, comparing.BY_HAND)]  # fmt: skip
    print(comparing.show(rows, names, ratios))
    save(options.json, rows)


def _measure(size: Any, options: argparse.Namespace) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks import comparing, rivals
    from benchmarks.floors import fastest, floor

    torch.manual_seed(0)
    model = torch.nn.LSTM(size.input, size.hidden).eval()
    inputs = torch.randn(size.steps, size.batch, size.input)
    compiled: Any = scriptc.compile(model)
    frozen: Any = scriptc.compile(model, freeze=True)

    def states(x: Any) -> Any:
        return model(x)[0]

    makers: dict[str, Callable[[], rivals.Call]] = {
        comparing.EAGER: lambda: lambda: states(inputs),
        comparing.JAX: lambda: rivals.jax_lstm(model, inputs),
        comparing.ONNX: lambda: rivals.onnx_lstm(model, inputs),
        comparing.SCRIPTC: lambda: lambda: compiled(inputs)[0],
        comparing.FROZEN: lambda: lambda: frozen(inputs)[0],
    }
    if not options.no_compile:
        makers[comparing.COMPILED] = lambda: rivals.torch_compile(
            lambda x: model(x)[0], inputs, timeout=options.compile_timeout
        )
    row = comparing.candidates(makers, states(inputs), str(size))
    row += comparing.inside(compiled, frozen, inputs)
    with floor("lstm", size.macros, list(model.parameters()), inputs, states(inputs)) as plans:
        times = comparing.timed([*row, *plans], options.samples)
    by_hand = fastest(times)
    return {**times, comparing.BY_HAND: by_hand}
