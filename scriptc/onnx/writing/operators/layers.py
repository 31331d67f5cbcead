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


@row("max_pool2d")
def max_pool2d(c: Call) -> str:
    if c.attr("ceil_mode"):
        raise Unsupported("pooling with ceil_mode has no exact ONNX form", "pad the image and leave ceil_mode out")
    x, added = _image(c)
    made = c(
        "MaxPool", x, kernel_shape=list(c.attr("kernel_size")), strides=list(c.attr("stride")),
        pads=list(c.attr("padding")) * 2, dilations=list(c.attr("dilation")),
    )  # fmt: skip
    return _without_batch(c, made, added)


@row("avg_pool2d")
def avg_pool2d(c: Call) -> str:
    if c.attr("ceil_mode") or c.attr("divisor_override") is not None:
        raise Unsupported("this pooling has no exact ONNX form", "leave ceil_mode and divisor_override out")
    x, added = _image(c)
    made = c(
        "AveragePool", x, kernel_shape=list(c.attr("kernel_size")), strides=list(c.attr("stride")),
        pads=list(c.attr("padding")) * 2, count_include_pad=int(c.attr("count_include_pad")),
    )  # fmt: skip
    return _without_batch(c, made, added)


@row("softmax", "safe_softmax", "log_softmax")
@row("softmax", "log_softmax")
def softmax(c: Call) -> str:
    x, dim = c.in_dtype(0, c.dtype), c.attr("dim")
    if not c.rank():
        raise Unsupported("softmax of a 0-d tensor has no ONNX form", "give the tensor a dim")
    made = c("LogSoftmax" if c.op.name == "log_softmax" else "Softmax", x, axis=dim)
    if c.op.name != "safe_softmax":
        return made
    kept = c.graph.cast(c("Not", c("Equal", x, c.graph.constant(float("-inf"), c.dtype))), "i32")
    some = c.graph.cast(c("ReduceSum", kept, c.graph.ints(dim), keepdims=1), "bool")
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
