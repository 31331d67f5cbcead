"""torch.compile with the backend scriptc: equal to eager, graph breaks, and times beside eager and inductor.

Each model runs in a process of its own. A training step is forward in training mode, a loss and backward.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import math
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, pin, save
from benchmarks.onnx_session import Unavailable
from scriptc.inspect.text_table import table

EAGER, INDUCTOR, SCRIPTC = "eager", "inductor", "scriptc"
WHOLE = "whole"  # scriptc.compile of the model, without dynamo
KINDS = ("forward", "step")
TOLERANCE = 1e-3  # of the norm of the difference, as a part of the norm of a tensor
SHARE = 1e-4  # a tensor counts as at least this part of the largest one: some gradients are zero but for rounding
_MOST = 600  # seconds of one model


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="models whose names have one of these texts")
    command.add_argument("--no-inductor", action="store_true", help="without inductor, which takes long")
    command.add_argument("--whole", action="store_true", help="also measure scriptc.compile of the model, without dynamo")
    command.add_argument("--inductor-timeout", type=float, default=120, help="seconds for one compilation (default: 120)")
    command.add_argument("--dynamic", action="store_true", help="let dynamo trace sizes as variables")
    command.add_argument("--optimize", type=int, default=3, help="the opt level of scriptc (default: 3)")
    command.add_argument("--samples", type=int, default=7,
                         help="samples that a median is taken of (default: 7); 0: compare alone")  # fmt: skip
    command.add_argument("--cache", type=Path, help="the disk cache of scriptc (default: a new one, with the runtime alone)")
    command.add_argument("--json", type=Path, metavar="FILE", help="save the numbers, and keep those of rows in the file")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch
    import torch._dynamo

    from benchmarks.dynamo_models import makers
    from scriptc.backend_c.build import build_runtime

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    rows: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())["results"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCRIPTC_CACHE_DIR"] = str(options.cache or folder)
        build_runtime()  # as an installation does, so that it is part of no first call
        for name, make in makers().items():
            if name in rows or (options.only and not any(text in name for text in options.only)):
                continue
            rows[name] = _in_child(make, options)
            print(f"{name}: {rows[name]}", flush=True)
            save(options.json, rows)
    print(f"\n{cpu_model()}, one thread; ms per call, medians of interleaved samples\n")
    print(_table(rows))
    for kind in KINDS:
        for rival in (EAGER, INDUCTOR, WHOLE):
            if ratios := [row[kind][rival] / row[kind][SCRIPTC] for row in rows.values() if rival in row.get(kind, {})
                          and SCRIPTC in row[kind]]:  # fmt: skip
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(f"{kind}: geometric mean of {rival} / {SCRIPTC} over {len(ratios)} models: {mean:.2f}")


def _in_child(make: Callable[[], Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the row of a model, measured in a process of its own."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_send_row, args=(send, make, options))
    child.start()
    send.close()
    row: dict[str, Any] = {"failed": f"no result after {_MOST} s"}
    try:
        if receive.poll(_MOST):
            row = receive.recv()
    except EOFError:
        row = {"failed": "the process died"}
    child.kill()
    child.join()
    return row


def _send_row(pipe: Any, make: Callable[[], Any], options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        try:
            pipe.send(_row(make, options))
        except Exception as error:
            pipe.send({"failed": _first_lines(error)})


def _first_lines(error: BaseException) -> str:
    """Return the first two lines of an error, of which the second has the reason why gradients are refused."""
    return f"{type(error).__name__}: {' '.join(str(error).splitlines()[:2])}"


def _row(make: Callable[[], Any], options: argparse.Namespace) -> dict[str, Any]:
    import torch

    import scriptc
    from scriptc.dynamo.backend import compile_graph

    torch._dynamo.config.allow_rnn = True
    torch.manual_seed(0)
    model, args = make()
    row: dict[str, Any] = {}
    backends: dict[str, Callable[[Any], Any]] = {
        SCRIPTC: lambda m: torch.compile(
            m, backend=compile_graph, dynamic=options.dynamic or None, options={"optimize": options.optimize}
        ),
        WHOLE: lambda m: scriptc.compile(m, optimize=options.optimize),
        INDUCTOR: lambda m: torch.compile(m, dynamic=options.dynamic or None),
    }
    if options.no_inductor:
        del backends[INDUCTOR]
    if not options.whole:
        del backends[WHOLE]
    for kind, calls in zip(KINDS, (_forward, _step), strict=True):
        found = row[kind] = {}
        try:
            expected = calls(copy.deepcopy(model), lambda m: m, args)()
        except Exception as error:  # such as that of a model that cannot be trained
            found["eager failed"] = _first_lines(error)
            continue
        exact = _exact(calls, model, args)
        candidates = [Candidate(EAGER, calls(copy.deepcopy(model), lambda m: m, args))]
        for name, compiled in backends.items():
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            call = calls(copy.deepcopy(model), compiled, args)
            try:
                seconds, result = _first_call(call, options.inductor_timeout if name == INDUCTOR else _MOST)
            except (Exception, Unavailable) as error:
                found[f"{name} failed"] = _first_lines(error)
                continue
            found[f"{name} first"] = seconds
            found[f"{name} wrong"] = _difference(result, expected, exact)
            if name == SCRIPTC:
                counters = torch._dynamo.utils.counters
                found["breaks"] = sum(counters["graph_break"].values())
                found["graphs"] = counters["stats"]["unique_graphs"]
            candidates.append(Candidate(name, call))
        if options.samples:
            found |= medians(candidates, samples=options.samples, timer=time.thread_time)
    return row


def _first_call(call: Callable[[], Any], seconds: float) -> tuple[float, Any]:
    from benchmarks.rivals import time_limit

    start = time.perf_counter()
    with time_limit(seconds):
        result = call()
    return time.perf_counter() - start, result


# ---- calls ----


def _forward(model: Any, compiled: Callable[[Any], Any], args: Any) -> Callable[[], Any]:
    import torch

    call = compiled(model)

    def forward() -> Any:
        torch.manual_seed(1)
        with torch.no_grad():
            return [t.clone() for t in _tensors(call(*args))]

    return forward


def _step(model: Any, compiled: Callable[[Any], Any], args: Any) -> Callable[[], Any]:
    """Return a call that gives the outputs of a model, the gradients of its parameters, and its buffers."""
    import torch

    call = compiled(model.train())
    state = copy.deepcopy(model.state_dict())
    buffers = dict(model.named_buffers())

    def step() -> Any:
        with torch.no_grad():
            for name, buffer in buffers.items():
                if name in state:
                    buffer.copy_(state[name])
        torch.manual_seed(1)
        outputs = [t for t in _tensors(call(*args)) if t.requires_grad]
        generator = torch.Generator().manual_seed(2)
        loss = sum((t * torch.randn(t.shape, generator=generator, dtype=t.dtype)).sum() for t in outputs)
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        return [[t.detach() for t in outputs], list(gradients), [b.clone() for b in buffers.values()]]

    return step


def _tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in a result."""
    import torch
    from torch.utils import _pytree as pytree

    if hasattr(value, "to_tuple"):  # an output of transformers
        value = value.to_tuple()
    yield from (leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))


