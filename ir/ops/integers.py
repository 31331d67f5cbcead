"""Products of tensors of 16-bit integers, whose sums wrap at 32 bits. The passes alone make these ops."""

from __future__ import annotations

from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises
from scriptc.ir.ops.images import _window
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, fixed, tensor
from scriptc.ir.types import PACKED, TensorType, Type

_PURE = frozenset({"PURE"})
_CHECKED = frozenset({"PURE", "PLAIN", "CHECKED"})  # the check of the replaced matmul precedes the op
_TENSOR = frozenset({"tensor"})
_MISFIT = Raises("RuntimeError", "Given groups=1, weight of size [6, 3, 3, 3], expected input[2, 4, 9, 8] to have 3 channels, "
                 "but got 4 channels instead")  # fmt: skip


def _matmul(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims
    return (TensorType("i32", (*dims[:-1], as_dim(operands[2]))),)


def _conv2d(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = tensor(operands[0]).dims
    assert dims is not None and len(dims) == 4
    windows = zip(dims[2:], attrs["weight"][2:], *(attrs[name] for name in ("stride", "padding", "dilation")), strict=True)
    sizes = [_window(*window) for window in windows]
    return (TensorType("i32", (dims[0], attrs["weight"][0], *sizes)),)


ROWS = [
    # Packs a matrix i16[K, N].
    OpDef("integers.columns", "(Tensor self) -> Value", fixed(PACKED), _PURE, ref="integers_columns", reads=_TENSOR,
          kernel="sc_integers_columns", phases=MADE_BY_PASSES),
    # Packs weights i16[F, C, h, w].
    OpDef("integers.filters", "(Tensor self) -> Value", fixed(PACKED), _PURE, ref="integers_filters", reads=_TENSOR,
          kernel="sc_integers_filters", phases=MADE_BY_PASSES),
    # The product of i16[..., K] and a packed matrix [K, size].
    OpDef("integers.matmul", "(Tensor self, Value packed, SymInt size) -> Tensor", _matmul, _CHECKED, ref="integers_matmul",
          reads=_TENSOR, kernel="sc_integers_matmul", phases=MADE_BY_PASSES),
    # The convolution of images i16[N, C, H, W] by a packed weight of these sizes, whose errors the op raises. The
    # result has the strides of a new tensor, or channels-last ones.
    OpDef("integers.conv2d", "(Tensor self, Value packed, Value channels_last, *, int[4] weight, int[2] stride, "
          "int[2] padding, int[2] dilation, int groups) -> Tensor", _conv2d, _PURE, ref="integers_conv2d", reads=_TENSOR,
          raises=True, kernel="sc_integers_conv2d", errors=(_MISFIT,), phases=MADE_BY_PASSES),
]  # fmt: skip
