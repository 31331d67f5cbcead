"""The memory of each net of examples/zoo in ONNX Runtime and in scriptc, each measured in a process of its own."""

from __future__ import annotations

import logging
import multiprocessing
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_model, pin
from scriptc.inspect.text_table import table

CALLS = 3
KIB_OF_MB = 1 << 10


def run(names: Iterable[str]) -> None:
    """Print by how many MB loading a net and three calls raise the resident memory of a process at most.

    ONNX Runtime loads its weights itself. scriptc finds those of the module in memory, and they are added. The disk
    cache is warm, so that the compiler takes no part.
    """
    from benchmarks.rivals import exported

    logging.disable(logging.WARNING)  # of exporters
    warnings.simplefilter("ignore")
    rows = []
    for name in names:
        net, args = _net(name)
        with exported(net, tuple(args)) as (path, inputs):
            with_onnx = _in_a_process(_in_onnx_runtime, path, {each: x.numpy() for each, x in zip(inputs, args, strict=True)})
        _in_a_process(_in_scriptc, name)  # fills the disk cache
        growth, weights = _in_a_process(_in_scriptc, name)
        rows.append((name, with_onnx, growth, weights))
        print(f"{name}: ONNX Runtime {with_onnx}, scriptc {growth} and weights of {weights} KiB", flush=True)
    cells = [
        [name, *(f"{kib / KIB_OF_MB:.1f}" for kib in (onnx, growth, weights)), f"{(growth + weights) / onnx:.2f}"]
        for name, onnx, growth, weights in rows
    ]
    header = ["net", "ONNX Runtime, MB", "scriptc, MB", "weights, MB", "(scriptc + weights) / ONNX Runtime"]
    print(f"\n{cpu_model()}, 1 thread\n\n{table(header, cells, right=range(1, len(header)))}")


def _in_a_process(measure: Callable[..., None], *args: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(send, *args))
    child.start()
    send.close()
    try:
        return receive.recv()
    finally:
        child.join()


def _net(name: str) -> tuple[Any, list[Any]]:
    import torch

    from examples.zoo import NETS

    pin()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    net, *args = NETS[name].full()
    return net, args


def _in_onnx_runtime(pipe: Any, path: Path, feed: dict[str, Any]) -> None:
    import onnxruntime

    from benchmarks.memory import peak

    pin()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def load_and_call() -> None:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for _ in range(CALLS):
            session.run(None, feed)

    pipe.send(peak(load_and_call))


def _in_scriptc(pipe: Any, name: str) -> None:
    import scriptc
    from benchmarks.memory import peak

    net, args = _net(name)
    compiled: Any = scriptc.compile(net, freeze=True)

    def call() -> None:
        for _ in range(CALLS):
            compiled(*args)

    tensors = [*net.parameters(), *net.buffers()]
    pipe.send((peak(call), sum(t.numel() * t.element_size() for t in tensors) // KIB_OF_MB))
