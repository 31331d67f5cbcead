"""ATen's backward functions: gradients of some layers' inputs and weights."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.images_decomposed import as_image, each


def _spread(grad: Tensor, n: int) -> Tensor:
    """Return the gradient of means over bins of n elements, spread evenly over each bin."""
    count = grad.size(-1)
    bins = torch.arange(count).unsqueeze(1)
    start, stop = bins * n // count, ((bins + 1) * n + count - 1) // count
    places = torch.arange(n)
    shares = ((places >= start) & (places < stop)) / (stop - start)
    return torch.matmul(grad, shares.to(grad.dtype))


@decomposes("aten._adaptive_avg_pool2d_backward")
def adaptive_avg_pool2d_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    wide = _spread(grad_output, input.size(-1)).transpose(-1, -2)
    return _spread(wide, input.size(-2)).transpose(-1, -2).contiguous()


@decomposes("aten.avg_pool2d_backward")
def avg_pool2d_backward(
    grad_output: Tensor, input: Tensor, kernel_size: list[int], stride: list[int], padding: list[int], ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    k, p = each(kernel_size, 2), each(padding, 2)
    s = k if len(stride) == 0 else each(stride, 2)
    return spread_means(grad_output, input.shape, k, s, p, ceil_mode, count_include_pad, divisor_override)


def spread_means(
    grad: Tensor, sizes: tuple[int, ...], k: tuple[int, ...], s: tuple[int, ...], p: tuple[int, ...], ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """Return the gradient of an input of `sizes` whose means over windows have the gradient `grad`."""
    h, w = sizes[-2], sizes[-1]
    rows, columns = grad.size(-2), grad.size(-1)
    if divisor_override is not None:
        shares = grad / divisor_override
    else:
        counted = torch.ones(1, 1, h, w, dtype=grad.dtype)
        counted = torch.nn.functional.avg_pool2d(counted, k, s, p, ceil_mode, count_include_pad, 1)
        if count_include_pad:
            inside = torch.nn.functional.pad(torch.ones(1, 1, h, w, dtype=grad.dtype), [p[1], p[1], p[0], p[0]], value=1.0)
            counted = torch.nn.functional.avg_pool2d(inside, k, s, 0, ceil_mode, True, 1)[..., :rows, :columns]
        shares = grad / counted.reshape(rows, columns)
    lead = tuple(sizes[:-2])
    wide = torch.zeros(
        *lead, max((rows - 1) * s[0] + k[0], h + p[0]), max((columns - 1) * s[1] + k[1], w + p[1]), dtype=grad.dtype
    )
    for i in range(k[0]):
        for j in range(k[1]):
            wide[..., i : i + (rows - 1) * s[0] + 1 : s[0], j : j + (columns - 1) * s[1] + 1 : s[1]] += shares
    return wide[..., p[0] : p[0] + h, p[1] : p[1] + w].contiguous()


@decomposes("aten.max_pool2d_with_indices_backward")
def max_pool2d_with_indices_backward(
    grad_output: Tensor, input: Tensor, kernel_size: list[int], stride: list[int], padding: list[int],
    dilation: list[int], ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    flat = torch.zeros_like(input).flatten(-2)
    return torch.scatter_add(flat, -1, indices.flatten(-2), grad_output.flatten(-2)).reshape(input.shape)


def conv2d_backward_input(
    grad: Tensor, weight: Tensor, height: int, width: int, stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], groups: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of a batch of images of this height and width, from that of their convolution."""
    raise NotImplementedError  # an op


