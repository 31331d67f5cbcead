"""Lists of tensors and numbers as sequences. A row of an op that changes a list returns the changed sequence."""

from __future__ import annotations

from scriptc.ir.types import NEVER, ListType, Type
from scriptc.onnx.writing.builder import ELEMENT_TYPES, Builder, Unsupported, dtype_of
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.operators.rows import Call, row


def empty_sequence(g: Builder, t: Type) -> str:
    """Return an empty sequence for lists of a type."""
    assert isinstance(t, ListType)
    dtype = "f32" if t.elem == NEVER else dtype_of(t.elem)
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
    return c("SequenceInsert", c("SequenceErase", c[0], place), c[2], place)


@row("list.delete")
def delete(c: Call) -> str:
    return c("SequenceErase", c[0], c[1])


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
