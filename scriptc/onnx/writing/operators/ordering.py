"""Sorting, the largest elements, and running maxima. NaN is the largest element, as in torch."""

from __future__ import annotations

from scriptc.onnx.writing.builder import Builder, Unsupported, dtype_of
from scriptc.onnx.writing.operators.rows import Call, row

_SORTED = {"bool": "i32", "u8": "i32", "i8": "i32", "i16": "i32", "f16": "f32", "bf16": "f32"}


def _positions(c: Call, k: str, dim: int, *, largest: bool) -> str:
    """Return the positions of the first k elements in order. Equal elements keep their order."""
    g = c.graph
    dtype = dtype_of(c.type(0))
    x = c.in_dtype(0, _SORTED.get(dtype, dtype))
    count = g.vector([k])

    def top(graph: Builder, values: str, k: str) -> str:
        return graph.nodes_of("TopK", [values, k], 2, "topk", axis=dim, largest=int(largest), sorted=1)[1]

    if dtype not in ("f16", "bf16", "f32", "f64"):
        return top(g, x, count)
    # Runtimes have no rule for NaN. So NaN becomes infinity, and is put before or behind the infinities that there are.
    nan = c("IsNaN", x)
    some = g.cast(g.reduce("ReduceMax", c("Concat", c("Reshape", g.cast(nan, "i32"), g.ints(-1)), g.constant([0], "i32"),
                                          axis=0), keepdims=0), "bool")  # fmt: skip
    plain, special = Builder(g), Builder(g)
    usual = plain.node("Identity", top(plain, x, count), name="out")
    every = special.vector([special.size(x, dim)])
    first = top(special, special.cast(nan, "i32"), every)
    replaced = special.node("Where", nan, special.constant(float("inf"), _SORTED.get(dtype, dtype)), x)
    ordered = special.node("GatherElements", replaced, first, axis=dim)
    found = special.node("GatherElements", first, top(special, ordered, count), axis=dim)
    found = special.node("Identity", found, name="out")
    return c("If", some, then_branch=special.branch([found], ["i64"]), else_branch=plain.branch([usual], ["i64"]))


@row("argsort")
def argsort(c: Call) -> str:
    if not c.rank():
        return c.graph.constant(0, "i64")
    dim = c.attr("dim")
    return _positions(c, c.graph.size(c[0], dim), dim, largest=c.attr("descending"))


@row("topk")
def topk(c: Call) -> str:
    if not c.rank():
        return c.graph.constant(0, "i64")
    return _positions(c, c[1], c.attr("dim"), largest=c.attr("largest"))


@row("kthvalue")
def kthvalue(c: Call) -> str:
    if not c.rank():
        return c.graph.constant(0, "i64")
    g, dim = c.graph, c.attr("dim")
    found = _positions(c, c[1], dim, largest=False)
    return c("Slice", found, g.ints(-1), g.ints(2**63 - 1), g.ints(dim))


def _triangle(c: Call, dim: int, x: str, padding: str, dtype: str) -> str:
    """Return, for each position along a dim, the elements up to it along one more dim, with padding behind them."""
    g = c.graph
    n = g.size(x, dim)
    steps = c("Range", g.constant(0, "i64"), n, g.constant(1, "i64"))
    upto = c("LessOrEqual", c("Unsqueeze", steps, g.ints(0)), c("Unsqueeze", steps, g.ints(1)))
    if rest := list(range(2, c.rank() - dim + 1)):
        upto = c("Unsqueeze", upto, g.ints(*rest))
    return c("Where", upto, c("Unsqueeze", x, g.ints(dim)), padding)


@row("cumprod", "scan.cumprod")
def cumprod(c: Call) -> str:
    g, dim, dtype = c.graph, c.attr("dim"), c.dtype
    x = c.in_dtype(0, dtype)
    if not c.rank():
        return c("Identity", x)
    return g.reduce("ReduceProd", _triangle(c, dim, x, g.constant(1, dtype), dtype), [dim + 1], keepdims=0)


@row("arg_scan", "extreme_scan")
def running(c: Call) -> str:
    raise Unsupported("running maxima and minima have no ONNX form", "use a loop with torch.maximum, or topk")
