"""A function of the tensor IR as an ONNX graph: leaves of values, regions as nested graphs, lists that change.

A list is a value in ONNX. The environment holds the present sequence of each list, and the present value of each tensor
that is written. A region that changes such a value of an enclosing block returns the new one as a further result, so lists
that change may have one name only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from onnx import GraphProto, ValueInfoProto, helper

from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.errors import Diagnostic
from scriptc.ir.types import (
    BOOL,
    INT,
    NEVER,
    NONE,
    CellType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    list_of,
)
from scriptc.onnx.writing.builder import Builder, Unsupported, dtype_of, type_proto
from scriptc.onnx.writing.operators import ROWS, Call, Row
from scriptc.onnx.writing.operators.lists import ITEMS, empty_sequence
from scriptc.onnx.writing.operators.numbers import floor_divide
from scriptc.onnx.writing.recurrent import Recurrent, recurrent_loop
from scriptc.onnx.writing.state import SetAttribute, set_to
from scriptc.onnx.writing.tensor_writes import TensorWrites, may_follow

Leaves = tuple[str, ...]
_HINTS = {
    "try": ("a `try` around ops that may fail has no ONNX form", "test the condition with `if`, and raise"),
    "print": ("`print` has no ONNX form", "return the value, or print it outside of the model"),
    "call": ("a recursive call has no ONNX form", "write the recursion as a loop"),
}
_FAMILIES = {
    "dict": ("a dict has no ONNX form", "use lists or tensors"), "set": ("a set has no ONNX form", "use lists or tensors"),
    "str": ("a string has no ONNX form", "use ints, and do the text outside of the model"),
    "text": ("a string has no ONNX form", "use ints, and do the text outside of the model"),
    "random": ("random numbers have no ONNX form that repeats torch's", "take the random tensor as an argument"),
    "object": ("an object that exists at run time has no ONNX form", "use tuples, or lists of tensors"),
}  # fmt: skip
_NAMING = ("tuple", "call", "list.new", "tuple.new", "state.set", "cell.new", "cell.set")  # ops that give a list another name
_SILENT = ("check", "checkpoint.begin", "checkpoint.end", "unreachable")


def row_of(name: str) -> Row:
    """Return the row of an op. Raise Unsupported if the op has none."""
    if name not in ROWS:
        known = _HINTS.get(name) or _FAMILIES.get(name.split(".")[0])
        raise Unsupported(*(known or (f"`{name}` has no ONNX form here", "compute this outside of the model")))
    return ROWS[name]


def leaf_types(t: Type) -> list[Type]:
    """Return the types of the leaves of a value: of a tuple those of its items, of an optional value a flag too.

    A list is one sequence for each leaf of its items.
    """
    if t == NONE:
        return []
    if isinstance(t, TupleType):
        return [leaf for item in t.items for leaf in leaf_types(item)]
    if isinstance(t, OptionalType):
        return [BOOL, *leaf_types(t.item)]
    if isinstance(t, CellType):
        return leaf_types(t.item)
    if isinstance(t, ListType):
        leaves = [t.elem] if t.elem == NEVER else leaf_types(t.elem)
        if not leaves or any(isinstance(leaf, ListType) for leaf in leaves):
            raise Unsupported(f"a value of type {t} has no ONNX form", "use lists of tensors or numbers, or of tuples of these")
        return [t] if leaves == [t.elem] else [list_of(leaf) for leaf in leaves]
    dtype_of(t)
    return [t]


class FunctionWriter:
    """Write one function. `diagnostics` collects the places that have no ONNX form."""

    def __init__(self, func: Func, opset: int):
        self.func = func
        self.graph = Builder(opset=opset)
        self.env: dict[Value, Leaves] = {}
        self.params: dict[str, str] = {}
        self.writes = TensorWrites(func)
        self.diagnostics: list[Diagnostic] = []
        self.state: dict[int, SetAttribute] = {}  # by the number of the target of its `state.set` ops
        self.left_out: dict[str, Op] = {}  # the warnings of the function by message, which the model does not give
        self.refused: set[Value] = set()  # values of a type that has no ONNX form; they have no leaves
        # 1 where the function has raised, else 0. Every result of the model is taken at this index of one item, so that a
        # runtime stops with an error. Nested graphs return it as they return lists that change, and loops end where it is 1.
        self.failed = Value(INT, func.body, "failed")
        self.env[self.failed] = (self.graph.constant(0, "i64"),)

    # ---- values ----

    def leaves(self, value: Value) -> Leaves:
        """Return the leaves of a value where it is read. A view of a tensor that was written is computed again."""
        base = self.writes.base_of.get(value)
        return self.env[value] if base is None or base is value else (self.view(value, base),)

    def view(self, value: Value, base: Value) -> str:
        """Return a view of a tensor that ops write. The environment holds it with the tensor that it was computed from."""
        if value is base:
            return self.env[value][0]
        op = value.op
        assert op is not None
        source = self.view(op.operands[0], base)
        if value not in self.env or self.env[value][0] != source:
            others = [self.env[v] for v in op.operands[1:]]
            made = row_of(op.name)(Call(op, self.graph, [(source,), *others]))
            assert isinstance(made, str)
            self.env[value] = (source, made)
        return self.env[value][1]

    def placeholder(self, t: Type) -> str:
        """Return a value that is never read."""
        if isinstance(t, ListType):
            return empty_sequence(self.graph, t)
        dims = (t.dims or ()) if isinstance(t, TensorType) else ()
        return self.graph.constant(numpy.zeros([d if isinstance(d, int) else 0 for d in dims]), dtype_of(t))

    def converted(self, leaves: Leaves, given: Type, wanted: Type) -> Leaves:
        """Return the leaves of a value as those of a supertype."""
        if isinstance(wanted, OptionalType) and not isinstance(given, OptionalType):
            present = self.graph.constant(given != NONE, "bool")
            if given == NONE:
                return (present, *map(self.placeholder, leaf_types(wanted.item)))
            return (present, *self.converted(leaves, given, wanted.item))
        if isinstance(given, TupleType) and isinstance(wanted, TupleType):
            made: list[str] = []
            at = 0
            for own, item in zip(given.items, wanted.items, strict=True):
                count = len(leaf_types(own))
                made += self.converted(leaves[at : at + count], own, item)
                at += count
            return tuple(made)
        if isinstance(given, ListType) and isinstance(wanted, ListType) and given.elem == NEVER != wanted.elem:
            return tuple(map(self.placeholder, leaf_types(wanted)))
        if len(leaves) != len(leaf_types(wanted)):
            raise Unsupported(f"a value of type {given} as one of type {wanted} has no ONNX form", "use values of one type")
        return leaves

    def passed(self, values: Sequence[Value], wanted: Sequence[Type]) -> list[str]:
        """Return the leaves of values as those of supertypes."""
        for v in self.refused.intersection(values):
            dtype_of(v.type)  # raises Unsupported
        return [n for v, t in zip(values, wanted, strict=True) for n in self.converted(self.leaves(v), v.type, t)]

    def refuse(self, op: Op, message: str, hint: str) -> None:
        """Note a place that has no ONNX form."""
        self.diagnostics.append(Diagnostic(op.loc, message, hint))
        self.stand_in(op)

    def stand_in(self, op: Op) -> None:
        """Make placeholders the results of an op that is not written, so that the places behind it are found, too."""
        for result in op.results:
            try:
                self.env[result] = tuple(map(self.placeholder, leaf_types(result.type)))
            except Unsupported:
                self.refused.add(result)

    # ---- blocks ----

    def block(self, ops: Sequence[Op], loop: Op | None = None) -> Op | None:
        """Write ops; return the terminator. loop: the loop whose body the ops are.

        An `if` that may leave the loop takes the rest of the body as its other branch.
        """
        for op in ops:
            if op.has("TERMINATOR"):
                self.env[self.failed] = (self.graph.constant(1, "i64"),) if _raises(op) else self.env[self.failed]
                return op
            outer, graph = self.graph.root.loc, self.graph
            self.graph.root.loc = op.loc
            try:
                self.write(op)
            except Unsupported as e:
                self.refuse(op, e.message, e.hint)
            self.graph, self.graph.root.loc = graph, outer
        return None

    def write(self, op: Op) -> None:
        name = op.name
        if name in _SILENT or name.startswith("check."):
            return
        if self.refused.intersection(op.operands):  # the place that made the value is noted
            self.stand_in(op)
            return
        special = getattr(self, f"write_{name.replace('.', '_')}", None)
        if special is not None:
            special(op)
            return
        function = row_of(name)
        for result in op.results:
            leaf_types(result.type)
        if name in ITEMS:
            self.write_list(op, function)
            return
        if any(isinstance(v.type, ListType) and v.type.elem == NEVER for v in op.operands) and name != "list.len":
            raise Unsupported("a list to which nothing is added has no element type", "leave the list out")
        if len(op.results) == 1 and op.result in self.writes.base_of and op.result not in self.writes.bases:
            self.view(op.result, self.writes.base_of[op.result])
            return
        made = function(Call(op, self.graph, [self.leaves(v) for v in op.operands]))
        self.env[op.result] = (made,) if isinstance(made, str) else made

    def write_list(self, op: Op, function: Row) -> None:
        """Write an op of a list for each leaf of the items."""
        t = next(v.type for v in [*op.results, *op.operands] if isinstance(v.type, ListType))
        if t.elem == NEVER and op.operands:
            raise Unsupported("a list to which nothing is added has no element type", "leave the list out")
        items = ITEMS[op.name]
        of_leaves: list[Leaves | None] = []  # of the operands that are lists or items
        for i, v in enumerate(op.operands):
            wanted = t.elem if items is None or i in items else t if isinstance(v.type, ListType) else None
            of_leaves.append(None if wanted is None else self.converted(self.leaves(v), v.type, wanted))
        made = []
        for j, sequence in enumerate(leaf_types(t)):
            assert isinstance(sequence, ListType)
            operands = [self.leaves(v) if own is None else own[j : j + 1]
                        for v, own in zip(op.operands, of_leaves, strict=True)]  # fmt: skip
            part = function(Call(op, self.graph, operands, sequence))
            assert isinstance(part, str)
            made.append(part)
        self.env[op.operands[0] if "list" in op.defn.writes else op.result] = tuple(made)

    def write_const(self, op: Op) -> None:
        t = op.result.type
        self.env[op.result] = () if t == NONE else (self.graph.constant(op.attrs["value"], dtype_of(t)),)

    def write_param(self, op: Op) -> None:
        dtype_of(op.result.type)
        name = op.attrs["name"]
        if name not in self.params:
            self.params[name] = self.graph.fresh(name)
        self.env[op.result] = (self.params[name],)

    def write_state_set(self, op: Op) -> None:
        attribute = self.state.get(op.attrs["target"])
        new = set_to(attribute, op)
        assert attribute is not None
        value = attribute.value
        self.env[value] = self.leaves(new) if isinstance(new, Value) else (self.graph.constant(new, dtype_of(value.type)),)

    def write_cell_new(self, op: Op) -> None:
        self.set_cell(op.result, op.operands[0])

    def write_cell_set(self, op: Op) -> None:
        self.set_cell(*op.operands)

    def set_cell(self, cell: Value, value: Value) -> None:
        t = cell.type
        assert isinstance(t, CellType)
        self.env[cell] = self.converted(self.leaves(value), value.type, t.item)

    def write_cell_get(self, op: Op) -> None:
        self.env[op.result] = self.env[op.operands[0]]

    def write_warn(self, op: Op) -> None:
        self.left_out.setdefault(op.attrs["message"], op)

    def write_undef(self, op: Op) -> None:
        self.env[op.result] = tuple(map(self.placeholder, leaf_types(op.result.type)))

    def write_tuple(self, op: Op) -> None:
        self.env[op.result] = tuple(n for v in op.operands for n in self.leaves(v))

    def write_tuple_get(self, op: Op) -> None:
        t = op.operands[0].type
        assert isinstance(t, TupleType)
        at = sum(len(leaf_types(item)) for item in t.items[: op.attrs["index"]])
        count = len(leaf_types(op.result.type))
        self.env[op.result] = self.env[op.operands[0]][at : at + count]

    def write_optional_present(self, op: Op) -> None:
        self.env[op.result] = self.env[op.operands[0]][:1]

    def write_optional_unwrap(self, op: Op) -> None:
        self.env[op.result] = self.env[op.operands[0]][1:]

    def write_copy_(self, op: Op) -> None:
        if op in self.writes.refused:
            raise Unsupported(*self.writes.refused[op])
        target, source = op.operands
        base = self.writes.base_of[target]
        (present,), chain = self.env[base], self.writes.chain(target)
        call = Call(op, self.graph, [self.leaves(v) for v in op.operands])
        value = call.in_dtype(1, dtype_of(target.type))
        if not chain:
            same = source.type == target.type and (_has_named_dims(target.type) or _follows(source, target))
            self.env[base] = (value if same else call("Expand", value, call("Shape", present)),)
            return
        g = self.graph
        if len(chain) == 1 and chain[0].name == "select" and chain[0].attrs["dim"] == 0 and source.type == target.type:
            place = call("Reshape", self.env[chain[0].operands[1]][0], g.ints(1, 1))
            self.env[base] = (call("ScatterND", present, place, call("Unsqueeze", value, g.ints(0))),)
            return
        places = call("Range", g.constant(0, "i64"), call("Size", present), g.constant(1, "i64"))
        places = call("Reshape", places, call("Shape", present), allowzero=1)  # where each element of the view is in its base
        for view in chain:
            made = row_of(view.name)(Call(view, g, [(places,), *(self.env[v] for v in view.operands[1:])]))
            assert isinstance(made, str)
            places = made
        flat = [call("Reshape", n, g.ints(-1)) for n in (present, places, call("Expand", value, call("Shape", places)))]
        self.env[base] = (call("Reshape", call("ScatterElements", *flat, axis=0), call("Shape", present), allowzero=1),)

    def write_is_contiguous(self, op: Op) -> None:
        if op.operands[0] not in self.writes.plain:
            raise Unsupported("the order of a tensor in memory has no ONNX form", "make the tensor contiguous before")
        self.env[op.result] = (self.graph.constant(True, "bool"),)

    def write_scope(self, op: Op) -> None:
        last = self.block(op.regions[0].ops)
        if last is not None and last.name != "yield":
            self.bind(op.results, [self.placeholder(leaf) for r in op.results for leaf in leaf_types(r.type)])
        elif last is not None:
            names = iter(self.passed(last.operands, [r.type for r in op.results]))
            for result in op.results:
                self.env[result] = tuple(next(names) for _ in leaf_types(result.type))

    write_checkpoint = write_scope

    # ---- regions ----

    def region(self, name: str, ops: Sequence[Op], wanted: Sequence[Type], changed: Sequence[Value]) -> GraphProto:
        """Return a branch of an `if` as a graph."""
        outer, kept = self.graph, dict(self.env)
        self.graph = Builder(outer)
        last = self.block(ops)
        names = self.passed(last.operands, wanted) if last is not None and last.name == "yield" else []
        if last is None or last.name != "yield":
            names = [self.placeholder(leaf) for t in wanted for leaf in leaf_types(t)]
        names += [n for v in changed for n in self.env[v]]
        types = [leaf for t in [*wanted, *(v.type for v in changed)] for leaf in leaf_types(t)]
        graph = self.graph.graph(name, [], self.outputs(names, types))
        self.graph, self.env = outer, kept
        return graph

    def outputs(self, names: Sequence[str], types: Sequence[Type]) -> list[ValueInfoProto]:
        """Return results of the present graph. Each has a node of its own, as a name of an outer graph is no result."""
        return [
            helper.make_value_info(self.graph.node("Identity", n, name="out"), type_proto(t))
            for n, t in zip(names, types, strict=True)
        ]

    def bind(self, values: Sequence[Value], names: Sequence[str]) -> None:
        rest = iter(names)
        for v in values:
            self.env[v] = tuple(next(rest) for _ in leaf_types(v.type))

    def changed(self, op: Op) -> list[Value]:
        """Return what an op returns beside its results: what its regions change of enclosing blocks, and attributes."""
        tensors = [v for v in self.writes.changed(op) if not any(region.encloses(v.block) for region in op.regions)]
        targets = [inner.attrs["target"] for inner in op.walk() if inner.name == "state.set"]
        others = [self.state[t].value for t in targets if t in self.state]
        cells = [inner.operands[0] for inner in op.walk() if inner.name == "cell.set"]
        others += [cell for cell in cells if not any(region.encloses(cell.block) for region in op.regions)]
        if any(map(_raises, op.walk())):
            others.append(self.failed)
        return [v for v in dict.fromkeys([*changed_lists(op), *tensors, *others]) if v not in self.refused]

    def going_on(self, condition: str) -> str:
        """Return the condition for an iteration, which is also that no exception was raised."""
        (failed,) = self.env[self.failed]
        if (known := self.graph.known(failed)) is not None:
            return condition if known == 0 else self.graph.constant(False, "bool")
        none = self.graph.node("Equal", failed, self.graph.constant(0, "i64"))
        return none if self.graph.known(condition) else self.graph.node("And", condition, none)

    def write_if(self, op: Op) -> None:
        if any(inner.name == "break" for region in op.regions for inner in region.ops):
            raise Unsupported("this way out of a loop has no ONNX form", "leave the loop by its condition")
        wanted, changed = [r.type for r in op.results], self.changed(op)
        for raising, other in (op.regions, op.regions[::-1]) if changed == [self.failed] else ():
            if _only_raises(raising) and len(other.ops) == 1 and other.ops[0].name == "yield":  # no nested graph is needed
                (condition,), (failed,) = self.env[op.operands[0]], self.env[self.failed]
                values = (self.graph.constant(1, "i64"), failed)
                made = self.graph.node("Where", condition, *(values if raising is op.regions[0] else values[::-1]))
                self.bind([*op.results, self.failed], [*self.passed(other.ops[0].operands, wanted), made])
                return
        count = sum(len(leaf_types(t)) for t in [*wanted, *(v.type for v in changed)])
        graphs = [self.region(n, r.ops, wanted, changed) for n, r in zip(("then", "else"), op.regions, strict=True)]
        if count:
            (condition,) = self.env[op.operands[0]]
            names = self.graph.nodes_of("If", [condition], count, "if", then_branch=graphs[0], else_branch=graphs[1])
            self.bind([*op.results, *changed], names)

    def write_loop(self, op: Op) -> None:
        operator = recurrent_loop(op)
        if operator is not None and all(self.graph.is_empty_sequence(self.env[xs][0]) for xs in operator.lists):
            self.write_recurrent(op, operator)
            return
        body, counted = op.regions[0], bool(op.attrs["counted"])
        g, changed = self.graph, self.changed(op)
        carried = body.args[1:] if counted else body.args
        types = [r.type for r in op.results]
        trips, start, step = "", "", ""
        initial = self.passed(op.operands[3 if counted else 0 :], types) + [n for v in changed for n in self.env[v]]
        if counted:
            start, stop, step = (self.env[v][0] for v in op.operands[:3])
            trips = self.trip_count(start, stop, step)
        start_condition = self.going_on(g.constant(True, "bool"))
        kept, self.graph = dict(self.env), Builder(g)
        number, going = self.graph.fresh("iteration"), self.graph.fresh("going")
        inputs = [helper.make_value_info(number, type_proto(INT)), helper.make_value_info(going, type_proto(BOOL))]
        leaves = [leaf for t in [*types, *(v.type for v in changed)] for leaf in leaf_types(t)]
        names = [self.graph.fresh("carried") for _ in leaves]
        inputs += [helper.make_value_info(n, type_proto(t)) for n, t in zip(names, leaves, strict=True)]
        self.bind_as([*carried, *changed], [*types, *(v.type for v in changed)], names)
        if counted:
            zero_to_n = g.known(start) == 0 and g.known(step) == 1
            at = number if zero_to_n else self.graph.node("Add", self.graph.node("Mul", number, step), start)
            self.env[body.args[0]] = (at,)
        condition, results = self.body(op, body.ops, types, changed)
        out = self.outputs([condition, *results], [BOOL, *leaves])
        graph = self.graph.graph("body", inputs, out)
        self.graph, self.env = g, kept
        if leaves:
            made = g.nodes_of("Loop", [trips, start_condition, *initial], len(leaves), "loop", body=graph)
            self.bind([*op.results, *changed], made)

    def write_recurrent(self, op: Op, made: Recurrent) -> None:
        """Write a loop as one operator of ONNX."""
        g, dtype = self.graph, dtype_of(made.x.type)
        rows = numpy.concatenate([numpy.arange(made.hidden) + made.hidden * place for place in made.order])
        places, zero = g.constant(rows, "i64"), g.ints(0)

        def in_order(value: Value | None) -> str:
            if value is None:
                return g.constant(numpy.zeros(len(rows)), dtype)
            name = self.leaves(value)[0]
            return name if list(rows) == list(range(len(rows))) else g.node("Gather", name, places, axis=0)

        matrices = [g.node("Unsqueeze", in_order(w), zero) for w in made.weights]
        biases = g.node("Unsqueeze", g.node("Concat", *map(in_order, made.biases), axis=0), zero)
        carried = [self.leaves(v)[0] for v in op.operands[3:]]
        carried = [carried[made.state], *(n for i, n in enumerate(carried) if i != made.state)]
        initial = [g.node("Unsqueeze", n, zero) for n in carried]
        x = self.leaves(made.x)[0]
        inputs = [x, *matrices, biases, "", *initial]
        some, none = Builder(g), Builder(g)
        names = some.nodes_of(made.operator, inputs, 1 + len(initial), hidden_size=made.hidden, **made.attributes)
        sizes = none.node("Concat", none.node("Slice", none.node("Shape", x), zero, g.ints(1)), g.ints(1),
                          none.node("Shape", carried[0]), axis=0)  # fmt: skip
        empty = [none.node("Expand", g.constant(0, dtype), sizes), *(none.node("Identity", n) for n in initial)]
        made_by = [some.branch(names, [dtype] * len(names)), none.branch(empty, [dtype] * len(names))]
        is_some = g.node("Not", g.node("Equal", g.node("Size", x), g.constant(0, "i64")))
        # Runtimes do not know what to do without steps: some give zeros as the last state, some crash.
        names = g.nodes_of("If", [is_some], len(names), "if", then_branch=made_by[0], else_branch=made_by[1])
        last = [g.node("Squeeze", n, zero) for n in names[1:]]
        self.bind(op.results, [last.pop(0) if i == made.state else last.pop() for i in range(len(last))])
        for xs in made.lists:
            steps = g.node("Squeeze", names[0], g.ints(1))
            self.env[xs] = (g.node("SplitToSequence", steps, axis=0, keepdims=0),)

    def bind_as(self, values: Sequence[Value], types: Sequence[Type], names: Sequence[str]) -> None:
        """Bind the arguments of a loop. Each has the type of its result, which is the same or wider."""
        rest = iter(names)
        for v, t in zip(values, types, strict=True):
            v.type = t
            self.env[v] = tuple(next(rest) for _ in leaf_types(t))

    def body(self, loop: Op, ops: Sequence[Op], types: Sequence[Type], changed: Sequence[Value]) -> tuple[str, list[str]]:
        """Write the body of a loop; return the condition for another iteration and what is carried."""
        for i, op in enumerate(ops):
            ends = [r.terminator for r in op.regions] if op.name == "if" else []
            leaving = [e is not None and e.name == "break" for e in ends]
            if not any(leaving):
                continue
            self.block(ops[:i])
            if all(leaving):
                raise Unsupported("a loop that never repeats has no ONNX form", "leave the loop out")
            left, stays = (op.regions[0], op.regions[1]) if leaving[0] else (op.regions[1], op.regions[0])
            assert stays.terminator is not None
            if op.results or stays.terminator.name != "yield":
                raise Unsupported("this way out of a loop has no ONNX form", "leave the loop by its condition")
            (test,) = self.env[op.operands[0]]
            goes_on = self.graph.node("Not", test) if leaving[0] else test
            break_, last = left.ops[-1], ops[-1]
            if len(left.ops) == 1 and len(ops) == i + 2 and break_.operands == last.operands and len(stays.ops) == 1:
                return self.going_on(goes_on), [*self.passed(last.operands, types), *(n for v in changed for n in self.env[v])]
            return self.branches(goes_on, loop, left.ops, [*stays.ops[:-1], *ops[i + 1 :]], types, changed)
        end = self.block(ops)
        if end is not None and end.name in ("yield", "break"):
            going = self.graph.constant(end.name == "yield", "bool")
            return self.going_on(going), [*self.passed(end.operands, types), *(n for v in changed for n in self.env[v])]
        leaves = [leaf for t in types for leaf in leaf_types(t)]
        names = [*map(self.placeholder, leaves), *(n for v in changed for n in self.env[v])]
        return self.going_on(self.graph.constant(True, "bool")), names

    def branches(
        self, goes_on: str, loop: Op, left: Sequence[Op], rest: Sequence[Op], types: Sequence[Type], changed: Sequence[Value]
    ) -> tuple[str, list[str]]:  # fmt: skip
        """Write the end of a body as an `If`: the loop goes on with `rest`, or is left."""
        leaves = [BOOL, *(leaf for t in [*types, *(v.type for v in changed)] for leaf in leaf_types(t))]
        graphs = []
        for ops in (rest, left):
            outer, kept = self.graph, dict(self.env)
            self.graph = Builder(outer)
            condition, names = self.body(loop, ops, types, changed)
            graphs.append(self.graph.graph("branch", [], self.outputs([condition, *names], leaves)))
            self.graph, self.env = outer, kept
        made = self.graph.nodes_of("If", [goes_on], len(leaves), "if", then_branch=graphs[0], else_branch=graphs[1])
        return made[0], made[1:]

    def trip_count(self, start: str, stop: str, step: str) -> str:
        """Return the length of `range(start, stop, step)`, or a negative number if it is empty, as `Loop` takes it."""
        g = self.graph
        distance = stop if g.known(start) == 0 else g.node("Sub", stop, start)
        if g.known(step) != 1:  # the distance is rounded up to whole steps
            distance = g.node("Neg", floor_divide(g, g.node("Neg", distance), step))
        return distance


def _has_named_dims(t: Type) -> bool:
    return isinstance(t, TensorType) and t.dims is not None and None not in t.dims


def _follows(value: Value, target: Value) -> bool:
    """Return whether elementwise ops compute a value from a tensor: it broadcasts into the tensor only if it has its sizes."""
    pending, seen = [value], {value}
    for v in pending:  # the list grows
        if v is target:
            return True
        if v.op is not None and v.op.has("ELEMENTWISE"):
            further = [operand for operand in v.op.operands if operand not in seen]
            pending += further
            seen.update(further)
    return False


def _raises(op: Op) -> bool:
    return op.name in ("raise", "reraise")


def _only_raises(region: Block) -> bool:
    """Return whether a block raises, and does nothing else that could be noticed."""
    return _raises(region.ops[-1]) and all(op.has("PURE") for op in region.ops[:-1])


def changed_lists(op: Op) -> list[Value]:
    """Return the lists of enclosing blocks that the regions of an op change."""
    found = [inner.operands[0] for inner in op.walk() if inner.has("TERMINATOR") is False and "list" in inner.defn.writes
             and inner.operands and not inner.regions]  # fmt: skip
    return [v for v in dict.fromkeys(found) if not any(region.encloses(v.block) for region in op.regions)]


def aliased_changes(func: Func) -> list[Op]:
    """Return the ops that change a list which may have several names, or that the caller holds."""
    refused = []
    for op in func.body.walk():
        if "list" not in op.defn.writes or not op.operands or op.regions or not isinstance(op.operands[0].type, ListType):
            continue
        changed = op.operands[0]
        made_here = changed.op is not None and changed.op.name in ("list.new", "list.slice", "list.repeat", "list.argsort")
        if not made_here or any(_names_again(u, changed) and may_follow(op, u, changed) for u in changed.users()):
            refused.append(op)
    return refused


def _names_again(user: Op, changed: Value) -> bool:
    """Return whether an op gives a list another name: it carries the list on, or puts it into a container."""
    if user.name in ("return", "list.splice"):  # a splice copies the items
        return False
    if user.has("TERMINATOR") or user.regions or user.name in _NAMING:
        return True
    return changed in user.operands[1:] and "list" in user.defn.writes

