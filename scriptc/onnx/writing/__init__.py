"""Tensor IR as ONNX: a graph builder, control flow, and one row for each op of the IR."""

from __future__ import annotations

import os
from typing import Any


def to_onnx(model: Any, /, *args: Any, path: str | os.PathLike[str], opset: int | None = None, **kwargs: Any) -> None:
    """Write a function or module, as it is called with these arguments, as an ONNX model.

    Loops become `Loop`, branches `If`, and lists sequences, so that one model serves all lengths. The package `onnx`
    must be installed.

    model: a function, method or nn.Module instance.
    path: the file that is written.
    opset: the version of ONNX's operators, from 18 on; None for one that ONNX Runtime 1.32 runs.

    Raises CompileError with each place that has no ONNX form.
    """
    try:
        import onnx
    except ImportError as e:
        raise ImportError("scriptc.to_onnx needs the package onnx: pip install onnx") from e
    from scriptc.onnx.writing.model import model_of

    onnx.save(model_of(model, args, kwargs, opset)[0], os.fspath(path))
