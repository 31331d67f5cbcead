"""Operators of com.microsoft against ONNX Runtime, in eager and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import scriptc

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
from onnx_calls import Calls, check

FLOAT, UINT8, INT8, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.INT32
DOMAIN = "com.microsoft"
random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def add_norms(calls: Calls) -> None:
    x = [floats(2, 3, 8), floats(2, 3, 8)]
    calls.add("SimplifiedLayerNormalization", [x[0], floats(8)], (1,), axis=-1, epsilon=1e-6)
    calls.add("SkipLayerNormalization", [*x, floats(8), floats(8), floats(8)], (2, 3, 4), domain=DOMAIN, epsilon=1e-5)
    calls.add("SkipLayerNormalization", [x[0], floats(3, 8), floats(8)], (2,), domain=DOMAIN)
    calls.add("SkipSimplifiedLayerNormalization", [*x, floats(8)], (2,), domain=DOMAIN, epsilon=1e-6)
    ids, places = random.integers(0, 5, (2, 3)).astype(np.int32), np.array([[0, 2, 1]], np.int32).repeat(2, 0)
    tables = [floats(5, 8), floats(4, 8), floats(5, 8), floats(8), floats(8)]
    given = [ids, ids[::-1].copy(), *tables, np.array([[1, 1, 0], [1, 0, 0]], np.int32)]
    calls.add("EmbedLayerNormalization", given, (2, 3, 4, 5, 6), 3, DOMAIN, (FLOAT, INT32, FLOAT), mask_index_type=1)
    given = [ids, None, *tables[:2], None, *tables[3:], None, places]
    calls.add("EmbedLayerNormalization", given, (2, 3, 5, 6), 2, DOMAIN, (FLOAT, INT32))


def add_activations(calls: Calls) -> None:
    x = floats(3, 8)
    for op, given in (("Gelu", [x]), ("BiasGelu", [x, floats(8)]), ("FastGelu", [x]), ("FastGelu", [x, floats(8)])):
        calls.add(op, given, (1,), domain=DOMAIN)
    calls.add("QuickGelu", [x], domain=DOMAIN)
    calls.add("QuickGelu", [x], domain=DOMAIN, alpha=1.0)


def add_products(calls: Calls) -> None:
    calls.add("FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)], domain=DOMAIN, transA=1, transB=1, alpha=0.5)
    calls.add("FusedGemm", [floats(3, 4), floats(5, 4), floats(5)], (1, 2), domain=DOMAIN, transB=1, activation="Relu")
    calls.add("FusedGemm", [floats(3, 4), floats(4, 5)], (1,), domain=DOMAIN, activation="LeakyRelu", activation_alpha=0.3)
    image, kernel = floats(1, 2, 6, 6), floats(3, 2, 3, 3)
    calls.add("FusedConv", [image, kernel, floats(3)], (1, 2), domain=DOMAIN, pads=[1, 1, 1, 1], activation="Relu")
    calls.add("FusedConv", [image, kernel], (1,), domain=DOMAIN, activation="Clip", activation_params=[-0.5, 0.7])
    calls.add("FusedConv", [image, kernel, floats(3), floats(1, 3, 4, 4)], (1, 2), domain=DOMAIN, activation="Tanh")
    for bits in (4, 8):
        packed = random.integers(0, 256, (5, 3, 16 * bits // 8)).astype(np.uint8)
        scales, zeros = floats(5, 3), random.integers(0, 256, (5, -(-3 * bits // 8))).astype(np.uint8)
        options: dict[str, Any] = {"K": 40, "N": 5, "bits": bits, "block_size": 16}
        calls.add("MatMulNBits", [floats(2, 3, 40), packed, scales], (1, 2), domain=DOMAIN, **options)
        given = [floats(2, 40), packed, scales, zeros, None, floats(5)]
        calls.add("MatMulNBits", given, (1, 2, 3, 5), domain=DOMAIN, **options)


def add_attention(calls: Calls) -> None:
    x, w, b = floats(2, 3, 8), floats(8, 24), floats(24)
    options: dict[str, Any] = {"domain": DOMAIN, "num_heads": 2}
    calls.add("Attention", [x, w, b], (1, 2), **options)
    calls.add("Attention", [x, w, b, ints(3, 2)], (1, 2), **options)
    calls.add("Attention", [x, w, b, np.array([[0, 1, 1], [1, 1, 0]], np.int32)], (1, 2), unidirectional=1, **options)
    past, mask = floats(2, 2, 2, 4, 4), random.integers(0, 2, (2, 3, 7)).astype(np.int32)
    calls.add("Attention", [x, w, b, mask, past], (1, 2), 2, unidirectional=1, scale=0.3, **options)
    calls.add("Attention", [x, floats(8, 28), None, None, None, floats(1, 2, 3, 3)], (1,), qkv_hidden_sizes=[8, 8, 12],
              **options)  # fmt: skip
    q, k, v = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12)
    calls.add("MultiHeadAttention", [q, k, v], **options)
    padding = np.array([[1, 1, 1, 1, 0], [1, 0, 1, 1, 1]], np.int32)
    calls.add("MultiHeadAttention", [q, k, v, floats(28), padding, floats(2, 2, 3, 5)], (3,), **options)
    given = [x, x[::-1].copy(), x * 2, None, None, None, floats(2, 2, 4, 4), floats(2, 2, 4, 4)]
    calls.add("MultiHeadAttention", given, outputs=3, unidirectional=1, **options)
    calls.add("MultiHeadAttention", [q, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], **options)


def add_grouped(calls: Calls) -> None:
    cos, sin = floats(12, 8), floats(12, 8)
    options: dict[str, Any] = {"domain": DOMAIN, "outputs": 3, "num_heads": 4, "kv_num_heads": 2}
    q, k, v = floats(2, 3, 64), floats(2, 3, 32), floats(2, 3, 32)
    first = [ints(2, 2), np.array(3, np.int32)]
    calls.add("GroupQueryAttention", [q, k, v, None, None, *first], **options)
    calls.add("GroupQueryAttention", [q, k, v, None, None, *first, cos, sin], (7, 8), do_rotary=1, **options)
    past = [floats(2, 2, 5, 16), floats(2, 2, 5, 16)]
    later = [ints(5, 5), np.array(6, np.int32)]
    one = [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32)]
    calls.add("GroupQueryAttention", [*one, *past, *later, cos, sin], (7, 8), do_rotary=1, rotary_interleaved=1, **options)
    calls.add("GroupQueryAttention", [floats(2, 1, 128), None, None, *past, *later], local_window_size=3, softcap=2.0,
              **options)  # fmt: skip
    calls.add("GroupQueryAttention", [q, k, v, None, None, *first], smooth_softmax=1, scale=0.2, local_window_size=2, **options)
    positions = np.array([[3, 1, 0], [5, 6, 7]], np.int64)
    calls.add("RotaryEmbedding", [floats(2, 3, 32), positions, cos, sin], (2, 3), domain=DOMAIN)
    calls.add("RotaryEmbedding", [floats(2, 2, 3, 16), np.array([4]), cos, sin], (2, 3), domain=DOMAIN, interleaved=1)
    calls.add("RotaryEmbedding", [floats(2, 3, 40), positions, cos, sin], (2, 3), domain=DOMAIN, num_heads=2,
              rotary_embedding_dim=16)  # fmt: skip


@pytest.mark.parametrize("add", [add_norms, add_activations, add_products, add_attention, add_grouped])
def test_results_are_those_of_onnx_runtime(add: Any, tmp_path: Path) -> None:
    calls = Calls()
    add(calls)
    check(calls, tmp_path)


MODEL = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
block (float[n, length, 8] x, bool deep) => (float[a, b] y)
<float[8] g = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}, int64 zero = {0}, int64[1] axis = {0},
 int64[1] rest = {-1}> {
  h, , , s = com.microsoft.SkipLayerNormalization(x, x, g)
  a = com.microsoft.MultiHeadAttention<num_heads = 2>(h, h, s)
  z = If(deep) <then_branch = more () => (float[n, length, 8] p) {
    q = com.microsoft.BiasGelu(a, b)
    p = com.microsoft.MultiHeadAttention<num_heads = 4>(q, q, q)
  }, else_branch = less () => (float[n, length, 8] r) { r = Identity(a) }>
  sizes = Shape(z)
  rows = Gather(sizes, zero)
  first = Unsqueeze(rows, axis)
  all = Concat<axis = 0>(first, rest)
  y = Reshape(z, all)
}
"""


def test_types_are_known_behind_operators_that_onnx_does_not_know(tmp_path: Path) -> None:
    module = scriptc.from_onnx(onnx.parser.parse_model(MODEL), path=tmp_path / "block.py")
    text = (tmp_path / "block.py").read_text()
    assert "reshape(z.shape[0], -1)" in text and "scriptc: the place" not in text
    x = torch.randn(2, 3, 8)
    for deep in (True, False):
        assert module(x, torch.tensor(deep)).shape == (2, 24)
