"""Find statements of the loop IR that are equal up to objects, numbers and locations, for outline.py.

Each statement of a block gets a key. Statements of one key print equal C but for what their sites hold: operands that
are defined elsewhere, numbers among the arguments of kernels, and the lines at which ops fail.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from scriptc.backend_c.arguments import LOC
from scriptc.backend_c.locations import whole_lines
from scriptc.ir.core import Attr, Block, Func, Op, Value
from scriptc.ir.printer import format_attr
from scriptc.ir.types import BOOL, FLOAT, INT, TensorType, Type
from scriptc.runtime.kernels import KERNELS

ROWS = ("c.line", "c.lines")  # literals that are rows of the table of locations
LEADING = ("c.at", "c.unwind")  # ops that belong to the next op
_LOOPS = frozenset({"loop", "c.for", "c.rows", "c.activation"})
_CELLS = frozenset({"c.cell", "c.get", "c.set"})
# The type of a parameter in place of a number, by the type of the number and that of the kernel's parameter.
_NUMBERS: dict[tuple[type, str], Type] = {
    (int, "int64_t"): INT, (int, "int"): INT, (int, "double"): INT, (float, "double"): FLOAT, (bool, "bool"): BOOL,
}  # fmt: skip


def is_literal(op: Op) -> bool:
    """Return whether the value of an op is written where it is used, and may be computed anywhere."""
    return op.name in ("const", "undef", "c.weight", *ROWS)


def is_closed(op: Op) -> bool:
    """Return whether no jump leaves an op, other than by an error."""
    labels = {inner.attrs["label"] for inner in op.walk() if inner.regions and "label" in inner.attrs}
    return not any(
        inner.name == "return" or (inner.name in ("break", "continue") and inner.attrs["to"] not in labels)
        for inner in op.walk()
    )


def without_sizes(t: Type) -> Type:
    """Return the type of tensors of the same dtype and rank."""
    return TensorType(t.dtype, (None,) * len(t.dims)) if isinstance(t, TensorType) and t.dims is not None else t


def fails_at(op: Op) -> bool:
    """Return whether the C of an op has the row of its location."""
    if op.name == "c.call":
        return KERNELS[op.attrs["kernel"]].fails != "never" or LOC in op.attrs["args"]
    return op.defn.raises


@dataclass(frozen=True)
class NumberSite:
    """A number among the arguments of a call: the argument `at`, or its item `item`."""

    op: Op
    at: int
    item: int | None
    type: Type

    @property
    def number(self) -> Attr:
        entry = self.op.attrs["args"][self.at]
        return entry if self.item is None else entry[self.item]

    def give(self, op: Op, value: Value) -> None:
        """Take a value in place of the number in `op`, a copy of the site's op."""
        args, name = list(op.attrs["args"]), f"%{len(op.operands)}"
        entry = args[self.at]
        args[self.at] = name if self.item is None else (*entry[: self.item], name, *entry[self.item + 1 :])
        op.attrs["args"] = tuple(args)
        op.set_operands((*op.operands, value))


@dataclass
class Statement:
    """An op of a block with the ops that belong to it.

    key: equal for equal statements; None for one that stays where it is.
    values: the operands that the statement does not define itself, as op and index. lines: ops that have the row of their
    location. size: the number of its ops.
    """

    ops: list[Op]
    key: Hashable = None
    size: int = 0
    values: list[tuple[Op, int]] = field(default_factory=list)
    numbers: list[NumberSite] = field(default_factory=list)
    lines: list[Op] = field(default_factory=list)

    @property
    def results(self) -> list[Value]:
        return self.ops[-1].results


class Statements:
    """Describe the statements of a function. known: descriptions by the last op of each, which are used and added to."""

    def __init__(self, func: Func, known: dict[Op, Statement]) -> None:
        self._fixed = _used_in_loops(func)
        self._known = known

    def of(self, block: Block) -> Iterator[Statement]:
        """Yield the statements of a block in order. Literals are none."""
        leading: list[Op] = []
        for op in block.ops:
            if op.name in LEADING:
                leading.append(op)
            elif not is_literal(op):
                if op not in self._known:
                    self._known[op] = self._describe([*leading, op])
                yield self._known[op]
                leading = []

    def _describe(self, ops: list[Op]) -> Statement:
        statement = Statement(ops)
        key = tuple(_Walk(statement, self._fixed).keys(ops, in_loop=False))
        last = ops[-1]
        if last.has("TERMINATOR") or last.name == "c.cell" or not is_closed(last) or not _keeps_cells(statement):
            return statement
        statement.key = key
        return statement


