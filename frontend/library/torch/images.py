"""Convolution and pooling."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import backward_decomposed as backward
from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.library.torch import resizing_decomposed as resizing
from scriptc.frontend.library.torch.complexes import is_complex_tensor
from scriptc.frontend.library.torch.convolution_checks_decomposed import check_batch
from scriptc.frontend.library.torch.images_decomposed import conv_transpose_of_groups, same_padding
from scriptc.frontend.library.torch.memory import axis
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_known, tensor_type

_NONE, _ONE, _ZERO, _FALSE, _TRUE = Known(None), Known(1), Known(0), Known(False), Known(True)


def pair(r: Reader, av: AbstractValue, what: str) -> tuple[int, int]:
    obj = require_known(r, av, what)
    if isinstance(obj, (tuple, list)):
        return (obj[0], obj[-1])
    return (obj, obj)


def _check_rank(r: Reader, input: AbstractValue) -> None:
    if tensor_type(input).rank not in (3, 4):
        r.emit.raise_error("RuntimeError", "non-empty 3D or 4D (batch mode) tensor expected for input")


@serves("torch.conv2d", "torch.nn.functional.conv2d")
def conv2d(
    r: Reader,
    input: AbstractValue,
    weight: AbstractValue,
    bias: AbstractValue = _NONE,
    stride: AbstractValue = _ONE,
    padding: AbstractValue = _ZERO,
    dilation: AbstractValue = _ONE,
    groups: AbstractValue = _ONE,
) -> AbstractValue:
    r.call(Known(check_batch), [input, Known("conv2d"), Known(2)], {})
    steps, spread = pair(r, stride, "the stride"), pair(r, dilation, "the dilation")
    if require_known(r, padding, "padding") in ("same", "valid"):
        input = r.call(Known(same_padding), [input, weight, padding, Known(steps), Known(spread), Known(2)], {})
        padding = _ZERO
    return apply_op(
        r, "conv2d", input, weight, bias, groups, stride=steps, padding=pair(r, padding, "the padding"), dilation=spread
    )


@serves("torch.conv_transpose2d", "torch.nn.functional.conv_transpose2d")
def conv_transpose2d(
    r: Reader,
    input: AbstractValue,
    weight: AbstractValue,
    bias: AbstractValue = _NONE,
    stride: AbstractValue = _ONE,
    padding: AbstractValue = _ZERO,
    output_padding: AbstractValue = _ZERO,
    groups: AbstractValue = _ONE,
    dilation: AbstractValue = _ONE,
) -> AbstractValue:
    r.call(Known(check_batch), [input, Known("conv_transpose2d"), Known(2)], {})
    if not is_known(groups):
        args = [input, weight, bias, stride, padding, output_padding, groups, dilation]
        return r.call(Known(conv_transpose_of_groups), args, {})
    return apply_op(r,
        "conv_transpose2d", input, weight, bias, _NONE, stride=pair(r, stride, "the stride"),
        padding=pair(r, padding, "the padding"), output_padding=pair(r, output_padding, "the output padding"),
        dilation=pair(r, dilation, "the dilation"), groups=require_known(r, groups, "groups"),
    )  # fmt: skip


def _conv2d_backward(name: str) -> None:
    @serves(getattr(backward, name))
    def handler(
        r: Reader, a: AbstractValue, b: AbstractValue, height: AbstractValue, width: AbstractValue, stride: AbstractValue,
        padding: AbstractValue, dilation: AbstractValue, groups: AbstractValue,
    ) -> AbstractValue:  # fmt: skip
        return apply_op(
            r, name, a, b, height, width, groups, stride=pair(r, stride, "the stride"),
            padding=pair(r, padding, "the padding"), dilation=pair(r, dilation, "the dilation"),
        )  # fmt: skip


_conv2d_backward("conv2d_backward_input")
_conv2d_backward("conv2d_backward_weight")


@serves("torch.max_pool2d")
def max_pool2d(
    r: Reader,
    input: AbstractValue,
    kernel_size: AbstractValue,
    stride: AbstractValue = _NONE,
    padding: AbstractValue = _ZERO,
    dilation: AbstractValue = _ONE,
    ceil_mode: AbstractValue = _FALSE,
) -> AbstractValue:
    _check_rank(r, input)
    kernel = pair(r, kernel_size, "the kernel size")
    steps = require_known(r, stride, "the stride")
    return apply_op(r,
        "max_pool2d", input, kernel_size=kernel, stride=kernel if steps in (None, [], ()) else pair(r, stride, "the stride"),
        padding=pair(r, padding, "the padding"), dilation=pair(r, dilation, "the dilation"),
        ceil_mode=bool(require_known(r, ceil_mode, "ceil_mode")),
    )  # fmt: skip


@serves(backward.max_pool2d_backward)
def max_pool2d_backward(
    r: Reader, grad: AbstractValue, self: AbstractValue, kernel_size: AbstractValue, stride: AbstractValue,
    padding: AbstractValue, dilation: AbstractValue, ceil_mode: AbstractValue,
) -> AbstractValue:  # fmt: skip
    return apply_op(r,
        "max_pool2d_backward", grad, self, kernel_size=pair(r, kernel_size, "the kernel size"),
        stride=pair(r, stride, "the stride"), padding=pair(r, padding, "the padding"),
        dilation=pair(r, dilation, "the dilation"), ceil_mode=bool(require_known(r, ceil_mode, "ceil_mode")),
    )  # fmt: skip


@serves("torch.nn.functional.avg_pool2d")
def avg_pool2d(
    r: Reader,
    input: AbstractValue,
    kernel_size: AbstractValue,
    stride: AbstractValue = _NONE,
    padding: AbstractValue = _ZERO,
    ceil_mode: AbstractValue = _FALSE,
    count_include_pad: AbstractValue = _TRUE,
    divisor_override: AbstractValue = _NONE,
) -> AbstractValue:
    if is_known(divisor_override) and divisor_override.obj == 0:
        r.emit.raise_error("RuntimeError", "divisor must be not zero")
    _check_rank(r, input)
    kernel = pair(r, kernel_size, "the kernel size")
    steps = require_known(r, stride, "the stride")
    return apply_op(r,
        "avg_pool2d", input, kernel_size=kernel, stride=kernel if steps in (None, [], ()) else pair(r, stride, "the stride"),
        padding=pair(r, padding, "the padding"), ceil_mode=bool(require_known(r, ceil_mode, "ceil_mode")),
        count_include_pad=bool(require_known(r, count_include_pad, "count_include_pad")),
        divisor_override=require_known(r, divisor_override, "divisor_override"),
    )  # fmt: skip


@serves("torch.nn.functional.linear")
def linear(r: Reader, input: AbstractValue, weight: AbstractValue, bias: AbstractValue = _NONE) -> AbstractValue:
    if is_complex_tensor(input) and is_complex_tensor(weight):
        return r.call(Known(complexes.linear), [input, weight, bias], {})
    return apply_op(r, "linear", input, weight, bias)


@serves(resizing.resample)
def resample(
    r: Reader, input: AbstractValue, dim: AbstractValue, index: AbstractValue, weight: AbstractValue
) -> AbstractValue:
    if tensor_type(input).dtype == "u8":
        r.reject("resized_bytes")
    return apply_op(r, "resample", input, index, weight, dim=axis(r, input, dim))
