"""Operators of ONNX that take several lines of torch: plain torch code, which generated modules call."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.onnx.functions.attention import attention_of_projections as attention_of_projections
from scriptc.onnx.functions.attention import causal_mask_from as causal_mask_from
from scriptc.onnx.functions.attention import grouped_query_attention as grouped_query_attention
from scriptc.onnx.functions.attention import merge_heads as merge_heads
from scriptc.onnx.functions.attention import multi_head_attention as multi_head_attention
from scriptc.onnx.functions.attention import packed_attention as packed_attention
from scriptc.onnx.functions.attention import rotary as rotary
from scriptc.onnx.functions.attention import split_heads as split_heads
from scriptc.onnx.functions.convolutions import col2im as col2im
from scriptc.onnx.functions.convolutions import conv as conv
from scriptc.onnx.functions.convolutions import conv_integer as conv_integer
from scriptc.onnx.functions.convolutions import conv_transpose as conv_transpose
from scriptc.onnx.functions.convolutions import deform_conv as deform_conv
from scriptc.onnx.functions.encoders import dict_features as dict_features
from scriptc.onnx.functions.encoders import imputed as imputed
from scriptc.onnx.functions.encoders import index_of as index_of
from scriptc.onnx.functions.encoders import joined_features as joined_features
from scriptc.onnx.functions.encoders import labeled_rows as labeled_rows
from scriptc.onnx.functions.encoders import looked_up as looked_up
from scriptc.onnx.functions.encoders import normalized as normalized
from scriptc.onnx.functions.encoders import one_hot_categories as one_hot_categories
from scriptc.onnx.functions.images import affine_grid as affine_grid
from scriptc.onnx.functions.images import decode_image as decode_image
from scriptc.onnx.functions.images import lrn as lrn
from scriptc.onnx.functions.images import max_roi_pool as max_roi_pool
from scriptc.onnx.functions.images import non_max_suppression as non_max_suppression
from scriptc.onnx.functions.images import resize as resize
from scriptc.onnx.functions.images import roi_align as roi_align
from scriptc.onnx.functions.indexing import center_crop_pad as center_crop_pad
from scriptc.onnx.functions.indexing import cumprod as cumprod
from scriptc.onnx.functions.indexing import cumsum as cumsum
from scriptc.onnx.functions.indexing import depth_to_space as depth_to_space
from scriptc.onnx.functions.indexing import eye_like as eye_like
from scriptc.onnx.functions.indexing import gather_nd as gather_nd
from scriptc.onnx.functions.indexing import reverse_sequence as reverse_sequence
from scriptc.onnx.functions.indexing import scatter_nd as scatter_nd
from scriptc.onnx.functions.indexing import space_to_depth as space_to_depth
from scriptc.onnx.functions.indexing import tensor_scatter as tensor_scatter
from scriptc.onnx.functions.indexing import unique as unique
from scriptc.onnx.functions.indexing import without as without
from scriptc.onnx.functions.normalization import batch_norm_training as batch_norm_training
from scriptc.onnx.functions.normalization import dropout as dropout
from scriptc.onnx.functions.normalization import dropout_mask as dropout_mask
from scriptc.onnx.functions.normalization import group_norm_by_group as group_norm_by_group
from scriptc.onnx.functions.normalization import instance_norm as instance_norm
from scriptc.onnx.functions.normalization import mean_variance_norm as mean_variance_norm
from scriptc.onnx.functions.pooling import average_pool as average_pool
from scriptc.onnx.functions.pooling import global_lp_pool as global_lp_pool
from scriptc.onnx.functions.pooling import lp_pool as lp_pool
from scriptc.onnx.functions.pooling import max_pool as max_pool
from scriptc.onnx.functions.pooling import max_pool_indices as max_pool_indices
from scriptc.onnx.functions.pooling import max_unpool as max_unpool
from scriptc.onnx.functions.quantization import along as along
from scriptc.onnx.functions.quantization import by_row as by_row
from scriptc.onnx.functions.quantization import dequantize as dequantize
from scriptc.onnx.functions.quantization import dynamic_quantize as dynamic_quantize
from scriptc.onnx.functions.quantization import dynamic_quantize_matmul as dynamic_quantize_matmul
from scriptc.onnx.functions.quantization import dynamic_quantize_product as dynamic_quantize_product
from scriptc.onnx.functions.quantization import exact_matmul as exact_matmul
from scriptc.onnx.functions.quantization import qlinear_conv as qlinear_conv
from scriptc.onnx.functions.quantization import qlinear_matmul as qlinear_matmul
from scriptc.onnx.functions.quantization import quantize as quantize
from scriptc.onnx.functions.quantization import requantize as requantize
from scriptc.onnx.functions.recurrent import gru as gru
from scriptc.onnx.functions.recurrent import hard_sigmoid as hard_sigmoid
from scriptc.onnx.functions.recurrent import lstm as lstm
from scriptc.onnx.functions.recurrent import rnn as rnn
from scriptc.onnx.functions.recurrent import thresholded_relu as thresholded_relu
from scriptc.onnx.functions.small_floats import to_float4e2m1 as to_float4e2m1
from scriptc.onnx.functions.small_floats import to_float8e4m3fn as to_float8e4m3fn
from scriptc.onnx.functions.small_floats import to_float8e4m3fnuz as to_float8e4m3fnuz
from scriptc.onnx.functions.small_floats import to_float8e5m2 as to_float8e5m2
from scriptc.onnx.functions.small_floats import to_float8e5m2fnuz as to_float8e5m2fnuz
from scriptc.onnx.functions.small_floats import to_float8e8m0 as to_float8e8m0
from scriptc.onnx.functions.spectra import dft as dft
from scriptc.onnx.functions.spectra import mel_weight_matrix as mel_weight_matrix
from scriptc.onnx.functions.spectra import stft as stft
from scriptc.onnx.functions.strings import concat_strings as concat_strings
from scriptc.onnx.functions.strings import float_numbers as float_numbers
from scriptc.onnx.functions.strings import full_match as full_match
from scriptc.onnx.functions.strings import gather_strings as gather_strings
from scriptc.onnx.functions.strings import n_gram_counts as n_gram_counts
from scriptc.onnx.functions.strings import normalize_strings as normalize_strings
from scriptc.onnx.functions.strings import numbers_of_strings as numbers_of_strings
from scriptc.onnx.functions.strings import split_strings as split_strings
from scriptc.onnx.functions.strings import strings_count as strings_count
from scriptc.onnx.functions.strings import strings_equal as strings_equal
from scriptc.onnx.functions.strings import strings_of_numbers as strings_of_numbers
from scriptc.onnx.functions.strings import strings_of_strings as strings_of_strings
from scriptc.onnx.functions.strings import strings_shape as strings_shape
from scriptc.onnx.functions.strings import to_strings as to_strings
from scriptc.onnx.functions.strings import whole_numbers as whole_numbers
from scriptc.onnx.functions.training import adagrad as adagrad
from scriptc.onnx.functions.training import adam as adam
from scriptc.onnx.functions.training import momentum as momentum
from scriptc.onnx.functions.transformers import embed_layer_norm as embed_layer_norm
from scriptc.onnx.functions.transformers import gather_block_quantized as gather_block_quantized
from scriptc.onnx.functions.transformers import matmul_n_bits as matmul_n_bits
from scriptc.onnx.functions.trees import aggregated as aggregated
from scriptc.onnx.functions.trees import branches as branches
from scriptc.onnx.functions.trees import kernel_values as kernel_values
from scriptc.onnx.functions.trees import leaves as leaves
from scriptc.onnx.functions.trees import linear_scores as linear_scores
from scriptc.onnx.functions.trees import pair_scores as pair_scores
from scriptc.onnx.functions.trees import post_transformed as post_transformed
from scriptc.onnx.functions.trees import two_classes as two_classes
from scriptc.onnx.functions.trees import votes as votes
from scriptc.onnx.functions.unsigned64 import div_uint64 as div_uint64
from scriptc.onnx.functions.unsigned64 import flip_uint64 as flip_uint64
from scriptc.onnx.functions.unsigned64 import from_uint64 as from_uint64
from scriptc.onnx.functions.unsigned64 import max_uint64 as max_uint64
from scriptc.onnx.functions.unsigned64 import min_uint64 as min_uint64
from scriptc.onnx.functions.unsigned64 import mod_uint64 as mod_uint64
from scriptc.onnx.functions.unsigned64 import to_uint64 as to_uint64
from scriptc.onnx.functions.unsigned64 import top_k_uint64 as top_k_uint64


def truncated_quotient(a, b):
    """Return the quotient of two ints, rounded toward zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def divide(a, b):
    if a.is_floating_point():
        return a / b
    return torch.div(a, b, rounding_mode="trunc")


