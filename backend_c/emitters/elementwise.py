"""Elementwise ops: one loop over the elements of all inputs and results of a `fuse`, or of an op by itself.

    %t = c.rows(%x, %y) {args = "{0}, {1}", dtypes = ["f32"]} do (%it: iter) {
      %p = c.read(%it) {text = "{0}->p[0]"} -> (ptr<f32>)      one pointer for each operand, results first
      c.for(%n) do (%k: i64) {...}                            elements stand side by side, so that it vectorises
    }

Half types are loaded as bits, computed in float and rounded after every op, as eager does op by op.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.backend_c.elements import (
    HALF,
    NO_LITERALS,
    cast_text,
    dtype_of,
    is_cast,
    number_literal,
    template,
    work_dtype,
)
from scriptc.backend_c.emitters import nests
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.values import Shape
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.dtypes import C_TYPES, compute_dtype
from scriptc.ir.errors import InternalError
from scriptc.ir.ops.rules import tensor
from scriptc.ir.regions import is_loop
from scriptc.ir.types import INT, ITER, ElemType, PtrType, TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()

MAX_OPERANDS = 16  # SC_MAX_OPERANDS


@dataclass
class Kernel:
    """What one loop computes. `given` are its inputs: what the ops in it call them, and what the function does."""

    low: Lowerer
    at: Op
    given: dict[Value, Value]
    ops: Sequence[Op]
    outputs: list[Value]
    numbers: dict[tuple[Value, str, bool], Value] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Value]:
        """The tensors among the inputs."""
        return [v for v in self.given if isinstance(v.type, TensorType)]

    def held(self, v: Value) -> Value:
        """An input in the loop IR."""
        return self.low.one(self.given[v])

    def lower(self) -> list[Shape]:
        """Inside loops, where setting up an iteration costs, as a nest if that can be."""
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
            args.add("NULL")  # one stands for all numbers
        region = Block([(ITER, "it")])
        with low.builder.at(region):
            self.rows(region.args[0])
        dtypes = tuple(map(dtype_of, results))
        types = [r.type for r in results]
        made = low.build(
            "c.rows", args.operands, types, self.at.loc, regions=[region], args=args.text, dtypes=dtypes, last=0,
            names=[r.name for r in results],
        )  # fmt: skip
        return list(made.results)

    def convert_numbers(self) -> None:
        """Python numbers become elements once, before the loop."""
        for op in self.ops:
            for v in op.operands:
                if v in self.given and dtype_of(v) is None:
                    key = self.number_key(op, v)
                    if key not in self.numbers:
                        self.numbers[key] = self.number(op, self.held(v), *key[1:])

    def number_key(self, op: Op, v: Value) -> tuple[Value, str, bool]:
        """(number, dtype that it joins, whether it is rounded to that dtype before it is widened to compute)"""
        return v, work_dtype(op), not (op.has("WIDE_NUMBER") and op.operands[0] is not v)

    def number(self, op: Op, value: Value, dtype: str, round_first: bool) -> Value:
        """A number in the compute dtype."""
        to = compute_dtype(dtype)
        if value.op is not None and value.op.name == "const" and dtype not in NO_LITERALS:
            return self.expr(number_literal(value.op.attrs["value"], to), [], to, op)
        source = str(value.type)  # a Python number's type has the name of the dtype that holds it
        if round_first and dtype in HALF:
            return self.expr(f"sc_{dtype}_to_f32({cast_text(source, dtype)})", [value], to, op)
        return self.expr(cast_text(source, to), [value], to, op)

    def expr(self, text: str, operands: Sequence[Value], dtype: str, op: Op) -> Value:
        return self.low.expr(text, operands, ElemType(dtype), op)

    def rows(self, it: Value) -> None:
        low, op = self.low, self.at
        n = low.expr("{0}->n", [it], INT, op, read=True)
        n.name = "n"
        names = [*(r.name or "t" for r in op.results), *(v.name or self.held(v).name or "x" for v in self.inputs)]
        pointers = []
        for i, v in enumerate([*op.results, *self.inputs]):
            pointers.append(low.expr(f"{{0}}->p[{i}]", [it], PtrType(tensor(v).dtype), op, read=True))
            pointers[i].name = f"{names[i]}_p"
        with low.builder.at(body := Block([(INT, "k")])):
            self.row(pointers).elements(body.args[0])
            low.build("yield", (), (), op.loc)
        low.build("c.for", [n], (), op.loc, regions=[body])
        low.build("yield", (), (), op.loc)

    def template(self, op: Op) -> tuple[str, list[Value]]:
        """What computes one element, and the operands that it takes: {0}, {1}, ... of the text."""
        if is_cast(op):
            source, result = (dtype_of(v) for v in (op.operands[0], op.result))
            assert source is not None and result is not None
            return cast_text(compute_dtype(source), result), list(op.operands)
        text = template(op, compute_dtype(work_dtype(op)))
        used = sorted({int(slot) for slot in re.findall(r"\{(\d+)\}", text)})
        text = re.sub(r"\{(\d+)\}", lambda m: f"{{{used.index(int(m[1]))}}}", text)
        return text, [op.operands[i] for i in used]

    def compute(self, op: Op, text: str, operands: list[Value]) -> Value:
        """One element of an op's result, in the form in which it is stored."""
        result = dtype_of(op.result)
        assert result is not None
        if result == "bool" or is_cast(op):
            return self.expr(text, operands, result, op)
        if result in HALF:
            exact = self.expr(text, operands, "f32", op)
            return self.expr(cast_text("f32", result), [exact], result, op)
        if result in ("u8", "i8", "i16"):  # C computes in int
            text = f"({C_TYPES[result]}){text}"
        return self.expr(text, operands, result, op)


class Row:
    """The body of the loop: loads at their first use, ops in order, stores. Made in front of the loop: operands that stand
    still in it are loaded there."""

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
            text, used = self.kernel.template(op)
            made = self.kernel.compute(op, text, [self.operand(op, v, k) for v in used])
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
        """An operand of an op in the dtype that it computes in."""
        dtype = dtype_of(v)
        if dtype is None:
            return self.kernel.numbers[self.kernel.number_key(op, v)]
        to = compute_dtype(dtype)
        if dtype == to:
            return self.element(v, k)
        if (v, to) not in self.converted:
            element = self.element(v, k)
            self.converted[v, to] = self.kernel.expr(cast_text(dtype, to), [element], to, op)
        return self.converted[v, to]


def lower_single(low: Lowerer, op: Op) -> list[Shape]:
    """An elementwise op outside of a fuse: a loop of its own."""
    return Kernel(low, op, {v: v for v in op.operands}, [op], list(op.results)).lower()


@emitter
def fuse(low: Lowerer, op: Op) -> Sequence[Shape]:
    body = op.regions[0]
    last = body.ops[-1]
    given = dict(zip(body.args, op.operands, strict=True))
    return Kernel(low, op, given, body.ops[:-1], list(last.operands)).lower()
