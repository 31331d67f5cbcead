"""The memory of each net of examples/zoo in ONNX Runtime, in a package and in scriptc.compile, each in a process of its own."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_model, pin, save
from benchmarks.onnx_session import Unavailable, onnx_session
from scriptc.inspect.text_table import table

CALLS = 3
PACKAGE = "zoo_net"
KIB_OF_MB = BYTES_OF_KIB = 1 << 10


def run(names: Iterable[str], json: Path | None) -> None:
    """Print by how many MB loading a net and three calls on one thread raise the resident memory of a process at most.

    ONNX Runtime and a package load their weights themselves, in processes without torch. scriptc.compile finds those of the
    module in memory, and they are added. The library and the disk cache exist, so that the compiler takes no part.
    """
    from benchmarks.rivals import exported

    logging.disable(logging.WARNING)  # of exporters
    warnings.simplefilter("ignore")
    rows = []
    for name in names:
        net, args = _net(name)
        try:
            with exported(net, tuple(args)) as (path, inputs):
                feed = {each: x.numpy() for each, x in zip(inputs, args, strict=True)}
                with_onnx = _in_a_process(_in_onnx_runtime, path, feed)
        except (Unavailable, ImportError) as error:
            print(f"{name}: ONNX Runtime: {error}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            _in_a_process(_build, name, folder)
            package = _second_time(_in_package, folder, list(feed.values()))
        growth, weights = _second_time(_in_scriptc, name)
        rows.append((name, with_onnx, package, growth, weights))
        print(f"{name}: ONNX Runtime {with_onnx}, package {package}, scriptc {growth}, weights {weights} KiB", flush=True)
        save(json, {name: numbers for name, *numbers in rows})
    cells = [
        [
            name,
            *(f"{kib / KIB_OF_MB:.1f}" for kib in (onnx, package)),
            f"{package / onnx:.2f}",
            *(f"{kib / KIB_OF_MB:.1f}" for kib in (growth, weights)),
            f"{(growth + weights) / onnx:.2f}",
        ]
        for name, onnx, package, growth, weights in rows
    ]
    header = [
        "net", "ONNX Runtime, MB", "package, MB", "package / ONNX Runtime",
        "compiled, MB", "weights, MB", "(compiled + weights) / ONNX Runtime",
    ]  # fmt: skip
    print(f"\n{cpu_model()}, 1 thread\n\n{table(header, cells, right=range(1, len(header)))}")


def _second_time(measure: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns in a second process. The first one fills the disk cache."""
    _in_a_process(measure, *args)
    return _in_a_process(measure, *args)


def _in_a_process(measure: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns in a new process, or raise what it raises there."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(send, measure, *args))
    child.start()
    send.close()
    try:
        result = receive.recv()
    finally:
        child.join()
    if isinstance(result, Exception):
        raise result
    return result


def _send(pipe: Any, measure: Callable[..., Any], *args: Any) -> None:
    try:
        pipe.send(measure(*args))
    except Exception as error:
        pipe.send(error)


def _net(name: str) -> tuple[Any, list[Any]]:
    import torch

    from examples.zoo import NETS

    pin()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    net, *args = NETS[name].full()
    return net, args


def _in_onnx_runtime(path: Path, feed: dict[str, Any]) -> int:
    """Return the KiB that a net takes in ONNX Runtime, without those of the library."""
    import onnxruntime  # noqa: F401

    from benchmarks.memory import peak

    pin()

    def load_and_call() -> None:
        session = onnx_session(path, threads=1)
        for _ in range(CALLS):
            session.run(None, feed)

    return peak(load_and_call)


def _build(name: str, folder: str) -> None:
    import scriptc

    net, args = _net(name)
    scriptc.build(net, *args, out=folder, name=PACKAGE)


def _in_package(folder: str, arrays: list[Any]) -> int:
    """Return the KiB that a net takes in a package, without those of the loader."""
    sys.path.insert(0, str(Path(folder, "python")))
    loader = import_module(PACKAGE)
    from benchmarks.memory import peak

    pin()

    def load_and_call() -> None:
        model = loader.load()
        for _ in range(CALLS):
            model(*arrays)

    assert "torch" not in sys.modules
    return peak(load_and_call)


def _in_scriptc(name: str) -> tuple[int, int]:
    """Return the KiB that a net takes in scriptc, and those of the module's weights."""
    import scriptc
    from benchmarks.memory import peak

    net, args = _net(name)
    compiled: Any = scriptc.compile(net, freeze=True)

    def call() -> None:
        for _ in range(CALLS):
            compiled(*args)

    tensors = [*net.parameters(), *net.buffers()]
    return peak(call), sum(t.numel() * t.element_size() for t in tensors) // BYTES_OF_KIB
