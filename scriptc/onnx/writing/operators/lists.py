"""Lists of tensors and numbers as sequences. A row of an op that changes a list returns the changed sequence.

A list of tuples is one sequence for each leaf of the items. Rows of the ops in `ITEMS` are called once for each.
"""

from __future__ import annotations

from onnx import helper

from scriptc.ir.types import BOOL, INT, NEVER, ListType, list_of
from scriptc.onnx.writing.builder import ELEMENT_TYPES, Builder, Unsupported, dtype_of, type_proto
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.operators.rows import Call, row

# The operands of an op that are items of a list; None for all of them.
ITEMS: dict[str, tuple[int, ...] | None] = {
    "list.new": None, "tuple.new": None, "tuple.of": (), "tuple.join": (), "list.get": (), "list.at": (), "list.append": (1,),
    "list.set": (2,), "list.put": (2,), "list.insert": (2,), "list.delete": (), "list.slice": (), "list.repeat": (),
    "list.splice": (),
}  # fmt: skip


def empty_sequence(g: Builder, t: ListType) -> str:
    """Return an empty sequence of a type."""
    dtype = "f32" if t.elem == NEVER else dtype_of(t.elem)  # as type_proto has it
    return g.node("SequenceEmpty", dtype=ELEMENT_TYPES[dtype])


def _place(c: Call) -> str:
    """Return an index from the front."""
    index = c[1]
    return c("Where", c("Less", index, c.graph.constant(0, "i64")), c("Add", index, c("SequenceLength", c[0])), index)


@row("list.new", "tuple.new")
def new(c: Call) -> str:
    if not c.operands:
        return empty_sequence(c.graph, _sequence(c))
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
    t = type_proto(_sequence(c))
    inputs = [helper.make_value_info(number, type_proto(INT)), helper.make_value_info(going, type_proto(BOOL)),
              helper.make_value_info(taken, t)]  # fmt: skip
    outputs = [helper.make_value_info(true, type_proto(BOOL)), helper.make_value_info(longer, t)]
    graph = body.graph("body", inputs, outputs)
    return g.nodes_of("Loop", [count, g.constant(True, "bool"), kept], 1, "loop", body=graph)[0]


def _sequence(c: Call) -> ListType:
    assert c.sequence is not None
    return c.sequence


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
    return _picked(c, empty_sequence(g, _sequence(c)), c[0], start, step, count, "")


@row("list.splice")
def splice(c: Call) -> str:
    """Return the sequence with the items from `start` to `stop` replaced by those of another one."""
    g, n, most = c.graph, c("SequenceLength", c[0]), 2**63 - 1
    zero, one = g.constant(0, "i64"), g.constant(1, "i64")

    def with_items(kept: str, xs: str, start: str, stop: str) -> str:
        return _picked(c, kept, xs, start, one, c("Sub", stop, start), "")

    if g.known(c[1]) == 0 and g.known(c[2]) == most:
        return c[3]
    others = c("SequenceLength", c[3])
    if g.known(c[1]) == most or c.op.operands[1] is c.op.operands[2] and _is_length(c, 1):
        return with_items(c[0], c[3], zero, others)
    start, stop = (c("Min", c("Max", c("Where", c("Less", i, zero), c("Add", i, n), i), zero), n) for i in (c[1], c[2]))
    front = with_items(with_items(empty_sequence(g, _sequence(c)), c[0], zero, start), c[3], zero, others)
    return with_items(front, c[0], c("Max", start, stop), n)


def _is_length(c: Call, index: int) -> bool:
    """Return whether an operand is the length of the list that changes, taken just before."""
    made = c.op.operands[index].op
    if made is None or made.name != "list.len" or made.operands[0] is not c.op.operands[0] or made.parent is not c.op.parent:
        return False
    assert made.parent is not None
    ops = made.parent.ops
    return not any("list" in op.defn.writes or op.regions for op in ops[ops.index(made) : ops.index(c.op)])


@row("list.argsort")
def argsort(c: Call) -> str:
    """TopK has equal elements in their order. No runtime joins an empty sequence."""
    g, t = c.graph, c.type(0)
    assert isinstance(t, ListType)
    some, none = Builder(g), Builder(g)
    joined = some.node("ConcatFromSequence", c[0], axis=0, new_axis=1)
    if dtype_of(t.elem) == "bool":
        joined = some.cast(joined, "i64")
    places = some.nodes_of("TopK", [joined, some.node("Shape", joined)], 2, axis=0, largest=int(c.attr("reverse")))[1]
    ordered = some.node("SplitToSequence", places, axis=0, keepdims=0)
    result = list_of(INT)
    graphs = [
        each.graph("branch", [], [helper.make_value_info(each.node("Identity", made, name="out"), type_proto(result))])
        for each, made in ((some, ordered), (none, empty_sequence(none, result)))
    ]
    is_some = c("Greater", c("SequenceLength", c[0]), g.constant(0, "i64"))
    return g.nodes_of("If", [is_some], 1, "if", then_branch=graphs[0], else_branch=graphs[1])[0]


@row("list.repeat")
def repeat(c: Call) -> str:
    g, n = c.graph, c("SequenceLength", c[0])
    count = c("Mul", n, c("Max", c[1], g.constant(0, "i64")))
    size = c("Max", n, g.constant(1, "i64"))
    return _picked(c, empty_sequence(g, _sequence(c)), c[0], g.constant(0, "i64"), g.constant(1, "i64"), count, size)


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
