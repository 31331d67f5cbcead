"""Convolution and pooling over [N, C, H, W] or [C, H, W]."""

from __future__ import annotations

from scriptc.ir.opdef import MADE_BY_PASSES, OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, broadcast_dims, fixed, same_type, tensor
from scriptc.ir.types import BOOL, NONE, PACKED, Dim, TensorType, Type

_PURE = frozenset({"PURE"})
_PLAIN = frozenset({"PURE", "PLAIN"})
_TENSOR = frozenset({"tensor"})


def _window(size: Dim, kernel: Dim, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> Dim:
    """Return the number of windows; in ceil_mode the last must start inside the input or its left padding."""
    if not isinstance(size, int) or not isinstance(kernel, int):
        return None
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    length = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (length - 1) * stride >= size + padding:
        length -= 1
    return length if length >= 0 else None


def _image(t: TensorType, what: str) -> tuple[Dim, ...]:
    if t.dims is None or len(t.dims) not in (3, 4):
        raise TypeRuleError(f"{what} expects a 3-D or 4-D input, not {t}")
    return t.dims


def _conv2d(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, w = tensor(operands[0]), tensor(operands[1])
    dims = _image(x, "conv2d")
    if w.dims is None or len(w.dims) != 4:
        raise TypeRuleError(f"conv2d expects a 4-D weight, not {w}")
    if x.dtype != w.dtype:
        raise TypeRuleError(f"Input type ({x.dtype}) and weight type ({w.dtype}) should be the same")
    windows = zip(dims[-2:], w.dims[2:], attrs["stride"], attrs["padding"], attrs["dilation"], strict=True)
    sizes = [_window(*window) for window in windows]
    return (TensorType(x.dtype, (*dims[:-3], w.dims[0], *sizes)),)


def _conv2d_packed(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, dims = tensor(operands[0]), _image(tensor(operands[0]), "conv2d_packed")
    windows = zip(dims[-2:], attrs["weight"][2:], attrs["stride"], attrs["padding"], attrs["dilation"], strict=True)
    sizes = (dims[0], attrs["weight"][0], *(_window(*window) for window in windows))
    if operands[2].type == NONE:
        return (TensorType(x.dtype, sizes),)
    return (TensorType(x.dtype, broadcast_dims([sizes, tensor(operands[2]).dims])),)


def _conv_transpose2d(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, w = tensor(operands[0]), tensor(operands[1])
    dims = _image(x, "conv_transpose2d")
    if w.dims is None or len(w.dims) != 4:
        raise TypeRuleError(f"conv_transpose2d expects a 4-D weight, not {w}")
    filters = w.dims[1] * attrs["groups"] if isinstance(w.dims[1], int) else None
    return (TensorType(x.dtype, (*dims[:-3], filters, None, None)),)


def _gradient_operands(operands: Operands, what: str) -> tuple[TensorType, TensorType]:
    a, b = tensor(operands[0]), tensor(operands[1])
    if a.rank != 4 or b.rank != 4:
        raise TypeRuleError(f"{what} expects 4-D tensors, not {a} and {b}")
    if a.dtype != b.dtype:
        raise TypeRuleError(f"expected scalar type {a.dtype} but found {b.dtype}")
    return a, b


def _conv2d_backward_input(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    y, w = _gradient_operands(operands, "conv2d_backward_input")
    assert y.dims is not None and w.dims is not None
    groups = as_dim(operands[-1])
    channels = w.dims[1] * groups if isinstance(w.dims[1], int) and isinstance(groups, int) else None
    return (TensorType(y.dtype, (y.dims[0], channels, as_dim(operands[2]), as_dim(operands[3]))),)


def _conv2d_backward_weight(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, y = _gradient_operands(operands, "conv2d_backward_weight")
    assert x.dims is not None and y.dims is not None
    groups = as_dim(operands[-1])
    channels = x.dims[1] // groups if isinstance(x.dims[1], int) and isinstance(groups, int) and groups > 0 else None
    return (TensorType(x.dtype, (y.dims[1], channels, as_dim(operands[2]), as_dim(operands[3]))),)


def _pool(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x = tensor(operands[0])
    dims = _image(x, "pooling")
    dilation = attrs.get("dilation", (1, 1))
    windows = zip(dims[-2:], attrs["kernel_size"], attrs["stride"], attrs["padding"], dilation, strict=True)
    sizes = [_window(*window, attrs["ceil_mode"]) for window in windows]
    return (TensorType(x.dtype, (*dims[:-2], *sizes)),)


def _max_pool2d_backward(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    (pooled,) = _pool(operands[1:], attrs)
    if tensor(operands[0]).dtype != tensor(operands[1]).dtype:
        raise TypeRuleError(f"expected a gradient of the dtype of {pooled}")
    return (tensor(operands[1]),)


def _resample(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, index = tensor(operands[0]), tensor(operands[1])
    if not x.dims or index.dims is None or len(index.dims) != 2:
        raise TypeRuleError("resampling needs indices of two dims and a tensor of at least one")
    dims = list(x.dims)
    dims[attrs["dim"]] = index.dims[1]
    return (TensorType(x.dtype, tuple(dims)),)


_IMAGES = (((2, 3, 9, 8),), ((3, 7, 7),))
_ONES = ((1, 1), (0, 0), (1, 1), 1)  # strides, no padding, dilations, one group
_PADDED = "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1"
ROWS = [
    OpDef("conv2d", "(Tensor input, Tensor weight, Tensor? bias, int[2] stride, int[2] padding, "
          "int[2] dilation, SymInt groups) -> Tensor", _conv2d, _PURE, gradient=("input", "weight", "bias"), ref="torch.conv2d",
          reads=_TENSOR, raises=True, emit="conv2d", tolerance_ulp=128,
          samples=Samples((((2, 4, 9, 8), (6, 4, 3, 3), (6,)), ((4, 5, 5), (2, 4, 1, 2), (2,))),
                          dtypes=("f32", "f64"), extra=(((1, 1), (0, 0), (1, 1), 1), ((2, 1), (1, 2), (2, 1), 1))),
          errors=(Raises("RuntimeError", "Given groups=1, weight of size [6, 3, 3, 3], expected input[2, 4, 9, 8] to have 3 "
                         "channels, but got 4 channels instead", shapes=((2, 4, 9, 8), (6, 3, 3, 3), (6,)), extra=_ONES),
                  Raises("RuntimeError", "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel "
                         "size can't be greater than actual input size", shapes=((2, 4, 2, 2), (6, 4, 3, 3), (6,)),
                         extra=_ONES),
                  Raises("RuntimeError", "Given weight of size [6, 4, 3, 3], expected bias to be 1-dimensional with 6 "
                         "elements, but got bias of size [5] instead", shapes=((2, 4, 9, 8), (6, 4, 3, 3), (5,)),
                         extra=_ONES))),
    # The gradients of the images, of this height and width, and of the weight of a convolution, from that of its result. The
    # latter may have fewer rows and columns than the convolution: the gradient of a transposed convolution passes its input.
    OpDef("conv2d_backward_input", "(Tensor grad, Tensor weight, SymInt height, SymInt width, int[2] stride, int[2] padding, "
          "int[2] dilation, SymInt groups) -> Tensor", _conv2d_backward_input, _PLAIN, ref="conv2d_backward_input",
          reads=_TENSOR, raises=True, kernel="sc_conv2d_backward_input", tolerance_ulp=128,
          samples=Samples((((2, 6, 7, 5), (6, 4, 3, 3)),), dtypes=("f32", "f64"),
                          extra=((9, 7, (1, 1), (0, 0), (1, 1), 1), (14, 7, (2, 1), (1, 2), (1, 2), 1))),
          errors=(Raises("RuntimeError", "Given groups=4, expected weight to be divisible by 4 at dimension 0, but got weight "
                         "of size [[6, 4, 3, 3]] instead", shapes=((2, 6, 7, 5), (6, 4, 3, 3)),
                         extra=(9, 7, (1, 1), (0, 0), (1, 1), 4)),)),
    OpDef("conv2d_backward_weight", "(Tensor input, Tensor grad, SymInt height, SymInt width, int[2] stride, int[2] padding, "
          "int[2] dilation, SymInt groups) -> Tensor", _conv2d_backward_weight, _PLAIN, ref="conv2d_backward_weight",
          reads=_TENSOR, raises=True, kernel="sc_conv2d_backward_weight", tolerance_ulp=128,
          samples=Samples((((2, 4, 9, 7), (2, 6, 7, 5)),), dtypes=("f32", "f64"),
                          extra=((3, 3, (1, 1), (0, 0), (1, 1), 1), (3, 3, (1, 1), (0, 0), (1, 1), 2))),
          errors=(Raises("RuntimeError", "Given groups=4, expected weight to be divisible by 4 at dimension 0, but got weight "
                         "of size [[6, 1, 3, 3]] instead", shapes=((2, 4, 9, 7), (2, 6, 7, 5)),
                         extra=(3, 3, (1, 1), (0, 0), (1, 1), 4)),)),
    # Packs a float32 weight and bias for conv2d_packed. depthwise: for a convolution of at least 16 groups of one channel, with
    # a filter each; else for one without groups. dense: the strides and dilations of the convolution are 1.
    OpDef("pack_conv", "(Tensor weight, Tensor? bias, *, bool depthwise, bool dense=False) -> Value", fixed(PACKED), _PURE,
          reads=_TENSOR, ref="pack_conv", kernel="sc_pack_conv", phases=MADE_BY_PASSES),
    # activation(clamp(conv2d(input) + add, low, high)), where clamp keeps NaN. `weight` is the size of the packed weight. The
    # result has the strides of a new tensor, or channels-last ones. Errors are those of add + conv2d(input) if add_first, of
    # an in-place sum if in_place. room: see `place`.
    OpDef("conv2d_packed", "(Tensor input, Value packed, Tensor? add, Value channels_last, Value? activation, "
          "Value[] where, *, int[4] weight, int[2] stride, int[2] padding, int[2] dilation, int groups, float low, float high, "
          "bool add_first=False, bool in_place=False, int room=0, int at=0) -> Tensor", _conv2d_packed, _PURE,
          ref="conv2d_packed", reads=_TENSOR, raises=True, emit="placed", tolerance_ulp=128, phases=MADE_BY_PASSES),
    # A packed weight of 1 x 1, without groups, of a convolution without padding that first makes
    # clamp(input * scale + shift, least, most) of its input, if `applied`. scale: [N, C, 1, 1], [1, C, 1, 1] or [C, 1, 1];
    # shift: [1, C, 1, 1] or [C, 1, 1].
    OpDef("with_prologue", "(Value applied, Tensor scale, Tensor? shift, Value packed, *, float least, float most) -> Value",
          fixed(PACKED), _PURE, reads=_TENSOR, ref="with_prologue", emit="with_prologue", phases=MADE_BY_PASSES),
    # Copies an image that is channels last to a part of an image of `room` channels: of a new one, from channel `at` on, or of
    # the one that has the second of `where`, from whose first channel `at` counts then. If the first of `where` is false, and
    # for other images, the result is the input.
    OpDef("place", "(Tensor input, Value[] where, *, int room, int at) -> Tensor", same_type, _PURE, ref="place",
          reads=_TENSOR, emit="placed", phases=MADE_BY_PASSES),
    # Whether eager's suggest_memory_format() of one of the tensors is channels last.
    OpDef("suggests_channels_last", "(Value[] tensors) -> bool", fixed(BOOL), _PURE, reads=_TENSOR,
          ref="suggests_channels_last", emit="suggests_channels_last", phases=MADE_BY_PASSES),
    # `arranged` is the result of `arrange_transposed` with the same attributes, or None.
    OpDef("conv_transpose2d", "(Tensor input, Tensor weight, Tensor? bias, Value? arranged, int[2] stride, int[2] padding, "
          "int[2] output_padding, int groups, int[2] dilation) -> Tensor", _conv_transpose2d, _PURE,
          gradient=("input", "weight", "bias"), ref="conv_transpose2d", reads=_TENSOR, raises=True, emit="conv_transpose2d",
          tolerance_ulp=128,
          samples=Samples((((2, 4, 5, 3), (4, 3, 3, 2), (3,)), ((2, 4, 4), (2, 1, 1, 2), (1,))), dtypes=("f32", "f64"),
                          extra=((None, (1, 1), (0, 0), (0, 0), 1, (1, 1)), (None, (2, 3), (1, 0), (1, 2), 1, (2, 1)))),
          errors=(Raises("RuntimeError", "Given transposed=1, weight of size [4, 3, 3, 2], expected input[2, 3, 5, 3] to have "
                         "4 channels, but got 3 channels instead", shapes=((2, 3, 5, 3), (4, 3, 3, 2), (3,)),
                         extra=(None, (1, 1), (0, 0), (0, 0), 1, (1, 1))),
                  Raises("RuntimeError", "output padding must be smaller than either stride or dilation, but got "
                         "output_padding_height: 1 output_padding_width: 1 stride_height: 1 stride_width: 1 "
                         "dilation_height: 1 dilation_width: 1", shapes=((2, 4, 5, 3), (4, 3, 3, 2), (3,)),
                         extra=(None, (1, 1), (0, 0), (1, 1), 1, (1, 1))))),
    # Arranges the weight of a transposed convolution for the kernel. The result is undefined if the weight does not fit
    # the groups.
    OpDef("arrange_transposed", "(Tensor weight, int[2] stride, int[2] padding, int groups, int[2] dilation) -> Value",
          fixed(PACKED), _PURE, reads=_TENSOR, ref="arrange_transposed", kernel="sc_arrange_transposed",
          phases=MADE_BY_PASSES),
    # arrange_transposed, made once and kept from call to call; see pack_linear.kept.
    OpDef("arrange_transposed.kept",
          "(Tensor weight, int[2] stride, int[2] padding, int groups, int[2] dilation, int slot) -> Value", fixed(PACKED),
          _PURE, reads=_TENSOR, ref="arrange_transposed", kernel="sc_arrange_transposed_kept", phases=MADE_BY_PASSES),
    OpDef("max_pool2d", "(Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, "
          "bool ceil_mode) -> Tensor", _pool, _PURE, gradient=("self",), ref="torch.max_pool2d",
          reads=_TENSOR, raises=True, emit="max_pool2d",
          samples=Samples(_IMAGES, extra=(((2, 2), (2, 2), (0, 0), (1, 1), False),
                                          ((3, 2), (2, 1), (1, 1), (1, 2), True))),
          errors=(Raises("RuntimeError", _PADDED, shapes=_IMAGES[0], extra=((2, 2), (2, 2), (2, 0), (1, 1), False)),
                  Raises("RuntimeError", "Given input size: (3x1x1). Calculated output size: (3x0x0). Output size is too "
                         "small", shapes=((2, 3, 1, 1),), extra=((2, 2), (2, 2), (0, 0), (1, 1), False)))),
    # The gradient of the input: that of a result goes to the first of the largest elements of its window, or to the last NaN.
    OpDef("max_pool2d_backward", "(Tensor grad, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
          "int[2] dilation, bool ceil_mode) -> Tensor", _max_pool2d_backward, _PURE, ref="max_pool2d_backward",
          reads=_TENSOR, raises=True, kernel="sc_max_pool2d_backward",
          samples=Samples((((2, 3, 4, 4), (2, 3, 9, 8)), ((3, 4, 4), (3, 9, 9))),
                          extra=(((2, 2), (2, 2), (0, 0), (1, 1), False), ((3, 2), (2, 2), (0, 0), (1, 1), False))),
          errors=(Raises("RuntimeError", _PADDED, shapes=((2, 3, 6, 6), (2, 3, 9, 8)),
                         extra=((2, 2), (2, 2), (2, 0), (1, 1), False)),)),
    OpDef("avg_pool2d", "(Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, "
          "bool count_include_pad, int? divisor_override) -> Tensor",
          _pool, _PURE, gradient=("self",), ref="torch.nn.functional.avg_pool2d", reads=_TENSOR, raises=True, emit="avg_pool2d",
          tolerance_ulp=4, samples=Samples(_IMAGES, extra=(((2, 2), (2, 2), (0, 0), False, True, None),
                                                           ((3, 2), (2, 1), (1, 1), True, False, None))),
          errors=(Raises("RuntimeError", _PADDED, shapes=_IMAGES[0], extra=((2, 2), (2, 2), (2, 0), False, True, None)),)),
    # Along `dim`, element i is the sum over t of weight[t, i] times the element at index[t, i].
    OpDef("resample", "(Tensor self, Tensor index, Tensor weight, int dim) -> Tensor", _resample, _PURE, gradient=("self",),
          ref="resample",
          reads=_TENSOR, raises=True, kernel="sc_resample", tolerance_ulp=16,
          samples=Samples((((3, 4), (2, 5), (2, 5)), ((3, 3, 3), (4, 2), (4, 2))), 0.0, 2.9, dtypes=("f32", "f64"),
                          kinds=("", "i64", ""), extra=((0,), (1,))),
          errors=(Raises("IndexError", "index out of range in self", shapes=((3, 4), (2, 5), (2, 5)), extra=(0,),
                         value=5.0),)),
]  # fmt: skip
