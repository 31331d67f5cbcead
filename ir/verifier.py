"""The verifier, which checks the rules of the IR (ir/README.md) and the spec of a phase. Messages are printed under
the faulty op."""

from __future__ import annotations

from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.handlers import handlers
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops.rules import given
from scriptc.ir.phases import Phase
from scriptc.ir.printer import print_func
from scriptc.ir.regions import is_constant
from scriptc.ir.types import BOOL, EXC, INT, CellType, JoinError, Type, is_subtype, join

CHECKS, checks = handlers()


class VerifyError(Exception):
    """Say that the IR breaks a rule. The text is the function with each message under its op."""


class _Checker:
    """Collect the faults of the ops of a function."""

    def __init__(self, func: Func, module: Module | None, phase: Phase | None):
        self.func = func
        self.module = module
        self.phase = phase
        self.notes: dict[int, list[str]] = {}
        self.visible: set[Value] = set()

    def note(self, op: Op, message: str) -> None:
        self.notes.setdefault(id(op), []).append(message)

    def block(self, block: Block) -> None:
        defined: list[Value] = list(block.args)
        self.visible.update(block.args)
        for i, op in enumerate(block.ops):
            if op.parent is not block:
                self.note(op, "the op's parent is not the block that holds it")
            for v in op.operands:
                if v not in self.visible:
                    self.note(op, f"operand {v!r} does not dominate this use")
            if op.has("TERMINATOR") != (i == len(block.ops) - 1):
                self.note(op, "a terminator stands at the end of its block, and nothing else does")
            self.op(op)
            for fault in self.phase.faults(op) if self.phase is not None else ():
                self.note(op, fault)
            for region in op.regions:
                self.block(region)
            defined += op.results
            self.visible.update(op.results)
        self.visible.difference_update(defined)

    def op(self, op: Op) -> None:
        if op.name in CHECKS:
            CHECKS[op.name](self, op)
            return
        if op.defn.check or op.defn.infer is given:
            self.schema(op)
        try:
            expected = None if op.defn.infer is given else op.defn.infer(op.operands, op.attrs)
        except TypeRuleError as e:
            self.note(op, str(e))
            return
        except (KeyError, IndexError, ValueError, AssertionError) as e:
            self.note(op, f"operands or attributes do not fit the row of {op.name}: {e!r}")
            return
        if expected is not None:
            self.results(op, list(expected))

    def schema(self, op: Op) -> None:
        """Check that attributes without a default are present."""
        for arg in op.defn.attr_args:
            if arg.required and arg.name not in op.attrs:
                self.note(op, f"attribute {arg.name} is missing")

    def results(self, op: Op, expected: list[Type]) -> None:
        if len(expected) != len(op.results):
            self.note(op, f"has {len(op.results)} results where its row gives {len(expected)}")
            return
        for value, t in zip(op.results, expected, strict=True):
            try:  # a declared type may leave out sizes, or know more of them
                join(value.type, t)
            except JoinError:
                self.note(op, f"result is {value.type} where its row gives {t}")

    def values(self, op: Op, values: tuple[Value, ...], types: list[Type], what: str) -> None:
        if len(values) != len(types):
            self.note(op, f"{what}: {len(values)} values for {len(types)}")
            return
        for value, t in zip(values, types, strict=True):
            if not is_subtype(value.type, t):
                self.note(op, f"{what}: {value.type} where {t} is expected")

    @checks("if")
    def check_if(self, op: Op) -> None:
        if op.operands[0].type != BOOL:
            self.note(op, "the condition of an if must be a bool")
        if len(op.regions) != 2:
            self.note(op, "an if has two regions")
        for region in op.regions:
            self.yields(op, region)

    def yields(self, op: Op, region: Block) -> None:
        last = region.terminator
        if last is None:
            self.note(op, "a region must end in a terminator")
        elif last.name == "yield":
            self.values(last, last.operands, [r.type for r in op.results], "yield must match the results of its op")

    @checks("scope", "checkpoint")
    def check_scope(self, op: Op) -> None:
        self.yields(op, op.regions[0])

    @checks("try")
    def check_try(self, op: Op) -> None:
        if len(op.regions) != 2:
            self.note(op, "a try has two regions")
        elif op.regions[0].args or [a.type for a in op.regions[1].args] not in ([], [EXC]):
            self.note(op, "the second region of a try may take the exception, and nothing else")
        for region in op.regions:
            self.yields(op, region)

    @checks("reraise")
    def check_reraise(self, op: Op) -> None:
        if op.operands[0].type != EXC:
            self.note(op, f"reraise takes an exception, not {op.operands[0].type}")

    @checks("cell.new")
    def check_cell_new(self, op: Op) -> None:
        t = op.result.type
        if not isinstance(t, CellType):
            self.note(op, f"a cell has a cell type, not {t}")
        else:
            self.values(op, op.operands, [t.item], "the initial value must fit the cell")

    @checks("cell.set")
    def check_cell_set(self, op: Op) -> None:
        t = op.operands[0].type
        if not isinstance(t, CellType):
            self.note(op, f"cell.set takes a cell, not {t}")
        else:
            self.values(op, op.operands[1:], [t.item], "the value must fit the cell")

    @checks("loop")
    def check_loop(self, op: Op) -> None:
        counted, body = op.attrs["counted"], op.regions[0]
        n = 3 if counted else 0
        if any(v.type != INT for v in op.operands[:n]):
            self.note(op, "start, stop and step of a counted loop must be i64")
        carried = [a.type for a in body.args[1 if counted else 0 :]]
        self.values(op, op.operands[n:], carried, "initial values must match the carried arguments")
        last = body.terminator
        if last is None:
            self.note(op, "a region must end in a terminator")
        elif last.name == "yield":
            self.values(last, last.operands, carried, "yield must match the carried arguments")
        if counted:  # a counted loop may end without a break; the carried values are then its results
            for arg, result in zip(carried, op.results, strict=False):
                if not is_subtype(arg, result.type):
                    self.note(op, f"carried {arg} leaves the loop as {result.type}")
        if counted and len(carried) != len(op.results):
            self.note(op, f"the loop carries {len(carried)} values but has {len(op.results)} results")

    @checks("yield")
    def check_yield(self, op: Op) -> None:
        if op.parent is None or op.parent.parent is None:
            self.note(op, "yield outside a region")

    def target(self, op: Op, kinds: tuple[str, ...]) -> Op | None:
        target = op.enclosing(lambda o: o.name in kinds and o.attrs["label"] == op.attrs["to"])
        if target is None:
            self.note(op, f"{op.name} to {op.attrs['to']}, which does not enclose it")
        return target

    @checks("break")
    def check_break(self, op: Op) -> None:
        if (target := self.target(op, ("loop", "scope"))) is not None:
            self.values(op, op.operands, [r.type for r in target.results], "break must match the results of its target")

    @checks("continue")
    def check_continue(self, op: Op) -> None:
        if (target := self.target(op, ("loop",))) is not None:
            args = target.regions[0].args[1 if target.attrs["counted"] else 0 :]
            self.values(op, op.operands, [a.type for a in args], "continue must match the carried arguments")

    @checks("return")
    def check_return(self, op: Op) -> None:
        self.values(op, op.operands, self.func.results, "return must match the results of the function")

    @checks("param")
    def check_param(self, op: Op) -> None:
        self.schema(op)
        if self.module is not None and op.attrs.get("name") not in self.module.params:
            self.note(op, f"the module has no param {op.attrs.get('name')!r}")

    @checks("call")
    def check_call(self, op: Op) -> None:
        if self.module is None:
            return
        func = self.module.funcs.get(op.attrs["func"])
        if func is None:
            self.note(op, f"there is no function @{op.attrs['func']}")
            return
        self.values(op, op.operands, [a.type for a in func.body.args], "arguments must match the function")
        self.results(op, func.results)

    @checks("fuse")
    def check_fuse(self, op: Op) -> None:
        body = op.regions[0]
        self.values(op, op.operands, [a.type for a in body.args], "inputs of fuse must match its arguments")
        self.yields(op, body)
        for inner in body.ops[:-1]:
            if not inner.has("ELEMENTWISE"):
                self.note(inner, "only elementwise ops stand in a fuse")
            if any(v.block is not body for v in inner.operands):
                self.note(inner, "a fuse takes what it uses as inputs")

    @checks("activation")
    def check_activation(self, op: Op) -> None:
        body = op.regions[0]
        if len(body.args) != 1 or body.terminator is None or [v.type for v in body.terminator.operands] != [body.args[0].type]:
            self.note(op, "an activation yields one value of the type that it takes")
        for inner in body.ops:
            if not inner.has("ELEMENTWISE") and inner.name != "yield":
                self.note(inner, "only elementwise ops stand in an activation")
            if any(v.block is not body and not is_constant(v) for v in inner.operands):
                self.note(inner, "an activation uses its argument and constants alone")


def verify_func(func: Func, module: Module | None = None, phase: Phase | None = None) -> None:
    """Raise VerifyError if a function breaks a rule of the IR, or of its phase."""
    checker = _Checker(func, module, phase)
    if func.body.terminator is None:
        raise VerifyError(f"@{func.name} does not end in a terminator\n{print_func(func)}")
    if phase is not None:
        for fault in (fault for arg in func.body.args for fault in phase.value_faults(arg)):
            raise VerifyError(fault)
    checker.block(func.body)
    if checker.notes:
        raise VerifyError(print_func(func, notes=checker.notes))


def verify(module: Module, phase: Phase | None = None) -> None:
    """Raise VerifyError if a function breaks a rule, or an entry is missing. phase: that of the module, if it is
    known."""
    for entry in module.entries:
        if entry not in module.funcs:
            raise VerifyError(f"entry @{entry} is not a function of the module")
    for func in module.funcs.values():
        verify_func(func, module, phase)
