"""One function of the loop IR as C text. Spelling only: what runs, in which order and on whose memory, the IR says."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence

from scriptc.backend_c import arguments
from scriptc.backend_c.cnames import CNames
from scriptc.backend_c.ctypes import declare, zero
from scriptc.backend_c.inline import as_operand, fill, unwrapped
from scriptc.backend_c.literals import c_array, c_string
from scriptc.backend_c.locations import LocTable
from scriptc.backend_c.program_names import ProgramNames, signature
from scriptc.backend_c.spelling import constant, template
from scriptc.backend_c.variables import Variables, is_droppable, loop_parts
from scriptc.backend_c.writer import INDENT, Writer, wrap
from scriptc.ir.core import Attr, Block, Func, Module, Op, Value
from scriptc.ir.dtypes import C_ENUM
from scriptc.ir.handlers import handlers
from scriptc.ir.regions import try_around
from scriptc.ir.types import STR, ElemType, PtrType, is_counted
from scriptc.runtime.kernels import KERNELS

PRINTERS, prints = handlers()
# A function with more loops over elements than this has each of them as a function of its own: what optimising a function
# takes grows faster than its size. In others the C compiler decides, and what a call costs is saved in loops over time.
MAX_LOOPS = 4


class FunctionPrinter:
    def __init__(self, module: Module, func: Func, names: ProgramNames, locs: LocTable, *, debug: bool):
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
        self.declared: dict[Value, int] = {}  # variables, with the number of lines up to their declaration
        self.read: dict[Value, None] = {}  # variables whose value some line reads
        self.copies: dict[Value, str] = {}  # of variables that have a new value already, while several are assigned
        self.unwound: Sequence[Value] = ()  # what is released where the next op fails
        self.targets: dict[Op, dict[str, str]] = {}  # labels that a goto needs, by the op they belong to
        self.splits = sum(_is_element_loop(op) for op in func.body.walk()) > MAX_LOOPS
        self.strips: set[Op] = set()  # loops that are two in C
        self.loops: list[str] = []  # the functions that loops became

    def text(self, heading: str = "") -> str:
        """The function, behind those that loops of it became."""
        func = self.func
        parameters = [declare(a.type, self.variables[a]) for a in func.body.args]
        self.block(func.body)
        self.excuse_unread()
        words = _words(self.writer.lines)
        head = [f"{INDENT}(void){name};" for name in self.unused_parameters(words)]
        if "it" in words:  # a loop that became a function has its own
            head.append(f"{INDENT}sc_iter iter, *const it = &iter;")
        lines = [*wrap(signature(func, self.program, parameters) + " {"), *head, *self.writer.lines, "}"]
        return "\n".join([*self.loops, *([heading] if heading else []), *lines]) + "\n"

    def unused_parameters(self, words: set[str]) -> list[str]:
        fixed = [name for name in ("cx", *(["w"] if self.program.weights else [])) if name not in words]
        results = [name for name in map("result{}".format, range(len(self.func.results))) if name not in words]
        return [*fixed, *(self.variables[a] for a in self.func.body.args if a not in self.read), *results]

    def excuse_unread(self) -> None:
        """Puts `(void)x;` behind the declarations of variables that are only assigned."""
        lines = self.writer.lines
        for variable, at in sorted(self.declared.items(), key=lambda item: -item[1]):
            if variable not in self.read:
                indent = lines[at - 1][: len(lines[at - 1]) - len(lines[at - 1].lstrip())]
                lines.insert(at, f"{indent}(void){self.variables[variable]};")

    # ---- values ----

    def value(self, value: Value) -> str:
        """The text of a value: its variable, or the expression that is written in its place."""
        op = value.op
        if op is None or op not in self.variables.inline:
            variable = self.variables.find(value)
            self.read[variable] = None
            is_view = op is not None and op.name == "c.view"
            return f"&{self.variables[value]}" if is_view else self.copies.get(variable, self.variables[value])
        match op.name:
            case "const" | "undef":
                return self.constant(op)
            case "c.weight":
                return f"w->{self.program.members[op.attrs['name']]}"
            case "c.load":
                return self.loaded(op)
        return self.filled(op)

    def constant(self, op: Op) -> str:
        if op.name == "undef":
            return zero(op.result.type)
        return f"(sc_str *)&{self.program.text(op.attrs['value'])}" if op.result.type == STR else constant(op)

    def filled(self, op: Op) -> str:
        """The C of an expression, or of the arguments of a call."""
        text = template(op)
        if "{loc}" in text:
            text = text.replace("{loc}", str(self.locs.row(op.loc)))
        return fill(text, lambda i: self.value(op.operands[i]))

    def entries(self, op: Op, entries: Sequence[Attr]) -> list[str]:
        """The C of some arguments of an op."""
        return [fill(arguments.template(entry), lambda i: self.value(op.operands[i])) for entry in entries]

    def loaded(self, op: Op) -> str:
        return f"({self.element(op)} != 0)" if op.result.type == ElemType("bool") else self.element(op)

    def element(self, op: Op) -> str:
        pointer, index = map(self.value, op.operands[:2])
        return f"{pointer}[{unwrapped(index)}]"

    # ---- statements ----

    def block(self, block: Block, done: int = 0) -> None:
        """Prints the ops of a block behind the first `done` ones."""
        for op in block.ops[done:]:
            if op not in self.variables.inline and not is_droppable(op):
                self.statement(op)

    def statement(self, op: Op) -> None:
        if op.name != "yield" or op.operands:
            self.writer.source(op.loc)
        PRINTERS.get(op.name, FunctionPrinter.expression)(self, op)  # an expression is printed from its template

    def fail(self, op: Op, condition: str = "") -> None:
        """Leaves for whoever catches the error of an op, if there is a condition only where that holds."""
        row, handler = self.locs.row(op.loc), try_around(op)
        head = f"if ({condition}) " if condition else ""
        if handler is None and not self.unwound:
            self.line(f"{head}return sc_fail_at(cx, {row});")
            return
        if condition:
            self.writer.open(f"{head}{{")
        for value in self.unwound:
            self.line(f"sc_release(cx, {self.value(value)});")
        self.unwound = ()
        if handler is None:
            self.line(f"return sc_fail_at(cx, {row});")
        else:
            self.line(f"sc_fail_at(cx, {row});")
            self.goto(handler, "except")
        if condition:
            self.writer.close()

    @prints("c.unwind")
    def do_c_unwind(self, op: Op) -> None:
        self.unwound = op.operands

    def typed(self, value: Value) -> str:
        """The variable of a value with its type, as a declaration has them."""
        const = "const " if isinstance(value.type, PtrType) and not _is_stored(value) else ""
        return const + declare(value.type, self.variables[value])

    def declare(self, value: Value, initial: str = "") -> None:
        """The line that declares the variable of a value."""
        self.line(f"{self.typed(value)}{initial};")
        self.declared[self.variables.find(value)] = len(self.writer.lines)

    def out(self, value: Value) -> str:
        """A pointer through which a call sets the variable of a value, declared in front if need be."""
        self.declare_all([value])
        self.read[self.variables.find(value)] = None
        return f"&{self.variables[value]}"

    def declare_all(self, values: list[Value]) -> None:
        for value in values:
            if self.variables.find(value) not in self.declared:
                self.declare(value)

    def set(self, value: Value, text: str) -> None:
        if self.variables.find(value) in self.declared:
            self.line(f"{self.variables[value]} = {unwrapped(text)};")
        else:
            self.declare(value, f" = {unwrapped(text)}")

    @prints("const", "undef")
    def do_const(self, op: Op) -> None:
        self.set(op.result, self.constant(op))

    def expression(self, op: Op) -> None:
        self.set(op.result, self.filled(op))

    @prints("c.load")
    def do_c_load(self, op: Op) -> None:
        self.set(op.result, self.loaded(op))

    @prints("c.store")
    def do_c_store(self, op: Op) -> None:
        self.line(f"{self.element(op)} = {unwrapped(self.value(op.operands[2]))};")

    @prints("c.retain")
    def do_c_retain(self, op: Op) -> None:
        self.line(f"sc_retain({self.value(op.operands[0])});")

    @prints("c.release")
    def do_c_release(self, op: Op) -> None:
        self.line(f"sc_release(cx, {self.value(op.operands[0])});")

    @prints("c.cell")
    def do_c_cell(self, op: Op) -> None:
        self.declare(op.result, f" = {unwrapped(self.value(op.operands[0]))}")
        if is_counted(op.result.type):
            self.line(f"sc_retain({self.value(op.result)});")

    @prints("c.get")
    def do_c_get(self, op: Op) -> None:
        self.set(op.result, self.value(op.operands[0]))

    @prints("c.set")
    def do_c_set(self, op: Op) -> None:
        cell, value = self.variables[op.operands[0]], unwrapped(self.value(op.operands[1]))
        if is_counted(op.operands[0].type):
            self.line(f"sc_retain({value});")
            self.line(f"sc_release(cx, {cell});")
        self.line(f"{cell} = {value};")

    @prints("c.view")
    def do_c_view(self, op: Op) -> None:
        name = self.variables[op.result]
        self.line(f"sc_tensor {name};")
        self.line(f"{op.attrs['kernel']}(&{name}, {self.filled(op)});")

    @prints("c.call")
    def do_c_call(self, op: Op) -> None:
        args, fn = self.filled(op), op.attrs["kernel"]
        match KERNELS[fn].fails:
            case "never" if not op.results:
                self.line(f"{fn}({args});")
            case "never":
                self.set(op.result, f"{fn}({args})")
            case "null":
                self.set(op.result, f"{fn}({args})")
                self.fail(op, f"!{self.value(op.result)}")
            case "status":
                for result in op.results:
                    args += f", {self.out(result)}"
                self.fail(op, f"{fn}({args}) < 0")

    @prints("call")
    def do_call(self, op: Op) -> None:
        args = ["cx", *(["w"] if self.program.weights else []), *map(self.value, op.operands)]
        args += map(self.out, op.results)
        self.fail(op, f"{self.program.functions[op.attrs['func']]}({', '.join(args)}) < 0")

    @prints("raise")
    def do_raise(self, op: Op) -> None:
        message = c_string(op.attrs["message"])
        if op.operands:
            values = ", ".join(map(self.value, op.operands))
            self.line(f"sc_raise_text(cx, {c_string(op.attrs['type'])}, {message}, {values});")
        else:
            self.line(f'sc_raise(cx, {c_string(op.attrs["type"])}, "%s", {message});')
        self.fail(op)

    @prints("c.stop")
    def do_c_stop(self, op: Op) -> None:
        self.fail(op, "sc_check_stop(cx) < 0")

    @prints("reraise")
    def do_reraise(self, op: Op) -> None:
        self.line(f"sc_reraise(cx, {self.value(op.operands[0])});")
        self.fail(op)

    @prints("unreachable")
    def do_unreachable(self, op: Op) -> None:
        self.line("__builtin_unreachable();")

    @prints("c.rows")
    def do_c_rows(self, op: Op) -> None:
        inputs = ", ".join(self.entries(op, op.attrs["args"]))
        dtypes = ", ".join(C_ENUM[d] for d in op.attrs["dtypes"])
        names = [self.variables[r] for r in op.results]
        if len(names) == 1:
            out = self.out(op.result)
        else:
            out = self.local.unseen("out")
            self.line(f"sc_tensor *{out}[{len(names)}];")
        begin, last = ("sc_iter_over", f", {op.attrs['last']:#x}") if op.attrs["last"] else ("sc_iter_begin", "")
        self.fail(
            op,
            f"{begin}(cx, it, {len(names)}, (const int[]){{{dtypes}}}, {out}, {len(op.attrs['args'])}, "
            f"(sc_tensor *[]){{{inputs}}}{last}) < 0",
        )
        for i, result in enumerate(op.results):
            if len(names) > 1:
                self.set(result, f"{out}[{i}]")
        self.loop_over(op, FunctionPrinter.rows)

    def rows(self, op: Op) -> None:
        self.writer.open("do {")
        self.block(op.regions[0])
        self.writer.close("} while (sc_iter_next(it));")

    @prints("c.new")
    def do_c_new(self, op: Op) -> None:
        sizes = self.entries(op, op.attrs["sizes"])
        like = f"{C_ENUM[op.attrs['dtype']]}, {len(sizes)}, {fill(c_array(sizes), str)}"
        if op.attrs["take"] < 0:
            self.set(op.result, f"sc_empty(cx, {like})")
        else:
            self.set(op.result, f"sc_take(cx, {self.value(op.operands[op.attrs['take']])}, {like})")
        self.fail(op, f"!{self.value(op.result)}")

    @prints("c.for")
    def do_c_for(self, op: Op) -> None:
        if _is_element_loop(op):
            self.loop_over(op, FunctionPrinter.elements)
        else:
            self.elements(op)

    def elements(self, op: Op) -> None:
        k = self.variables[op.regions[0].args[0]]
        if not any(inner.name == "c.for" for inner in op.regions[0].ops):
            self.line("SC_VECTORIZE")
        self.writer.open(f"for (int64_t {k} = 0; {k} < {self.value(op.operands[0])}; {k}++) {{")
        self.block(op.regions[0])
        self.writer.close()

    def loop_over(self, op: Op, body: Callable[[FunctionPrinter, Op], None]) -> None:
        """A loop over elements, in place or as a function of its own, which gets the variables that it reads."""
        if not self.splits:
            body(self, op)
            return
        inner = copy.copy(self)
        inner.writer = Writer(debug=self.writer.debug, path=self.locs.path)
        inner.declared, inner.read = {}, {}
        inner.line = inner.writer.line
        inner.writer.source(op.loc)
        body(inner, op)
        inner.excuse_unread()
        given = [v for v in inner.read if not any(region.encloses(v.block) for region in op.regions)]
        if any(v.op is not None and v.op.name == "c.view" for v in given):  # a variable of this block, not an object
            body(self, op)
            return
        self.read.update(dict.fromkeys(given))
        words = _words(inner.writer.lines)
        fixed = {"cx": "sc_ctx *cx", "w": f"const {self.program.weights} *w", "it": "sc_iter *it"}
        parameters = {name: text for name, text in fixed.items() if name in words}
        parameters |= {self.variables[v]: self.typed(v) for v in given}
        made = next((v for v in (*op.results, *op.operands) if v.op is op or (v.op and v.op.name == "c.new")), None)
        name = self.program.fresh(f"{self.program.functions[self.func.name]}_{self.variables[made] if made else 'loop'}")
        head = wrap(f"static SC_NOINLINE void {name}({', '.join(parameters.values())}) {{")
        self.loops += [*head, *inner.writer.lines, "}", ""]
        self.line(f"{name}({', '.join(parameters)});")

    # ---- structure ----

    @prints("if")
    def do_if(self, op: Op) -> None:
        self.declare_all(op.results)
        condition = unwrapped(self.value(op.operands[0]))
        then, orelse = op.regions
        if _is_empty(then) and not _is_empty(orelse):
            condition, then, orelse = f"!{as_operand(condition)}", orelse, then
        self.writer.open(f"if ({condition}) {{")
        self.block(then)
        while (nested := self.elif_of(orelse)) is not None:
            self.writer.close(f"}} else if ({unwrapped(self.value(nested.operands[0]))}) {{")
            self.writer.depth += 1
            self.block(nested.regions[0])
            orelse = nested.regions[1]
        if not _is_empty(orelse):
            self.writer.close("} else {")
            self.writer.depth += 1
            self.block(orelse)
        self.writer.close()

    def elif_of(self, block: Block) -> Op | None:
        """The `if` that a block consists of, when its results already are the variables that the block yields to."""
        ops = [op for op in block.ops if op not in self.variables.inline]
        if len(ops) != 2 or ops[0].name != "if" or ops[1].name != "yield" or _is_empty(ops[0].regions[0]):
            return None
        shared = all(self.variables.find(r) in self.declared for r in ops[0].results)
        return ops[0] if shared and list(ops[1].operands) == ops[0].results else None

    @prints("scope")
    def do_scope(self, op: Op) -> None:
        self.declare_all(op.results)
        self.writer.open("{")
        self.block(op.regions[0])
        self.writer.close()
        self.end_label(op)

    @prints("try")
    def do_try(self, op: Op) -> None:
        self.declare_all(op.results)
        body, handler = op.regions
        self.writer.open("{")
        self.block(body)
        caught = self.targets.get(op, {}).get("except")
        if caught and body.ops[-1].name == "yield":
            self.goto(op, "end")
        self.writer.close()
        if caught:  # else nothing in the body fails
            self.writer.label(caught)
            self.writer.open("{")
            self.block(handler)
            self.writer.close()
        self.end_label(op)

    @prints("loop")
    def do_loop(self, op: Op) -> None:
        n, init, carried = loop_parts(op)
        for arg, first in zip(carried, init, strict=True):
            if self.variables.find(arg) is not self.variables.find(first):
                self.set(arg, self.value(first))
        self.declare_all(op.results)
        leading = _leading_stop(op)
        if leading:
            self.strips.add(op)
        self.loop_head(op, n, leading)
        self.block(op.regions[0], len(leading))
        if "next" in self.targets.get(op, {}):
            self.writer.label(self.targets[op]["next"])
        self.writer.close()
        if leading:
            self.writer.close()
        if n:
            self.move(dict(zip(op.results, carried, strict=False)))
        self.end_label(op)

    def loop_head(self, op: Op, bounds: int, leading: Sequence[Op]) -> None:
        """The head of a loop. Where ops at the start of its body need to run only now and then, it becomes one over strips
        of iterations, with these ops, around one over the iterations of a strip."""

        def strips(head: str, end: str, inner: str) -> None:
            self.writer.open(head)
            for first in leading:
                self.statement(first)
            if end:
                self.line(f"const {end};")
            self.writer.open(inner)

        if not bounds:
            left = self.local.unseen("left") if leading else ""
            if leading:
                strips("for (;;) {", "", f"for (int {left} = SC_STRIP; {left} > 0; {left}--) {{")
            else:
                self.writer.open("for (;;) {")
            return
        start, stop, step = map(self.value, op.operands[:3])
        start, stop = unwrapped(start), as_operand(stop)
        i = self.variables[op.regions[0].args[0]]
        if step in ("1", "-1"):
            sign, change = ("<", "++") if step == "1" else (">", "--")
            if not leading:
                self.writer.open(f"for (int64_t {i} = {start}; {i} {sign} {stop}; {i}{change}) {{")
                return
            end, strip = self.local.unseen("end"), f"sc_strip_{'up' if step == '1' else 'down'}({i}, {unwrapped(stop)})"
            head = f"for (int64_t {i} = {start}; {i} {sign} {stop};) {{"
            strips(head, f"int64_t {end} = {strip}", f"for (; {i} {sign} {end}; {i}{change}) {{")
            return
        k, n = self.local.unseen("k"), self.local.unseen("n")
        length = f"sc_range_len({start}, {stop}, {step})"
        if leading:
            end = self.local.unseen("end")
            strip = f"{n} - {k} > SC_STRIP ? {k} + SC_STRIP : {n}"
            head = f"for (uint64_t {k} = 0, {n} = {length}; {k} < {n};) {{"
            strips(head, f"uint64_t {end} = {strip}", f"for (; {k} < {end}; {k}++) {{")
        else:
            self.writer.open(f"for (uint64_t {k} = 0, {n} = {length}; {k} < {n}; {k}++) {{")
        self.declare(op.regions[0].args[0], f" = sc_range_at({start}, {step}, {k})")

    def end_label(self, op: Op) -> None:
        if "end" in self.targets.get(op, {}):
            self.writer.label(self.targets[op]["end"])

    def move(self, assignments: Mapping[Value, Value]) -> None:
        """Assigns all at once: a variable that another source still reads is assigned after it, or kept in a copy."""
        find = self.variables.find
        pending = {find(target): source for target, source in assignments.items() if find(target) is not find(source)}
        reads = {target: self.variables.read_by(source) for target, source in pending.items()}
        while pending:
            ready = next((t for t in pending if not any(t in reads[o] for o in pending if o is not t)), None)
            if ready is not None:
                self.line(f"{self.variables[ready]} = {unwrapped(self.value(pending.pop(ready)))};")
                continue
            target = next(iter(pending))
            self.copies[target] = copy = self.local.unseen(f"old_{self.variables[target]}")
            self.line(f"const {declare(target.type, copy)} = {self.variables[target]};".replace("const sc_", "sc_", 1))
            for read in reads.values():
                read.discard(target)
        self.copies.clear()

    @prints("yield")
    def do_yield(self, op: Op) -> None:
        assert op.parent is not None and op.parent.parent is not None
        holder = op.parent.parent
        targets = loop_parts(holder)[2] if holder.name == "loop" else holder.results
        if op.operands:
            self.move(dict(zip(targets, op.operands, strict=True)))

    def target(self, op: Op) -> tuple[Op, bool]:
        """What a break or continue goes to, and whether that is the innermost C loop."""
        inner = op.enclosing(lambda o: o.name == "loop")
        found = op.enclosing(lambda o: o.attrs.get("label") == op.attrs["to"])
        assert found is not None
        return found, found is inner

    def goto(self, op: Op, kind: str) -> None:
        labels = self.targets.setdefault(op, {})
        if kind not in labels:
            labels[kind] = self.local.unseen(f"{kind}_{op.attrs.get('label', 'try')}")
        self.line(f"goto {labels[kind]};")

    @prints("break")
    def do_break(self, op: Op) -> None:
        target, is_inner = self.target(op)
        self.move(dict(zip(target.results, op.operands, strict=True)))
        if is_inner and target not in self.strips and not self.copies_at_end(target):
            self.line("break;")
        else:
            self.goto(target, "end")

    def copies_at_end(self, loop: Op) -> bool:
        """Whether a counted loop that ends by itself assigns results, which a break must jump over."""
        carried = zip(loop.results, loop_parts(loop)[2], strict=False)
        return bool(loop.attrs["counted"]) and any(self.variables[r] != self.variables[a] for r, a in carried)

    @prints("continue")
    def do_continue(self, op: Op) -> None:
        target, is_inner = self.target(op)
        self.move(dict(zip(loop_parts(target)[2], op.operands, strict=True)))
        if is_inner:
            self.line("continue;")
        else:
            self.goto(target, "next")

    @prints("return")
    def do_return(self, op: Op) -> None:
        for i, value in enumerate(op.operands):
            self.line(f"*result{i} = {unwrapped(self.value(value))};")
        self.line("return 0;")


def _leading_stop(loop: Op) -> list[Op]:
    """The ops at the start of a loop's body that look whether the call is to end, where they may do so now and then."""
    ops = loop.regions[0].ops
    at = 1 if ops[0].name == "c.unwind" else 0
    return list(ops[: at + 1]) if ops[at].name == "c.stop" and ops[at].attrs["sparse"] else []


def _is_element_loop(op: Op) -> bool:
    """Whether an op is a loop over elements, not part of one."""
    return op.name == "c.rows" or (op.name == "c.for" and op.enclosing(lambda o: o.name in ("c.rows", "c.for")) is None)


def _words(lines: Sequence[str]) -> set[str]:
    """The words of C text, those of comments and strings aside."""
    return set(re.findall(r"\w+", re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', "", "\n".join(lines))))


def _is_empty(block: Block) -> bool:
    return len(block.ops) == 1 and block.ops[0].name == "yield" and not block.ops[0].operands


def _is_stored(pointer: Value) -> bool:
    """Whether anything is written through a pointer, or through one that is reckoned from it."""
    return any(
        user.name == "c.store" or any(isinstance(r.type, PtrType) and _is_stored(r) for r in user.results)
        for user in pointer.users()
    )
