"""Errors of convolutions for arguments that do not fit, as eager raises them. Checks of 2-D convolutions are in C."""

from __future__ import annotations

from torch import Tensor


def check_batch(input: Tensor, function: str, count: int) -> None:
    if input.dim() != count + 1 and input.dim() != count + 2:
        expected = f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {function}"
        raise RuntimeError(f"{expected}, but got input of size: {list(input.shape)}")


def check_same_padding(input: Tensor, weight: Tensor, count: int) -> None:
    if weight.dim() != count + 2:
        shape = [1, *input.shape] if input.dim() == count + 1 else [*input.shape]
        expected = f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}"
        raise RuntimeError(f"{expected}, but got {count + 2}-dimensional input of size {shape} instead")


def _by(sizes: list[int]) -> str:
    return " x ".join([str(n) for n in sizes])


def _named(what: str, sizes: tuple[int, ...], separator: str = " ") -> str:
    return separator.join([f"{what}_{name}: {sizes[i]}" for i, name in enumerate(("depth", "height", "width"))])


def _check_numbers(
    input: Tensor, weight: Tensor, padding: tuple[int, ...], stride: tuple[int, ...], groups: int
) -> None:
    """Check what convolutions and transposed ones of volumes [N, C, D, H, W] have in common."""
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    shape = list(weight.shape)
    if weight.dim() != 5:
        expected = f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight {shape}"
        raise RuntimeError(f"{expected}, but got 5-dimensional input of size {list(input.shape)} instead")
    if weight.size(0) < groups:
        expected = f"Given groups={groups}, expected weight to be at least {groups} at dimension 0"
        raise RuntimeError(f"{expected}, but got weight of size {shape} instead")
    if weight.size(0) % groups != 0:
        expected = f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0"
        raise RuntimeError(f"{expected}, but got weight of size [{shape}] instead")


def _check_channels(input: Tensor, channels: int, bias: Tensor | None, filters: int, given: str, of_bias: str) -> None:
    """Check the channels of an input and the bias; given, of_bias: what eager's messages name first."""
    if input.size(1) != channels:
        raise RuntimeError(
            f"{given}, expected input{list(input.shape)} to have {channels} channels, but got {input.size(1)} channels instead"
        )
    if bias is not None and (bias.dim() != 1 or bias.size(0) != filters):
        expected = f"{of_bias}, expected bias to be 1-dimensional with {filters} elements"
        raise RuntimeError(f"{expected}, but got bias of size {list(bias.shape)} instead")


def check_volumes(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], groups: int,
) -> None:  # fmt: skip
    """Raise the error of eager's conv3d for an input [N, C, D, H, W]."""
    _check_numbers(input, weight, padding, stride, groups)
    size = f"weight of size {list(weight.shape)}"
    given = f"Given groups={groups}, {size}"
    _check_channels(input, weight.size(1) * groups, bias, weight.size(0), given, f"Given {size}")
    padded = [input.size(2 + i) + 2 * padding[i] for i in range(3)]
    kernel = [dilation[i] * (weight.size(2 + i) - 1) + 1 for i in range(3)]
    if padded[0] < kernel[0] or padded[1] < kernel[1] or padded[2] < kernel[2]:
        sizes = f"({_by(padded)}). Kernel size: ({_by(kernel)})"
        raise RuntimeError(
            f"Calculated padded input size per channel: {sizes}. Kernel size can't be greater than actual input size"
        )
    if min(weight.shape[2:]) == 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got: {_by([*weight.shape[2:]])} (TxHxW)")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def check_transposed_volumes(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, ...], padding: tuple[int, ...],
    output_padding: tuple[int, ...], groups: int, dilation: tuple[int, ...],
) -> None:  # fmt: skip
    """Raise the error of eager's conv_transpose3d for an input [N, C, D, H, W]."""
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    _check_numbers(input, weight, padding, stride, groups)
    given = f"Given transposed=1, weight of size {list(weight.shape)}"
    _check_channels(input, weight.size(0), bias, weight.size(1) * groups, given, given)
    if input.size(0) > 0 and input.size(1) > 0 and min(input.shape[2:]) == 0:
        expected = "Only zero batch or zero channel inputs are supported"
        raise RuntimeError(f"{expected}, but got input shape: {list(input.shape)}")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {_named('dilation', dilation, ', ')}")
    for i in range(3):
        if output_padding[i] >= stride[i] and output_padding[i] >= dilation[i]:
            found = " ".join(
                [_named("output_padding", output_padding), _named("stride", stride), _named("dilation", dilation)]
            )
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {found}")
    if min(weight.shape) == 0:
        dims = "n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width"
        raise RuntimeError(f"non-empty 5D ({dims}) tensor expected for weight, but got: {list(weight.shape)}")
    sizes = [
        (input.size(2 + i) - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.size(2 + i) - 1) + output_padding[i] + 1
        for i in range(3)
    ]
    if min(sizes) < 1:
        found = f"({_by([*input.shape[2:]])}). Calculated output size per channel: ({_by(sizes)})"
        raise RuntimeError(f"Given input size per channel: {found}. Output size is too small")
