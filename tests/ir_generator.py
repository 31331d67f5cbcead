"""Makes random modules that are well typed: every row of the op table, in nested loops, branches and scopes.

What operands must fulfil beyond their types (an index that is in range, a value that is present) is built with the op.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from typing import Any

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Param, Value
from scriptc.ir.dtypes import COMPLEX, DTYPES, FLOATING
from scriptc.ir.loc import Loc
from scriptc.ir.opdef import OPTIMIZED, OpDef, SchemaArg, TypeRuleError
from scriptc.ir.ops import OPS, dicts, objects, strings
from scriptc.ir.types import (
    BOOL,
    EXC,
    FLOAT,
    INT,
    NONE,
    STR,
    CellType,
    JoinError,
    ListType,
    OptionalType,
    TensorType,
    Type,
    is_subtype,
    list_of,
    tuple_of,
)

LOC = Loc("model.py", 1)
# Ops that ROWS below build together with what they need; `fuse` is made by its pass.
BUILT_ELSEWHERE = {
    "if", "loop", "scope", "yield", "break", "continue", "return", "raise", "call", "fuse", "check", "const", "param", "undef",
    "unreachable", "tuple", "tuple.get", "list.new", "list.at", "optional.present", "optional.unwrap", "tuple.new",
    "tuple.append", "linear_packed", "linear_activated", "linear_add", "rows.new", "linear_rows", "concat", "pack_linear",
    "outer_sum.new", "outer_sum.add", "outer_sum.part", "pack_linear.kept", "arrange_transposed", "arrange_transposed.kept",
    "pack_conv", "with_prologue", "conv2d_packed", "activation", "suggests_channels_last", "cat.items", "place", "signs.rows",
    "signs.image", "signs.filters", "signs.linear", "signs.conv2d", "signs.order", "signs.sums", "signs.thresholds",
    "signs.linear_bits", "signs.conv2d_bits", "signs.check", "signs.next_order", "integers.columns", "integers.filters",
    "integers.matmul", "integers.conv2d", "try", "reraise", "exc.is", "checkpoint", "checkpoint.begin", "checkpoint.end",
    "cell.new", "cell.get", "cell.set", "cat", "stack", "list.argsort", "print",
}  # fmt: skip
# Those of the tensor IR. What reaches out of the call, to state and the generator of random numbers, has tests of its own, as
# have dicts and sets (test_tables.py).
TENSOR_ROWS = {
    n: row
    for n, row in OPS.items()
    if OPTIMIZED in row.phases and not row.writes & {"random", "state"} and row not in (*dicts.ROWS, *objects.ROWS)
}
STRING_ROWS = [row for row in strings.ROWS if row.name != "text"]
ANY_ROW = [row for name, row in TENSOR_ROWS.items() if name not in BUILT_ELSEWHERE and row not in strings.ROWS]
SQUARE = TensorType("f32", (4, 4))
ARGS: list[Type] = [
    TensorType("f32", ("B", 4)), TensorType("f32", ("B", 4)), SQUARE, TensorType("f32", (4,)), TensorType("f32", ()),
    TensorType("f32", (None, 4)), TensorType("i64", (4,)), TensorType("bool", ("B", 4)), TensorType("bf16", (4, 4)),
    TensorType("f32", (1, 2, 5, 5)), TensorType("f32", (2, 2, 3, 3)), INT, FLOAT, BOOL, OptionalType(SQUARE),
    list_of(TensorType("f32", (4,))), tuple_of(TensorType("f32", (4,))), TensorType("f32", None), STR, STR,
]  # fmt: skip
REAL = tuple(d for d in DTYPES if d not in COMPLEX)
# Values for attributes by name; a list of dims or sizes fits or the op is not built.
ATTRS: dict[str, Sequence[Any]] = {
    "dim": (0, 1), "dim0": (0, 1), "dim1": (0, 1), "dims": ((1, 0), (0,)), "dtype": REAL, "index": (0,),
    "keepdim": (True, False), "name": ("x",), "message": ('a "b"\n',), "category": ("UserWarning",),
    "type": ("ValueError",),
    "count": (2,), "of": ("add",), "stride": ((1, 1), (2, 1)), "padding": ((0, 0), (1, 1)), "dilation": ((1, 1),),
    "groups": (1,), "kernel_size": ((2, 2),), "ceil_mode": (True, False), "count_include_pad": (True, False),
    "divisor_override": (None, 3), "features": (4,), "func": ("helper",), "apart": (True, False), "view": (True, False),
    "first": (True, False), "equal_nan": (True, False),
}  # fmt: skip


class Generator:
    def __init__(self, seed: int, size: int):
        self.rng = random.Random(seed)
        self.left = size  # ops that may still be made
        self.labels = 0
        self.visible: list[Value] = []
        self.module = Module("random", params={"w": Param("w", SQUARE), "b": Param("b", TensorType("f32", (4,)))})

    def make(self) -> Module:
        self.helper()
        body = Block([(t, "x") for t in ARGS])
        self.visible = list(body.args)
        self.b = Builder(body)
        while self.left > 0:
            self.step(depth=0)
        results = self.rng.sample(self.visible, k=min(3, len(self.visible)))
        self.b.op("return", results, LOC)
        self.module.funcs["main"] = Func("main", body, [v.type for v in results], LOC)
        self.module.entries.append("main")
        return self.module

    def helper(self) -> None:
        """A function that writes its argument."""
        body = Block([(SQUARE, "x")])
        b = Builder(body)
        b.op("copy_", [body.args[0], b.build("tanh", [body.args[0]], LOC)], LOC)
        b.op("return", [body.args[0]], LOC)
        self.module.funcs["helper"] = Func("helper", body, [SQUARE], LOC)

    def keep(self, *values: Value) -> None:
        self.visible += values

    def pick(self, *types: type | Type) -> Value:
        """A visible value of one of the types; TypeRuleError where there is none."""
        found = [
            v for v in self.visible if any(isinstance(v.type, t) if isinstance(t, type) else v.type == t for t in types)
        ]
        if not found:
            raise TypeRuleError("no such value")
        return self.rng.choice(found[-8:] if self.rng.random() < 0.7 else found)

    def const(self, value: Any) -> Value:
        return self.b.const(value, LOC)

    def small(self) -> Value:
        return self.const(self.rng.choice((0, 1, 2, -1)))

    def step(self, depth: int) -> None:
        """One more op, with what it needs."""
        self.left -= 1
        nested = [self.loop, self.while_loop, self.branch, self.scope, self.guarded] if depth < 3 else []
        special = [
            self.list_ops, self.optional_ops, self.packed, self.call, self.tuple_ops, self.weights, self.same_again,
            self.string_ops, self.string_ops,
        ]  # fmt: skip
        try:
            roll = self.rng.random()
            if nested and roll < 0.15:
                self.rng.choice(nested)(depth + 1)
            elif roll < 0.3:
                self.rng.choice(special)()
            else:
                self.any_row(self.rng.choice(ANY_ROW))
        except (TypeRuleError, JoinError, IndexError, KeyError, AssertionError, ValueError):
            pass  # operands that the row does not take

    def any_row(self, row: OpDef) -> None:
        operands: list[Value] = []
        attrs: dict[str, Any] = {}
        like: TensorType | None = None
        for arg in row.args:
            if not arg.is_operand:
                attrs[arg.name] = self.attribute(row, arg, like)
                continue
            operands.append(self.operand(row, arg, like))
            t = operands[-1].type
            if isinstance(t, TensorType) and arg.name != "condition":
                like = t
        self.keep(*self.b.op(row.name, operands, LOC, **attrs).results)

    def attribute(self, row: OpDef, arg: SchemaArg, like: TensorType | None) -> Any:
        if arg.name == "dtype" and row.samples is not None and row.name != "cast":
            return like.dtype if like is not None and like.dtype in row.samples.dtypes else row.samples.dtypes[0]
        value = self.rng.choice(ATTRS[arg.name])
        if arg.name == "dim" and arg.is_list:
            return self.rng.choice(((0,), (1,), (0, 1)))
        return None if arg.name == "dim" and arg.optional and self.rng.random() < 0.3 else value

    def tensor(self, row: OpDef, like: TensorType | None) -> Value:
        """A tensor of a dtype that the row takes; mostly of the type of the operand before it, so that sizes fit."""
        dtypes = row.samples.dtypes if row.samples is not None else ("f32",)
        found = [v for v in self.visible if isinstance(v.type, TensorType) and v.type.dtype in dtypes]
        if like is not None:
            found = [v for v in found if isinstance(v.type, TensorType) and v.type.dtype == like.dtype]
            same = [v for v in found if v.type == like]
            found = same if same and self.rng.random() < 0.8 else found
        if not found:
            raise TypeRuleError("no such tensor")
        return self.rng.choice(found)

    def operand(self, row: OpDef, arg: SchemaArg, like: TensorType | None) -> Value:
        if arg.optional and self.rng.random() < 0.5:
            return self.const(None)
        if arg.type == "SymInt":
            if arg.name in ("step", "split_size", "chunks"):
                return self.const(self.rng.choice((1, 2)))
            if not arg.is_list:
                return self.small() if self.rng.random() < 0.8 else self.pick(INT)
            sizes = self.rng.choice(((4,), (2, 4), (4, 1), (-1,), (1, 4, 4)))
            return self.b.build("tuple", [self.const(n) for n in sizes], LOC)
        if arg.type == "Tensor":
            if arg.name == "condition":
                return self.pick(TensorType("bool", ("B", 4)))
            return self.tensor(row, like)
        if arg.type == "Operand":
            if like is None or self.rng.random() < 0.7:
                return self.tensor(row, like)
            return self.const(0.5 if like.dtype in FLOATING else True if like.dtype == "bool" else 2)
        if row.name == "tuple.join":
            return self.pick(tuple_of(TensorType("f32", (4,))))
        if arg.type == "List" or row.name.startswith(("list.", "tuple.")):
            if arg.name == "value":
                return self.pick(TensorType)
            return self.pick(ListType)
        if row.name in ("int.pow", "int.lshift") and arg.name == "b":
            return self.const(self.rng.choice((0, 1, 3)))  # the interpreter's ints are as long as they get
        if row.name == "float.pow" and arg.name == "b":
            return self.const(2.0)  # a root of a negative number is complex
        kinds = {"int": INT, "float": FLOAT, "math": FLOAT, "bool": BOOL, "check": BOOL}
        return self.pick(kinds.get(row.name.split(".")[0], INT))

    def list_ops(self) -> None:
        x = self.pick(TensorType)
        xs = self.b.build("list.new", [x, x], LOC)
        items = self.b.build("tuple.new", [x, x], LOC)
        self.keep(items, self.b.build("tuple.append", [items, x], LOC))
        self.keep(self.b.build("list.at", [xs, self.const(1)], LOC))
        self.b.op("list.insert", [xs, self.small(), x], LOC)
        numbers = self.b.build("list.new", [self.const(n) for n in (3, 1)], LOC)
        self.keep(self.b.build("list.tensor", [numbers], LOC))
        assert isinstance(x.type, TensorType)
        if x.type.dims:
            self.keep(self.b.build(self.rng.choice(("cat", "stack")), [xs], LOC, dim=0))
        self.keep(xs)
        numbers = self.b.build("list.new", [self.const(2), self.const(1)], LOC)
        self.keep(self.b.build("list.argsort", [numbers], LOC, reverse=self.rng.random() < 0.5))
        self.b.op("print", [self.const(2)], LOC, format="%i\n")

    def string_ops(self) -> None:
        s = self.pick(STR)
        code = self.b.build("str.code", [s, self.small()], LOC)
        character = self.b.build("str.chr", [code], LOC)
        self.keep(code, character)
        row = self.rng.choice(STRING_ROWS)
        operands: list[Value] = []
        for arg in row.args:
            if arg.name == "parts":
                operands.append(self.b.build("list.new", [self.pick(STR), character], LOC))
            elif arg.name == "code":
                operands.append(code)
            elif arg.name in ("index", "step", "base"):  # s has a character at 0
                operands.append(self.const({"index": 0, "step": self.rng.choice((1, -1, 2)), "base": 10}[arg.name]))
            elif arg.type == "SymInt":
                operands.append(self.small())
            elif arg.type == "Scalar":
                operands.append(self.pick(FLOAT))
            elif arg.name == "spec":
                operands.append(self.const(self.rng.choice(("", ">5", "x", ".2", "d"))))
            else:
                operands.append(s if not operands else self.rng.choice((s, character, self.pick(STR))))
        self.keep(*self.b.op(row.name, operands, LOC).results)
        values = [s, self.pick(INT), self.pick(FLOAT), self.pick(BOOL)]
        self.keep(self.b.build("text", values, LOC, format="%s%%%i %r %b"))

    def optional_ops(self) -> None:
        x = self.pick(OptionalType)
        assert isinstance(x.type, OptionalType)
        present = self.b.build("optional.present", [x], LOC)
        then, orelse = Block(), Block()
        with self.b.at(then):
            self.b.op("yield", [self.b.build("optional.unwrap", [x], LOC)], LOC)
        with self.b.at(orelse):
            self.b.op("yield", [self.b.op("param", (), LOC, types=[SQUARE], name="w").result], LOC)
        self.keep(present, *self.b.op("if", [present], LOC, regions=[then, orelse], types=[x.type.item]).results)

    def packed(self) -> None:
        x, w = self.pick(TensorType("f32", ("B", 4)), TensorType("f32", (4,)), SQUARE), self.pick(SQUARE)
        p = self.b.build("pack_linear", [w], LOC)
        self.keep(self.b.build("linear_packed", [x, p, self.const(None)], LOC, features=4))

    def call(self) -> None:
        self.keep(*self.b.op("call", [self.pick(SQUARE)], LOC, types=[SQUARE], func="helper").results)

    def tuple_ops(self) -> None:
        t = self.b.build("tuple", [self.pick(TensorType), self.pick(INT)], LOC)
        self.keep(self.b.build("tuple.get", [t], LOC, index=0))

    def weights(self) -> None:
        self.keep(self.b.op("param", (), LOC, types=[SQUARE], name="w").result)
        self.b.op("undef", (), LOC, types=[SQUARE])

    def same_again(self) -> None:
        """An op that was made before, for cse to find."""
        op = self.rng.choice([v.op for v in self.visible if v.op is not None])
        if not op.regions and op.results and op.has("PURE") and not op.defn.reads & {"list"}:
            types = [r.type for r in op.results]
            self.keep(*self.b.insert(Op(op.defn, op.operands, types, dict(op.attrs), LOC)).results)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def fitting(self, types: Sequence[Type]) -> list[Value]:
        """Values to hand on, of given types."""
        last = [[*islice((v for v in reversed(self.visible) if is_subtype(v.type, t)), 4)] for t in types]
        return [self.rng.choice(found[::-1]) for found in last]

    def body(self, block: Block, types: Sequence[Type], depth: int, leave: tuple[str, str] | None) -> None:
        """Fills a region: some steps, perhaps a way out in a branch, a yield."""
        outer = list(self.visible)
        with self.b.at(block):
            self.keep(*block.args)
            for _ in range(self.rng.randrange(1, 5)):
                self.step(depth)
            if leave is not None:
                self.way_out(*leave, types)
            for _ in range(self.rng.randrange(3)):
                self.step(depth)
            self.b.op("yield", self.fitting(types), LOC)
        self.visible = outer

    def way_out(self, kind: str, label: str, types: Sequence[Type]) -> None:
        condition = self.pick(BOOL)
        then, orelse = Block(), Block()
        with self.b.at(then):
            if kind == "raise":
                self.b.op("raise", (), LOC, type="ValueError", message="out")
            else:
                self.b.op(kind, self.fitting(types), LOC, to=label)
        with self.b.at(orelse):
            self.b.op("yield", (), LOC)
        self.b.op("if", [condition], LOC, regions=[then, orelse], types=[])

    def carried(self) -> list[Value]:
        return self.rng.sample([v for v in self.visible if v.type != NONE], k=2)

    def loop(self, depth: int) -> None:
        initial, label = self.carried(), self.label()
        types = [v.type for v in initial]
        stop = self.const(self.rng.choice((0, 1, 3)))
        if self.rng.random() < 0.3:
            stop = self.b.build("list.len", [self.pick(ListType)], LOC)
        block = Block([(INT, "i"), *((t, "h") for t in types)])
        kind = self.rng.choice(("break", "continue", "raise", None))
        bounds = [self.const(0), stop, self.const(self.rng.choice((1, 2)))]
        self.body(block, types, depth, (kind, label) if kind else None)
        op = self.b.op("loop", [*bounds, *initial], LOC, regions=[block], types=types, label=label, counted=True)
        self.keep(*op.results)

    def while_loop(self, depth: int) -> None:
        """Counts in a carried value, and breaks when that reaches 2."""
        initial, label = self.carried(), self.label()
        types: list[Type] = [v.type for v in initial]
        block = Block([(INT, "n"), *((t, "h") for t in types)])
        outer = list(self.visible)
        with self.b.at(block):
            self.keep(*block.args)
            n = block.args[0]
            done = self.b.build("int.ge", [n, self.const(2)], LOC)
            then, orelse = Block(), Block()
            with self.b.at(then):
                self.b.op("break", [n, *self.fitting(types)], LOC, to=label)
            with self.b.at(orelse):
                self.b.op("yield", (), LOC)
            self.b.op("if", [done], LOC, regions=[then, orelse], types=[])
            for _ in range(self.rng.randrange(1, 4)):
                self.step(depth)
            more = self.b.build("int.add", [n, self.const(1)], LOC)
            self.b.op("yield", [more, *self.fitting(types)], LOC)
        self.visible = outer
        start = self.const(0)
        op = self.b.op("loop", [start, *initial], LOC, regions=[block], types=[INT, *types], label=label, counted=False)
        self.keep(*op.results[1:])

    def branch(self, depth: int) -> None:
        condition, types = self.pick(BOOL), [v.type for v in self.carried()]
        then, orelse = Block(), Block()
        self.body(then, types, depth, None)
        self.body(orelse, types, depth, ("raise", "") if self.rng.random() < 0.2 else None)
        self.keep(*self.b.op("if", [condition], LOC, regions=[then, orelse], types=types).results)

    def guarded(self, depth: int) -> None:
        """A `try` whose body writes a cell before it may raise; its handler reads that, and lets some exceptions go on."""
        types = [v.type for v in self.carried()]
        initial = self.rng.choice([v for v in self.visible if v.type not in (STR, NONE)])
        cell = self.b.op("cell.new", [initial], LOC, types=[CellType(initial.type)]).result
        body, handler, again, goes_on = Block(), Block([(EXC, "e")]), Block(), Block()
        outer = list(self.visible)
        with self.b.at(body):
            for _ in range(2):
                for _ in range(self.rng.randrange(3)):
                    self.step(depth)
                self.b.op("cell.set", [cell, *self.fitting([initial.type])], LOC)
                self.way_out("raise", "", types)
            self.b.op("yield", self.fitting(types), LOC)
        self.visible = list(outer)
        with self.b.at(handler):
            self.keep(self.b.build("cell.get", [cell], LOC))
            caught = self.b.build(
                "exc.is",
                handler.args,
                LOC,
                classes=(self.rng.choice(("ValueError", "RuntimeError", "LookupError")),),
                exact=self.rng.random() < 0.3,
            )
            with self.b.at(again):
                self.b.op("reraise", handler.args, LOC)
            with self.b.at(goes_on):
                self.b.op("yield", (), LOC)
            self.b.op("if", [caught], LOC, regions=[goes_on, again], types=[])
            self.b.op("yield", self.fitting(types), LOC)
        self.visible = outer
        self.keep(*self.b.op("try", (), LOC, regions=[body, handler], types=types).results)
        self.keep(self.b.build("cell.get", [cell], LOC))

    def scope(self, depth: int) -> None:
        types, label, block = [v.type for v in self.carried()], self.label(), Block()
        self.body(block, types, depth, ("break", label) if self.rng.random() < 0.7 else None)
        self.keep(*self.b.op("scope", (), LOC, regions=[block], types=types, label=label).results)


def random_module(seed: int, size: int) -> Module:
    return Generator(seed, size).make()
