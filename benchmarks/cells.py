"""Recurrent cells as users write them: eager, torch.jit.script, scriptc, and C that a person wrote for one size."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_model, save

HIDDEN, STEPS = (16, 32, 64, 128, 256), (10, 30, 100, 300)  # of the plots


def add_options(command: argparse.ArgumentParser) -> None:
    from benchmarks import comparing
    from benchmarks.models import CASES

    command.add_argument(
        "--cells", nargs="+", choices=CASES, default=list(CASES), metavar="CELL", help=", ".join(CASES)
    )
    command.add_argument("--batch", type=int, default=1)
    command.add_argument("--hidden", type=int, default=128, help="features of the state; the input has half as many")
    command.add_argument("--steps", type=int, default=100)
    command.add_argument(
        "--plot", type=Path, metavar="DIR", help="draw the LSTM's time against steps and hidden size there"
    )
    comparing.add_options(command)


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing
    from benchmarks.models import CASES, Size

    comparing.one_thread()
    import torch

    size = Size(options.batch, options.hidden // 2, options.hidden, options.steps)
    with torch.no_grad():
        if options.plot:
            _plot(size, options)
            return
        rows = {name: _measure(CASES[name], size, options) for name in options.cells}
    print(f"{cpu_model()}, one thread; {size}; microseconds per sequence, medians of interleaved samples\n")
    names = [comparing.EAGER, comparing.JIT, comparing.SCRIPTC, comparing.FROZEN, comparing.INSIDE,
             comparing.INSIDE_FROZEN, comparing.BY_HAND]  # fmt: skip
    ratios = [
        (comparing.EAGER, comparing.SCRIPTC),
        (comparing.JIT, comparing.SCRIPTC),
        (comparing.INSIDE, comparing.BY_HAND),
        (comparing.INSIDE_FROZEN, comparing.BY_HAND),
    ]
    print(comparing.show(rows, names, ratios))
    speedups = [times[comparing.EAGER] / times[comparing.SCRIPTC] for times in rows.values()]
    print(f"\neager / scriptc, geometric mean: {math.prod(speedups) ** (1 / len(speedups)):.1f}")
    save(options.json, rows)


def _measure(case: Any, size: Any, options: argparse.Namespace, *, everything: bool = False) -> dict[str, float]:
    import scriptc
    from benchmarks import comparing, rivals
    from benchmarks.floors import fastest, floor
    from benchmarks.models import cell

    model, inputs, size = cell(case, size)
    compiled: Any = scriptc.compile(model)
    frozen: Any = scriptc.compile(model, freeze=True)
    expected = model(*inputs)
    makers: dict[str, Callable[[], rivals.Call]] = {
        comparing.EAGER: lambda: lambda: model(*inputs),
        comparing.JIT: lambda: rivals.frozen_script(model, *inputs),
        comparing.SCRIPTC: lambda: lambda: compiled(*inputs),
        comparing.FROZEN: lambda: lambda: frozen(*inputs),
    }
    if everything:
        layer = _layer(model, size)
        makers["nn.LSTM"] = lambda: lambda: layer(inputs[0])[0]
        makers[comparing.JAX] = lambda: rivals.jax_lstm(layer, inputs[0])
        makers[comparing.ONNX] = lambda: rivals.onnx_lstm(layer, inputs[0])
    if everything and not options.no_compile:
        makers[comparing.COMPILED] = lambda: rivals.torch_compile(model, *inputs, timeout=options.compile_timeout)
    row = comparing.candidates(makers, expected, f"{case.model}, {size}")
    row += comparing.inside(compiled, frozen, *inputs)
    if case.floor is None:
        return comparing.timed(row, options.samples)
    with floor(case.floor, size.macros, _weights(model), inputs[0], expected) as plans:
        times = comparing.timed([*row, *plans], options.samples)
    by_hand = fastest(times)
    return {**times, comparing.BY_HAND: by_hand}


def _layer(model: Any, size: Any) -> Any:
    """Return the nn.LSTM that computes the same as a cell, for systems that support only the layer."""
    import torch

    layer = torch.nn.LSTM(size.input, size.hidden).eval()
    products = (model.x_to_gates, model.h_to_gates)
    layer.load_state_dict(
        {f"{kind}_{name}_l0": getattr(product, kind).detach()
         for product, name in zip(products, ("ih", "hh"), strict=True) for kind in ("weight", "bias")}
    )  # fmt: skip
    return layer


def _weights(model: Any) -> list[Any]:
    """Return the weights in the order that programs by hand expect: that of the constructor, except that weights of
    products come before biases if two products have one layout.
    """
    named = dict(model.named_parameters())
    order = ["x_to_gates.weight", "h_to_gates.weight", "x_to_gates.bias", "h_to_gates.bias"]
    first = [named.pop(name) for name in order if name in named]
    if "recurrent" in named:  # parameters of a module come before those of its parts
        named["recurrent"] = named.pop("recurrent")
    if "project.weight" in named:
        first.append(named.pop("project.weight"))
    return [*first, *named.values()]


def _plot(size: Any, options: argparse.Namespace) -> None:
    from benchmarks.models import CASES
    from benchmarks.plots import draw

    def against(sizes: Sequence[Any]) -> dict[str, list[float]]:
        rows = [_measure(CASES["LSTM"], s, options, everything=True) for s in sizes]
        return {name: [times.get(name, math.nan) for times in rows] for name in rows[0]}

    steps = against([replace(size, steps=n) for n in STEPS])
    draw(
        options.plot / "lstm_steps.png",
        f"LSTM cell, batch {size.batch}, {size.input} to {size.hidden}",
        "steps",
        STEPS,
        steps,
    )
    hidden = against([replace(size, input=max(1, n // 2), hidden=n) for n in HIDDEN])
    draw(
        options.plot / "lstm_hidden.png",
        f"LSTM cell, batch {size.batch}, {size.steps} steps",
        "hidden size",
        HIDDEN,
        hidden,
    )
    save(
        options.json,
        {"steps": dict(zip(STEPS, zip(*steps.values(), strict=True), strict=True)), "columns": list(steps)},
    )
