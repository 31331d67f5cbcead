"""Sessions of ONNX Runtime. They load no torch, so that a process that measures their memory holds nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Unavailable(Exception):
    """A rival cannot run here. The message tells why."""


def onnx_session(model: Path | bytes, threads: int) -> Any:
    """Return a session for a model, which is a file or its bytes."""
    try:
        import onnxruntime
    except ImportError as error:
        raise Unavailable(str(error)) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
