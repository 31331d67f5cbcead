"""Products of tensors whose elements are -1, 0 or 1, as operations on bits.

A tensor of signs is an i64 tensor of words, which the passes alone make. Its first dim holds one or two planes: bit i of a word
of plane 0 says that element i is negative, bit i of plane 1 that it is not zero. Without plane 1 no element is zero. Bits
behind the last element are 0 in both planes. Rows and pixels have a word for each 64 channels in the last dim; filters are
[planes, blocks, elements of the kernel, words, 8], with 8 filters side by side in a block. Where words would be mostly empty,
the channels of all elements of the kernel stand side by side: [planes, blocks, 1, words, 8].

`how` tells which elements are negative: 0, those for which `self - bound` is; 1 to 4, those for which self < bound, self <=
bound, not self >= bound, or not self > bound. With 0, an element is 0 where it equals the bound, or is NaN.
"""

from __future__ import annotations

from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises
from scriptc.ir.ops.images import _window
from scriptc.ir.ops.rules import Attrs, Operands, fixed, tensor
from scriptc.ir.types import BOOL, Dim, TensorType, Type

WORD = 64  # elements of a word
BLOCK = 8  # filters of a block

_PURE = frozenset({"PURE"})
_PLAIN = frozenset({"PURE", "PLAIN"})
_TENSOR = frozenset({"tensor"})


def words_of(channels: int) -> int:
    return -(-channels // WORD)


def is_patch(channels: int, area: int) -> bool:
    """Return whether the channels of all elements of a kernel stand side by side."""
    return 4 * words_of(channels * area) <= 3 * area * words_of(channels)


def _words(channels: Dim) -> Dim:
    return words_of(channels) if isinstance(channels, int) else None


def _rows(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims
    return (TensorType("i64", (None, *dims[:-1], _words(dims[-1]))),)


def _image(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None and len(dims) == 4
    return (TensorType("i64", (None, dims[0], *dims[2:], words_of(attrs["weight"][1]))),)


def _filters(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None and len(dims) in (2, 4)
    filters, kernel = dims[0], (dims[2:] or (1, 1))
    blocks = -(-filters // BLOCK) if isinstance(filters, int) else None
    area = kernel[0] * kernel[1] if isinstance(kernel[0], int) and isinstance(kernel[1], int) else None
    if area is None or not isinstance(dims[1], int):
        return (TensorType("i64", (None, blocks, None, None, BLOCK)),)
    if is_patch(dims[1], area):
        return (TensorType("i64", (None, blocks, 1, words_of(dims[1] * area), BLOCK)),)
    return (TensorType("i64", (None, blocks, area, words_of(dims[1]), BLOCK)),)


def _linear(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None
    return (TensorType("f32", (*dims[1:-1], attrs["weight"][0])),)


def _conv2d(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None
    windows = zip(dims[2:4], attrs["weight"][2:], *(attrs[name] for name in ("stride", "padding", "dilation")), strict=True)
    sizes = [_window(*window) for window in windows]
    return (TensorType("f32", (dims[1], attrs["weight"][0], *sizes)),)


ROWS = [
    # The signs of rows f32[..., K].
    OpDef("signs.rows", "(Tensor self, *, int how, float bound) -> Tensor", _rows, _PLAIN, ref="signs_rows", reads=_TENSOR,
          kernel="sc_signs_rows", phases=MADE_BY_PASSES),
    # The signs of images f32[N, C, H, W], for a convolution by a weight of these sizes, whose errors the op raises.
    OpDef("signs.image", "(Tensor self, *, int[4] weight, int[2] stride, int[2] padding, "
          "int[2] dilation, int how, float bound) -> Tensor", _image, _PLAIN, ref="signs_image", reads=_TENSOR, raises=True,
          kernel="sc_signs_image",
          errors=(Raises("RuntimeError", "Given groups=1, weight of size [6, 3, 3, 3], expected input[2, 4, 9, 8] to have 3 "
                         "channels, but got 4 channels instead"),), phases=MADE_BY_PASSES),
    # The signs of weights f32[F, K] or f32[F, C, h, w].
    OpDef("signs.filters", "(Tensor self) -> Tensor", _filters, _PLAIN, ref="signs_filters", reads=_TENSOR,
          kernel="sc_signs_filters", phases=MADE_BY_PASSES),
    # The products of rows and filters; `weight` is the size of the weight.
    OpDef("signs.linear", "(Tensor rows, Tensor filters, *, int[2] weight) -> Tensor", _linear, _PLAIN, ref="signs_linear",
          reads=_TENSOR, kernel="sc_signs_linear", phases=MADE_BY_PASSES),
    # Whether the result of a convolution is channels last, whose input a pointwise op computes from `image`: from it alone, or,
    # as `numbers` says, from it and numbers. weight: whether the weight suggests it.
    OpDef("signs.order", "(Tensor image, Value weight, *, bool numbers) -> bool", fixed(BOOL), _PURE, ref="signs_order",
          reads=_TENSOR, kernel="sc_signs_order", phases=MADE_BY_PASSES),
    # The convolution of images, with zeros as padding. The result may be channels last.
    OpDef("signs.conv2d", "(Tensor image, Tensor filters, Value channels_last, *, int[4] weight, int[2] stride, "
          "int[2] padding, int[2] dilation) -> Tensor", _conv2d, _PURE, ref="signs_conv2d", reads=_TENSOR,
          kernel="sc_signs_conv2d", phases=MADE_BY_PASSES),
]  # fmt: skip
