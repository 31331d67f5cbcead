"""Ops that take elements at computed places: padding by elements, diagonals, windows."""

from __future__ import annotations

from scriptc.onnx.writing.builder import Unsupported
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.operators.rows import Call, row


def _range(c: Call, start: str, stop: str) -> str:
    return c("Range", start, stop, c.graph.constant(1, "i64"))


@row("pad")
def pad(c: Call) -> str:
    g, x, mode = c.graph, c[0], c.attr("mode")
    sizes = list(c.operands[1])
    zero, one = g.constant(0, "i64"), g.constant(1, "i64")
    for at in range(len(sizes) // 2):
        before, behind = sizes[2 * at], sizes[2 * at + 1]
        if g.known(before) == 0 == g.known(behind):
            continue
        dim = c.rank() - 1 - at
        n = g.size(x, dim)
        last = c("Sub", n, one)
        index = _range(c, c("Neg", before), c("Add", n, behind))
        if mode == "reflect":
            index = c("Abs", index)
            index = c("Sub", last, c("Abs", c("Sub", last, index)))
        elif mode == "replicate":
            index = c("Min", c("Max", index, zero), last)
        elif mode == "circular":
            index = c("Mod", index, n)
        else:
            raise Unsupported(f"padding of the mode {mode} has no ONNX form", "pad by torch.cat")
        x = c("Gather", x, index, axis=dim)
    return x if x != c[0] else c("Identity", x)


@row("diagonal")
def diagonal(c: Call) -> str:
    g, rank = c.graph, c.rank()
    a, b = c.attr("dim1"), c.attr("dim2")
    x = c("Transpose", c[0], perm=[*(d for d in range(rank) if d not in (a, b)), a, b])
    zero = g.constant(0, "i64")
    below, right = c("Max", c("Neg", c[1]), zero), c("Max", c[1], zero)
    rows, columns = g.size(x, rank - 2), g.size(x, rank - 1)
    count = c("Max", c("Min", c("Sub", rows, below), c("Sub", columns, right)), zero)
    steps = _range(c, zero, count)
    places = c("Add", c("Mul", c("Add", steps, below), columns), c("Add", steps, right))
    lead = c("Slice", c("Shape", x), g.ints(0), g.ints(rank - 2))
    flat = c("Reshape", x, c("Concat", lead, g.vector([c("Mul", rows, columns)]), axis=0), allowzero=1)
    return c("Gather", flat, places, axis=rank - 2)


@row("unfold")
def unfold(c: Call) -> str:
    g, rank, dim = c.graph, c.rank(), c.attr("dimension")
    size, step = c[1], c[2]
    if not rank:
        raise Unsupported("windows of a 0-d tensor have no ONNX form", "give the tensor a dim")
    zero, one = g.constant(0, "i64"), g.constant(1, "i64")
    count = c("Add", floor_divide(g, c("Sub", g.size(c[0], dim), size), step), one)
    starts = c("Unsqueeze", c("Mul", _range(c, zero, count), step), g.ints(1))
    taken = c("Gather", c[0], c("Add", starts, c("Unsqueeze", _range(c, zero, size), g.ints(0))), axis=dim)
    return c("Transpose", taken, perm=[*(d for d in range(rank + 1) if d != dim + 1), dim + 1])
