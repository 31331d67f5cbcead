"""Arguments for the core ATen overloads of which PyTorch has no samples: by overload, a function that makes them, each a
tuple of positional arguments, or a list of such a tuple and keyword arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Sample = tuple[Any, ...]
SAMPLES: dict[str, Callable[[], list[Any]]] = {}


def t(*size: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(size))
    return torch.randn(size, generator=generator)


def i(high: int, *size: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(high)
    return torch.randint(0, high, size, generator=generator)


def _(name: str, make: Callable[[], list[Any]]) -> None:
    SAMPLES[name] = make


for _name in ("add", "sub"):
    _(f"{_name}.Scalar", lambda: [(t(3, 4), 2.5), (t(3), 2, 3), (i(9, 2, 3), 2), (i(9, 4), 1.5, 2)])
for _name in ("mul", "div", "fmod", "remainder", "eq", "ne", "lt", "le", "gt", "ge"):
    _(f"{_name}.Scalar", lambda: [(t(3, 4), 0.5), (t(3), 2), (i(9, 2, 3), 2), (i(9, 4), 1.5), (t(), -1.5)])
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _(f"{_name}.Scalar", lambda: [(i(99, 3, 4), 6), (i(9, 2) > 4, True)])
_("div.Scalar_mode", lambda: [[(t(3, 4), 0.7), {"rounding_mode": m}] for m in (None, "floor", "trunc")])
_("pow.Scalar", lambda: [(2, t(3, 4)), (2.5, i(5, 3)), (2, i(5, 3)), (1, t(2))])
_("pow.Tensor_Scalar", lambda: [(t(3, 4), 2), (t(3).abs(), 0.5), (i(5, 3), 3), (t(3).abs(), 1.7), (t(3), -1)])
_("clamp.default", lambda: [(t(3, 4), -0.5, 0.5), (t(3), None, 0.5), (i(9, 4), 2), (i(9, 4), 2.5, 6)])
_("where.self", lambda: [(t(3, 4) > 0, t(3, 4), t(4)), (t(3) > 0, i(9, 3), t()), (t() > 0, t(2), t(2))])
_("atan2.out", lambda: [[(t(3, 4), t(5, 4)[:3]), {"out": torch.empty(3, 4)}]])
_("elu.default", lambda: [(t(3, 4),), (t(3), 0.5), (t(3), 0.5, 2.0, 1.5)])

_("scalar_tensor.default", lambda: [(2.5,), [(3,), {"dtype": torch.int64}], [(True,), {"dtype": torch.float64}]])
_("empty.memory_format", lambda: [[([0, 3],), {"dtype": torch.int64}], ([2, 0],)])
_("empty_strided.default", lambda: [((2, 0), (1, 2)), [([0, 3], [3, 1]), {"dtype": torch.float64}]])
_("rand.default", lambda: [([2, 3],), [([4],), {"dtype": torch.float64}]])
_("randn.default", lambda: [([2, 3],), [([4],), {"dtype": torch.float64}]])
_("randperm.default", lambda: [(5,), [(4,), {"dtype": torch.int32}]])
_("native_dropout.default", lambda: [(t(3, 4), 0.5, True), (t(3, 4), 0.5, False)])

_("_local_scalar_dense.default", lambda: [(t(),), (i(9, 1),), (t() > 0,)])
_(
    "_to_copy.default",
    lambda: [(t(3, 4),), [(t(3, 4),), {"dtype": torch.int64}], [(i(9, 3),), {"dtype": torch.float16}]],
)
_("alias.default", lambda: [(t(3, 4),)])
_("copy.default", lambda: [(t(3, 4), t(4)), (i(9, 2), t(2)), (t(2), i(9, 2), True)])
_("nonzero.default", lambda: [(i(2, 3, 4),), (t(),), (t(0, 3),)])
_("index.Tensor", lambda: [
    (t(3, 4), [i(3, 5)]), (t(3, 4), [None, i(4, 2, 2)]), (t(3, 4, 5), [i(3, 2), None, i(5, 2)]), (t(3, 4), [t(3, 4) > 0]),
    (t(3, 4, 5), [i(3, 2, 1), i(4, 3)]),
])  # fmt: skip
_("scatter.value", lambda: [(t(3, 4), 1, i(4, 3, 2), 2.5), (i(9, 5), 0, i(5, 3), 1)])
_("embedding.default", lambda: [(t(5, 3), i(5, 2, 4)), (t(5, 3), i(5, 2), 1, True)])
_("_embedding_bag.default", lambda: [
    (t(7, 3), i(7, 6), torch.tensor([0, 2, 2, 5])), (t(7, 3), i(7, 6), torch.tensor([0, 2, 5]), False, 1),
    (t(7, 3), i(7, 6), torch.tensor([0, 2, 5]), False, 2),
    (t(7, 3), i(7, 6), torch.tensor([0, 6]), False, 0, False, t(6), True),
])  # fmt: skip
_("sym_is_contiguous.default", lambda: [(t(3, 4),), (t(3, 4).t(),), (t(2, 3, 4, 5), torch.channels_last)])
_("sym_numel.default", lambda: [(t(3, 4),), (t(),)])
_("sym_size.int", lambda: [(t(3, 4), 1), (t(3, 4), -2)])
_("sym_storage_offset.default", lambda: [(t(3, 4),)])
_("sym_stride.int", lambda: [(t(3, 4), 0), (t(3, 4).t(), -1)])

_("_softmax.default", lambda: [(t(3, 4), 1, False), (t(2, 3, 4), -2, False), (t(), 0, False)])
_("_log_softmax.default", lambda: [(t(3, 4), 1, False), (t(2, 3, 4), -2, False)])
_("_cdist_forward.default", lambda: [(t(3, 4), t(5, 4), p, None) for p in (0.0, 1.0, 2.0, float("inf"))])
_("_pdist_forward.default", lambda: [(t(4, 3),), (t(4, 3), 1.0), (t(1, 3), 2.0)])

_images = [([4, 3],), ([1, 1],), ([7, 6],)]
_("_adaptive_avg_pool2d.default", lambda: [(t(2, 3, 7, 6), size) for (size,) in _images] + [(t(3, 5, 5), [2, 3])])
_("_adaptive_avg_pool3d.default", lambda: [(t(2, 3, 4, 7, 6), [2, *size]) for (size,) in _images])
_("adaptive_avg_pool1d.default", lambda: [(t(2, 3, 7), [3]), (t(3, 7), [1])])
_("_adaptive_avg_pool2d_backward.default", lambda: [(t(2, 3, *size), t(2, 3, 7, 6)) for (size,) in _images])
_("avg_pool2d_backward.default", lambda: [
    (t(2, 3, 4, 3), t(2, 3, 8, 6), [2, 2], [2, 2], [0, 0], False, True, None),
    (t(2, 3, 4, 4), t(2, 3, 7, 7), [3, 3], [2, 2], [1, 1], False, False, None),
    (t(2, 3, 4, 4), t(2, 3, 7, 7), [3, 3], [2, 2], [1, 1], True, True, None),
    (t(3, 4, 3), t(3, 8, 6), [2, 2], [], [0, 0], False, True, 3),
])  # fmt: skip
_("max_pool2d_with_indices.default", lambda: [
    (t(2, 3, 8, 6), [2, 2]), (t(3, 7, 7), [3, 2], [2, 1], [1, 1]), (t(2, 3, 8, 8), [2, 2], [1, 1], [1, 0], [2, 2], True),
])  # fmt: skip
_("max_pool3d_with_indices.default", lambda: [
    (t(2, 3, 4, 8, 6), [2, 2, 2]), (t(3, 5, 7, 7), [3, 2, 2], [2, 1, 2], [1, 1, 0], [1, 1, 2], True)])  # fmt: skip


def _pool_backward() -> list[Sample]:
    made: list[Sample] = []
    for size, settings in (
        ((2, 3, 8, 6), ([2, 2], [2, 2], [0, 0], [1, 1], False)),
        ((3, 7, 7), ([3, 2], [2, 1], [1, 1], [1, 2], True)),
    ):
        x = t(*size)
        values, indices = torch.ops.aten.max_pool2d_with_indices(x, *settings)
        made.append((t(*values.shape), x, *settings, indices))
    return made


_("max_pool2d_with_indices_backward.default", _pool_backward)
_("upsample_nearest2d.vec", lambda: [(t(2, 3, 4, 5), [7, 9], None), (t(2, 3, 4, 5), None, [2.0, 1.5])])
_(
    "upsample_bilinear2d.vec",
    lambda: [
        (t(2, 3, 4, 5), [7, 9], False, None),
        (t(2, 3, 4, 5), [7, 9], True, None),
        (t(2, 3, 4, 5), None, False, [2.0, 1.5]),
    ],
)
_("col2im.default", lambda: [
    (t(2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]), (t(12, 6), [4, 5], [2, 2], [1, 1], [0, 1], [2, 2]),
    (t(2, 8, 9), [5, 5], [2, 2], [2, 2], [0, 0], [1, 1])])  # fmt: skip
for _rank in (1, 2, 3):
    _(f"reflection_pad{_rank}d.default", lambda n=_rank: [
        (t(2, 3, *(5, 6, 7)[:n]), [1, 2, 3, 0, 1, 1][: 2 * n]),
        (t(3, *(5, 6, 7)[:n]), [2, 1, 0, 0, 1, 2][: 2 * n])])  # fmt: skip
    _(f"replication_pad{_rank}d.default", lambda n=_rank: [
        (t(2, 3, *(5, 6, 7)[:n]), [1, 2, 3, 0, 1, 1][: 2 * n]),
        (t(3, *(5, 6, 7)[:n]), [2, 7, 0, 0, 1, 2][: 2 * n])])  # fmt: skip

# input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
_convolutions = lambda: [  # noqa: E731
    (t(2, 3, 9), t(4, 3, 3), t(4), [1], [0], [1], False, [0], 1),
    (t(2, 4, 9, 8), t(6, 2, 3, 3), t(6), [2, 1], [1, 2], [1, 2], False, [0, 0], 2),
    (t(2, 4, 5, 4), t(4, 3, 3, 2), t(6), [2, 3], [1, 0], [1, 1], True, [1, 0], 2),
    (t(2, 2, 4, 5, 6), t(3, 2, 2, 3, 2), None, [1, 2, 1], [0, 1, 1], [1, 1, 2], False, [0, 0, 0], 1),
    (t(2, 4, 6), t(4, 3, 3), None, [2], [1], [1], True, [1], 1),
]  # fmt: skip
_("convolution.default", _convolutions)


def _convolution_backward() -> list[Sample]:
    made: list[Sample] = []
    for x, weight, bias, *settings in _convolutions():
        result = torch.ops.aten.convolution(x, weight, bias, *settings)
        sizes = None if bias is None else list(bias.shape)
        made.append((t(*result.shape), x, weight, sizes, *settings, [True, True, bias is not None]))
    return made


_("convolution_backward.default", _convolution_backward)
_("embedding_dense_backward.default", lambda: [
    (t(4, 3), i(5, 4), 5, -1, False), (t(2, 4, 3), i(5, 2, 4), 6, 1, False), (t(4, 3), i(3, 4), 5, -1, True)])  # fmt: skip
_("native_layer_norm_backward.default", lambda: [
    (t(4, 3, 5), t(2, 6, 10)[:, :3, :5].repeat(2, 1, 1), [5], t(4, 3, 1), t(4, 3, 1).abs(), t(5), t(5), [True, True, True]),
    (t(4, 3, 5), t(5, 3, 5)[:4], [3, 5], t(4, 1, 1), t(4, 1, 1).abs(), None, None, [True, False, False])])  # fmt: skip
_("native_group_norm_backward.default", lambda: [
    (t(2, 6, 4), t(2, 6, 5)[..., :4], t(2, 3), t(2, 3).abs(), t(6), 2, 6, 4, 3, [True, True, True]),
    (t(2, 4, 3, 2), t(3, 4, 3, 2)[:2], t(2, 2), t(2, 2).abs(), None, 2, 4, 6, 2, [True, False, False])])  # fmt: skip
_(
    "_native_batch_norm_legit.no_stats",
    lambda: [(t(2, 3, 4), t(3), t(3), True, 0.1, 1e-5), (t(4, 3), None, None, True, 0.1, 0.5)],
)
_("_native_batch_norm_legit_no_training.default", lambda: [
    (t(2, 3, 4), t(3), t(3), t(3), t(3).abs(), 0.1, 1e-5), (t(4, 3), None, None, t(3), t(3).abs(), 0.1, 0.5)])  # fmt: skip
_("_fft_r2c.default", lambda: [(t(4, 6), [1], 0, True), (t(4, 6), [0], 1, False)])
_("_fft_c2r.default", lambda: [(torch.complex(t(4, 6), t(4, 5 + 1)), [1], 0, 10)])
_("resize_.default", lambda: [(t(3, 4), [2, 3]), (t(3, 4), [3, 4])])
