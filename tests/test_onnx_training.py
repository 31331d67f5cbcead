"""Gradients in ONNX models."""

from __future__ import annotations

import pytest
import torch

import scriptc

onnx = pytest.importorskip("onnx")

MODEL = """
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
step (float[n] x, float[n] w, float[n] z) => (float[n] y, float[n] dx, float[n] dw) {
  p = Mul(x, w)
  t = Tanh(p)
  y = Mul(t, z)
  dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], zs = ["z"], y = "y">(x, w, z)
}
"""


def test_a_gradient_is_that_of_torch() -> None:
    module = scriptc.from_onnx(onnx.parser.parse_model(MODEL))
    x, w, z = torch.randn(3, 4)
    slope = (1 - torch.tanh(x * w) ** 2) * z
    expected = torch.tanh(x * w) * z, slope * w, slope * x
    for target in (module, scriptc.compile(module, optimize=0)):
        torch.testing.assert_close(target(x, w, z), expected)
