"""Quantized operators of ONNX models: equal to ONNX Runtime, in eager and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
from onnx_calls import Calls, check

FLOAT, UINT8, INT8 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8, onnx.TensorProto.INT8
INT16, UINT16, INT32 = onnx.TensorProto.INT16, onnx.TensorProto.UINT16, onnx.TensorProto.INT32
random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def bytes_of(*shape: int) -> Any:
    return random.integers(0, 256, shape).astype(np.uint8)


def signed(*shape: int) -> Any:
    return random.integers(-128, 128, shape).astype(np.int8)


def scales(*shape: int) -> Any:
    return random.uniform(0.01, 0.05, shape).astype(np.float32)


def add_conversions(calls: Calls) -> None:
    x = floats(3, 10, 4)
    x[0, 0] = [0.5, 1.5, 2.5, 1e9]
    one = np.float32(1)
    calls.add("QuantizeLinear", [x, np.array(one), np.array(7, np.uint8)], (1, 2), dtypes=(UINT8,))
    calls.add("QuantizeLinear", [x, scales(10), signed(10)], dtypes=(INT8,), axis=1)
    calls.add("QuantizeLinear", [x, scales(3, 3, 4), bytes_of(3, 3, 4)], dtypes=(UINT8,), axis=1, block_size=4)
    calls.add("QuantizeLinear", [x, scales(4)], (1,), dtypes=(INT16,), axis=-1, output_dtype=INT16)
    calls.add("DequantizeLinear", [signed(3, 5, 4), scales(5), signed(5)], (1, 2))
    calls.add("DequantizeLinear", [bytes_of(3, 5, 4), np.array(0.02, np.float32)], (1,))
    calls.add("DequantizeLinear", [bytes_of(7, 4).astype(np.uint16), scales(2, 4), bytes_of(2, 4).astype(np.uint16)],
              axis=0, block_size=5)  # fmt: skip
    calls.add("DynamicQuantizeLinear", [floats(4, 5)], outputs=3, dtypes=(UINT8, FLOAT, UINT8))
    calls.add("DynamicQuantizeLinear", [np.zeros((4, 5), np.float32)], outputs=3, dtypes=(UINT8, FLOAT, UINT8))


def add_products(calls: Calls) -> None:
    a, b = bytes_of(4, 300), signed(300, 6)
    point = np.array(200, np.uint8)
    scale = np.array(0.03, np.float32)
    calls.add("MatMulInteger", [a, b, point, signed(6)], (1, 3), dtypes=(INT32,))
    calls.add("MatMulInteger", [bytes_of(2, 3, 5), bytes_of(2, 5, 4)], dtypes=(INT32,))
    given = [a, scale, point, b, scales(6), np.zeros(6, np.int8), np.array(2.5, np.float32), np.array(100, np.uint8)]
    calls.add("QLinearMatMul", given, (1, 2, 3, 4, 5, 6, 7), dtypes=(UINT8,))
    calls.add("ConvInteger", [bytes_of(1, 70, 4, 5), bytes_of(2, 70, 2, 2), point, np.array(9, np.uint8)], dtypes=(INT32,))
    calls.add("MatMulInteger", [np.full((2, 600), 255, np.uint8), np.full((600, 2), 255, np.uint8)], dtypes=(INT32,))
    x, w = bytes_of(2, 4, 7, 6), signed(6, 2, 3, 3)
    calls.add("ConvInteger", [x, bytes_of(6, 4, 3, 3), point, np.array(3, np.uint8)], dtypes=(INT32,), pads=[1, 0, 1, 2])
    given = [x, scale, point, w, scales(6), np.zeros(6, np.int8), np.array(0.4, np.float32), np.array(100, np.uint8)]
    bias = random.integers(-9999, 9999, 6).astype(np.int32)
    calls.add("QLinearConv", [*given, bias], (1, 2, 3, 4, 5, 6, 7, 8), dtypes=(UINT8,), group=2, auto_pad="SAME_UPPER")
    calls.add("QLinearConv", given, (1, 2, 3, 4, 5, 6, 7), dtypes=(UINT8,), group=2, strides=[2, 1], dilations=[1, 2])


@pytest.mark.parametrize("add", [add_conversions, add_products])
def test_results_are_those_of_onnx_runtime(add: Any, tmp_path: Path) -> None:
    calls = Calls()
    add(calls)
    check(calls, tmp_path, rtol=1e-6, atol=0)
