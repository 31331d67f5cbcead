"""Layers: convolutions, pools, norms, resizing, attention."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value


def spatial(op: Operation, index: int = 1) -> int:
    """Return the number of spatial dims, by the rank of an input."""
    return op.need_rank(index) - 2


def window(op: Operation, rank: int) -> str:
    """Return strides, dilations, pads and auto_pad as arguments."""
    strides, dilations = op.attr("strides") or [1] * rank, op.attr("dilations") or [1] * rank
    pads = op.attr("pads") or [0] * (2 * rank)
    return f'{strides}, {dilations}, {pads}, "{op.attr("auto_pad", "NOTSET")}"'


@operator("Conv")
def conv(op: Operation) -> Any:
    rank, groups = spatial(op), op.attr("group", 1)
    pads, auto = op.attr("pads") or [0] * (2 * rank), op.attr("auto_pad", "NOTSET")
    strides, dilations = op.attr("strides") or [1] * rank, op.attr("dilations") or [1] * rank
    bias = f", {op[2]}" if op.has(2) else ""
    if auto in ("NOTSET", "VALID") and 1 <= rank <= 3:
        pads = [0] * (2 * rank) if auto == "VALID" else pads
        if pads[:rank] == pads[rank:]:
            text = f"F.conv{rank}d({op[0]}, {op[1]}{bias or ', None'}, {strides}, {pads[:rank]}, {dilations}, {groups})"
            return text.replace(f", None, {[1] * rank}, {[0] * rank}, {[1] * rank}, 1)", ")")
    return f"ox.conv({op[0]}, {op[1]}, {op.optional(2)}, {window(op, rank)}, {groups})"


@operator("ConvTranspose")
def conv_transpose(op: Operation) -> Any:
    rank = spatial(op)
    extra, shape = op.attr("output_padding") or [0] * rank, op.attr("output_shape")
    pads, auto, groups = op.attr("pads") or [0] * (2 * rank), op.attr("auto_pad", "NOTSET"), op.attr("group", 1)
    strides, dilations = op.attr("strides") or [1] * rank, op.attr("dilations") or [1] * rank
    pads = [0] * (2 * rank) if auto == "VALID" else pads
    fits = all(e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=False))  # torch refuses others
    if shape is None and auto in ("NOTSET", "VALID") and 1 <= rank <= 3 and pads[:rank] == pads[rank:] and fits:
        rest = f"{strides}, {pads[:rank]}, {extra}, {groups}, {dilations}"
        return f"F.conv_transpose{rank}d({op[0]}, {op[1]}, {op.optional(2)}, {rest})"
    return f"ox.conv_transpose({op[0]}, {op[1]}, {op.optional(2)}, {window(op, rank)}, {op.attr('group', 1)}, {extra}, {shape})"


@operator("DeformConv")
def deform_conv(op: Operation) -> Any:
    rest = f"{op.attr('group', 1)}, {op.attr('offset_group', 1)}"
    strides, dilations, pads = op.attr("strides") or [1, 1], op.attr("dilations") or [1, 1], op.attr("pads") or [0] * 4
    values = f"{op[0]}, {op[1]}, {op[2]}, {op.optional(3)}, {op.optional(4)}"
    return f"ox.deform_conv({values}, {strides}, {dilations}, {pads}, {rest})"


def even_window(op: Operation, dilated: bool) -> tuple[int, str] | None:
    """Return the number of spatial dims, and the kernel, strides and pads of a pool as torch takes them.

    None if torch has no such pool: pads differ at the two ends or are larger than half a window, or the dtype is rare.
    """
    kernel = op.need("kernel_shape")
    rank = len(kernel)
    pads, auto = op.attr("pads") or [0] * (2 * rank), op.attr("auto_pad", "NOTSET")
    dilations = op.attr("dilations") or [1] * rank
    if auto == "VALID":
        pads = [0] * (2 * rank)
    if auto not in ("NOTSET", "VALID") or not 1 <= rank <= 3 or op.dtype(0) not in ("float32", "float64"):
        return None
    if pads[:rank] != pads[rank:] or any(2 * p > k for p, k in zip(pads, kernel, strict=False)) or not op.rank(0):
        return None
    if not dilated and dilations != [1] * rank:
        return None
    return rank, f"{op[0]}, {kernel}, {op.attr('strides') or [1] * rank}, {pads[:rank]}"


@operator("MaxPool")
def max_pool(op: Operation) -> Any:
    kernel = op.need("kernel_shape")
    dilations, ceil = op.attr("dilations") or [1] * len(kernel), bool(op.attr("ceil_mode", 0))
    reach = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
    if any(pad > most for pad, most in zip(op.attr("pads") or [], reach * 2, strict=False)):
        raise op.unsupported("a window of pads alone has no maximum")
    even = even_window(op, True)
    if op.outputs == 1 and even is not None:
        rest = f", {dilations}, {ceil}" if ceil or dilations != [1] * even[0] else ""
        return f"F.max_pool{even[0]}d({even[1]}{rest})"
    rest = f"{kernel}, {window(op, len(kernel))}, {ceil}"
    if op.outputs > 1:
        return f"ox.max_pool_indices({op[0]}, {rest}, {op.attr('storage_order', 0)})"
    return f"ox.max_pool({op[0]}, {rest})"


@operator("AveragePool")
def average_pool(op: Operation) -> Any:
    kernel, even = op.need("kernel_shape"), even_window(op, False)
    rest = f"{bool(op.attr('ceil_mode', 0))}, {bool(op.attr('count_include_pad', 0))}"
    if even is not None:
        return f"F.avg_pool{even[0]}d({even[1]}, {rest})"
    return f"ox.average_pool({op[0]}, {kernel}, {window(op, len(kernel))}, {rest})"


@operator("LpPool")
def lp_pool(op: Operation) -> Any:
    kernel = op.need("kernel_shape")
    return f"ox.lp_pool({op[0]}, {kernel}, {window(op, len(kernel))}, {bool(op.attr('ceil_mode', 0))}, {op.attr('p', 2)})"


@operator("MaxUnpool")
def max_unpool(op: Operation) -> Any:
    kernel = op.need("kernel_shape")
    rank = len(kernel)
    strides, pads = op.attr("strides") or [1] * rank, op.attr("pads") or [0] * (2 * rank)
    shape = op.ints(2) if op.has(2) else "None"
    return f"ox.max_unpool({op[0]}, {op[1]}, {shape}, {kernel}, {strides}, {pads})"


@operator("GlobalAveragePool")
def global_average_pool(op: Operation) -> Any:
    return f"ox.global_average_pool({op[0]})"


@operator("GlobalMaxPool")
def global_max_pool(op: Operation) -> Any:
    return f"ox.global_max_pool({op[0]})"


@operator("GlobalLpPool")
def global_lp_pool(op: Operation) -> Any:
    return f"ox.global_lp_pool({op[0]}, {op.attr('p', 2)})"


@operator("BatchNormalization")
def batch_norm(op: Operation) -> Any:
    values = ", ".join(op[i] for i in range(5))
    epsilon = op.attr("epsilon", 1e-5)
    if op.attr("training_mode", 0) and op.version >= 14:
        names = [op.fresh(name or "unused") for name in (*op.node.outputs, "", "")[:3]]
        op.emit(f"{', '.join(names)} = ox.batch_norm_training({values}, {epsilon!r}, {op.attr('momentum', 0.9)!r})")
        return tuple(Value(name) for name in names[: op.outputs])
    made = f"ox.batch_norm({values}, {epsilon!r})"
    return (made,) if op.outputs > 1 else made


@operator("InstanceNormalization")
def instance_norm(op: Operation) -> Any:
    return f"ox.instance_norm({op[0]}, {op[1]}, {op[2]}, {op.attr('epsilon', 1e-5)!r})"


@operator("GroupNormalization")
def group_norm(op: Operation) -> Any:
    groups, epsilon = op.need("num_groups"), op.attr("epsilon", 1e-5)
    if op.version < 21:
        return f"ox.group_norm_by_group({op[0]}, {op[1]}, {op[2]}, {groups}, {epsilon!r})"
    return f"F.group_norm({op[0]}, {groups}, {op[1]}, {op[2]}, {epsilon!r})"


def shape_text(op: Operation, index: int) -> str:
    """Return the shape of an input, as numbers where the file tells them."""
    dims = op.dims(index)
    return f"{op[index]}.shape" if dims is None or None in dims else str(list(dims))


@operator("LayerNormalization")
def layer_norm(op: Operation) -> Any:
    axis, epsilon = op.attr("axis", -1), op.attr("epsilon", 1e-5)
    if op.outputs == 1 and axis == -1 and op.rank(1) == 1:
        return f"F.layer_norm({op[0]}, {shape_text(op, 1)}, {op[1]}, {op.optional(2)}, {epsilon!r})"
    name = "layer_norm" if op.outputs == 1 else "layer_norm_statistics"
    return f"ox.{name}({op[0]}, {op[1]}, {op.optional(2)}, {axis}, {epsilon!r})"


@operator("RMSNormalization")
def rms_norm(op: Operation) -> Any:
    return f"ox.rms_norm({op[0]}, {op[1]}, {op.attr('axis', -1)}, {op.attr('epsilon', 1e-5)!r})"


@operator("MeanVarianceNormalization")
def mean_variance_norm(op: Operation) -> Any:
    return f"ox.mean_variance_norm({op[0]}, {tuple(op.attr('axes', [0, 2, 3]))})"


@operator("LRN")
def lrn(op: Operation) -> Any:
    rest = f"{op.need('size')}, {op.attr('alpha', 1e-4)!r}, {op.attr('beta', 0.75)!r}, {op.attr('bias', 1.0)!r}"
    return f"ox.lrn({op[0]}, {rest})"


@operator("Dropout", until=11)
def dropout_old(op: Operation) -> Any:
    return (op.value(0), f"torch.ones_like({op[0]}, dtype=torch.bool)") if op.outputs > 1 else op.value(0)


@operator("Dropout", since=12)
def dropout(op: Operation) -> Any:
    training = op.known(2)
    if not op.has(2) or training is not None and not training.reshape(-1)[0]:
        return (op.value(0), f"torch.ones_like({op[0]}, dtype=torch.bool)") if op.outputs > 1 else op.value(0)
    ratio = op.float_text(1) if op.has(1) else "0.5"
    name = "dropout" if op.outputs == 1 else "dropout_mask"
    return f"ox.{name}({op[0]}, {ratio}, {op.bool_text(2)})"


@operator("GridSample")
def grid_sample(op: Operation) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(op.attr("mode", "linear"), op.attr("mode", "linear"))
    rest = f'"{mode}", "{op.attr("padding_mode", "zeros")}", {bool(op.attr("align_corners", 0))}'
    return f"F.grid_sample({op[0]}, {op[1]}, {rest})"


@operator("AffineGrid", ints=(1,))
def affine_grid(op: Operation) -> Any:
    return f"ox.affine_grid({op[0]}, {op.ints(1)}, {bool(op.attr('align_corners', 0))})"


@operator("RoiAlign")
def roi_align(op: Operation) -> Any:
    half = op.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel" and op.version >= 16
    sizes = f"{op.attr('output_height', 1)}, {op.attr('output_width', 1)}, {op.attr('sampling_ratio', 0)}"
    rest = f'{sizes}, {op.attr("spatial_scale", 1.0)!r}, {half}, "{op.attr("mode", "avg")}"'
    return f"ox.roi_align({op[0]}, {op[1]}, {op[2]}, {rest})"


@operator("MaxRoiPool")
def max_roi_pool(op: Operation) -> Any:
    return f"ox.max_roi_pool({op[0]}, {op[1]}, {op.need('pooled_shape')}, {op.attr('spatial_scale', 1.0)!r})"


@operator("NonMaxSuppression")
def non_max_suppression(op: Operation) -> Any:
    most = op.int_text(2) if op.has(2) else "0"
    overlap, least = op.float_text(3) if op.has(3) else "0.0", op.float_text(4) if op.has(4) else "None"
    return f"ox.non_max_suppression({op[0]}, {op[1]}, {most}, {overlap}, {least}, {op.attr('center_point_box', 0)})"


@operator("Col2Im", ints=(1, 2))
def col2im(op: Operation) -> Any:
    items = op.items(2)
    rank = len(items) if items is not None else 2
    strides, dilations = op.attr("strides") or [1] * rank, op.attr("dilations") or [1] * rank
    pads = op.attr("pads") or [0] * (2 * rank)
    return f"ox.col2im({op[0]}, {op.ints(1)}, {op.ints(2)}, {strides}, {dilations}, {pads})"

