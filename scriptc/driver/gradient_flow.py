"""Find the inputs from which gradients would flow to each output: a forward data-flow analysis of the front end's IR.

Floating and complex tensors alone carry gradients; `alias` (detach) and numbers cut them. A container depends on all
that goes into it, and so does a tensor that is written. The result is conservative: it may name an input too many (a
tensor that only another path writes), but never one too few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from scriptc.driver.gradient_dependencies import Dependencies, Inputs
from scriptc.ir.analysis import is_fresh, may_be_leaf
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.gradients.activity import holders
from scriptc.ir.gradients.detached import is_detached, writes_tensor
from scriptc.ir.types import CellType, Container, OptionalType, TensorType, TupleType, Type

_NONE: Inputs = frozenset()
_LEAVES = ("leaf", "leaf_argument")
_ASKS = frozenset({"requires_grad", "requires_grad.any"})
_CHECKS = _ASKS | {"check.leaf"}


def _carries(t: Type) -> bool:
    """Return whether values of a type may carry gradients."""
    if isinstance(t, CellType):
        return _carries(t.item)
    return isinstance(t, (Container, TupleType, OptionalType)) or (isinstance(t, TensorType) and t.dtype in INEXACT)


def _is_leaf(value: Value) -> bool:
    return value.op is not None and value.op.name in _LEAVES


def _is_fresh_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType) and is_fresh(value)


class _Flow:
    """The fixpoint: `of` maps each value that carries gradients to the inputs that it depends on."""

    def __init__(self, module: Module, *, cut_by_modes: bool = True):
        self.module = module
        self.cut_by_modes = cut_by_modes  # whether views that `no_grad` code makes have no gradients
        (entry,) = (module.funcs[e] for e in module.entries)
        self.body = entry.body
        self.params = {name: len(entry.body.args) + i for i, name in enumerate(module.params)}
        self.of: dict[Value, Inputs] = {a: frozenset({i}) for i, a in enumerate(entry.body.args) if _carries(a.type)}
        self.results: list[Inputs] = [_NONE] * len(entry.results)
        self.targets: dict[int, Inputs] = defaultdict(frozenset)
        self.detached: dict[str, Inputs] = defaultdict(frozenset)
        self.holders: dict[Value, set[Value]] = {}  # of values that are written
        self.changes: set[Value] = set()  # containers that are written
        self.put: dict[Value, Inputs] = defaultdict(frozenset)  # of containers: the inputs of what is put into them
        self.changed = True

    def run(self) -> Dependencies:
        while self.changed:
            self.changed = False
            self.block(self.body)
        containers = [(i, a) for i, a in enumerate(self.body.args) if isinstance(a.type, Container)]
        lists = {i: self.get(a) - {i} | self.put[a] for i, a in containers}
        checks = {op.name for op in self.module.walk() if op.name in _CHECKS and may_be_leaf(op.operands[0])}
        leaves = frozenset(i for i, a in enumerate(self.body.args) if any(u.name == "leaf_argument" for u in a.users()))
        asks = not checks.isdisjoint(_ASKS)
        return Dependencies(
            self.results, dict(self.targets), lists, bool(checks), dict(self.detached), asks, leaves, self.cut(),
            frozenset(i for i, a in containers if a in self.changes),
        )

    def cut(self) -> frozenset[int]:
        """Return the results that are views of inputs behind `detach()`.

        Other views of a tensor that requires grad require grad, also those that `no_grad` code makes.
        """
        returned = [op.operands for op in self.body.walk() if op.name == "return"]
        views = {i for values in returned for i, v in enumerate(values) if _carries(v.type) and not _is_fresh_tensor(v)}
        if not self.cut_by_modes or not any(not self.results[i] for i in views):
            return _NONE
        flow = _Flow(self.module, cut_by_modes=False)
        flow.run()
        return frozenset(i for i in views if not flow.results[i] and not any(_is_leaf(values[i]) for values in returned))

    def get(self, value: Value) -> Inputs:
        return self.of.get(value, _NONE)

    def add(self, value: Value, inputs: Inputs) -> None:
        if _carries(value.type) and not inputs <= self.get(value):
            self.of[value] = self.get(value) | inputs
            self.changed = True

    def block(self, block: Block) -> None:
        for op in block.ops:
            for region in op.regions:
                self.block(region)
            self.op(op)

    def op(self, op: Op) -> None:
        inputs = frozenset().union(*map(self.get, op.operands))
        if op.name == "return":
            for i, v in enumerate(op.operands):
                self.results[i] |= self.leaving(v)
        elif op.name == "check.detached":
            self.detached[op.attrs["message"]] |= _NONE if op.no_grad else self.get(op.operands[0])
        elif op.name == "state.set":
            self.targets[op.attrs["target"]] |= frozenset().union(*map(self.leaving, op.operands))
        elif op.name == "loop":
            skip = 3 if op.attrs["counted"] else 0
            carried = op.regions[0].args[1 if skip else 0 :]
            for initial, arg, result in zip(op.operands[skip:], carried, op.results, strict=True):
                self.add(arg, self.get(initial))
                self.add(result, self.get(arg))
        elif op.has("TERMINATOR"):
            self.leave(op)
        elif op.name == "param":
            self.add(op.result, frozenset({self.params[op.attrs["name"]]}))
        elif op.name == "call":  # a callee may write to all its operands
            inputs |= {self.params[p.attrs["name"]] for p in self.called(op.attrs["func"]) if p.name == "param"}
            for value in (*op.operands, *op.results):
                self.add(value, inputs)
                self.put[value] |= inputs
                self.changes.add(value)
        elif op.name == "user_gradient":
            sources = op.operands[op.attrs["results"] :][: op.attrs["sources"]]
            for i in op.attrs["dirty"]:
                self.write(op.operands[i], frozenset().union(*map(self.get, sources)))
        elif op.name == "linked":
            self.add(op.result, frozenset().union(*map(self.get, op.operands[1:])))
        elif op.name not in ("alias", "autograd.grad", "fill") and op.attrs.get("requires_grad", True):
            for result in op.results:
                if not is_detached(result) or (op.has("VIEW") and not self.cut_by_modes):
                    self.add(result, inputs)
            if op.defn.writes & {"tensor", "list", "cell"} and not (op.no_grad and writes_tensor(op)):
                put = None
                if "list" in op.defn.writes:
                    put = frozenset().union(*map(self.get, filter(self.is_made, op.operands[1:])))
                self.write(op.operands[0] if op.operands else None, inputs, put)

    def is_made(self, value: Value) -> bool:
        """Return whether a value may be an object that the call has made, and not one that an argument holds."""
        while value.op is not None and value.op.has("FETCHES") and value.op.operands:
            value = value.op.operands[0]
        return value.op is not None or value.block is not self.body

    def leaving(self, value: Value) -> Inputs:
        """Return the inputs that a value which leaves the call depends on. A leaf has no graph behind it."""
        return _NONE if _is_leaf(value) else self.get(value)

    def write(self, target: Value | None, inputs: Inputs, put: Inputs | None = None) -> None:
        """Add inputs to a value that is written, to the values that it is a view of, and to all that may hold it.

        put: of a write to a container, the inputs of what it puts there.
        """
        if target is not None and target not in self.holders:
            self.holders[target] = holders(target)
        found = self.holders[target] if target is not None else ()
        while target is not None:
            self.add(target, inputs)
            self.change(target, put)
            source = target.op.operands[0] if target.op is not None and target.op.operands else None
            target = source if source is not None and _carries(source.type) else None
        for holder in found:
            self.add(holder, inputs)
            self.change(holder, put)

    def change(self, container: Value, put: Inputs | None) -> None:
        """Note a write to a container, or to one that it holds."""
        if put is not None:
            self.changes.add(container)
            self.put[container] |= put

    def called(self, name: str) -> Iterator[Op]:
        """Yield the ops of a function, and of the functions that it calls."""
        seen, pending = set[str](), [name]
        while pending:
            if (func := pending.pop()) in seen:
                continue
            seen.add(func)
            for op in self.module.funcs[func].body.walk():
                yield op
                if op.name == "call":
                    pending.append(op.attrs["func"])

    def leave(self, op: Op) -> None:
        """Propagate the operands of a terminator to the values that they become.

        These are the results of the op that it leaves, or the arguments of the next iteration.
        """
        target = op.parent.parent if op.parent is not None else None
        if "to" in op.attrs:
            target = op.enclosing(lambda o: o.attrs.get("label") == op.attrs["to"])
        if target is None:
            return
        next_iteration = target.name == "loop" and op.name in ("yield", "continue")
        values = target.regions[0].args[1 if target.attrs.get("counted") else 0 :] if next_iteration else target.results
        for v, to in zip(op.operands, values, strict=False):
            self.add(to, self.get(v))


def dependencies(module: Module) -> Dependencies:
    """Return the inputs from which gradients would flow to each output of the entry of a module."""
    return _Flow(module).run()
