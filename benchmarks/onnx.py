"""ONNX: files that scriptc compiles beside ONNX Runtime, and the models of to_onnx beside those of torch.onnx.export."""

from __future__ import annotations

import argparse
import copy
import inspect
import logging
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, pin, save
from benchmarks.onnx_session import Unavailable, onnx_session
from scriptc.inspect.text_table import table

SCRIPTC, RUNTIME = "scriptc", "ONNX Runtime"
EXPORTERS = ("scriptc.to_onnx", "dynamo=True", "dynamo=False")
_LIMIT = 180  # seconds of one export


def add_options(command: argparse.ArgumentParser) -> None:
    parts = ("reading", "quantized", "writing", "all")
    command.add_argument("--part", choices=parts, default="all", help="which table (default: all)")
    command.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="models whose names have one of these texts")
    command.add_argument("--samples", type=int, default=15, help="samples that a median is taken of (default: 15)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # of exporters
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    with torch.no_grad():
        parts = (("reading", _reading, _READING), ("quantized", _quantized, _QUANTIZED), ("writing", _writing, _WRITING))
        for part, rows_of, header in parts:
            if options.part not in (part, "all"):
                continue
            rows: dict[str, list[str]] = {}
            for name, row in rows_of(options):
                rows[name] = row
                print(f"{name}: {', '.join(row)}", flush=True)
                found[part] = rows
                save(options.json, found)
            print(f"\n{cpu_model()}, one thread; medians of interleaved samples\n")
            print(table([*header], [[name, *row] for name, row in rows.items()], right=range(1, len(header))))


def _chosen(name: str, options: argparse.Namespace) -> bool:
    return not options.only or any(text in name for text in options.only)


# ---- reading ----

_READING = ("file", RUNTIME, SCRIPTC, f"{RUNTIME} / {SCRIPTC}", "nodes")


def _files() -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
    """Yield models, and arguments for them. Each becomes a file."""
    import torch
    from torch import nn

    from benchmarks.onnx_programs import Decoder, LoopLSTM
    from examples.zoo import NETS

    def sequence(make: Callable[[], nn.Module], *sizes: tuple[int, ...]) -> Callable[[], tuple[Any, Any]]:
        return lambda: (make().eval(), tuple(torch.randn(*size) for size in sizes))

    for steps, batch, size, hidden in ((10, 4, 16, 32), (100, 1, 64, 128), (100, 32, 256, 512)):
        sizes = f"{batch}, {size}, {hidden}, {steps}"
        shapes = (steps, batch, size), (batch, hidden), (batch, hidden)
        yield f"LSTM as a Loop, {sizes}", sequence(lambda s=size, h=hidden: LoopLSTM(s, h), *shapes)  # type: ignore[misc]
        for layer in (nn.LSTM, nn.GRU, nn.RNN):
            make = lambda k=layer, s=size, h=hidden: k(s, h)  # noqa: E731
            yield f"{layer.__name__}, {sizes}", sequence(make, shapes[0])

    def cached() -> tuple[Any, Any]:
        past = [torch.randn(1, 4, 64, 32) for _ in range(2)]
        return Decoder(1000, 128).eval(), (torch.randint(1000, (1, 1)), past, copy.deepcopy(past))

    yield "transformer of 2 layers, one token, cache of 64", cached
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    yield "transformer of 2 layers, 64 tokens", lambda: (nn.TransformerEncoder(layer, 2).eval(), (torch.randn(1, 64, 128),))
    for name, net in NETS.items():
        def full(net: Any = net) -> tuple[Any, Any]:
            model, x = net.full()
            return model.eval(), (x,)

        yield name, full


def _reading(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    import torch

    import scriptc
    from benchmarks.onnx_programs import differ

    ratios = []
    for name, make in _files():
        if not _chosen(name, options):
            continue
        torch.manual_seed(0)
        model, args = make()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            scriptc.to_onnx(model, *args, path=file)
            session = onnx_session(file, 1)
            back = scriptc.from_onnx(str(file), path=str(Path(folder) / "model.py"))
            compiled = scriptc.compile(back, freeze=True)
            flat = _flat(args, len(inspect.signature(back.forward).parameters))
            feeds = _feeds(session, flat)
            expected = model(*copy.deepcopy(args))
            for result in (compiled(*flat), session.run(None, feeds)):
                assert not (found := differ(result, expected)), f"{name}: {found}"
            calls = [Candidate(RUNTIME, lambda s=session, f=feeds: s.run(None, f)),  # type: ignore[misc]
                     Candidate(SCRIPTC, lambda c=compiled, a=flat: c(*a))]  # type: ignore[misc]
            times = medians(calls, samples=options.samples, timer=time.thread_time)
            ratios.append(times[RUNTIME] / times[SCRIPTC])
            yield name, [_milliseconds(times[RUNTIME]), _milliseconds(times[SCRIPTC]), f"{ratios[-1]:.2f}", str(_nodes(file))]
    if ratios:
        yield "geometric mean", ["", "", f"{_mean(ratios):.2f}", ""]


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


# ---- quantized ----

_QUANTIZED = ("model", RUNTIME, SCRIPTC, f"{RUNTIME} / {SCRIPTC}")


def _quantized(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    import onnx
    import torch

    import scriptc
    from benchmarks.onnx_quantized import models

    ratios = []
    for name, make in models():
        if not _chosen(name, options):
            continue
        model, x = make()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            onnx.save(model, file)
            session = onnx_session(file, 1)
            compiled = scriptc.compile(scriptc.from_onnx(file, path=Path(folder) / "model.py"), freeze=True)
            given, expected = torch.from_numpy(x), torch.from_numpy(session.run(None, {"x": x})[0])
            torch.testing.assert_close(compiled(given), expected, rtol=1e-6, atol=1 if expected.dtype == torch.uint8 else 0)
            calls = [Candidate(RUNTIME, lambda s=session, f=x: s.run(None, {"x": f})),  # type: ignore[misc]
                     Candidate(SCRIPTC, lambda c=compiled, a=given: c(a))]  # type: ignore[misc]
            times = medians(calls, samples=options.samples, timer=time.thread_time)
            ratios.append(times[RUNTIME] / times[SCRIPTC])
            yield name, [_milliseconds(times[RUNTIME]), _milliseconds(times[SCRIPTC]), f"{ratios[-1]:.2f}"]
    if ratios:
        yield "geometric mean", ["", "", f"{_mean(ratios):.2f}"]


# ---- writing ----

_WRITING = ("model", *(f"{name}: {what}" for name in EXPORTERS for what in ("right", "nodes", "ms")))


def _models() -> Iterator[Any]:
    from benchmarks.onnx_programs import PROGRAMS, WRITTEN, zoo

    yield from PROGRAMS
    yield from WRITTEN
    yield from zoo()


def _writing(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    from benchmarks.onnx_programs import made

    exporters = dict(zip(EXPORTERS, (_by_scriptc, _by_dynamo, _by_script), strict=True))
    for program in _models():
        if not _chosen(program.name, options):
            continue
        cells: dict[str, list[str]] = {}
        candidates = []
        with tempfile.TemporaryDirectory() as folder:
            for name, export in exporters.items():
                model, calls = made(program)
                file = Path(folder) / f"{len(cells)}.onnx"
                try:
                    with _quiet():
                        _in_time(lambda e=export, m=model, c=calls, f=file: e(m, copy.deepcopy(c[0]), f))  # type: ignore[misc]
                        session = onnx_session(file, 1)
                except Exception:  # an exporter, or the runtime that checks its model, may raise anything
                    cells[name] = ["refused", "-", "-"]
                    continue
                right = [_is_right(session, model, args) for args in calls]
                cells[name] = [f"{sum(right)} of {len(right)}", str(_nodes(file)), "-"]
                if right[0]:
                    feeds = _feeds(session, _flat(calls[0], len(session.get_inputs())))
                    candidates.append(Candidate(name, lambda s=session, f=feeds: s.run(None, f)))  # type: ignore[misc]
            if candidates:
                for name, seconds in medians(candidates, samples=options.samples, timer=time.thread_time).items():
                    cells[name][2] = _milliseconds(seconds)
        yield program.name, [cell for name in EXPORTERS for cell in cells[name]]


def _by_scriptc(model: Any, args: tuple[Any, ...], file: Path) -> None:
    import scriptc

    scriptc.to_onnx(model, *args, path=file)


def _by_dynamo(model: Any, args: tuple[Any, ...], file: Path) -> None:
    """Export with all sizes of all tensors dynamic, which torch.export makes constant where it must."""
    import torch
    from torch.export import Dim
    from torch.utils import _pytree as pytree

    def sizes(x: Any) -> Any:
        return {d: Dim.AUTO for d in range(x.dim())} if isinstance(x, torch.Tensor) else Dim.AUTO if type(x) is int else None

    shapes = tuple(pytree.tree_map(sizes, arg) for arg in args)
    torch.onnx.export(_module(model), args, str(file), dynamo=True, dynamic_shapes=shapes, verbose=False)


def _by_script(model: Any, args: tuple[Any, ...], file: Path) -> None:
    """Export the scripted model, which keeps loops; if it cannot be scripted or exported so, the traced one."""
    import torch

    module = _module(model)
    names = [f"input_{i}" for i in range(len(_flat(args, -1)))]
    axes = {name: {d: f"{name}_{d}" for d in range(x.dim())} for name, x in zip(names, _flat(args, -1), strict=True)
            if isinstance(x, torch.Tensor)}  # fmt: skip
    for make in (torch.jit.script, lambda m: m):
        try:
            torch.onnx.export(make(module), args, str(file), dynamo=False, input_names=names, dynamic_axes=axes)
            onnx_session(file, 1)
            return
        except Exception as e:
            error = e
    raise Unavailable(str(error))


def _module(model: Any) -> Any:
    import torch

    if isinstance(model, torch.nn.Module):
        return model

    class Called(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return model(*args)

    return Called()


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what is written to the standard streams, also by C++ code of exporters."""
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    try:
        for stream in (1, 2):
            os.dup2(nothing, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, own in zip((1, 2), kept, strict=True):
            os.dup2(own, stream)
            os.close(own)
        os.close(nothing)


def _in_time(call: Callable[[], None]) -> None:
    from benchmarks.rivals import time_limit

    with time_limit(_LIMIT):
        call()


def _is_right(session: Any, model: Any, args: tuple[Any, ...]) -> bool:
    from benchmarks.onnx_programs import differ

    try:
        got = session.run(None, _feeds(session, _flat(args, len(session.get_inputs()))))
    except Exception:  # the model has one size
        return False
    return not differ(got, model(*copy.deepcopy(args)))


# ---- both ----


def _flat(args: tuple[Any, ...], count: int) -> list[Any]:
    """Return the parts of arguments, of lists only if a model does not take them as they are. count: its inputs."""
    flat = [part for arg in args for part in (arg if isinstance(arg, tuple) or (isinstance(arg, list) and count != len(args))
                                              else [arg])]  # fmt: skip
    return flat


def _feeds(session: Any, flat: list[Any]) -> dict[str, Any]:
    """Return the inputs of a session. Numbers that became constants are left out."""
    import numpy
    import torch

    def fed(x: Any) -> Any:
        return [fed(i) for i in x] if isinstance(x, list) else x.numpy() if isinstance(x, torch.Tensor) else numpy.array(x)

    inputs = [i.name for i in session.get_inputs()]
    if len(inputs) < len(flat):
        flat = [x for x in flat if not isinstance(x, (int, float))]
    return dict(zip(inputs, map(fed, flat), strict=True))


def _nodes(file: Path) -> int:
    from onnx import load

    from scriptc.onnx.writing.tidying import nodes_of

    model = load(os.fspath(file), load_external_data=False)
    return sum(1 for _ in nodes_of(model.graph)) + sum(len(function.node) for function in model.functions)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}" if seconds < 0.01 else f"{seconds * 1e3:.1f}"
