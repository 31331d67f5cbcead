"""OnnxError, which users see if a file is no valid ONNX model or has parts that cannot be read."""

from __future__ import annotations


class OnnxError(ValueError):
    """An ONNX model cannot be read. The message names the file, and the node where there is one."""