def _keeps_cells(statement: Statement) -> bool:
    """Return whether a statement uses only cells that it makes."""
    return not any(op.name in _CELLS and index == 0 and op.name != "c.cell" for op, index in statement.values)


def _used_in_loops(func: Func) -> set[Op]:
    """Return the ops whose constants the C compiler may use in loops: those that compute what a loop uses."""
    found, todo = set[Op](), list[Value]()
    for op in func.body.walk():
        if op.name in _LOOPS or op.name == "c.new":
            todo += [v for inner in op.walk() for v in inner.operands]
    while todo:
        made = todo.pop().op
        if made is not None and made not in found and _is_inline(made):
            found.add(made)
            todo += made.operands
    return found


def _is_inline(op: Op) -> bool:
    return op.has("EXPRESSION") or (op.name == "c.call" and KERNELS[op.attrs["kernel"]].inline)


class _Walk:
    """Walk the ops of a statement, which adds sites to the statement, and gives the parts of its key."""

    def __init__(self, statement: Statement, fixed: set[Op]) -> None:
        self.statement = statement
        self.fixed = fixed
        self.numbers: dict[Value, int] = {}  # of the values that the statement defines
        self.labels: dict[str, int] = {}

    def keys(self, ops: Sequence[Op], *, in_loop: bool) -> Iterator[Hashable]:
        placed = False  # whether the next op fails at a given row
        for op in ops:
            if is_literal(op):
                continue
            self.statement.size += 1
            yield self.key(op, in_loop=in_loop or op.name in _LOOPS or op in self.fixed)
            if fails_at(op) and not placed:
                self.statement.lines.append(op)
            placed = op.name == "c.at" or (placed and op.name in LEADING)

    def key(self, op: Op, *, in_loop: bool) -> Hashable:
        operands = tuple(self.operand(op, i, fixed=in_loop) for i in range(len(op.operands)))
        attrs = tuple(self.attribute(op, name, value, fixed=in_loop) for name, value in op.attrs.items())
        results = tuple(map(self.define, op.results))
        regions = tuple(
            (tuple(map(self.define, region.args)), tuple(self.keys(region.ops, in_loop=in_loop))) for region in op.regions
        )
        return op.name, operands, attrs, results, regions

    def define(self, value: Value) -> Type:
        self.numbers[value] = len(self.numbers)
        return without_sizes(value.type)

    def operand(self, op: Op, index: int, *, fixed: bool) -> Hashable:
        value = op.operands[index]
        if value in self.numbers:
            return self.numbers[value]
        self.statement.values.append((op, index))
        if fixed and value.op is not None and value.op.name == "const":
            return literal_key(value.op)
        return without_sizes(value.type)

    def attribute(self, op: Op, name: str, value: Attr, *, fixed: bool) -> Hashable:
        if name in ("label", "to"):
            return name, self.labels.setdefault(value, len(self.labels))
        if name == "args" and op.name in ("c.call", "c.view") and not fixed:
            return tuple(self.arguments(op))
        return name, format_attr(value)

    def arguments(self, op: Op) -> Iterator[Hashable]:
        kernel = KERNELS[op.attrs["kernel"]]
        parameters = kernel.parameters[1:] if kernel.takes_context or op.name == "c.view" else kernel.parameters
        for at, entry in enumerate(op.attrs["args"]):
            wanted = parameters[at].type if at < len(parameters) else "..."
            if isinstance(entry, tuple) and entry[0] == "sizes":
                yield "sizes", tuple(self.number(op, at, i, item, "int64_t") for i, item in enumerate(entry) if i)
            else:
                yield self.number(op, at, None, entry, wanted)

    def number(self, op: Op, at: int, item: int | None, value: Attr, wanted: str) -> Hashable:
        t = _NUMBERS.get((type(value), wanted))
        if t is None:
            return format_attr(value)
        self.statement.numbers.append(NumberSite(op, at, item, t))
        return t


def literal_key(op: Op) -> Hashable:
    """Return what tells a literal from others."""
    if op.name in ROWS:
        return tuple(whole_lines(line.loc) for line in lines_of(op))
    return op.name, tuple((name, format_attr(value)) for name, value in op.attrs.items()), op.result.type


def lines_of(op: Op) -> list[Op]:
    """Return the `c.line` whose rows a literal has."""
    return [op] if op.name == "c.line" else [v.op for v in op.operands if v.op is not None]
