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
_CHECKED = _PLAIN | {"CHECKED"}  # the check of the replaced linear precedes the op
_TENSOR = frozenset({"tensor"})
_MISFIT = Raises("RuntimeError", "Given groups=1, weight of size [6, 3, 3, 3], expected input[2, 4, 9, 8] to have 3 channels, "
                 "but got 4 channels instead")  # fmt: skip


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


def _sums(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType("f32", (2 * attrs["terms"] + 1,)),)


def _thresholds(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType("i32", (None, None)),)


def _linear_bits(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None
    return (TensorType("i64", (None, *dims[1:-1], words_of(attrs["weight"][0]))),)


def _conv2d_bits(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    (made,) = _conv2d(operands, attrs)
    dims = made.dims if isinstance(made, TensorType) else None
    assert dims is not None
    return (TensorType("i64", (None, dims[0], *dims[2:], words_of(attrs["weight"][0]))),)


ROWS = [
    # The signs of rows f32[..., K].
    OpDef("signs.rows", "(Tensor self, *, int how, float bound) -> Tensor", _rows, _PLAIN, ref="signs_rows", reads=_TENSOR,
          kernel="sc_signs_rows", phases=MADE_BY_PASSES),
    # The signs of images f32[N, C, H, W], for a convolution by a weight of these sizes, whose errors the op raises.
    OpDef("signs.image", "(Tensor self, *, int[4] weight, int[2] stride, int[2] padding, "
          "int[2] dilation, int how, float bound) -> Tensor", _image, _PLAIN, ref="signs_image", reads=_TENSOR, raises=True,
          kernel="sc_signs_image",
          errors=(_MISFIT,), phases=MADE_BY_PASSES),
    # The signs of weights f32[F, K] or f32[F, C, h, w].
    OpDef("signs.filters", "(Tensor self) -> Tensor", _filters, _PLAIN, ref="signs_filters", reads=_TENSOR,
          kernel="sc_signs_filters", phases=MADE_BY_PASSES),
    # The products of rows and filters; `weight` is the size of the weight.
    OpDef("signs.linear", "(Tensor rows, Tensor filters, *, int[2] weight) -> Tensor", _linear, _CHECKED, ref="signs_linear",
          reads=_TENSOR, kernel="sc_signs_linear", phases=MADE_BY_PASSES),
    # Whether the result of a convolution is channels last, whose input a pointwise op computes from `image`: from it alone, or,
    # as `numbers` says, from it and numbers. weight: whether the weight suggests it.
    OpDef("signs.order", "(Tensor image, Value weight, *, bool numbers) -> bool", fixed(BOOL), _PURE, ref="signs_order",
          reads=_TENSOR, kernel="sc_signs_order", phases=MADE_BY_PASSES),
    # The convolution of images, with zeros as padding. The result may be channels last.
    OpDef("signs.conv2d", "(Tensor image, Tensor filters, Value channels_last, *, int[4] weight, int[2] stride, "
          "int[2] padding, int[2] dilation) -> Tensor", _conv2d, _PURE, ref="signs_conv2d", reads=_TENSOR,
          kernel="sc_signs_conv2d", phases=MADE_BY_PASSES),
    # The sums that this many signs may have: -terms to terms. They are computed where the filters are, and do not read them.
    OpDef("signs.sums", "(Tensor filters, *, int terms) -> Tensor", _sums, _PLAIN, ref="signs_sums", reads=_TENSOR,
          kernel="sc_signs_sums", phases=MADE_BY_PASSES),
    # Of values f32[sums, filters, ...], computed from all sums: the sums whose sign, told by `how`, is negative, or 0.
    # i32[4, filters]: the first and the last negative one, and the first and the last that is 0; the last is below the first
    # if there are none. Where those are not side by side: i32[sums, filters], the signs. Filters fill up blocks.
    OpDef("signs.thresholds", "(Tensor self, *, int how, float bound) -> Tensor", _thresholds, _PLAIN, ref="signs_thresholds",
          reads=_TENSOR, kernel="sc_signs_thresholds", phases=MADE_BY_PASSES),
    # The signs of what is computed from the results of `signs.linear` and `signs.conv2d`, as rows and as an image.
    OpDef("signs.linear_bits", "(Tensor rows, Tensor filters, Tensor thresholds, *, int[2] weight) -> Tensor", _linear_bits,
          _CHECKED, ref="signs_linear_bits", reads=_TENSOR, kernel="sc_signs_linear_bits", phases=MADE_BY_PASSES),
    OpDef("signs.conv2d_bits", "(Tensor image, Tensor filters, Tensor thresholds, *, int[4] weight, int[2] stride, "
          "int[2] padding, int[2] dilation) -> Tensor", _conv2d_bits, _PLAIN, ref="signs_conv2d_bits", reads=_TENSOR,
          kernel="sc_signs_conv2d_bits", phases=MADE_BY_PASSES),
    # Raises the errors of a convolution of an image in bits.
    OpDef("signs.check", "(Tensor image, *, int[4] weight, int[2] stride, int[2] padding, int[2] dilation) -> ()", fixed(),
          reads=_TENSOR, ref="signs_check", raises=True, kernel="sc_signs_check", errors=(_MISFIT,), phases=MADE_BY_PASSES),
    # `signs.order` for the next convolution, whose image is computed from the result of a convolution. order: whether that is
    # channels last. numbers: whether each op in between has another operand.
    OpDef("signs.next_order", "(Tensor image, Value order, Value weight, *, bool numbers) -> bool", fixed(BOOL), _PURE,
          ref="signs_next_order", reads=_TENSOR, kernel="sc_signs_next_order", phases=MADE_BY_PASSES),
]  # fmt: skip
