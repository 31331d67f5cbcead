"""scriptc behind the interface of ONNX backends."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")


def test_a_prepared_model_takes_and_returns_arrays() -> None:
    from scriptc.onnx import backend

    text = """<ir_version: 8, opset_import: ["" : 17]>
    m (float[n] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }"""
    prepared = backend.prepare(onnx.parser.parse_model(text), "CPU", optimize=0)
    x = np.arange(6, dtype=np.float32)
    assert np.array_equal(prepared.run([x, np.array([2, 3])])[0], x.reshape(2, 3))
    with pytest.raises(ValueError, match="2 inputs"):
        prepared.run([x])
    assert not backend.supports_device("CUDA")
