"""Loops over time that ONNX has an operator for: LSTM, GRU and RNN.

A loop is one of these if its body is exactly one step over `x[t]`: two products, one of `x[t]` and one of the state, and the
gates' functions of them. Products may be summed before or after they are split into gates, gates may have any order, and a
list may take the state of each step. Every other loop stays a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scriptc.ir.core import Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.shapes import Shapes, settled
from scriptc.ir.types import NONE, Dim, TensorType, Type

Pattern = Any  # a nested tuple: an op and its operands, or a leaf
_COMMUTE = ("add", "mul")
_UNARY = ("sigmoid", "tanh", "relu")


def _gate(name: str) -> Pattern:
    return ("add", ("x", name), ("h", name))


_LSTM_CELL = ("add", ("mul", ("sigmoid", _gate("f")), "cell"), ("mul", ("sigmoid", _gate("i")), ("tanh", _gate("c"))))
_NEW = ("tanh", ("add", ("x", "h"), ("mul", ("sigmoid", _gate("r")), ("h", "h"))))
_UPDATE = ("sigmoid", _gate("z"))
# By operator: the gates in the order of ONNX, and for each carried tensor the forms that its next value may have.
_STEPS: list[tuple[str, str, list[list[Pattern]], dict[str, Any]]] = [
    ("LSTM", "iofc", [[("mul", ("sigmoid", _gate("o")), ("tanh", _LSTM_CELL))], [_LSTM_CELL]], {}),
    ("GRU", "zrh", [[("add", _NEW, ("mul", _UPDATE, ("sub", "state", _NEW))),
                     ("add", ("mul", ("sub", 1, _UPDATE), _NEW), ("mul", _UPDATE, "state"))]], {"linear_before_reset": 1}),
    ("RNN", "h", [[("tanh", _gate("h"))]], {"activations": ["Tanh"]}),
    ("RNN", "h", [[("relu", _gate("h"))]], {"activations": ["Relu"]}),
]  # fmt: skip


@dataclass
class Recurrent:
    """A loop that is an operator.

    x, weights, biases: the tensor [T, B, I] over whose first dim the loop runs, the matrices of x and of the state, and
    their biases or None. order: by gate of ONNX, its place among the gates of the weights. lists: those that take the
    state of each step.
    """

    operator: str
    attributes: dict[str, Any]
    x: Value
    weights: list[Value]
    biases: list[Value | None]
    order: list[int]
    hidden: int
    state: int
    lists: list[Value] = field(default_factory=list)


def recurrent_loop(loop: Op) -> Recurrent | None:
    """Return the operator that a loop is, or None."""
    if not loop.attrs["counted"] or len(loop.results) not in (1, 2):
        return None
    return _Matcher(loop).run()


def _rows(t: Type) -> Dim:
    assert isinstance(t, TensorType) and t.dims
    return t.dims[0]


class _Matcher:
    def __init__(self, loop: Op):
        self.loop, self.body = loop, loop.regions[0]
        self.counter, *self.carried = self.body.args
        self.state = self.carried[0]  # the one that a product takes
        self.products: dict[str, Op] = {}
        self.hidden = 0

    def run(self) -> Recurrent | None:
        appended = [op for op in self.body.ops if op.name == "list.append"]
        last = self.body.ops[-1]
        if constant_int(self.loop.operands[0]) != 0 or constant_int(self.loop.operands[2]) != 1 or last.name != "yield":
            return None
        if not self.find_products() or not self.only_step(appended):
            return None
        first = self.carried.index(self.state)
        yielded = [last.operands[first], *(v for i, v in enumerate(last.operands) if i != first)]
        if any(op.operands[1] is not yielded[0] for op in appended):
            return None
        rows = _rows(self.products["x"].operands[1].type)
        for operator, gates, steps, attributes in _STEPS:
            if len(steps) == len(yielded) and rows == len(gates) * self.hidden:
                for places in self.matches(list(zip(yielded, steps, strict=True)), {}):
                    order = [places[g] for g in gates]
                    if sorted(order) == list(range(len(gates))):
                        return self.made(operator, attributes, order, [op.operands[0] for op in appended])
        return None

    def made(self, operator: str, attributes: dict[str, Any], order: list[int], lists: list[Value]) -> Recurrent:
        products = [self.products["x"], self.products["h"]]
        biases = [None if p.operands[2].type == NONE else p.operands[2] for p in products]
        select = products[0].operands[0].op
        assert select is not None
        weights = [p.operands[1] for p in products]
        state = self.carried.index(self.state)
        return Recurrent(operator, attributes, select.operands[0], weights, biases, order, self.hidden, state, lists)

    def find_products(self) -> bool:
        """Find the product of `x[t]` and that of the state, and check the sizes of all tensors."""
        for op in self.body.ops:
            if op.name != "linear":
                continue
            select = op.operands[0].op
            of_state = op.operands[0] in self.carried
            if not of_state and (select is None or select.name != "select" or select.operands[1] is not self.counter):
                return False
            kind = "h" if of_state else "x"
            if kind in self.products or any(self.body.encloses(v.block) for v in op.operands[1:]):
                return False
            self.products[kind] = op
            self.state = op.operands[0] if of_state else self.state
        if len(self.products) != 2:
            return False
        select = self.products["x"].operands[0].op
        assert select is not None
        x = select.operands[0]
        size = self.loop.operands[1].op
        if select.attrs["dim"] != 0 or self.body.encloses(x.block) or size is None or size.name != "size":
            return False
        shapes = Shapes()
        steps, counted = shapes.of(x), shapes.of(size.operands[0])
        if steps is None or counted is None or len(steps) != 3:
            return False
        return settled(steps)[0] == settled(counted)[size.attrs["dim"]] and self.sizes_fit(x, shapes)

    def sizes_fit(self, x: Value, shapes: Shapes) -> bool:
        """Return whether nothing broadcasts, and all tensors have one dtype that runtimes take."""
        weights = [self.products[kind].operands[1].type for kind in ("x", "h")]
        if not all(isinstance(t, TensorType) and t.dims is not None and len(t.dims) == 2 for t in weights):
            return False
        (rows, inputs), (_, hidden) = (t.dims for t in weights if isinstance(t, TensorType) and t.dims is not None)
        if not isinstance(hidden, int) or not hidden or not isinstance(inputs, int) or not inputs or rows != _rows(weights[1]):
            return False
        self.hidden = hidden
        states = [*self.loop.operands[3:], *self.loop.results]
        dtypes = {v.type.dtype for v in (x, *states) if isinstance(v.type, TensorType)}
        batch = settled(shapes.of(x) or ())[1]
        return dtypes in ({"f32"}, {"f64"}) and all(settled(shapes.of(v) or ()) == (batch, frozenset([hidden])) for v in states)

    def only_step(self, appended: list[Op]) -> bool:
        """Return whether the body has no op beside those of a step."""
        known = {*_COMMUTE, *_UNARY, "sub", "slice", "const", "linear", "select"}
        for op in self.body.ops[:-1]:
            if op.name in known or op.name == "check" or op.name.startswith("check.") or op in appended:
                continue
            return False
        return all(user.name == "select" for user in self.counter.users())

    # ---- expressions ----

    def matches(self, pairs: list[tuple[Value, list[Pattern]]], places: dict[str, int]) -> Iterator[dict[str, int]]:
        """Yield the places of gates for which each value has one of its forms."""
        if not pairs:
            yield places
            return
        (value, forms), *rest = pairs
        for form in forms:
            for found in self.match(value, form, places):
                yield from self.matches(rest, found)

    def match(self, value: Value, form: Pattern, places: dict[str, int]) -> Iterator[dict[str, int]]:
        op = value.op
        if form == "state" or form == "cell":
            if value in self.carried and (value is self.state) == (form == "state"):
                yield places
        elif isinstance(form, int):
            if op is not None and op.name == "const" and op.attrs["value"] == form:
                yield places
        elif form[0] in ("x", "h"):
            place = self.place(value, self.products[form[0]])
            if place is not None and places.get(form[1], place) == place:
                yield {**places, form[1]: place}
        elif op is not None and op.name == form[0]:
            yield from self.match_operands(op, form[1:], places)
            if op.name in _COMMUTE:
                yield from self.match_operands(op, form[:0:-1], places)
        elif op is not None and op.name == "slice" and form[0] == "add":
            yield from self.match_sum(op, form, places)

    def match_operands(self, op: Op, forms: Pattern, places: dict[str, int]) -> Iterator[dict[str, int]]:
        operands = op.operands[: len(forms)]
        if len(op.operands) > len(forms) and any(constant_int(v) != 1 for v in op.operands[len(forms) :]):
            return  # a factor of the second operand
        yield from self.matches([(v, [form]) for v, form in zip(operands, forms, strict=True)], places)

    def match_sum(self, op: Op, form: Pattern, places: dict[str, int]) -> Iterator[dict[str, int]]:
        """Match a part of a sum as the sum of parts."""
        total, place = op.operands[0].op, self.part(op)
        if total is None or total.name != "add" or place is None or [f[0] for f in form[1:]] != ["x", "h"]:
            return
        products = {self.products["x"].result, self.products["h"].result}
        gate = form[1][1]
        if set(total.operands) == products and places.get(gate, place) == place:
            yield {**places, gate: place}

    def place(self, value: Value, product: Op) -> int | None:
        """Return which gate of a product a value is."""
        if value is product.result:
            return 0
        op = value.op
        return self.part(op) if op is not None and op.name == "slice" and op.operands[0] is product.result else None

    def part(self, op: Op) -> int | None:
        """Return which of the parts of the size of the state a slice takes."""
        start, end, step = (constant_int(v) for v in op.operands[1:])
        t = op.operands[0].type
        assert isinstance(t, TensorType) and t.dims is not None
        if op.attrs["dim"] not in (1, -1) or start is None or end is None or step != 1 or not isinstance(t.dims[-1], int):
            return None
        if min(end, t.dims[-1]) - start != self.hidden:
            return None
        return start // self.hidden if start % self.hidden == 0 and start >= 0 else None
