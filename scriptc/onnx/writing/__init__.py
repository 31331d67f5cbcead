"""Tensor IR as ONNX: a graph builder, control flow, and one row for each op of the IR."""

from __future__ import annotations

import os
from typing import Any


def to_onnx(
    model: Any, /, *args: Any, path: str | os.PathLike[str], opset: int | None = None, external_data: bool | None = None,
    stateful: bool = False, **kwargs: Any,
) -> None:  # fmt: skip
    """Write a function or module, as it is called with these arguments, as an ONNX model.

    Loops become `Loop`, branches `If`, and lists sequences, so that one model serves all lengths. The package `onnx`
    must be installed.

    model: a function, method or nn.Module instance.
    path: the file that is written.
    opset: the version of ONNX's operators, from 17 on; None for one that ONNX Runtime 1.32 runs.
    external_data: write large weights to a file of its own beside the model, which is named `path` with `.data` behind;
        None to do so if one file would be too large for protobuf.
    stateful: make each attribute that the call sets an input, with the value that it has now as the default, and an output
        with the new value. Otherwise such calls are refused.

    Raises CompileError with each place that has no ONNX form.
    """
    try:
        import onnx
    except ImportError as e:
        raise ImportError("scriptc.to_onnx needs the package onnx: pip install onnx") from e
    from scriptc.onnx.writing.model import MOST_BYTES, model_of

    file = os.fspath(path)
    made = model_of(model, args, kwargs, opset, stateful=stateful)[0]
    size = sum(len(t.raw_data) for t in made.graph.initializer)
    if not (size >= MOST_BYTES if external_data is None else external_data):
        onnx.save(made, file)
        return
    data = f"{file}.data"
    if os.path.lexists(data):
        os.remove(data)  # onnx would append to it
    onnx.save(made, file, save_as_external_data=True, location=os.path.basename(data))
    if size >= MOST_BYTES:
        onnx.checker.check_model(file, full_check=True)
