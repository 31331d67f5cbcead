"""One function of the loop IR as C text: values, variables and what all statements need.

The printer decides nothing but spelling. The IR says what runs, in which order and on whose memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scriptc.backend_c import control_flow, statements
from scriptc.backend_c.arguments import LOC, call_template, spelled
from scriptc.backend_c.c_names import CNames
from scriptc.backend_c.c_types import c_type, declare, zero
from scriptc.backend_c.expressions import Expression, Form, Template, read_template
from scriptc.backend_c.locations import LocTable
from scriptc.backend_c.op_templates import constant, template
from scriptc.backend_c.program_names import ProgramNames, signature
from scriptc.backend_c.statements import is_element_loop
from scriptc.backend_c.variables import Variables, is_droppable
from scriptc.backend_c.writer import INDENT, Writer, wrap
from scriptc.ir.core import Attr, Block, Func, Module, Op, Value
from scriptc.ir.regions import is_loop, try_around
from scriptc.ir.types import ITER, STR, ElemType, PtrType
from scriptc.runtime.kernels import KERNELS

PRINTERS: dict[str, Callable[[Any, Op], None]] = statements.PRINTERS | control_flow.PRINTERS
# In a function with more loops over elements than this, each loop is a C function of its own, since the time to
# optimize a function grows faster than its size. In other functions loops stay inline, which saves the cost of calls.
MAX_LOOPS = 4
# A function of more ops than this, none of which it repeats, is compiled with little optimization.
MAX_STRAIGHT = 200


class FunctionPrinter:
    """Prints one function. The functions of statements.py and control_flow.py print its ops.

    part: the function was outlined. once: it runs once in the life of a context. splits: its loops over elements are
    functions of their own.
    """
    def __init__(
        self, module: Module, func: Func, names: ProgramNames, locs: LocTable, *, debug: bool, part: bool = False,
        once: bool = False, splits: bool | None = None,
    ) -> None:  # fmt: skip
        self.module = module
        self.func = func
        self.program = names
        self.locs = locs
        local = CNames()
        for i in range(len(func.results)):
            local.fresh(f"result{i}")
        self.local = local
        self.variables = Variables(func, local)
        self.writer = Writer(debug=debug, path=locs.path)
        self.line = self.writer.line
        self.declared: dict[Value, int] = {}  # declared variables, with the number of lines up to the declaration
        self.read: dict[Value, None] = {}  # variables whose value some line reads
        self.copies: dict[Value, str] = {}  # names of copies of old values, during a parallel assignment
        self.unwound: Sequence[Value] = ()  # objects that are released where the next op fails
        self.row: Value | None = None  # the row at which the next op fails, if not at that of its location
        self.targets: dict[Op, dict[str, str]] = {}  # labels that some goto needs, by the op that they belong to
        self.part = part
        self.once = once
        self.splits = has_many_loops(func) if splits is None else splits
        self.strips: set[Op] = set()  # loops that are printed as two: over strips, and over the iterations of a strip
        self.loops: list[str] = []  # lines of the C functions made from loops
        self.fixed: set[str] = set()  # those of the names cx, w, it, result0, ... that lines use
        self.kernels: set[str] = set()  # functions of the runtime that lines call

    def print(self, heading: str = "") -> str:
        """Return the C of the function, after the C functions made from its loops."""
        func = self.func
        parameters = [declare(a.type, self.variables[a]) for a in func.body.args]
        self.print_block(func.body)
        self.mark_unread()
        head = [f"{INDENT}(void){name};" for name in self.unused_parameters()]
        if "it" in self.fixed:
            head.append(f"{INDENT}sc_iter iter, *const it = &iter;")
        straight = "SC_STRAIGHT " if self._is_straight() else ""
        lines = [*wrap(straight + signature(func, self.program, parameters) + " {"), *head, *self.writer.lines, "}"]
        return "\n".join([*self.loops, *([heading] if heading else []), *lines]) + "\n"

    def _is_straight(self) -> bool:
        """Return whether the function is long, a part of such a one or runs once, and repeats nothing itself."""
        ops = list(self.func.body.walk())
        loops = any(is_loop(op) or (not self.splits and is_element_loop(op)) for op in ops)
        return (self.part or self.once or len(ops) > MAX_STRAIGHT) and not loops

    def unused_parameters(self) -> list[str]:
        """Return the parameters that no line reads, in their order."""
        first = ["cx", *(["w"] if self.program.weights else [])]
        results = [f"result{i}" for i in range(len(self.func.results))]
        unread = [self.variables[a] for a in self.func.body.args if a not in self.read]
        return [*(n for n in first if n not in self.fixed), *unread, *(n for n in results if n not in self.fixed)]

    def mark_unread(self) -> None:
        """Add `(void)x;` after the declarations of variables that are only assigned."""
        lines = self.writer.lines
        for variable, at in sorted(self.declared.items(), key=lambda item: -item[1]):
            if variable not in self.read:
                indent = lines[at - 1][: len(lines[at - 1]) - len(lines[at - 1].lstrip())]
                lines.insert(at, f"{indent}(void){self.variables[variable]};")

    # ---- names in lines ----

    def record_name(self, name: str) -> str:
        """Record that a line has one of the names that all functions share, and return the name."""
        self.fixed.add(name)
        return name

    def invoke(self, kernel: str, *args: str) -> str:
        """Return the call of a function of the runtime, with the context in front where the function takes one."""
        self.kernels.add(kernel)
        context = [self.record_name("cx")] if KERNELS[kernel].takes_context else []
        return f"{kernel}({', '.join([*context, *args])})"

    def record_words(self, template: Template) -> Template:
        """Record the context and the kernels that the text of a row names, and return the template."""
        self.fixed |= template.words & {"cx"}
        self.kernels |= template.words & KERNELS.keys()
        return template

    # ---- values ----

    def spell(self, value: Value) -> Expression:
        """Return the C of a value: its variable, or the expression that is written in its place."""
        op = value.op
        if op is None or op not in self.variables.inline:
            variable = self.variables.find(value)
            self.read[variable] = None
            if value.type == ITER:
                self.record_name("it")
            if op is not None and op.name == "c.view":
                return Expression(f"&{self.variables[value]}", Form.COMPOUND)
            return Expression(self.copies.get(variable, self.variables[value]))
        match op.name:
            case "const" | "undef":
                return self.spell_constant(op)
            case "c.weight":
                return Expression(f"{self.record_name('w')}->{self.program.members[op.attrs['name']]}")
            case "c.load":
                return self.spell_load(op)
            case "c.line":
                return Expression(str(self.locs.row(op.loc)))
            case "c.lines":
                return Expression(str(self.locs.run([v.op.loc for v in op.operands if v.op is not None])))
        return self.spell_expression(op)

    def spell_constant(self, op: Op) -> Expression:
        if op.name == "undef":
            return Expression(zero(op.result.type))
        if op.result.type == STR:
            return Expression(f"(sc_str *)&{self.program.text(op.attrs['value'])}", Form.COMPOUND)
        return constant(op)

    def spell_expression(self, op: Op) -> Expression:
        """Return the C of an expression."""
        return self.record_words(template(op)).fill(lambda i: self.spell(op.operands[i]))

    def spell_arguments(self, op: Op) -> str:
        """Return the C of all arguments of a c.call or c.view except the pointers to results."""
        kernel = op.attrs["kernel"]
        self.kernels.add(kernel)
        if KERNELS[kernel].takes_context:
            self.record_name("cx")
        row = self.spell_row(op) if LOC in op.attrs["args"] else ""
        return call_template(op, row).fill(lambda i: self.spell(op.operands[i])).text

    def spell_row(self, op: Op) -> str:
        """Return the C of the row of the table of locations at which an op fails."""
        return str(self.locs.row(op.loc)) if self.row is None else self.spell(self.row).text

    def spell_list(self, op: Op, entries: Sequence[Attr]) -> list[str]:
        """Return the C of some arguments of an op."""
        return [read_template(spelled(entry)).fill(lambda i: self.spell(op.operands[i])).text for entry in entries]

    def spell_load(self, op: Op) -> Expression:
        if op.result.type == ElemType("bool"):
            return Expression(f"({self.spell_element(op)} != 0)", Form.GROUP)
        return Expression(self.spell_element(op))

    def spell_element(self, op: Op) -> str:
        pointer, index = map(self.spell, op.operands[:2])
        return f"{pointer.text}[{index.bare}]"

    # ---- statements ----

    def print_block(self, block: Block, done: int = 0) -> None:
        """Print the ops of a block after the first `done` ones."""
        for op in block.ops[done:]:
            if op not in self.variables.inline and not is_droppable(op):
                self.print_statement(op)

    def print_statement(self, op: Op) -> None:
        if op.name != "yield" or op.operands:
            self.writer.source(op.loc)
        PRINTERS.get(op.name, FunctionPrinter.print_expression)(self, op)  # an expression is printed from its template
        if op.name not in ("c.at", "c.unwind"):
            self.row = None

    def print_failure(self, op: Op, condition: str = "") -> None:
        """Print the jump to the handler that catches the error of an op, or the return where no handler does.

        condition: the C of a test; the jump is taken only where the test holds. "" always jumps.
        """
        row, handler = self.spell_row(op), try_around(op)
        head = f"if ({condition}) " if condition else ""
        if handler is None and not self.unwound:
            self.line(f"{head}return {self.invoke('sc_fail_at', row)};")
            return
        if condition:
            self.writer.open(f"{head}{{")
        for value in self.unwound:
            self.line(f"{self.invoke('sc_release', self.spell(value).text)};")
        self.unwound = ()
        if handler is None:
            self.line(f"return {self.invoke('sc_fail_at', row)};")
        else:
            self.line(f"{self.invoke('sc_fail_at', row)};")
            self.print_goto(handler, "except")
        if condition:
            self.writer.close()

    def spell_declaration(self, value: Value) -> str:
        """Return the type and the name of the variable of a value, as a declaration has them."""
        const = "const " if isinstance(value.type, PtrType) and not _is_stored(value) else ""
        return const + declare(value.type, self.variables[value])

    def declare(self, value: Value, initial: str = "") -> None:
        """Print the declaration of the variable of a value."""
        self.line(f"{self.spell_declaration(value)}{initial};")
        self.declared[self.variables.find(value)] = len(self.writer.lines)

    def address_of_result(self, value: Value) -> str:
        """Return a pointer to the variable of a result, and declare the variable first if needed."""
        self.declare_all([value])
        self.read[self.variables.find(value)] = None
        return f"&{self.variables[value]}"

    def declare_all(self, values: list[Value]) -> None:
        for value in values:
            if self.variables.find(value) not in self.declared:
                self.declare(value)

    def assign(self, value: Value, to: Expression) -> None:
        if self.variables.find(value) in self.declared:
            self.line(f"{self.variables[value]} = {to.bare};")
        else:
            self.declare(value, f" = {to.bare}")

    def print_expression(self, op: Op) -> None:
        self.assign(op.result, self.spell_expression(op))

    def assign_all(self, assignments: Mapping[Value, Value]) -> None:
        """Print a parallel assignment: a variable that others read is assigned after them, or copied first."""
        find = self.variables.find
        pending = {find(target): source for target, source in assignments.items() if find(target) is not find(source)}
        reads = {target: self.variables.read_by(source) for target, source in pending.items()}
        while pending:
            ready = next((t for t in pending if not any(t in reads[o] for o in pending if o is not t)), None)
            if ready is not None:
                self.line(f"{self.variables[ready]} = {self.spell(pending.pop(ready)).bare};")
                continue
            target = next(iter(pending))
            self.copies[target] = copy = self.local.unseen(f"old_{self.variables[target]}")
            const = "" if c_type(target.type).startswith("sc_") else "const "
            self.line(f"{const}{declare(target.type, copy)} = {self.variables[target]};")
            for read in reads.values():
                read.discard(target)
        self.copies.clear()

    def print_goto(self, op: Op, kind: str) -> None:
        labels = self.targets.setdefault(op, {})
        if kind not in labels:
            labels[kind] = self.local.unseen(f"{kind}_{op.attrs.get('label', 'try')}")
        self.line(f"goto {labels[kind]};")


def has_many_loops(func: Func) -> bool:
    """Return whether the loops over elements of a function are functions of their own."""
    return sum(is_element_loop(op) for op in func.body.walk()) > MAX_LOOPS


def _is_stored(pointer: Value) -> bool:
    """Return whether code stores through a pointer, or through one computed from it."""
    return any(
        user.name == "c.store" or any(isinstance(r.type, PtrType) and _is_stored(r) for r in user.results)
        for user in pointer.users()
    )
