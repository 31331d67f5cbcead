"""Convolutions, pooling and resizing of [N, C, H, W] or [C, H, W]."""

from __future__ import annotations

import numpy

from scriptc.onnx.writing.builder import dtype_of
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.operators.rows import Call, row


def _image(c: Call) -> tuple[str, bool]:
    """Return the image with a batch dim, and whether the dim was added."""
    if c.rank() == 4:
        return c[0], False
    return c("Unsqueeze", c[0], c.graph.ints(0)), True


def _without_batch(c: Call, made: str, added: bool) -> str:
    return c("Squeeze", made, c.graph.ints(0)) if added else made


@row("conv2d")
def conv2d(c: Call) -> str:
    x, added = _image(c)
    made = c(
        "Conv", *filter(None, (x, c[1], c[2])), strides=list(c.attr("stride")), pads=list(c.attr("padding")) * 2,
        dilations=list(c.attr("dilation")), group=c.const(3),
    )  # fmt: skip
    return _without_batch(c, made, added)


@row("conv_transpose2d")
def conv_transpose2d(c: Call) -> str:
    x, added = _image(c)
    made = c(
        "ConvTranspose", *filter(None, (x, c[1], c[2])), strides=list(c.attr("stride")), pads=list(c.attr("padding")) * 2,
        output_padding=list(c.attr("output_padding")), dilations=list(c.attr("dilation")), group=c.attr("groups"),
    )  # fmt: skip
    return _without_batch(c, made, added)


def _ceil_padding(c: Call, x: str) -> list[str]:
    """Return, for both dims, the elements behind the image that torch's windows reach with ceil_mode."""
    g, found = c.graph, []
    zero, one = g.constant(0, "i64"), g.constant(1, "i64")
    dilations = c.op.attrs.get("dilation", (1, 1))
    for d in (0, 1):
        kernel, stride, padding = (c.attr(n)[d] for n in ("kernel_size", "stride", "padding"))
        span = dilations[d] * (kernel - 1) + 1
        size = g.size(x, d + 2)
        room = c("Add", size, g.constant(2 * padding - span, "i64"))
        steps = c("Neg", floor_divide(g, c("Neg", room), g.constant(stride, "i64")))  # the last window begins there
        start = c("Mul", steps, g.constant(stride, "i64"))
        outside = g.cast(c("GreaterOrEqual", start, c("Add", size, g.constant(padding, "i64"))), "i64")
        steps = c("Sub", steps, c("Mul", outside, one))
        end = c("Add", c("Mul", steps, g.constant(stride, "i64")), g.constant(span - 2 * padding, "i64"))
        found.append(c("Max", c("Sub", end, size), zero))
    return found


def _ceils(c: Call) -> int:
    """Return ONNX's ceil_mode for a pool: 1 if no window can begin behind the image, for runtimes differ on such windows."""
    dilations = c.op.attrs.get("dilation", (1, 1))
    each = zip(c.attr("kernel_size"), c.attr("stride"), c.attr("padding"), dilations, strict=True)
    return int(c.attr("ceil_mode") and all(pad + stride <= dilation * (k - 1) + 1 for k, stride, pad, dilation in each))


def _padded(c: Call, x: str, before: tuple[int, int], behind: list[str], value: str) -> str:
    g = c.graph
    zero = g.constant(0, "i64")
    pads = g.vector([zero, zero, *(g.constant(n, "i64") for n in before), zero, zero, *behind])
    return c("Pad", x, pads, value)


@row("max_pool2d")
def max_pool2d(c: Call) -> str:
    x, added = _image(c)
    padding, ceils = tuple(c.attr("padding")), _ceils(c)
    if c.attr("ceil_mode") and not ceils:
        g, dtype = c.graph, c.dtype
        least = -numpy.inf if dtype in ("f16", "f32", "f64") else numpy.iinfo({"u8": "uint8"}.get(dtype, f"int{dtype[1:]}")).min
        behind = [c("Add", extra, g.constant(p, "i64")) for extra, p in zip(_ceil_padding(c, x), padding, strict=True)]
        x, padding = _padded(c, x, padding, behind, g.constant(least, dtype)), (0, 0)
    made = c(
        "MaxPool", x, kernel_shape=list(c.attr("kernel_size")), strides=list(c.attr("stride")),
        pads=list(padding) * 2, dilations=list(c.attr("dilation")), ceil_mode=ceils,
    )  # fmt: skip
    return _without_batch(c, made, added)


@row("avg_pool2d")
def avg_pool2d(c: Call) -> str:
    x, added = _image(c)
    g, dtype = c.graph, c.dtype
    kernel, padding, divisor = c.attr("kernel_size"), tuple(c.attr("padding")), c.attr("divisor_override")
    how = {"kernel_shape": list(kernel), "strides": list(c.attr("stride"))}
    included = bool(c.attr("count_include_pad"))
    ceils = _ceils(c)
    # With ceil_mode, runtimes count what is behind the pads in different ways, unless only elements of the image count.
    if divisor is None and (not c.attr("ceil_mode") or ceils and (not included or padding == (0, 0))):
        counts = int(included and not ceils)
        made = c("AveragePool", x, **how, pads=list(padding) * 2, count_include_pad=counts, ceil_mode=ceils)
        return _without_batch(c, made, added)
    zero, one = g.constant(0, dtype), g.constant(1, dtype)
    extra = _ceil_padding(c, x) if c.attr("ceil_mode") else [g.constant(0, "i64")] * 2
    behind = [c("Add", e, g.constant(p, "i64")) for e, p in zip(extra, padding, strict=True)]
    made = c("AveragePool", _padded(c, x, padding, behind, zero), **how)
    if divisor is not None:
        made = c("Mul", made, g.constant(kernel[0] * kernel[1] / divisor, dtype))
    else:  # the part of each window that counts
        shape = c("Shape", x)
        plane = c("Concat", g.ints(1, 1), c("Slice", shape, g.ints(2), g.ints(4)), axis=0)
        counted = c("Expand", one, plane)
        if included:
            counted = _padded(c, counted, padding, [g.constant(p, "i64") for p in padding], one)
            padding, behind = (0, 0), extra
        made = c("Div", made, c("AveragePool", _padded(c, counted, padding, behind, zero), **how))
    return _without_batch(c, made, added)


@row("resample")
def resample(c: Call) -> str:
    """Return the weighted sum, for each place, of some elements along a dim."""
    dim, rank, dtype = c.attr("dim"), c.rank(), c.dtype
    wide = "f32" if dtype in ("f16", "bf16") else dtype
    taken = c("Gather", c.in_dtype(0, wide), c.in_dtype(1, "i64"), axis=dim)
    weight = c.graph.cast(c[2], wide) if dtype_of(c.type(2)) != wide else c[2]
    rest = list(range(2, rank - dim + 1))
    if rest:
        weight = c("Unsqueeze", weight, c.graph.ints(*rest))
    made = c.graph.reduce("ReduceSum", c("Mul", taken, weight), [dim], keepdims=0)
    return made if wide == dtype else c.graph.cast(made, dtype)