# ---- comparison ----


def _exact(calls: Callable[..., Callable[[], Any]], model: Any, args: Any) -> Any:
    """Return the result of eager in float64; None for a model that computes in float32 alone, or draws other numbers."""
    import torch
    from torch.utils import _pytree as pytree

    wide = pytree.tree_map(lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x, args)
    try:
        return calls(copy.deepcopy(model).double(), lambda m: m, wide)()
    except Exception:
        return None


def _difference(found: Any, expected: Any, exact: Any) -> str | None:
    """Return how a result differs from that of eager; None if the two are equal but for rounding.

    They are also equal if both are equally far from the result in float64.
    """
    from torch.utils import _pytree as pytree

    is_none = lambda x: x is None  # noqa: E731
    groups = [found, expected, exact] if exact is not None else [found, expected, expected]
    if not isinstance(found[0], list):
        groups = [[group] for group in groups]
    for name, got, want, true in zip(("output", "gradient", "buffer"), *groups, strict=False):
        if len(got) != len(want):
            return f"{len(got)} {name}s in place of {len(want)}"
        norms = [b.double().norm().item() for b in want if b is not None]
        least = SHARE * max(norms, default=0.0) + 1e-12
        for i, (a, b, c) in enumerate(zip(got, want, true, strict=True)):
            if is_none(a) and is_none(b):
                continue
            a, b = (pytree.tree_map(lambda t: t.double(), t) if t is not None else 0 * c.double() for t in (a, b))
            scale = max(b.norm().item(), least)
            far = (a - b).norm().item() / scale
            rounding = (b - c).norm().item() / scale if c is not None else 0.0
            if not (far <= max(TOLERANCE, 4 * rounding) or (a.isnan() == b.isnan()).all() and b.isnan().any()):
                return f"{name} {i} differs by {far:.1e}, where rounding makes {rounding:.1e}"
    return None


# ---- the table ----


def _table(rows: dict[str, dict[str, Any]]) -> str:
    header = ["model", "equal", "step equal", "graphs", "breaks",
              *(f"{kind}, {name}" for kind in KINDS for name in (EAGER, INDUCTOR, SCRIPTC)),
              "first call, inductor", "scriptc"]  # fmt: skip
    return table(header, [_cells(name, row) for name, row in rows.items()], right=range(3, len(header)))


def _cells(name: str, row: dict[str, Any]) -> list[str]:
    forward, step = (row.get(kind, {}) for kind in KINDS)

    def equal(found: dict[str, Any]) -> str:
        if f"{SCRIPTC} failed" in found or f"{SCRIPTC} wrong" not in found:
            return "-" if "eager failed" in found else "failed"
        return "yes" if found[f"{SCRIPTC} wrong"] is None else "no"

    def counted(key: str) -> str:
        return str(forward.get(key, "-"))

    def milliseconds(found: dict[str, Any], key: str) -> str:
        return f"{found[key] * 1e3:.2f}" if key in found else "-"

    def seconds(key: str) -> str:
        return f"{forward[key]:.1f}" if key in forward else "-"

    times = [milliseconds(found, key) for found in (forward, step) for key in (EAGER, INDUCTOR, SCRIPTC)]
    firsts = [seconds(f"{key} first") for key in (INDUCTOR, SCRIPTC)]
    return [name, equal(forward), equal(step), counted("graphs"), counted("breaks"), *times, *firsts]
