"""Products, norms and reductions."""

from __future__ import annotations

from scriptc.ir.types import NONE
from scriptc.onnx.writing.builder import Unsupported, dtype_of
from scriptc.onnx.writing.operators.rows import Call, row


@row("matmul")
def matmul(c: Call) -> str:
    return c("MatMul", c[0], c[1])


@row("linear")
def linear(c: Call) -> str:
    if c.rank(1) == 2 and c.rank(0) == 2 and c.dtype in ("f32", "f64"):
        return c("Gemm", *filter(None, (c[0], c[1], c[2])), transB=1)
    weight = c("Transpose", c[1], perm=[1, 0]) if c.rank(1) == 2 else c[1]
    made = c("MatMul", c[0], weight)
    return c("Add", made, c[2]) if c[2] else made


@row("softmax", "safe_softmax", "log_softmax")
def softmax(c: Call) -> str:
    x, dim = c.in_dtype(0, c.dtype), c.attr("dim")
    if not c.rank():
        raise Unsupported("softmax of a 0-d tensor has no ONNX form", "give the tensor a dim")
    made = c("LogSoftmax" if c.op.name == "log_softmax" else "Softmax", x, axis=dim)
    if c.op.name != "safe_softmax":
        return made
    kept = c.graph.cast(c("Not", c("Equal", x, c.graph.constant(float("-inf"), c.dtype))), "i32")
    some = c.graph.cast(c.graph.reduce("ReduceSum", kept, [dim], keepdims=1), "bool")
    return c("Where", some, made, c.graph.constant(0, c.dtype))


@row("layer_norm")
def layer_norm(c: Call) -> str:
    shape = list(c.operands[1])
    weight = c[2] or c("Expand", c.graph.constant(1, c.dtype), c.graph.vector(shape))
    inputs = [c[0], weight, *([c[3]] if c.type(3) != NONE else [])]
    return c("LayerNormalization", *inputs, axis=-len(shape), epsilon=float(c.const(4)))


@row("group_norm")
def group_norm(c: Call) -> str:
    g, dtype = c.graph, c.dtype
    wide = "f32" if dtype in ("f16", "bf16") else dtype
    x = c.in_dtype(0, wide)
    shape = c("Shape", x)
    count = c[1]
    batch = c("Slice", shape, g.ints(0), g.ints(1))
    rows = c("Reshape", x, c("Concat", batch, g.vector([count]), g.ints(-1), axis=0))
    rows = c("Sub", rows, g.reduce("ReduceMean", rows, [-1], keepdims=1))
    variance = g.reduce("ReduceMean", c("Mul", rows, rows), [-1], keepdims=1)
    made = c("Div", rows, c("Sqrt", c("Add", variance, g.constant(c.const(4), wide))))
    made = c("Reshape", made, shape, allowzero=1)
    ones = [1] * (c.rank() - 2)
    for index, node in ((2, "Mul"), (3, "Add")):
        if c[index]:
            made = c(node, made, c("Reshape", c.in_dtype(index, wide), g.ints(-1, *ones)))
    return made if wide == dtype else g.cast(made, dtype)


def _reduce(c: Call, node: str, x: str) -> str:
    dims = c.attr("dim")
    if not dims:
        return c("Identity", x)
    return c.graph.reduce(node, x, list(dims), keepdims=int(c.attr("keepdim")))


@row("sum", "mean", "prod", "sum_squares")
def reduce(c: Call) -> str:
    x = c.in_dtype(0, c.dtype)
    if c.op.name == "sum_squares":
        return _reduce(c, "ReduceSum", c("Mul", x, x))
    return _reduce(c, {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd"}[c.op.name], x)


@row("amax", "amin")
def extreme(c: Call) -> str:
    made = _reduce(c, "ReduceMax" if c.op.name == "amax" else "ReduceMin", c[0])
    if c.dtype not in ("f32", "f64", "f16"):
        return made
    counts = _reduce(c, "ReduceSum", c.graph.cast(c("IsNaN", c[0]), "f32"))  # runtimes differ on NaN here
    return c("Where", c.graph.cast(counts, "bool"), c.graph.constant(float("nan"), c.dtype), made)


@row("any", "all")
def truth(c: Call) -> str:
    x = c.in_dtype(0, "bool")
    wanted = x if c.op.name == "any" else c("Not", x)
    found = c.graph.cast(_reduce(c, "ReduceSum", c.graph.cast(wanted, "i32")), "bool")
    made = found if c.op.name == "any" else c("Not", found)
    return made if c.dtype == "bool" else c.graph.cast(made, c.dtype)


@row("argmax", "argmin")
def arg_extreme(c: Call) -> str:
    node = "ArgMax" if c.op.name == "argmax" else "ArgMin"
    x = c[0]
    if dtype_of(c.type(0)) in ("f32", "f64", "f16"):  # torch takes the first NaN, for which runtimes have no rule
        dtype = dtype_of(c.type(0))
        nan = c("IsNaN", x)
        marked = c("Where", nan, c.graph.constant(1 if node == "ArgMax" else -1, dtype), c.graph.constant(0, dtype))
        if c.attr("dim") is None:
            nans = c.graph.reduce("ReduceMax", c.graph.cast(nan, "i32"), keepdims=0)
            x = c("Where", c.graph.cast(nans, "bool"), marked, x)
        else:
            some = c.graph.cast(c.graph.reduce("ReduceMax", c.graph.cast(nan, "i32"), [c.attr("dim")], keepdims=1), "bool")
            x = c("Where", some, marked, x)
    if c.attr("dim") is None:
        flat = c("Reshape", x, c.graph.ints(-1))
        made = c(node, flat, axis=0, keepdims=0)
        return c("Reshape", made, c.graph.ints(*[1] * c.rank())) if c.attr("keepdim") else made
    if not c.rank():
        return c.graph.constant(0, "i64")
    return c(node, x, axis=c.attr("dim"), keepdims=int(c.attr("keepdim")))


@row("scan.cumsum", "cumsum")
def cumsum(c: Call) -> str:
    return c("CumSum", c.in_dtype(0, c.dtype), c.graph.constant(c.attr("dim"), "i64"))
