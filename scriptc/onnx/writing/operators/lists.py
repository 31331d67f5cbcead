"""Lists of tensors and numbers as sequences. A row of an op that changes a list returns the changed sequence."""

from __future__ import annotations

from onnx import helper

from scriptc.ir.types import BOOL, INT, NEVER, ListType, Type
from scriptc.onnx.writing.builder import ELEMENT_TYPES, Builder, Unsupported, dtype_of, type_proto
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.operators.rows import Call, row


def empty_sequence(g: Builder, t: Type) -> str:
    """Return an empty sequence for lists of a type."""
    assert isinstance(t, ListType)
    dtype = "f32" if t.elem == NEVER else dtype_of(t.elem)  # as type_proto has it
    return g.node("SequenceEmpty", dtype=ELEMENT_TYPES[dtype])


def _place(c: Call) -> str:
    """Return an index from the front."""
    index = c[1]
    return c("Where", c("Less", index, c.graph.constant(0, "i64")), c("Add", index, c("SequenceLength", c[0])), index)


@row("list.new", "tuple.new")
def new(c: Call) -> str:
    t = c.op.result.type
    if not c.operands:
        return empty_sequence(c.graph, t)
    return c("SequenceConstruct", *(leaves[0] for leaves in c.operands))


@row("tuple.of")
def tuple_of(c: Call) -> str:
    return c[0]


@row("list.len")
def length(c: Call) -> str:
    return c("SequenceLength", c[0])


@row("list.get", "list.at")
def get(c: Call) -> str:
    return c("SequenceAt", c[0], c[1])


@row("list.append")
def append(c: Call) -> str:
    return c("SequenceInsert", c[0], c[1])


@row("list.set", "list.put")
def put(c: Call) -> str:
    place = _place(c)
    return c("SequenceErase", c("SequenceInsert", c[0], c[2], place), c("Add", place, c.graph.constant(1, "i64")))


@row("list.delete")
def delete(c: Call) -> str:
    return c("SequenceErase", c[0], c[1])


@row("list.insert")
def insert(c: Call) -> str:
    n, zero = c("SequenceLength", c[0]), c.graph.constant(0, "i64")
    return c("SequenceInsert", c[0], c[2], c("Min", c("Max", _place(c), zero), n))


def _picked(c: Call, kept: str, xs: str, start: str, step: str, count: str, size: str) -> str:
    """Return a sequence with `count` items of another one behind it: those at `start`, `start + step`, modulo `size`."""
    g = c.graph
    body = Builder(g)
    number, going, taken = g.fresh("iteration"), g.fresh("going"), g.fresh("carried")
    at = body.node("Add", body.node("Mul", number, step), start)
    at = body.node("Mod", at, size) if size else at
    longer = body.node("SequenceInsert", taken, body.node("SequenceAt", xs, at))
    true, longer = body.node("Identity", g.constant(True, "bool"), name="out"), body.node("Identity", longer, name="out")
    t = type_proto(_as_list(c.type(0)))
    inputs = [helper.make_value_info(number, type_proto(INT)), helper.make_value_info(going, type_proto(BOOL)),
              helper.make_value_info(taken, t)]  # fmt: skip
    outputs = [helper.make_value_info(true, type_proto(BOOL)), helper.make_value_info(longer, t)]
    graph = body.graph("body", inputs, outputs)
    return g.nodes_of("Loop", [count, g.constant(True, "bool"), kept], 1, "loop", body=graph)[0]


def _as_list(t: Type) -> ListType:
    assert isinstance(t, ListType)
    return t


@row("list.slice")
def slice_(c: Call) -> str:
    g, (n, step) = c.graph, (c("SequenceLength", c[0]), c[3])
    zero, one = g.constant(0, "i64"), g.constant(1, "i64")
    if not g.known(step):
        raise Unsupported("a slice of a list by a step that is computed has no ONNX form", "write the step as a constant")
    forward = g.known(step) > 0
    low, high = (zero, n) if forward else (g.constant(-1, "i64"), c("Sub", n, one))

    def bound(name: str) -> str:
        from_front = c("Where", c("Less", name, zero), c("Add", name, n), name)
        return c("Min", c("Max", from_front, low), high)

    start, stop = bound(c[1]), bound(c[2])
    distance = c("Sub", stop, start)
    count = c("Max", c("Neg", floor_divide(g, c("Neg", distance), step)), zero)
    return _picked(c, empty_sequence(g, c.op.result.type), c[0], start, step, count, "")


@row("list.repeat")
def repeat(c: Call) -> str:
    g, n = c.graph, c("SequenceLength", c[0])
    count = c("Mul", n, c("Max", c[1], g.constant(0, "i64")))
    size = c("Max", n, g.constant(1, "i64"))
    return _picked(c, empty_sequence(g, c.op.result.type), c[0], g.constant(0, "i64"), g.constant(1, "i64"), count, size)


@row("tuple.join")
def join(c: Call) -> str:
    g = c.graph
    return _picked(c, c[0], c[1], g.constant(0, "i64"), g.constant(1, "i64"), c("SequenceLength", c[1]), "")


@row("list.tensor")
def tensor(c: Call) -> str:
    return c("ConcatFromSequence", c[0], axis=0, new_axis=1)


@row("stack")
def stack(c: Call) -> str:
    return c("ConcatFromSequence", c[0], axis=c.attr("dim"), new_axis=1)


@row("cat")
def cat(c: Call) -> str:
    return c("ConcatFromSequence", c[0], axis=c.attr("dim"), new_axis=0)


@row("unbind")
def unbind(c: Call) -> str:
    return c("SplitToSequence", c[0], axis=c.attr("dim"), keepdims=0)


@row("split", "chunk")
def split(c: Call) -> str:
    g, dim, count = c.graph, c.attr("dim"), c[1]
    if c.op.name == "chunk":
        minus = c("Neg", g.size(c[0], dim))
        count = c("Neg", floor_divide(g, minus, count))
    elif g.known(count) == 0:
        raise Unsupported("a split into parts of size 0 has no ONNX form", "give the parts a size")
    return c("SplitToSequence", c[0], count, axis=dim)
