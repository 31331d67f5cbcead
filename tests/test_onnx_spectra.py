"""Fourier transforms, mel filters, pools over regions and random numbers of ONNX models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
from onnx_calls import Calls, check

import scriptc

random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def integer(number: int) -> Any:
    return np.array(number, np.int64)


def test_transforms_are_those_of_onnx_runtime(tmp_path: Path) -> None:
    calls = Calls(opset=20)
    calls.add("DFT", [floats(2, 6, 5, 1), integer(8), integer(1)], (1, 2), onesided=1)
    calls.add("DFT", [floats(2, 6, 5, 2), integer(4), integer(-2)], (1, 2))
    calls.add("DFT", [floats(2, 6, 5, 2), None, integer(1)], (2,), inverse=1)
    calls.add("STFT", [floats(2, 32, 1), integer(4), np.hanning(9).astype(np.float32)], (1, 2))
    calls.add("STFT", [floats(2, 32, 1), integer(5), None, integer(8)], (1, 3), onesided=0)
    for given in ((8, 64, 8000, 20.0, 4000.0), (40, 512, 16000, 0.0, 8000.0)):
        numbers = [np.array(n, np.int64 if k < 3 else np.float32) for k, n in enumerate(given)]
        calls.add("MelWeightMatrix", numbers, (0, 1, 2, 3, 4))
    regions = np.array([[0, 0, 0, 6, 6], [1, -3, 2.5, 4, 3], [1, 2, 2, 1, 1], [0, 9, 9, 12, 12]], np.float32)
    calls.add("MaxRoiPool", [floats(2, 3, 8, 9), regions], pooled_shape=[3, 2], spatial_scale=0.8)
    check(calls, tmp_path)


RANDOM = """
<ir_version: 8, opset_import: ["" : 17]>
numbers (double[4000] x, float[2, 3] logits) => (float[a] u, double[b] n, int32[c] k, int64[d, e] m) {
  u = RandomUniform<shape = [4000], low = -1.0, high = 3.0>()
  n = RandomNormalLike<mean = 2.0, scale = 0.5>(x)
  k = Bernoulli<dtype = 6>(x)
  m = Multinomial<sample_size = 4000, dtype = 7>(logits)
}
"""


def test_random_numbers_have_their_distribution() -> None:
    module = scriptc.from_onnx(onnx.parser.parse_model(RANDOM))
    given = torch.full((4000,), 0.25, dtype=torch.float64), torch.tensor([[0.0, 0.0, -99.0], [-99.0, 0.0, -99.0]])
    found = []
    for target in (scriptc.compile(module, optimize=0), module):
        torch.manual_seed(0)
        found.append(target(*given))
    torch.testing.assert_close(*found)
    u, n, k, m = found[0]
    assert (u.dtype, n.dtype, k.dtype, m.dtype) == (torch.float32, torch.float64, torch.int32, torch.int64)
    assert -1 <= float(u.min()) < -0.9 and 2.9 < float(u.max()) < 3
    assert abs(float(n.mean()) - 2) < 0.05 and abs(float(n.std()) - 0.5) < 0.05
    assert abs(float(k.double().mean()) - 0.25) < 0.05
    assert abs(float(m[0].double().mean()) - 0.5) < 0.05 and m[0].max() == 1 and bool((m[1] == 1).all())
