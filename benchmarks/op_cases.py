"""The cases of `python -m benchmarks ops`: operators as a user calls them, on tensors of 64 KB to 8 MB, and on matrices
to factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.matrix_cases import FUNCTIONS, SIZES, matrices

M, S, B = "matrix", "stack", "big"  # [512, 512], [16, 128, 512], [1024, 2048] of float32: 1, 4 and 8 MB


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]


def inputs() -> dict[str, Any]:
    """Return the inputs by the names that cases use, the same at each call."""
    g = torch.Generator().manual_seed(0)

    def floats(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=g)

    def numbers(high: int, *size: int) -> torch.Tensor:
        return torch.randint(high, size, generator=g)

    def distinct(*size: int) -> torch.Tensor:
        """Return numbers without ties, which eager's sorting leaves in any order."""
        return torch.randperm(math.prod(size), generator=g).reshape(size)

    return {
        M: floats(512, 512), "matrix2": floats(512, 512), S: floats(16, 128, 512), "stack2": floats(16, 128, 512),
        B: floats(1024, 2048), "small": floats(128, 128), "image": floats(4, 32, 64, 64), "photo": floats(1, 16, 128, 128),
        "row": floats(512), "row2": floats(512), "channel": floats(32), "spread": floats(32).abs() + 0.5,
        "table": floats(10000, 128), "tokens": numbers(10000, 64, 64), "rows": numbers(512, 1024),
        "columns": numbers(512, 512, 256), "matrix_numbers": numbers(512, 512, 512), "classes": numbers(64, 4096),
        "mask": floats(512, 512) > 0, "line": distinct(1 << 18) * 0.5, "distinct": distinct(512, 512) * 0.5,
        "distinct_numbers": distinct(512, 512), "wide": distinct(1024, 2048) * 0.5,
        "weight3": floats(32, 32, 3, 3), "weight1": floats(64, 32, 1, 1),
        "depthwise": floats(32, 1, 3, 3), "signal": floats(8, 64, 1024), "weight1d": floats(64, 64, 5),
        "batch_a": floats(32, 64, 64), "batch_b": floats(32, 64, 64), "bias3": floats(32),
        **matrices(),
    }  # fmt: skip


