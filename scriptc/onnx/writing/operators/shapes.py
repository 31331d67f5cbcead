"""Sizes, views, joins and new tensors."""

from __future__ import annotations

from scriptc.ir.types import TensorType
from scriptc.onnx.writing.builder import Unsupported
from scriptc.onnx.writing.operators.rows import Call, row


@row("size")
def size(c: Call) -> str:
    return c.graph.size(c[0], c.attr("dim"))


@row("numel")
def numel(c: Call) -> str:
    return c("Size", c[0])


@row("select")
def select(c: Call) -> str:
    return c("Gather", c[0], c[1], axis=c.attr("dim"))


@row("slice")
def slice_(c: Call) -> str:
    start, end, step = (c.graph.vector([c[i]]) for i in (1, 2, 3))
    return c("Slice", c[0], start, end, c.graph.ints(c.attr("dim")), step)


@row("transpose")
def transpose(c: Call) -> str:
    order = list(range(c.rank()))
    if order:
        a, b = c.attr("dim0"), c.attr("dim1")
        order[a], order[b] = order[b], order[a]
    return c("Transpose", c[0], perm=order)


@row("permute")
def permute(c: Call) -> str:
    return c("Transpose", c[0], perm=list(c.attr("dims")))


@row("unsqueeze")
def unsqueeze(c: Call) -> str:
    return c("Unsqueeze", c[0], c.graph.ints(c.attr("dim")))


@row("squeeze")
def squeeze(c: Call) -> str:
    return c("Squeeze", c[0], c.graph.ints(c.attr("dim")))


@row("view", "reshape")
def reshape(c: Call) -> str:
    return c("Reshape", c[0], c.graph.vector(list(c.operands[1])), allowzero=1)


@row("expand")
def expand(c: Call) -> str:
    g = c.graph
    wanted = g.vector(list(c.operands[1]))
    keeps = g.node("Equal", wanted, g.constant(-1, "i64"))
    return c("Expand", c[0], g.node("Where", keeps, g.constant(1, "i64"), wanted))


@row("repeat")
def repeat(c: Call) -> str:
    lead = len(c.operands[1]) - c.rank()
    x = c("Unsqueeze", c[0], c.graph.ints(*range(lead))) if lead else c[0]
    return c("Tile", x, c.graph.vector(list(c.operands[1])))


@row("flip")
def flip(c: Call) -> str:
    dims, g = c.attr("dims"), c.graph
    if not dims:
        return c("Identity", c[0])
    n = len(dims)
    return c("Slice", c[0], g.ints(*[-1] * n), g.ints(*[-(2**63) + 1] * n), g.ints(*dims), g.ints(*[-1] * n))


@row("full")
def full(c: Call) -> str:
    return c("Expand", c.in_dtype(1, c.dtype), c.graph.vector(list(c.operands[0])))


@row("empty")
def empty(c: Call) -> str:
    return c("Expand", c.graph.constant(0, c.dtype), c.graph.vector(list(c.operands[0])))


@row("arange")
def arange(c: Call) -> str:
    dtype = "f64" if c.dtype in ("f16", "bf16", "f32", "f64") else "i64"
    made = c("Range", *(c.in_dtype(i, dtype) for i in range(3)))
    return made if c.dtype == dtype else c.graph.cast(made, c.dtype)


@row("cat.items")
def cat_items(c: Call) -> str:
    return c("Concat", *(leaves[0] for leaves in c.operands), axis=c.attr("dim"))


@row("index_select")
def index_select(c: Call) -> str:
    if not c.rank():
        raise Unsupported("index_select of a 0-d tensor has no ONNX form", "use the tensor itself")
    return c("Gather", c[0], c("Reshape", c[1], c.graph.ints(-1)), axis=c.attr("dim"))


@row("gather")
def gather(c: Call) -> str:
    if not c.rank():
        raise Unsupported("gather of a 0-d tensor has no ONNX form", "use the tensor itself")
    return c("GatherElements", c[0], c[1], axis=c.attr("dim"))


@row("scatter")
def scatter(c: Call) -> str:
    index, src = c.type(1), c.type(2)
    same = isinstance(index, TensorType) and isinstance(src, TensorType) and index.dims == src.dims and None not in (
        index.dims or (None,)
    )
    kind = {"set": "none", "add": "add", "prod": "mul"}.get(c.attr("reduce"))
    if not same or kind is None or (kind != "none" and not c.attr("include_self")):
        raise Unsupported("this scatter has no ONNX form", "scatter a source of the index's known size, by set, add or prod")
    return c("ScatterElements", c[0], c[1], c[2], axis=c.attr("dim"), reduction=kind)


@row("nonzero")
def nonzero(c: Call) -> str:
    if not c.rank():
        raise Unsupported("nonzero of a 0-d tensor has no ONNX form", "test the number with `if`")
    return c("Transpose", c("NonZero", c[0]), perm=[1, 0])
