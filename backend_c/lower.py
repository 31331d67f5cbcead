"""Lower the tensor IR to the loop IR.

The rows decide how: `c` is an expression of elements or numbers, `kernel` a call with the arguments of the schema,
`emit` a function of backend_c/emitters. No op is named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scriptc.backend_c.arguments import REUSE, Args
from scriptc.backend_c.emitters import EMITTERS
from scriptc.backend_c.emitters.elementwise import lower_single
from scriptc.backend_c.emitters.views import local_view
from scriptc.backend_c.value_leaves import Shape, flat_names, flat_types, flatten, unflatten, widen
from scriptc.ir.bounds import Bounds
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.errors import InternalError
from scriptc.ir.layouts import Layouts
from scriptc.ir.loc import Loc
from scriptc.ir.opdef import SchemaArg
from scriptc.ir.overflow_free import overflow_free_values
from scriptc.ir.types import NONE, Type


class Lowerer:
    """Lowers one function. Emitters build through it."""

    def __init__(self, source: Module, func: Func, recursive: frozenset[str]):
        self.source = source
        self.recursive = recursive  # functions that may call themselves
        self.func = func
        self.body = Block()
        self.builder = Builder(self.body)
        self.shapes: dict[Value, Shape] = {}
        self.boxes: dict[Value, Value] = {}  # of values that were read from a list or dict: the tuple objects there
        self.parts: dict[Value, tuple[Value, Type, Value]] = {}  # of tuples that are only looked up: what they are made of
        self.layouts = Layouts(func.body)
        self.overflow_free = overflow_free_values(func.body)
        self.bounds = Bounds(func.body)

    def run(self) -> Func:
        for arg in self.func.body.args:
            self.bind(arg, self.new_args(self.body, arg.type, arg.name))
        self.block(self.func.body)
        results = [leaf for t in self.func.results for leaf in flat_types(t)]
        return Func(self.func.name, self.body, results, self.func.loc, self.func.source)

    def new_args(self, block: Block, t: Type, name: str) -> Shape:
        types = flat_types(t)
        made = [Value(leaf, block, n) for leaf, n in zip(types, flat_names(name, types), strict=True)]
        block.args += made
        return unflatten(t, iter(made))

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def region(self, block: Block, into: Block) -> Block:
        with self.builder.at(into):
            self.block(block)
        return into

    def op(self, op: Op) -> None:
        defn = op.defn
        if (view := local_view(self, op)) is not None:
            shapes: Sequence[Shape] = [view]
        elif defn.emit is not None:
            shapes = EMITTERS[defn.emit](self, op)
        elif op.has("ELEMENTWISE"):
            shapes = lower_single(self, op)
        elif defn.kernel is not None:
            shapes = self.kernel(op, defn.kernel)
        else:
            shapes = [self.computed(op)]
        for result, shape in zip(op.results, shapes, strict=True):
            self.bind(result, shape)

    def bind(self, value: Value, shape: Shape) -> None:
        self.shapes[value] = shape
        if isinstance(shape, Value) and not shape.name:
            shape.name = value.name

    def get(self, value: Value) -> Shape:
        return self.shapes[value]

    def one(self, value: Value) -> Value:
        shape = self.shapes[value]
        if not isinstance(shape, Value):
            raise InternalError(f"{value!r} is used where a single value is needed", self.func.loc)
        return shape

    def operands(self, op: Op) -> list[Value]:
        return [self.one(v) for v in op.operands]

    def optional(self, value: Value) -> Value | None:
        """Return an operand, or None where the operand is None."""
        return None if value.type == NONE else self.one(value)

    # ---- building ----

    def build(self, name: str, operands: Sequence[Value], types: Sequence[Type], loc: Loc, /, **attrs: Any) -> Op:
        return self.builder.op(name, operands, loc, types=types, **attrs)

    def const(self, value: Any, loc: Loc) -> Value:
        return self.builder.const(value, loc)

    def undef(self, t: Type, loc: Loc) -> Value:
        return self.build("undef", (), (t,), loc).result

    def expr(self, name: str, operands: Sequence[Value], t: Type, at: Op, **attrs: Any) -> Value:
        """Build an expression of the loop IR; `t` is the type of its value."""
        return self.build(name, operands, (t,), at.loc, **attrs).result

    def computed(self, op: Op) -> Value:
        """Build the expression that the `c` of an op's row gives."""
        return self.expr("c.expr", self.operands(op), op.result.type, op, of=op.name)

    def call(self, at: Op, kernel: str, args: Args, *results: Type) -> list[Shape]:
        """Build a call of a function of the runtime; where it gives several results, they go through pointers."""
        attrs: dict[str, Any] = {"kernel": kernel, "args": tuple(args.entries)}
        if REUSE in args.entries:
            attrs["reuse"] = False
        return list(self.build("c.call", args.operands, results, at.loc, **attrs).results)

    def kernel(self, op: Op, name: str) -> list[Shape]:
        """Build the call of a row's kernel, whose arguments are those of the schema."""
        return self.call(op, name, self.schema_args(op), *(r.type for r in op.results))

    def schema_args(
        self, op: Op, defn_args: Sequence[SchemaArg] | None = None, *, first: Args | None = None
    ) -> Args:
        """Return operands and attributes in the order of the schema; a list becomes an array and its length.

        first: arguments that come before these.
        """
        args = first or Args()
        operands = iter(op.operands)
        for arg in op.defn.args if defn_args is None else defn_args:
            if arg.is_operand:
                self.operand_arg(args, arg, next(operands))
            else:
                args.attribute(arg, op.attrs.get(arg.name, arg.default))
        return args

    def operand_arg(self, args: Args, arg: SchemaArg, value: Value) -> None:
        if arg.is_list:
            items = flatten(self.get(value))
            args.sizes(items).add(len(items))
        else:
            args.add(self.optional(value))

    # ---- control flow ----

    def widened(self, values: Sequence[Value], types: Sequence[Type], loc: Loc) -> list[Value]:
        """Return values as leaves of the given types, for a terminator or an op."""
        leaves: list[Value] = []
        for value, t in zip(values, types, strict=True):
            shape = widen(
                self.get(value), value.type, t, lambda leaf: self.undef(leaf, loc), lambda on: self.const(on, loc)
            )
            leaves += flatten(shape)
        return leaves

    def results(self, op: Op, made: Op) -> list[Shape]:
        """Return the shapes of the results of a structured op, from the results of the lowered op."""
        leaves: Iterator[Value] = iter(made.results)
        return [unflatten(r.type, leaves) for r in op.results]


def lower(module: Module) -> Module:
    """Return a module in the loop IR, in which objects are not yet retained and released."""
    lowered = Module(
        module.name, params=dict(module.params), entries=list(module.entries), exceptions=dict(module.exceptions),
        records=dict(module.records),
    )
    recursive = frozenset(name for name in module.funcs if name in _reachable(module, name))
    for name, func in module.funcs.items():
        lowered.funcs[name] = Lowerer(module, func, recursive).run()
    return lowered


def _reachable(module: Module, start: str) -> set[str]:
    """Return the functions that a function calls, directly or not."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        calls = {op.attrs["func"] for op in module.funcs[pending.pop()].body.walk() if "func" in op.attrs}
        pending += calls - reached
        reached |= calls
    return reached