CASES = (
    Case("softmax, last dim", lambda x: F.softmax(x, -1), (S,)),
    Case("softmax, middle dim", lambda x: F.softmax(x, 1), (S,)),
    Case("softmax, rows of 2048", lambda x: torch.softmax(x, 1), (B,)),
    Case("log_softmax, last dim", lambda x: F.log_softmax(x, -1), (S,)),
    Case("log_softmax, first dim", lambda x: F.log_softmax(x, 0), (M,)),
    Case("logsumexp", lambda x: torch.logsumexp(x, -1), (S,)),
    Case("layer_norm", lambda x, w, b: F.layer_norm(x, (512,), w, b), (S, "row", "row2")),
    Case("layer_norm, no affine", lambda x: F.layer_norm(x, (2048,)), (B,)),
    Case("rms_norm", lambda x, w: F.rms_norm(x, (512,), w), (S, "row")),
    Case(
        "batch_norm",
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        ("image", "channel", "spread", "channel", "channel"),
    ),
    Case("group_norm", lambda x, w, b: F.group_norm(x, 8, w, b), ("image", "channel", "channel")),
    Case("instance_norm", lambda x: F.instance_norm(x), ("image",)),
    Case("sum, all", lambda x: x.sum(), (S,)),
    Case("sum, last dim", lambda x: x.sum(-1), (S,)),
    Case("sum, middle dim", lambda x: x.sum(1), (S,)),
    Case("sum, first dim", lambda x: x.sum(0), (B,)),
    Case("sum, two dims of an image", lambda x: x.sum((2, 3)), ("image",)),
    Case("sum, of a transposed", lambda x: x.t().sum(0), (B,)),
    Case("mean, all", lambda x: x.mean(), (B,)),
    Case("mean, last dim", lambda x: x.mean(-1, keepdim=True), (S,)),
    Case("amax, last dim", lambda x: x.amax(-1), (S,)),
    Case("amax, first dim", lambda x: x.amax(0), (S,)),
    Case("max and indices, last dim", lambda x: x.max(-1), (S,)),
    Case("max and indices, first dim", lambda x: x.max(0), (M,)),
    Case("argmax, last dim", lambda x: x.argmax(-1), (S,)),
    Case("argmax, first dim", lambda x: x.argmax(0), (M,)),
    Case("argmax, all", lambda x: x.argmax(), (M,)),
    Case("var, last dim", lambda x: x.var(-1), (S,)),
    Case("var, first dim", lambda x: x.var(0), (M,)),
    Case("std, all", lambda x: x.std(), (M,)),
    Case("norm, last dim", lambda x: torch.linalg.vector_norm(x, dim=-1), (S,)),
    Case("prod, last dim", lambda x: x.prod(-1), (M,)),
    Case("any, last dim", lambda m: m.any(-1), ("mask",)),
    Case("transposed copy", lambda x: x.t().contiguous(), (B,)),
    Case("transposed copy, small", lambda x: x.t().contiguous(), ("small",)),
    Case("permuted copy (0, 2, 1)", lambda x: x.permute(0, 2, 1).contiguous(), (S,)),
    Case("permuted copy (1, 0, 2)", lambda x: x.permute(1, 0, 2).contiguous(), (S,)),
    Case("permuted copy (2, 0, 1)", lambda x: x.permute(2, 0, 1).contiguous(), (S,)),
    Case("permuted copy, NCHW to NHWC", lambda x: x.permute(0, 2, 3, 1).contiguous(), ("image",)),
    Case("clone", lambda x: x.clone(), (S,)),
    Case("sliced copy", lambda x: x[:, ::2].contiguous(), (B,)),
    Case("embedding", lambda t, i: F.embedding(i, t), ("table", "tokens")),
    Case("cat, last dim", lambda x, y: torch.cat((x, y), -1), (S, "stack2")),
    Case("cat, first dim", lambda x, y: torch.cat((x, y), 0), (M, "matrix2")),
    Case("stack", lambda x, y: torch.stack((x, y)), (M, "matrix2")),
    Case("stack, last dim", lambda x, y: torch.stack((x, y), -1), (M, "matrix2")),
    Case("gather, last dim", lambda x, i: x.gather(-1, i), (M, "columns")),
    Case("gather, first dim", lambda x, i: x.gather(0, i), (M, "matrix_numbers")),
    Case("scatter_add, first dim", lambda x, i, y: x.scatter_add(0, i, y), (M, "matrix_numbers", "matrix2")),
    Case("scatter_add, last dim", lambda x, i, y: x.scatter_add(-1, i, y), (M, "matrix_numbers", "matrix2")),
    Case("scatter, last dim", lambda x, i, y: x.scatter(-1, i, y), (M, "matrix_numbers", "matrix2")),
    Case("index_select, first dim", lambda x, i: x.index_select(0, i), (M, "rows")),
    Case("index_select, last dim", lambda x, i: x.index_select(-1, i), (M, "rows")),
    Case("index by a tensor", lambda x, i: x[i], (M, "rows")),
    Case("index_add", lambda x, i, y: x.index_add(0, i, torch.cat((y, y))), (M, "rows", "matrix2")),
    Case("select by a mask", lambda x, m: x[m], (M, "mask")),
    Case("sort, rows of 512", lambda x: x.sort(-1), ("distinct",)),
    Case("sort, one row", lambda x: x.sort(), ("line",)),
    Case("sort, first dim, descending", lambda x: x.sort(0, descending=True), ("distinct",)),
    Case("sort of numbers", lambda i: i.sort(-1), ("distinct_numbers",)),
    Case("argsort", lambda x: x.argsort(-1), ("distinct",)),
    Case("topk 5 of 512", lambda x: x.topk(5), ("distinct",)),
    Case("topk 50 of 2048", lambda x: x.topk(50), ("wide",)),
    Case("kthvalue", lambda x: x.kthvalue(100), ("distinct",)),
    Case("median", lambda x: x.median(-1), ("distinct",)),
    Case("cumsum, last dim", lambda x: x.cumsum(-1), (S,)),
    Case("cumsum, first dim", lambda x: x.cumsum(0), (M,)),
    Case("cumprod", lambda x: x.cumprod(-1), (M,)),
    Case("cummax", lambda x: x.cummax(-1), (M,)),
    Case("nearest, twice the size", lambda x: F.interpolate(x, scale_factor=2), ("photo",)),
    Case("bilinear, twice the size", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ("photo",)),
    Case(
        "bilinear, to 100 x 90",
        lambda x: F.interpolate(x, size=(100, 90), mode="bilinear", align_corners=True),
        ("photo",),
    ),
    Case("bicubic, twice the size", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), ("photo",)),
    Case("linear, twice the size", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), ("signal",)),
    Case("where", lambda m, x, y: torch.where(m, x, y), ("mask", M, "matrix2")),
    Case("masked_fill", lambda x, m: x.masked_fill(m, -1e9), (M, "mask")),
    Case("tril", lambda x: x.tril(), (M,)),
    Case("clamp", lambda x: x.clamp(-1, 1), (S,)),
    Case("add, broadcast row", lambda x, b: x + b, (S, "row")),
    Case("gelu", lambda x: F.gelu(x), (S,)),
    Case("gelu, tanh", lambda x: F.gelu(x, approximate="tanh"), (S,)),
    Case("silu", lambda x: F.silu(x), (S,)),
    Case("sigmoid", lambda x: x.sigmoid(), (S,)),
    Case("tanh", lambda x: x.tanh(), (S,)),
    Case("exp", lambda x: x.exp(), (S,)),
    Case("conv1d", lambda x, w: F.conv1d(x, w, padding=2), ("signal", "weight1d")),
    Case("conv2d 3x3", lambda x, w, b: F.conv2d(x, w, b, padding=1), ("image", "weight3", "bias3")),
    Case("conv2d 3x3, stride 2", lambda x, w: F.conv2d(x, w, stride=2, padding=1), ("image", "weight3")),
    Case("conv2d 1x1", lambda x, w: F.conv2d(x, w), ("image", "weight1")),
    Case("conv2d, depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=32), ("image", "depthwise")),
    Case("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), ("image", "weight3")),
    Case("max_pool2d 2", lambda x: F.max_pool2d(x, 2), ("image",)),
    Case("max_pool2d 3, stride 2", lambda x: F.max_pool2d(x, 3, 2, 1), ("image",)),
    Case("avg_pool2d 2", lambda x: F.avg_pool2d(x, 2), ("image",)),
    Case("avg_pool2d 3, stride 1", lambda x: F.avg_pool2d(x, 3, 1, 1), ("image",)),
    Case("adaptive_avg_pool2d 7", lambda x: F.adaptive_avg_pool2d(x, 7), ("image",)),
    Case("matmul 512", lambda x, y: x @ y, (M, "matrix2")),
    Case("matmul, transposed", lambda x, y: x @ y.t(), (M, "matrix2")),
    Case("matmul, batched 64", lambda x, y: x @ y, ("batch_a", "batch_b")),
    Case("matrix by vector", lambda x, v: x @ v, (M, "row")),
    Case("pad", lambda x: F.pad(x, (1, 1, 1, 1)), ("image",)),
    Case("pad, reflect", lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), ("image",)),
    Case("flip, last dim", lambda x: x.flip(-1), (S,)),
    Case("flip, first dim", lambda x: x.flip(0), (S,)),
    Case("roll", lambda x: x.roll(37, -1), (S,)),
    Case("one_hot", lambda i: F.one_hot(i, 64), ("classes",)),
    Case("repeat", lambda x: x.repeat(2, 4), (M,)),
    Case("repeat_interleave", lambda x: x.repeat_interleave(3, 0), (M,)),
    Case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), ("image",)),
    Case("unfold (im2col)", lambda x: F.unfold(x, 3, padding=1), ("photo",)),
    Case("cross_entropy", lambda x, i: F.cross_entropy(x.reshape(-1, 64), i), (M, "classes")),
    *(Case(f"{name}, {n} by {n}", f, (f"positive{n}", f"sides{n}")) for name, f in FUNCTIONS.items() for n in SIZES),
)
