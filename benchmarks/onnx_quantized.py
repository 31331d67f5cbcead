"""ONNX models of one quantized product each, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Made = tuple[Any, Any]  # a model and its input


def models() -> Iterator[tuple[str, Callable[[], Made]]]:
    """Yield models by name: convolutions of images, and products of matrices."""
    convolutions = (
        ("64 to 64 channels, 56 x 56, kernel 3", (64, 64, 56, 3, 1, 1)),
        ("256 to 256 channels, 14 x 14, kernel 3", (256, 256, 14, 3, 1, 1)),
        ("512 to 512 channels, 7 x 7, kernel 3", (512, 512, 7, 3, 1, 1)),
        ("256 to 256 channels, 14 x 14, kernel 1", (256, 256, 14, 1, 1, 1)),
        ("3 to 64 channels, 112 x 112, kernel 7, stride 2", (3, 64, 112, 7, 2, 1)),
        ("128 channels by one each, 28 x 28, kernel 3", (128, 128, 28, 3, 1, 128)),
    )
    for name, sizes in convolutions:
        yield f"QLinearConv, {name}", lambda s=sizes: _convolution(*s, quantized=True)  # type: ignore[misc]
    for channels, side in ((64, 28), (16, 14)):
        sizes = (channels, channels, side, 3, 1, 1)
        name = f"QDQ convolution, {channels} to {channels} channels, {side} x {side}, kernel 3"
        yield name, lambda s=sizes: _convolution(*s, quantized=False)  # type: ignore[misc]
    for rows, terms, columns in ((1, 1024, 1024), (128, 768, 768), (64, 3072, 768)):
        sizes = (rows, terms, columns)
        yield f"MatMulInteger, {rows} x {terms} x {columns}", lambda s=sizes: _product(*s, dynamic=False)  # type: ignore[misc]
    for rows, terms, columns in ((1, 1024, 1024), (128, 768, 768)):
        sizes = (rows, terms, columns)
        name = f"DynamicQuantizeLinear and MatMulInteger, {rows} x {terms} x {columns}"
        yield name, lambda s=sizes: _product(*s, dynamic=True)  # type: ignore[misc]


def _model(nodes: list[Any], x: Any, dtype: int, numbers: dict[str, Any]) -> Made:
    from onnx import TensorProto, helper, numpy_helper

    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    result = helper.make_tensor_value_info("y", dtype, None)
    weights = [numpy_helper.from_array(value, name) for name, value in numbers.items()]
    graph = helper.make_graph(nodes, "net", [given], [result], weights)
    assert dtype in (TensorProto.UINT8, TensorProto.INT32, TensorProto.FLOAT)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), x


def _convolution(channels: int, filters: int, side: int, kernel: int, stride: int, groups: int, *, quantized: bool) -> Made:
    from onnx import TensorProto, helper

    random = np.random.default_rng(0)
    numbers = {
        "xs": np.float32(0.02), "xz": np.uint8(3), "ys": np.float32(0.5), "yz": np.uint8(100),
        "w": random.integers(-100, 100, (filters, channels // groups, kernel, kernel)).astype(np.int8),
        "ws": random.random(filters).astype(np.float32) * 0.01 + 0.005, "wz": np.zeros(filters, np.int8),
        "b": random.integers(-1000, 1000, filters).astype(np.int32),
    }  # fmt: skip
    window = {"pads": [kernel // 2] * 4, "strides": [stride] * 2, "group": groups}
    if quantized:
        nodes = [helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **window)]
    else:
        del numbers["b"]
        nodes = [
            helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
            helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
            helper.make_node("Conv", ["xf", "wf"], ["yf"], **window),
            helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["y"]),
        ]
    x = random.integers(0, 255, (1, channels, side, side)).astype(np.uint8)
    return _model(nodes, x, TensorProto.UINT8, numbers)


def _product(rows: int, terms: int, columns: int, *, dynamic: bool) -> Made:
    from onnx import TensorProto, helper

    random = np.random.default_rng(0)
    numbers = {"w": random.integers(-100, 100, (terms, columns)).astype(np.int8), "wz": np.int8(0)}
    if not dynamic:
        numbers["xz"] = np.uint8(7)
        nodes = [helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])]
        return _model(nodes, random.integers(0, 255, (rows, terms)).astype(np.uint8), TensorProto.INT32, numbers)
    numbers["ws"] = np.float32(0.01)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "ws"], ["scale"]),
        helper.make_node("Mul", ["f", "scale"], ["y"]),
    ]
    return _model(nodes, random.standard_normal((rows, terms)).astype(np.float32), TensorProto.FLOAT, numbers)