def softplus(x: Tensor) -> Tensor:
    return torch.logaddexp(x, torch.zeros_like(x))


def shrink(x: Tensor, bias: float, lambd: float) -> Tensor:
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x))).to(x.dtype)


def reshape(x: Tensor, shape) -> Tensor:
    """Reshape; a size of 0 keeps the size of `x`."""
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def flatten(x: Tensor, axis: int) -> Tensor:
    first = 1
    for size in x.shape[: axis if axis >= 0 else axis + x.dim()]:
        first = first * size
    rest = 1
    for size in x.shape[axis if axis >= 0 else axis + x.dim() :]:
        rest = rest * size
    return x.reshape(first, rest)


def reversed_dims(x: Tensor) -> Tensor:
    return x.permute(tuple(range(x.dim() - 1, -1, -1)))


def unsqueeze(x: Tensor, axes) -> Tensor:
    """Insert dims of size 1. The number of axes is known at compile time, and the axes may be arguments."""
    rank = x.dim() + len(axes)
    sizes = []
    taken = 0
    for at in range(rank):
        size = 0
        for axis in axes:
            if axis == at or axis + rank == at:
                size = 1
        if size == 0:
            for i in range(x.dim()):
                if i == taken:
                    size = x.shape[i]
            taken = taken + 1
        sizes.append(size)
    return x.reshape(sizes)


