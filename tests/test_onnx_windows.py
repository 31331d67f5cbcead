"""Pools, resizing and images in ONNX models: calls of torch where they compute the same, and ONNX Runtime beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import scriptc
from scriptc.onnx import functions as ox
from scriptc.onnx.reading import read

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def model_of(op: str, rank: int, inputs: list[Any], version: int = 22, **attributes: Any) -> Any:
    names = ["x", *(f"c{i}" if array is not None else "" for i, array in enumerate(inputs))]
    node = helper.make_node(op, names, ["y"], **attributes)
    constants = [onnx.numpy_helper.from_array(a, f"c{i}") for i, a in enumerate(inputs) if a is not None]
    x = helper.make_tensor_value_info("x", 1, [f"d{i}" for i in range(rank)])
    y = helper.make_tensor_value_info("y", 1, [f"e{i}" for i in range(rank)])
    graph = helper.make_graph([node], "m", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


def random_pool(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """Return a kind of pool, a tensor and the attributes."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    kernel = [int(k) for k in rng.integers(1, 4, rank)]
    dilations = [int(d) for d in rng.integers(1, 3, rank)] if seed % 2 else [1] * rank
    pads = [int(rng.integers(0, (d * (k - 1) + 1) // 2 + 1)) for d, k in zip(dilations, kernel, strict=True)]
    attributes = {
        "kernel_shape": kernel, "strides": [int(s) for s in rng.integers(1, 4, rank)], "dilations": dilations, "pads": pads * 2,
        "ceil_mode": int(rng.integers(2)),
    }  # fmt: skip
    x = rng.standard_normal((2, 3, *rng.integers(5, 8, rank))).astype(np.float32)
    x[rng.random(x.shape) < 0.02] = rng.choice([np.nan, np.inf, -np.inf])
    return "MaxPool" if seed % 2 else "AveragePool", torch.from_numpy(x), attributes


def test_pools_of_torch_are_those_of_onnx() -> None:
    called = 0
    for seed in range(30):
        op, x, attributes = random_pool(seed)
        window = [attributes[name] for name in ("kernel_shape", "strides", "dilations", "pads")]
        if op == "MaxPool":
            expected = ox.max_pool(x, *window, "NOTSET", bool(attributes["ceil_mode"]))
        else:
            attributes["count_include_pad"] = seed // 2 % 2
            expected = ox.average_pool(x, *window, "NOTSET", bool(attributes["ceil_mode"]), bool(seed // 2 % 2))
        model = model_of(op, x.dim(), [], **attributes)
        called += "F." in read(model).source.partition("def forward")[2]
        torch.testing.assert_close(scriptc.from_onnx(model)(x), expected, equal_nan=True, msg=f"{op} {attributes}")
    assert called > 20


RESIZED = [
    (how, mode, rounding, scale)
    for scale in (0.5, 2.0, 4.0)
    for how in ("asymmetric", "half_pixel", "pytorch_half_pixel")
    for mode, rounding in (("nearest", "floor"), ("nearest", "round_prefer_floor"), ("linear", "floor"), ("cubic", "floor"))
]


def test_interpolation_of_torch_is_that_of_onnx() -> None:
    called = 0
    for how, mode, rounding, scale in RESIZED:
        x = torch.randn(1, 2, 6, 8)
        scales = np.array([1, 1, scale, scale], dtype=np.float32)
        options = {"mode": mode, "coordinate_transformation_mode": how, "nearest_mode": rounding}
        model = model_of("Resize", 4, [None, scales], 18, **options)
        rest = (rounding, -0.75, False, False, 0.0, "stretch")
        expected = ox.resize(x, None, [1.0, 1.0, scale, scale], None, None, mode, how, *rest)
        called += "F.interpolate" in read(model).source
        torch.testing.assert_close(scriptc.from_onnx(model)(x), expected, rtol=1e-5, atol=1e-5, msg=f"{options} {scale}")
    assert called >= 12


def test_images_are_decoded_in_eager_alone() -> None:
    pytest.importorskip("PIL")
    text = """<ir_version: 9, opset_import: ["" : 20]>
    m (uint8[n] x) => (uint8[h, w, c] y) { y = ImageDecoder<pixel_format = "BGR">(x) }"""
    module = scriptc.from_onnx(onnx.parser.parse_model(text))
    x = torch.tensor(list(b"P6 2 1 255\n" + bytes([1, 2, 3, 4, 5, 6])), dtype=torch.uint8)
    assert module(x).tolist() == [[[3, 2, 1], [6, 5, 4]]]
    with pytest.raises(scriptc.CompileError, match=r"images.py:\d+"):
        scriptc.compile(module, optimize=0)(x)


@pytest.mark.slow
def test_pools_and_resizing_in_onnx_runtime() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = []
    for seed in range(200):
        op, x, attributes = random_pool(seed)
        x = torch.nan_to_num(x, 0.0, 0.0, 0.0)  # the maximum of NaN depends on the runtime
        rows.append((model_of(op, x.dim(), [], **attributes), x))
    for how, mode, rounding, scale in RESIZED:
        scales = np.array([1, 1, scale, scale], dtype=np.float32)
        options = {"mode": mode, "coordinate_transformation_mode": how, "nearest_mode": rounding}
        rows.append((model_of("Resize", 4, [None, scales], 18, **options), torch.randn(1, 2, 6, 8)))
    for model, x in rows:
        expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})[0]
        torch.testing.assert_close(scriptc.from_onnx(model)(x), torch.from_numpy(expected), rtol=1e-5, atol=1e-5)
