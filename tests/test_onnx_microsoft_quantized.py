"""Quantized operators of com.microsoft against ONNX Runtime, in eager and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
from onnx_calls import Calls, check

FLOAT, UINT8, INT8, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.INT32
INT16, UINT16 = onnx.TensorProto.INT16, onnx.TensorProto.UINT16
DOMAIN = "com.microsoft"
random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def bytes_of(*shape: int) -> Any:
    return random.integers(0, 256, shape).astype(np.uint8)


def signed(*shape: int) -> Any:
    return random.integers(-128, 128, shape).astype(np.int8)


def scale(number: float, zero: int, dtype: Any = np.uint8) -> list[Any]:
    return [np.array(number, np.float32), np.array(zero, dtype)]


def add_elementwise(calls: Calls) -> None:
    a, b, c = scale(0.02, 100), scale(0.03, 140), scale(0.057, 120)
    last: dict[str, Any] = {"domain": DOMAIN, "dtypes": (UINT8,)}
    for op in ("QLinearAdd", "QLinearMul"):
        calls.add(op, [bytes_of(2, 3, 4), *a, bytes_of(4), *b, *c], (1, 2, 4, 5, 6, 7), **last)
    calls.add("QLinearSigmoid", [bytes_of(5, 6), *a, *scale(1 / 256, 0)], (1, 2, 3, 4), **last)
    calls.add("QLinearLeakyRelu", [bytes_of(5, 6), *a, *b], (1, 2, 3, 4), alpha=0.2, **last)
    calls.add("QLinearSoftmax", [bytes_of(5, 6), *a, *scale(1 / 256, 0)], (1, 2, 3, 4), opset=13, axis=-1, **last)
    calls.add("QLinearConcat", [*c, bytes_of(2, 3), *a, bytes_of(2, 5), *b], (0, 1, 3, 4, 6, 7), axis=1, **last)
    mask = random.integers(0, 2, (2, 3)).astype(bool)
    calls.add("QLinearWhere", [mask, bytes_of(2, 3), *a, bytes_of(2, 3), *b, *c], (2, 3, 5, 6, 7, 8), **last)
    calls.add("QLinearGlobalAveragePool", [bytes_of(2, 3, 5, 4), *a, *c], (1, 2, 3, 4), **last)
    calls.add("QLinearGlobalAveragePool", [bytes_of(2, 5, 4, 3), *a, *c], (1, 2, 3, 4), channels_last=1, **last)
    calls.add("QLinearAveragePool", [bytes_of(2, 3, 5, 4), *a, *c], (1, 2, 3, 4), kernel_shape=[2, 3], pads=[1, 1, 0, 1],
              **last)  # fmt: skip
    calls.add("NhwcMaxPool", [bytes_of(2, 5, 6, 3)], kernel_shape=[2, 2], strides=[2, 1], **last)
    narrow = [np.array(0.001, np.float32), np.array(-9, np.int16)]
    calls.add("QuantizeLinear", [floats(3, 4), *narrow], (1, 2), domain=DOMAIN, dtypes=(INT16,))
    by_row = [np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 9, 6], np.uint16)]
    calls.add("DequantizeLinear", [bytes_of(2, 3).astype(np.uint16), *by_row], (1, 2), domain=DOMAIN, axis=1)


def add_products(calls: Calls) -> None:
    w, by_column = signed(6, 5), random.uniform(0.01, 0.05, 5).astype(np.float32)
    one = np.array(0.02, np.float32)
    last: dict[str, Any] = {"domain": DOMAIN}
    calls.add("DynamicQuantizeMatMul", [floats(2, 3, 6), w, one, None, floats(5)], (1, 2, 4), **last)
    calls.add("DynamicQuantizeMatMul", [floats(3, 6), w, by_column, signed(5)], (1, 2, 3), **last)
    given = [bytes_of(3, 6), w, one, by_column, np.array(120, np.uint8), signed(5), floats(5)]
    calls.add("MatMulIntegerToFloat", given, (1, 2, 3, 4, 5, 6), **last)
    wide = random.integers(-9999, 9999, (3, 6)).astype(np.int16)
    calls.add("MatMulInteger16", [wide, wide.T.copy()], dtypes=(INT32,), **last)
    given = [bytes_of(3, 6), *scale(0.02, 130), w.T.copy(), by_column, np.zeros(5, np.int8)]
    bias = random.integers(-999, 999, 5).astype(np.int32)
    calls.add("QGemm", [*given, bias], (1, 2, 3, 4, 5, 6), transB=1, **last)
    calls.add("QGemm", [*given, None, *scale(0.3, 110)], (1, 2, 3, 4, 5, 7, 8), transB=1, dtypes=(UINT8,), **last)
    x, kernel = bytes_of(1, 6, 6, 2), signed(4, 2, 3, 3)
    given = [x, *scale(0.02, 120), kernel, *scale(0.03, 0, np.int8), *scale(0.2, 100)]
    calls.add("QLinearConv", given, (1, 2, 3, 4, 5, 6, 7), channels_last=1, pads=[1, 1, 1, 1], dtypes=(UINT8,), **last)
    table, places = bytes_of(7, 16), np.array([[0, 6, 3]])
    scales, zeros = random.uniform(0.1, 0.2, (7, 2)).astype(np.float32), bytes_of(7, 1)
    options: dict[str, Any] = {"block_size": 16, "bits": 4, "gather_axis": 0, "quantize_axis": 1}
    calls.add("GatherBlockQuantized", [table, places, scales, zeros], (0, 2, 3), **options, **last)
    calls.add("GatherBlockQuantized", [table, places, scales], (0, 2), **options, **last)


def add_layers(calls: Calls) -> None:
    x, w = bytes_of(2, 3, 8), signed(8, 24)
    given = [x, w, floats(24), np.array(0.02, np.float32), np.array(0.03, np.float32)]
    zeros = [np.array(128, np.uint8), np.array(0, np.int8)]
    calls.add("QAttention", [*given, np.array([3, 2], np.int32), *zeros], (1, 2, 3, 4, 6, 7), domain=DOMAIN, num_heads=2)
    later = [*given, None, *zeros, floats(2, 2, 2, 4, 4)]
    calls.add("QAttention", later, (1, 2, 3, 4, 6, 7), 2, DOMAIN, num_heads=2, unidirectional=1)
    weights = [signed(1, 2, 20), signed(1, 5, 20), floats(1, 40)]
    scales = [np.array([0.01], np.float32), np.array([0], np.int8)]
    given = [floats(4, 1, 2), *weights, None, floats(1, 1, 5), None, None, *scales, *scales]
    calls.add("DynamicQuantizeLSTM", given, (1, 2, 3, 8, 9, 10, 11), 3, DOMAIN, hidden_size=5)


@pytest.mark.parametrize("add", [add_elementwise, add_products, add_layers])
def test_results_are_those_of_onnx_runtime(add: Any, tmp_path: Path) -> None:
    calls = Calls()
    add(calls)
    check(calls, tmp_path)
