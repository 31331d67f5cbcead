"""Elementwise ops: one loop over the elements of all inputs and results of a `fuse`, or of a single op.

    %t = c.rows(%x, %y) {args = ["%0", "%1"], dtypes = ["f32"]} do (%it: iter) {
      %p = c.row(%it) {operand = 0} -> (ptr<f32>)             one pointer for each operand, results first
      c.for(%n) do (%k: i64) {...}                            unit stride, so that the loop vectorizes
    }

Half types are loaded as bits, computed in float and rounded after every op, as in eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args
from scriptc.backend_c.elements import HALF, NO_LITERALS, dtype_of, element_template, is_cast, work_dtype
from scriptc.backend_c.emitters import nests
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.dtypes import compute_dtype
from scriptc.ir.errors import InternalError
from scriptc.ir.ops.rules import tensor
from scriptc.ir.regions import is_loop
from scriptc.ir.types import ACTIVATION, INT, ITER, ElemType, PtrType, TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()

MAX_OPERANDS = 16  # SC_MAX_OPERANDS


@dataclass
class Kernel:
    """The computation of one loop.

    given: the inputs, from the values in the ops of the loop to the values in the function around it.
    """

    low: Lowerer
    at: Op
    given: dict[Value, Value]
    ops: Sequence[Op]
    outputs: list[Value]
    numbers: dict[tuple[Value, str, bool], Value] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Value]:
        """Return the tensors among the inputs."""
        return [v for v in self.given if isinstance(v.type, TensorType)]

    def held(self, v: Value) -> Value:
        """Return an input in the loop IR."""
        return self.low.one(self.given[v])

    def lower(self) -> list[Shape]:
        """Lower the loop to a nest if it is inside of a loop, where setup costs, and a nest is possible; else to c.rows."""
        if self.at.enclosing(is_loop) is not None:
            nest = nests.plan(self.low.layouts, [self.given[v] for v in self.inputs], self.at.results)
            if nest is not None:
                self.convert_numbers()
                return list(nests.lower(self, nest))
        return self.lower_rows()

    def row(self, pointers: list[Value], still: Sequence[bool] = ()) -> Row:
        return Row(self, pointers, still)

    def lower_rows(self) -> list[Shape]:
        low, results = self.low, self.at.results
        room = MAX_OPERANDS - len(results) - len(self.inputs)
        if room < 0:
            raise InternalError(f"a fused loop of {len(self.inputs)} inputs and {len(results)} results", self.at.loc)
        self.convert_numbers()
        args = Args(*map(self.held, self.inputs))
        if room and len(self.inputs) < len(self.given):
            args.add(None)  # one NULL operand stands for all numbers
        region = Block([(ITER, "it")])
        with low.builder.at(region):
            self.rows(region.args[0])
        dtypes = tuple(map(dtype_of, results))
        types = [r.type for r in results]
        made = low.build(
            "c.rows", args.operands, types, self.at.loc, regions=[region], args=tuple(args.entries), dtypes=dtypes, last=0,
            names=[r.name for r in results],
        )  # fmt: skip
        return list(made.results)

    def convert_numbers(self) -> None:
        """Convert Python numbers to elements once, in front of the loop."""
        for op in self.ops:
            for v in op.operands:
                if v in self.given and dtype_of(v) is None:
                    key = self.number_key(op, v)
                    if key not in self.numbers:
                        self.numbers[key] = self.number(op, self.held(v), *key[1:])

    def number_key(self, op: Op, v: Value) -> tuple[Value, str, bool]:
        """Return a number, the dtype that it joins, and whether it is first rounded to that dtype."""
        return v, work_dtype(op), not (op.has("WIDE_NUMBER") and op.operands[0] is not v)

    def number(self, op: Op, value: Value, dtype: str, round_first: bool) -> Value:
        """Return a number in the compute dtype."""
        to = compute_dtype(dtype)
        if value.op is not None and value.op.name == "const":
            if dtype not in NO_LITERALS:
                return self.low.build("const", (), (ElemType(to),), op.loc, value=value.op.attrs["value"]).result
            value = self.low.const(value.op.attrs["value"], op.loc)  # inside of the function of an activation
        if round_first and dtype in HALF:
            value = self.cast(value, dtype, op)
        return self.cast(value, to, op)

    def cast(self, value: Value, dtype: str, op: Op) -> Value:
        return self.low.expr("c.cast", [value], ElemType(dtype), op)

    def rows(self, it: Value) -> None:
        low, op = self.low, self.at
        n = low.expr("c.row_len", [it], INT, op)
        n.name = "n"
        names = [*(r.name or "t" for r in op.results), *(v.name or self.held(v).name or "x" for v in self.inputs)]
        pointers = []
        for i, v in enumerate([*op.results, *self.inputs]):
            pointers.append(low.expr("c.row", [it], PtrType(tensor(v).dtype), op, operand=i))
            pointers[i].name = f"{names[i]}_p"
        self.run_over(pointers, n)

    def run_over(self, pointers: list[Value], n: Value) -> None:
        """Compute n elements behind pointers to the results and inputs, and end the region."""
        low, loc = self.low, self.at.loc
        with low.builder.at(body := Block([(INT, "k")])):
            self.row(pointers).elements(body.args[0])
            low.build("yield", (), (), loc)
        low.build("c.for", [n], (), loc, regions=[body])
        low.build("yield", (), (), loc)

    def used(self, op: Op) -> list[Value]:
        """Return the operands that an element of the result depends on."""
        if is_cast(op):
            return list(op.operands)
        return [op.operands[i] for i in element_template(op.name, compute_dtype(work_dtype(op)))[1]]

    def compute(self, op: Op, operands: list[Value]) -> Value:
        """Return one element of the result of an op, in its stored form."""
        result = dtype_of(op.result)
        assert result is not None
        if is_cast(op):
            return self.cast(operands[0], result, op)
        dtype = compute_dtype(work_dtype(op))
        made = "f32" if result in HALF else result
        value = self.low.expr("c.expr", operands, ElemType(made), op, of=op.name, dtype=dtype)
        return self.cast(value, result, op) if result in HALF else value


class Row:
    """The body of the loop: loads at their first use, ops in order, stores.

    A row is made in front of the loop, where it loads the operands that are invariant in the loop.
    """

    def __init__(self, kernel: Kernel, pointers: list[Value], still: Sequence[bool]):
        self.kernel = kernel
        self.low = kernel.low
        self.at = kernel.at
        self.pointers = pointers
        self.held: dict[Value, Value] = {}
        self.converted: dict[tuple[Value, str], Value] = {}
        self.slots = {v: i + len(kernel.at.results) for i, v in enumerate(kernel.inputs)}
        for v, i in self.slots.items():
            if still and still[i]:
                self.element(v, self.low.const(0, self.at.loc))

    def elements(self, k: Value) -> None:
        for op in self.kernel.ops:
            made = self.kernel.compute(op, [self.operand(op, v, k) for v in self.kernel.used(op)])
            made.name = op.result.name
            self.held[op.result] = made
        for i, v in enumerate(self.kernel.outputs):
            element = self.element(v, k)
            self.low.build("c.store", [self.pointers[i], k, element], (), v.op.loc if v.op else self.at.loc)

    def element(self, v: Value, k: Value) -> Value:
        if v not in self.held:
            operands, t = [self.pointers[self.slots[v]], k], ElemType(tensor(v).dtype)
            self.held[v] = self.low.build("c.load", operands, (t,), self.at.loc, names=[v.name]).result
        return self.held[v]

    def operand(self, op: Op, v: Value, k: Value) -> Value:
        """Return an operand of an op in the compute dtype."""
        dtype = dtype_of(v)
        if dtype is None:
            return self.kernel.numbers[self.kernel.number_key(op, v)]
        to = compute_dtype(dtype)
        if dtype == to:
            return self.element(v, k)
        if (v, to) not in self.converted:
            element = self.element(v, k)
            self.converted[v, to] = self.kernel.cast(element, to, op)
        return self.converted[v, to]


def lower_single(low: Lowerer, op: Op) -> list[Shape]:
    """Lower an elementwise op outside of a fuse to a loop of its own."""
    return Kernel(low, op, {v: v for v in op.operands}, [op], list(op.results)).lower()


@emitter
def fuse(low: Lowerer, op: Op) -> Sequence[Shape]:
    body = op.regions[0]
    last = body.ops[-1]
    given = dict(zip(body.args, op.operands, strict=True))
    return Kernel(low, op, given, body.ops[:-1], list(last.operands)).lower()


@emitter
def activation(low: Lowerer, op: Op) -> Sequence[Shape]:
    body, last = op.regions[0], op.regions[0].ops[-1]
    given = {v: v for inner in body.ops for v in inner.operands if v in body.args or v.block is not body}
    kernel = Kernel(low, op, given, body.ops[:-1], list(last.operands))
    pointer = PtrType(tensor(body.args[0]).dtype)
    with low.builder.at(region := Block([(pointer, "x"), (INT, "rows"), (INT, "n"), (INT, "stride")])):
        kernel.convert_numbers()
        elements, _, n, _ = region.args
        kernel.run_over([elements, elements], n)
    names = [op.result.name or "activation"]
    return [low.build("c.activation", (), (ACTIVATION,), op.loc, regions=[region], names=names).result]
