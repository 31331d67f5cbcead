"""Elementwise ops: one loop over the elements of all inputs and results of a `fuse`, or of an op by itself.

    %t = c.rows(%x, %y) {args = "{0}, {1}", dtypes = ["f32"]} do (%it: iter) {
      %p = c.read(%it) {text = "{0}.p[0]"} -> (ptr<f32>)      one pointer for each operand, results first
      if %unit { c.for(%n) do (%k: i64) {...} } else {...}    with steps known to be 1, so that it vectorises
    }

Half types are loaded as bits, computed in float and rounded after every op, as eager does op by op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.literals import c_float, c_int
from scriptc.backend_c.values import Shape
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.dtypes import C_TYPES, FLOATING, category, compute_dtype
from scriptc.ir.errors import InternalError
from scriptc.ir.types import BOOL, FLOAT, INT, ITER, ElemType, PtrType, TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()

MAX_OPERANDS = 16  # SC_MAX_OPERANDS
_HALF = {"f16", "bf16"}
_KINDS = ("bool", "int", "float")


def dtype_of(value: Value) -> str | None:
    """The dtype of a tensor, None for a Python number."""
    return value.type.dtype if isinstance(value.type, TensorType) else None


def work_dtype(op: Op) -> str:
    """The dtype that an op is about: that of its result, or of its operands where the result is a predicate's."""
    result = dtype_of(op.result)
    assert result is not None
    if result != "bool":
        return result
    return [d for v in op.operands if (d := dtype_of(v))][-1]


def is_cast(op: Op) -> bool:
    return op.defn.c == "cast"


def cast_text(source: str, target: str) -> str:
    """A conversion between compute or element types; {0} is a `source`."""
    if target == source:
        return "{0}"
    if target in _HALF:
        return f"sc_f32_to_{target}({{0}})" if source == "f32" else f"sc_f32_to_{target}((float){{0}})"
    if source in _HALF:
        return cast_text("f32", target).replace("{0}", f"sc_{source}_to_f32({{0}})")
    if target == "bool":
        return "({0} != 0)"
    if source in FLOATING and target not in FLOATING:
        if target == "i64":
            return f"sc_{source}_to_i64({{0}})"
        text = f"sc_{source}_to_i32({{0}})"
        return text if target == "i32" else f"({C_TYPES[target]}){text}"
    return f"({C_TYPES[target]}){{0}}"