def expand(x: Tensor, shape) -> Tensor:
    return x * torch.ones(shape, dtype=x.dtype) if x.dtype != torch.bool else x & torch.ones(shape, dtype=torch.bool)


def gather(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    at = axis if axis >= 0 else axis + x.dim()
    flat = indices.reshape(-1).to(torch.int64)
    flat = torch.where(flat < 0, flat + x.shape[at], flat)
    return x.index_select(at, flat).reshape(x.shape[:at] + indices.shape + x.shape[at + 1 :])


def gather_elements(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    at = indices.to(torch.int64)
    return torch.gather(x, axis, torch.where(at < 0, at + x.shape[axis], at))


def slices(x: Tensor, starts, ends, axes=None, steps=None) -> Tensor:
    """Slice as ONNX does: bounds are clamped, and a step may be negative."""
    for i in range(len(starts)):
        axis = i if axes is None else axes[i]
        step = 1 if steps is None else steps[i]
        size = x.shape[axis]
        start = starts[i] + size if starts[i] < 0 else starts[i]
        end = ends[i] + size if ends[i] < 0 else ends[i]
        if step > 0:
            at = torch.arange(min(max(start, 0), size), max(min(max(end, 0), size), min(max(start, 0), size)), step)
        else:
            first = min(max(start, -1), size - 1)
            at = torch.arange(first, min(max(end, -1), first), step)
        x = x.index_select(axis, at)
    return x


def float_range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    count = max(int(torch.ceil((limit - start) / delta)), 0)
    return start + torch.arange(count).to(start.dtype) * delta


def _axes(x: Tensor, axes):
    return tuple(range(x.dim())) if len(axes) == 0 else tuple(axes)


def reduce_sum(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return x if noop and len(axes) == 0 else torch.sum(x, _axes(x, axes), keepdim=keep, dtype=x.dtype)


def reduce_mean(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return x if noop and len(axes) == 0 else torch.mean(x, _axes(x, axes), keepdim=keep)


def _empty_extremum(x: Tensor, axes, keep: bool, largest: bool) -> Tensor:
    """Return the least value for the maxima of no elements, and the largest value for their minima."""
    shape = torch.sum(x, axes, keepdim=keep).shape
    if x.dtype == torch.bool:
        return torch.full(shape, not largest)
    if x.is_floating_point():
        return torch.full(shape, -math.inf if largest else math.inf, dtype=x.dtype)
    limits = torch.iinfo(x.dtype)
    return torch.full(shape, limits.min if largest else limits.max, dtype=x.dtype)


def reduce_amax(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    if noop and len(axes) == 0:
        return x
    if x.numel() == 0:
        return _empty_extremum(x, _axes(x, axes), keep, True)
    return torch.amax(x, _axes(x, axes), keepdim=keep)


def reduce_amin(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    if noop and len(axes) == 0:
        return x
    if x.numel() == 0:
        return _empty_extremum(x, _axes(x, axes), keep, False)
    return torch.amin(x, _axes(x, axes), keepdim=keep)


def reduce_prod(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    if noop and len(axes) == 0:
        return x
    wanted = [axis if axis >= 0 else axis + x.dim() for axis in _axes(x, axes)]
    for axis in range(x.dim() - 1, -1, -1):
        if axis in wanted:
            x = torch.prod(x, axis, keepdim=keep, dtype=x.dtype)
    return x


def reduce_l1(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return reduce_sum(torch.abs(x), axes, keep, noop)


def reduce_l2(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return torch.sqrt(reduce_sum(x * x, axes, keep, noop))


def reduce_log_sum(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return torch.log(reduce_sum(x, axes, keep, noop))


def reduce_log_sum_exp(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return x if noop and len(axes) == 0 else torch.logsumexp(x, _axes(x, axes), keepdim=keep)


def reduce_sum_square(x: Tensor, axes, keep: bool, noop: bool = False) -> Tensor:
    return reduce_sum(x * x, axes, keep, noop)


def hardmax(x: Tensor, axis: int) -> Tensor:
    return torch.zeros_like(x).scatter(axis, torch.argmax(x, axis, keepdim=True), 1.0)


def top_k(x: Tensor, k: int, axis: int, largest: bool):
    """Return the first k of the sorted elements; of equal elements, that of the lower index comes first."""
    values, indices = torch.sort(x, stable=True, dim=axis, descending=largest)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def global_average_pool(x: Tensor) -> Tensor:
    return torch.mean(x, tuple(range(2, x.dim())), keepdim=True)


def global_max_pool(x: Tensor) -> Tensor:
    return torch.amax(x, tuple(range(2, x.dim())), keepdim=True)


def batch_norm(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, epsilon: float) -> Tensor:
    return torch.nn.functional.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


def layer_norm(x: Tensor, scale: Tensor, bias, axis: int, epsilon: float) -> Tensor:
    made = torch.nn.functional.layer_norm(x, x.shape[axis:], None, None, epsilon) * scale
    return made if bias is None else made + bias


def layer_norm_statistics(x: Tensor, scale: Tensor, bias, axis: int, epsilon: float):
    """Return the normalized tensor, the mean, and the inverse of the standard deviation."""
    axes = tuple(range(axis if axis >= 0 else axis + x.dim(), x.dim()))
    mean = torch.mean(x, axes, keepdim=True)
    inverse = torch.reciprocal(torch.sqrt(torch.mean((x - mean) * (x - mean), axes, keepdim=True) + epsilon))
    made = (x - mean) * inverse * scale
    return (made if bias is None else made + bias), mean, inverse


def rms_norm(x: Tensor, scale: Tensor, axis: int, epsilon: float) -> Tensor:
    axes = tuple(range(axis if axis >= 0 else axis + x.dim(), x.dim()))
    return x * torch.reciprocal(torch.sqrt(torch.mean(x * x, axes, keepdim=True) + epsilon)) * scale


def aligned(b: Tensor, a: Tensor, axis: int) -> Tensor:
    """Return `b` with dims of size 1 behind it, so that its first dim is aligned with the dim `axis` of `a`."""
    for _ in range(a.dim() - (axis if axis >= 0 else axis + a.dim()) - b.dim()):
        b = b.unsqueeze(-1)
    return b


def nll_loss(x: Tensor, target: Tensor, weight, ignored, reduction: str) -> Tensor:
    at = target.to(torch.int64)
    kept = torch.ones_like(at, dtype=torch.bool) if ignored is None else at != ignored
    at = torch.where(kept, at, torch.zeros_like(at))
    loss = -torch.gather(x, 1, at.unsqueeze(1)).squeeze(1)
    factor = torch.ones_like(loss) if weight is None else weight.index_select(0, at.reshape(-1)).reshape(at.shape)
    factor = torch.where(kept, factor, torch.zeros_like(factor))
    if reduction == "none":
        return loss * factor
    total = torch.sum(loss * factor)
    return total if reduction == "sum" else total / torch.sum(factor)


def pad(x: Tensor, pads, mode: str, value, axes=None) -> Tensor:
    """Pad, with the pads of all dims at their start, then of all at their end."""
    count = len(pads) // 2
    for i in range(count):
        axis = i if axes is None else axes[i]
        before, after, size = pads[i], pads[i + count], x.shape[axis]
        at = torch.arange(-before, size + after)
        if mode == "reflect":
            at = torch.abs(at) if size > 1 else at * 0
            at = (size - 1) - torch.abs((size - 1) - at % max(2 * size - 2, 1))
        elif mode == "wrap":
            at = at % size
        inside = (at >= 0) & (at < size)
        x = x.index_select(axis, torch.clamp(at, 0, size - 1))
        if mode == "constant":
            shape = [1] * x.dim()
            shape[axis] = -1
            x = torch.where(inside.reshape(shape), x, torch.full((), value, dtype=x.dtype))
    return x


def lp_normalization(x: Tensor, axis: int, p: int) -> Tensor:
    norm = torch.sum(torch.abs(x), axis, keepdim=True) if p == 1 else torch.sqrt(torch.sum(x * x, axis, keepdim=True))
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


def one_hot(indices: Tensor, depth: int, values: Tensor, axis: int) -> Tensor:
    at = indices.to(torch.int64)
    at = torch.where(at < 0, at + depth, at).unsqueeze(-1) == torch.arange(depth)
    return torch.where(torch.movedim(at, -1, axis), values[1], values[0])


def shift_left(x: Tensor, by: Tensor, bits: int, unsigned: bool) -> Tensor:
    made = torch.where((by >= bits) | (by < 0), torch.zeros_like(x), x << torch.clamp(by, 0, bits - 1))
    return made & (2**bits - 1) if unsigned and 8 < bits < 64 else made


def shift_right(x: Tensor, by: Tensor, bits: int, unsigned: bool) -> Tensor:
    made = x >> torch.where((by < 0) | (by >= bits), bits - 1, by).to(x.dtype)
    if not unsigned:
        return made
    if bits == 64:  # the sign bit of the carrier is a bit of the number
        made = torch.where(by > 0, made & ~(torch.full_like(x, -1) << torch.clamp(64 - by, 0, 63)), x)
    return torch.where((by >= bits) | (by < 0), torch.zeros_like(x), made)  # a large uint64 is below 0 in its carrier


def last_argmax(x: Tensor, axis: int, keep: bool) -> Tensor:
    return (x.shape[axis] - 1) - torch.argmax(torch.flip(x, (axis,)), axis, keepdim=keep)


def last_argmin(x: Tensor, axis: int, keep: bool) -> Tensor:
    return (x.shape[axis] - 1) - torch.argmin(torch.flip(x, (axis,)), axis, keepdim=keep)


def scatter_elements(x: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
    at = torch.where(indices < 0, indices + x.shape[axis], indices).to(torch.int64)
    if reduction == "none":
        return x.scatter(axis, at, updates)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return x.scatter_reduce(axis, at, updates, names[reduction])


def compress(x: Tensor, condition: Tensor, axis) -> Tensor:
    at = torch.nonzero(condition).squeeze(1)
    return x.reshape(-1).index_select(0, at) if axis is None else x.index_select(axis, at)