def conv2d_backward_weight(
    input: Tensor, grad: Tensor, height: int, width: int, stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], groups: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of a kernel of this height and width, from that of its convolution."""
    raise NotImplementedError  # an op


def max_pool2d_backward(
    grad: Tensor, self: Tensor, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], ceil_mode: bool,
) -> Tensor:  # fmt: skip
    """Return the gradient of the input of max_pool2d."""
    raise NotImplementedError  # an op


@decomposes("aten.convolution_backward")
def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: list[int] | None, stride: list[int],
    padding: list[int], dilation: list[int], transposed: bool, output_padding: list[int], groups: int,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    count = weight.dim() - 2
    s, p, d = each(stride, count), each(padding, count), each(dilation, count)
    of_input, of_weight, of_bias = None, None, None
    if count == 1:
        image, kernel, grad = as_image(input), weight.unsqueeze(-2), as_image(grad_output)
        of_input, of_weight, of_bias = torch.ops.aten.convolution_backward(
            grad, image, kernel, bias_sizes, (1, s[0]), (0, p[0]), (1, d[0]), transposed, (0, 0), groups, output_mask
        )  # fmt: skip
        if of_input is not None:
            of_input = of_input.squeeze(-2)
        if of_weight is not None:
            of_weight = of_weight.squeeze(-2)
        return of_input, of_weight, of_bias
    if output_mask[0]:
        if transposed:
            of_input = torch.convolution(grad_output, weight, None, s, p, d, False, (0,) * count, groups)
        elif count == 2:
            of_input = conv2d_backward_input(grad_output, weight, input.size(2), input.size(3), s, p, d, groups)
        else:
            whole = torch.convolution(grad_output, weight, None, s, (0,) * count, d, True, (0,) * count, groups)
            of_input = cut_padding(whole, input.shape[2:], p)
    if output_mask[1]:
        x, y = (grad_output, input) if transposed else (input, grad_output)
        if count == 2:
            of_weight = conv2d_backward_weight(x, y, weight.size(2), weight.size(3), s, p, d, groups)
        else:
            of_weight = kernel_gradient(x, y, weight.shape[2:], s, p, d, groups)
    if output_mask[2]:
        of_bias = torch.sum(grad_output, (0, *range(2, 2 + count)))
    return of_input, of_weight, of_bias


def cut_padding(whole: Tensor, sizes: tuple[int, ...], padding: tuple[int, ...]) -> Tensor:
    """Return `whole` without its padding, and zeros where no window reached the input's end.

    sizes: of the last dims, each of which has a padding.
    """
    count = len(sizes)
    for i in range(count):
        dim = whole.dim() - count + i
        missing = padding[i] + sizes[i] - whole.size(dim)
        if missing > 0:
            more = torch.zeros(*whole.shape[:dim], missing, *whole.shape[dim + 1 :], dtype=whole.dtype)
            whole = torch.cat([whole, more], dim)
        whole = torch.ops.aten.slice(whole, dim, padding[i], padding[i] + sizes[i])
    return whole.contiguous()


def kernel_gradient(
    x: Tensor, y: Tensor, sizes: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], groups: int,
) -> Tensor:  # fmt: skip
    """Return the convolution of x by y over the batch, with stride and dilation exchanged.

    sizes: of the kernel.
    """
    count = len(sizes)
    rest = tuple(range(3, 3 + count))
    batch, c, o = x.size(0), x.size(1) // groups, y.size(1) // groups
    x = x.reshape(batch, groups, c, *x.shape[2:]).permute(2, 1, 0, *rest).reshape(c, groups * batch, *x.shape[2:])
    y = y.reshape(batch, groups, o, *y.shape[2:]).permute(1, 2, 0, *rest).reshape(groups * o, batch, *y.shape[2:])
    result = torch.convolution(x, y, None, dilation, padding, stride, False, (0,) * count, groups)
    for i in range(count):
        result = torch.ops.aten.slice(result, 2 + i, 0, sizes[i])
    return result.transpose(0, 1).contiguous()


@decomposes("aten.embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    flat = indices.reshape(-1)
    rows = grad_output.reshape(flat.size(0), grad_output.size(-1))
    kept = (flat != padding_idx).unsqueeze(1)
    if scale_grad_by_freq:
        counts = torch.zeros(num_weights, dtype=torch.int64).index_add(0, flat, torch.ones_like(flat))
        rows = rows / counts[flat].unsqueeze(1)
    rows = torch.where(kept, rows, 0)
    return torch.zeros(num_weights, rows.size(1), dtype=grad_output.dtype).index_add(0, flat, rows)


def layer_norm_backward(
    grad: Tensor, input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the input and of the weight of layer_norm."""
    raise NotImplementedError  # an op


@decomposes("aten.native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: list[int], mean: Tensor, rstd: Tensor, weight: Tensor | None,
    bias: Tensor | None, output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    inner = tuple(range(-len(normalized_shape), 0))
    outer = tuple(range(input.dim() - len(normalized_shape)))
    normal = (input - mean) * rstd
    of_input, of_weight, of_bias = None, None, None
    if output_mask[0]:
        of_input = through_norm(grad_out if weight is None else grad_out * weight, normal, rstd, inner)
    if output_mask[1] and weight is not None:
        of_weight = torch.sum(grad_out * normal, outer)
    if output_mask[2] and bias is not None:
        of_bias = torch.sum(grad_out, outer)
    return of_input, of_weight, of_bias


@decomposes("aten.native_group_norm_backward")
def native_group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int, HxW: int,
    group: int, output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    shape = (N, group, C // group, HxW)
    grad, rstd = grad_out.reshape(shape), rstd.reshape(N, group, 1, 1)
    normal = (input.reshape(shape) - mean.reshape(N, group, 1, 1)) * rstd
    of_input, of_weight, of_bias = None, None, None
    if output_mask[0]:
        scaled = grad if weight is None else grad * weight.reshape(group, C // group, 1)
        of_input = through_norm(scaled, normal, rstd, (2, 3)).reshape(input.shape)
    if output_mask[1]:
        of_weight = torch.sum(grad * normal, (0, 3)).reshape(C)
    if output_mask[2]:
        of_bias = torch.sum(grad, (0, 3)).reshape(C)
    return of_input, of_weight, of_bias


def through_norm(grad: Tensor, normal: Tensor, rstd: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return the gradient of an input that was normalized over `dims`."""
    level = torch.mean(grad, dims, keepdim=True)
    return rstd * (grad - level - normal * torch.mean(grad * normal, dims, keepdim=True))