@dataclass
class Kernel:
    """What one loop computes. `inputs` are values of the tensor IR as the ops in it name them."""

    low: Lowerer
    at: Op
    inputs: list[Value]
    outer: list[Value]  # what stands for the inputs in the loop IR
    ops: Sequence[Op]
    outputs: list[Value]
    numbers: dict[tuple[Value, str, bool], Value] = field(default_factory=dict)

    def lower(self) -> list[Shape]:
        low, results = self.low, self.at.results
        if len(results) + len(self.inputs) > MAX_OPERANDS:
            raise InternalError(f"a fused loop of {len(self.inputs)} inputs and {len(results)} results", self.at.loc)
        self.convert_numbers()
        args = Args()
        for inner, value in zip(self.inputs, self.outer, strict=True):
            args.add("NULL" if dtype_of(inner) is None else value)
        region = Block([(ITER, "it")])
        with low.builder.at(region):
            self.rows(region.args[0])
        dtypes = tuple(dtype_of(r) for r in results)
        types = [r.type for r in results]
        made = low.build(
            "c.rows", args.operands, types, self.at.loc, regions=[region], args=args.text, dtypes=dtypes,
            names=[r.name for r in results],
        )  # fmt: skip
        return list(made.results)

    def convert_numbers(self) -> None:
        """Python numbers become elements once, before the loop."""
        outer = dict(zip(self.inputs, self.outer, strict=True))
        for op in self.ops:
            for v in op.operands:
                if v in outer and dtype_of(v) is None:
                    key = self.number_key(op, v)
                    if key not in self.numbers:
                        self.numbers[key] = self.number(op, outer[v], *key[1:])

    def number_key(self, op: Op, v: Value) -> tuple[Value, str, bool]:
        """(number, dtype that it joins, whether it is rounded to that dtype before it is widened to compute)"""
        return v, work_dtype(op), not (op.has("WIDE_NUMBER") and op.operands[0] is not v)

    def number(self, op: Op, value: Value, dtype: str, round_first: bool) -> Value:
        """A number in the compute dtype."""
        to = compute_dtype(dtype)
        if value.op is not None and value.op.name == "const" and dtype not in _HALF:
            return self.expr(number_literal(value.op.attrs["value"], to), [], to, op)
        source = {INT: "i64", FLOAT: "f64", BOOL: "bool"}[value.type]
        if round_first and dtype in _HALF:
            return self.expr(f"sc_{dtype}_to_f32({cast_text(source, dtype)})", [value], to, op)
        return self.expr(cast_text(source, to), [value], to, op)

    def expr(self, text: str, operands: Sequence[Value], dtype: str, op: Op) -> Value:
        return self.low.expr(text, operands, ElemType(dtype), op)

    def rows(self, it: Value) -> None:
        low, op = self.low, self.at
        n = low.expr("{0}.n", [it], INT, op, read=True)
        n.name = "n"
        pointers: list[Value | None] = []
        names = [v.name or o.name or "x" for v, o in zip(self.inputs, self.outer, strict=True)]
        names = [*(r.name or "t" for r in op.results), *names]
        for i, v in enumerate([*op.results, *self.inputs]):
            dtype = dtype_of(v)
            pointers.append(None)
            if dtype is not None:
                pointer = low.expr(f"{{0}}.p[{i}]", [it], PtrType(dtype), op, read=True)
                pointer.name = f"{names[i]}_p"
                pointers[-1] = pointer
        unit = low.expr("{0}.unit", [it], BOOL, op, read=True)
        regions = [Block(), Block()]
        for region, is_unit in zip(regions, (True, False), strict=True):
            with low.builder.at(region):
                steps = [None if is_unit or p is None else self.step(it, i) for i, p in enumerate(pointers)]
                body = Block([(INT, "k")])
                with low.builder.at(body):
                    self.elements(body.args[0], pointers, steps)
                    low.build("yield", (), (), op.loc)
                low.build("c.for", [n], (), op.loc, regions=[body])
                low.build("yield", (), (), op.loc)
        low.build("if", [unit], (), op.loc, regions=regions)
        low.build("yield", (), (), op.loc)

    def step(self, it: Value, i: int) -> Value:
        step = self.low.expr(f"{{0}}.step[{i}]", [it], INT, self.at, read=True)
        step.name = f"s{i}"
        return step

    def elements(self, k: Value, pointers: list[Value | None], steps: list[Value | None]) -> None:
        """The body of the loop: loads at their first use, ops in order, stores."""
        low, n_out = self.low, len(self.at.results)
        held: dict[Value, Value] = {}
        converted: dict[tuple[Value, str], Value] = {}
        slots = {v: i + n_out for i, v in enumerate(self.inputs)}

        def index(i: int) -> Value:
            step = steps[i]
            return k if step is None else low.expr("{0} * {1}", [k, step], INT, self.at)

        def element(v: Value) -> Value:
            if v not in held:
                pointer, dtype = pointers[slots[v]], dtype_of(v)
                assert pointer is not None and dtype is not None
                held[v] = low.build("c.load", [pointer, index(slots[v])], (ElemType(dtype),), self.at.loc).result
            return held[v]

        def operand(op: Op, v: Value) -> Value:
            dtype = dtype_of(v)
            if dtype is None:
                return self.numbers[self.number_key(op, v)]
            to = compute_dtype(dtype)
            key = v, to
            if dtype == to:
                return element(v)
            if key not in converted:
                converted[key] = self.expr(cast_text(dtype, to), [element(v)], to, op)
            return converted[key]

        for op in self.ops:
            made = self.compute(op, [operand(op, v) for v in op.operands])
            made.name = op.result.name
            held[op.result] = made
        for i, v in enumerate(self.outputs):
            pointer = pointers[i]
            assert pointer is not None
            low.build("c.store", [pointer, index(i), element(v)], (), v.op.loc if v.op else self.at.loc)

    def compute(self, op: Op, operands: list[Value]) -> Value:
        """One element of an op's result, in the form in which it is stored."""
        result = dtype_of(op.result)
        assert result is not None
        if is_cast(op):
            source = compute_dtype(dtype_of(op.operands[0]) or "")
            return self.expr(cast_text(source, result), operands, result, op)
        work = compute_dtype(work_dtype(op))
        text = template(op, work)
        if result == "bool":
            return self.expr(text, operands, result, op)
        if result in _HALF:
            exact = self.expr(text, operands, "f32", op)
            return self.expr(cast_text("f32", result), [exact], result, op)
        if result in ("u8", "i8", "i16"):  # C computes in int
            text = f"({C_TYPES[result]}){text}"
        return self.expr(text, operands, result, op)


def template(op: Op, work: str) -> str:
    c = op.defn.c
    if isinstance(c, Mapping):
        kind = _KINDS[category(work)]
        if kind not in c:
            raise InternalError(f"{op.name} has no {kind} form", op.loc)
        c = c[kind]
    return str(c).replace("{t}", work).replace("{T}", C_TYPES[work])


def number_literal(value: bool | int | float, dtype: str) -> str:
    """A Python number as an element, exactly as a conversion at run time would give it."""
    if dtype in FLOATING:
        return c_float(float(value), single=dtype == "f32")
    if dtype == "bool":
        return "true" if value else "false"
    if isinstance(value, float):
        return cast_text("f64", dtype).replace("{0}", c_float(value))
    return f"({C_TYPES[dtype]}){c_int(int(value))}" if value >= 0 else f"({C_TYPES[dtype]})({c_int(int(value))})"


def lower_single(low: Lowerer, op: Op) -> list[Shape]:
    """An elementwise op outside of a fuse: a loop of its own."""
    inputs = list(dict.fromkeys(op.operands))
    return Kernel(low, op, inputs, [low.one(v) for v in inputs], [op], list(op.results)).lower()


@emitter
def fuse(low: Lowerer, op: Op) -> Sequence[Shape]:
    body = op.regions[0]
    last = body.ops[-1]
    return Kernel(low, op, list(body.args), low.operands(op), body.ops[:-1], list(last.operands)).lower()
