"""Print the functions of a module as Python statements. Loops, branches and early exits stay what they are."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scriptc.inspect.python_code.expressions import ATOM, NOT, Expressions, Text, function_name, literal, python_type
from scriptc.inspect.python_code.signature import Signature
from scriptc.inspect.python_code.variables import Variables, inlined_values, jump_target
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.handlers import handlers

_SILENT = ("check", "check.leaf", "check.detached", "extern.written", "const", "undef")
_NO_FORM = {
    "autograd.grad": "gradients inside of compiled code",
    "checkpoint.begin": "torch.utils.checkpoint",
}
PRINTERS, prints = handlers()


class NoPythonForm(ValueError):
    """Say that a program uses what `code` does not print."""


class FunctionPrinter:
    """Print one function.

    signature: the parameters and results of an entry, None for a function that an entry calls.
    """

    def __init__(self, func: Func, signature: Signature, *, is_entry: bool):
        self.func = func
        self.signature = signature
        self.is_entry = is_entry
        inlined = inlined_values(func, ("param",))
        self.paths = list(signature.leaves()) if is_entry else []  # where the parameters of an entry come from
        taken = set(signature.args.values())
        given = {arg: path for arg, path in zip(func.body.args, self.paths, strict=False) if path in taken}
        self.variables = Variables(func, inlined, signature.names.used, given)
        self.expressions = Expressions(self.text_of, signature.outside)
        self.lines: list[str] = []
        self.indent = ""
        self.loops: list[str] = []  # labels of the Python loops around the current line, the innermost last
        self.passing: dict[str, dict[str, None]] = {}  # jumps that leave a loop for one further out, by the label of the loop
        self.no_grad = False

    def text_of(self, value: Value) -> Text:
        if value not in self.variables.inlined:
            return Text(self.variables.name(value))
        assert value.op is not None
        if value.op.name == "param":
            return Text(self.signature.read_tensor(value.op.attrs["name"]))
        return self.expressions.of(value.op)

    def text(self) -> str:
        func = self.func
        names = [self.variables.name(arg) for arg in func.body.args]
        if self.is_entry:
            head = self.signature.head()
        else:
            annotated = (f"{n}: {python_type(a.type)}" for n, a in zip(names, func.body.args, strict=True))
            head = f"def {function_name(func.name)}({', '.join(annotated)}):"
        with self.indented():
            if self.is_entry:
                for name, path in zip(names, self.paths, strict=True):
                    self.assign(name, path)
                for name, text in self.signature.first.items():
                    self.line(f"{name} = {text}")
            self.block(func.body, [])
        if any(jump for jumps in self.passing.values() for jump in jumps):
            self.lines.insert(0, '    leave = ""')
        return "\n".join([head, *self.lines])

    # ---- lines ----

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def assign(self, name: str, text: str) -> None:
        if name != text:
            self.line(f"{name} = {text}")

    @contextmanager
    def indented(self) -> Iterator[None]:
        before, count = self.indent, len(self.lines)
        self.indent += "    "
        yield
        if len(self.lines) == count:
            self.line("pass")
        self.indent = before

    def copies(self, destinations: Sequence[Value], sources: Sequence[Value]) -> None:
        """Assign values at once."""
        pairs = self.variables.copied(destinations, sources)
        lefts = [self.variables.name(d) for d, _ in pairs]
        rights = [self.text_of(s).text for _, s in pairs]
        read = [{self.variables.name(v) for v in self.variables.used([s])} for _, s in pairs]
        if any(left in later for i, left in enumerate(lefts) for later in read[i + 1 :]):
            self.line(f"{', '.join(lefts)} = {', '.join(rights)}")
        else:
            for left, right in zip(lefts, rights, strict=True):
                self.assign(left, right)

    # ---- blocks ----

    def block(self, block: Block, results: Sequence[Value], skipped: Op | None = None) -> None:
        """Print the ops of a block but for one. results: what its `yield` assigns."""
        for op in block.ops:
            if op is skipped:
                continue
            if op.name in _NO_FORM:
                raise NoPythonForm(f"{op.loc.file}:{op.loc.line}: {_NO_FORM[op.name]} cannot be printed as Python")
            if op.name in _SILENT or (len(op.results) == 1 and op.result in self.variables.inlined):
                continue
            if op.name == "yield":
                self.copies(results, op.operands)
                continue
            printer = PRINTERS.get(op.name)
            if op.no_grad and not self.no_grad and not op.has("TERMINATOR"):
                self.line("with torch.no_grad():")
                self.no_grad = True
                with self.indented():
                    self.one(op, printer)
                self.no_grad = False
            else:
                self.one(op, printer)

    def one(self, op: Op, printer: Any) -> None:
        if printer is not None:
            printer(self, op)
            return
        text = self.expressions.of(op).text
        if op.results:
            names = ", ".join(self.variables.name(r) for r in op.results)
            self.line(f"{names}{',' * (len(op.results) == 1 and op.name == 'call')} = {text}")
        else:
            self.line(text)

    @prints("if")
    def if_(self, op: Op) -> None:
        condition, (then, other) = self._condition(op.operands[0]), op.regions
        count = len(self.lines)
        self.line(f"if {condition}:")
        with self.indented():
            self.block(then, op.results)
        is_empty = self.lines[count + 1].strip() == "pass"
        kept = len(self.lines)
        self.line("else:")
        with self.indented():
            self.block(other, op.results)
        if self.lines[kept + 1].strip() == "pass" and len(self.lines) == kept + 2:
            del self.lines[kept:]
            if is_empty:
                del self.lines[count:]
        elif is_empty and kept == count + 2:
            del self.lines[count + 1 : kept + 1]
            self.lines[count] = f"{self.indent}if not {condition.within(NOT)}:"

    def _condition(self, value: Value) -> Text:
        """Return the text of a condition, in which Python calls `bool` itself."""
        is_bool = value in self.variables.inlined and value.op is not None and value.op.name == "item.bool"
        return self.text_of(value.op.operands[0] if is_bool and value.op is not None else value)

    @prints("loop")
    def loop(self, op: Op) -> None:
        body, counted = op.regions[0], op.attrs["counted"]
        args = body.args[1:] if counted else body.args
        self.copies(args, op.operands[3:] if counted else op.operands)
        if self._is_while(op):
            return
        if counted:
            start, stop, step = (self.text_of(v).text for v in op.operands[:3])
            bounds = [stop] if (start, step) == ("0", "1") else [start, stop] if step == "1" else [start, stop, step]
            head = f"for {self.variables.name(body.args[0])} in range({', '.join(bounds)}):"
        else:
            head = "while True:"
        self._python_loop(op, head, args)

    def _is_while(self, op: Op) -> bool:
        """Print a loop as `while condition:` if its body begins with a test that only leaves it."""
        body = op.regions[0]
        shown = [o for o in body.ops if not (len(o.results) == 1 and o.result in self.variables.inlined)]
        if op.attrs["counted"] or not shown or shown[0].name != "if" or shown[0].results:
            return False
        test = shown[0]
        for negated, (stays, leaves) in ((False, test.regions), (True, reversed(test.regions))):
            if len(stays.ops) == 1 and stays.ops[0].name == "yield" and leaves.ops[-1].name == "break":
                left = leaves.ops[-1]
                is_plain = len(leaves.ops) == 1 and left.attrs["to"] == op.attrs["label"]
                if is_plain and not self.variables.copied(op.results, left.operands):
                    condition = self._condition(test.operands[0])
                    head = f"while not {condition.within(NOT)}:" if negated else f"while {condition}:"
                    self._python_loop(op, head, body.args, skipped=test)
                    return True
        return False

    def _python_loop(self, op: Op, head: str, yielded: Sequence[Value], last: str = "", skipped: Op | None = None) -> None:
        label = op.attrs["label"]
        self.line(head)
        self.loops.append(label)
        with self.indented():
            self.block(op.regions[0], yielded, skipped)
            if last and not self._has_left():
                self.line(last)
        self.loops.pop()
        for jump in self.passing.get(label, ()):
            kind, to = jump.split()
            self.line(f"if leave == {jump!r}:")
            with self.indented():
                if self.loops[-1] == to:
                    self.line('leave = ""')
                self._jump(kind, to)

    def _has_left(self) -> bool:
        return self.lines[-1].startswith(f"{self.indent}break") or self.lines[-1].startswith(f"{self.indent}return")

    @prints("scope", "checkpoint")
    def scope(self, op: Op) -> None:
        if op.name == "checkpoint":
            raise NoPythonForm("torch.utils.checkpoint cannot be printed as Python")
        self._python_loop(op, "while True:  # runs once", op.results, "break")

    @prints("break", "continue")
    def leave(self, op: Op) -> None:
        to = jump_target(op)
        counted = int(to.attrs.get("counted", False))
        destinations = to.results if op.name == "break" else to.regions[0].args[counted:]
        self.copies(destinations, op.operands)
        jump = f"{op.name} {op.attrs['to']}"
        if self.loops[-1] != op.attrs["to"]:
            self.line(f"leave = {jump!r}")
        self._jump(op.name, op.attrs["to"])

    def _jump(self, kind: str, to: str) -> None:
        if self.loops[-1] == to:
            self.line(kind)
        else:
            self.passing.setdefault(self.loops[-1], {})[f"{kind} {to}"] = None
            self.line("break")

    @prints("return")
    def return_(self, op: Op) -> None:
        values = [self.text_of(v).text for v in op.operands]
        if self.is_entry:
            self.line(f"return {self.signature.result(values)}")
        else:
            self.line(f"return {self.expressions.tuple_of(op.operands)}" if values else "return")

    @prints("try")
    def try_(self, op: Op) -> None:
        body, handler = op.regions
        self.line("try:")
        with self.indented():
            self.block(body, op.results)
        caught = f" as {self.variables.name(handler.args[0])}_" if handler.args else ""
        self.line(f"except Exception{caught}:")
        with self.indented():
            if handler.args:
                name = self.variables.name(handler.args[0])
                self.line(f"{name} = {name}_")  # Python deletes the name of an `except` at its end
            self.block(handler, op.results)

    @prints("raise")
    def raise_(self, op: Op) -> None:
        name, message = op.attrs["type"], op.attrs["message"]
        values = [self.text_of(v).text for v in op.operands]
        found = getattr(builtins, name, None)
        cls = self.signature.outside(name, None)
        if isinstance(found, type) and not issubclass(found, KeyError) and self.signature.is_builtin(name):
            text = f"text({', '.join([literal(message), *values])})" if values else literal(message) if message else ""
            self.line(f"raise {cls}({text})")
        else:
            self.line(f"raise exception({', '.join([cls, literal(message), *values])})")

    @prints("reraise")
    def reraise(self, op: Op) -> None:
        self.line(f"raise {self.text_of(op.operands[0])}")

    @prints("unreachable")
    def unreachable(self, op: Op) -> None:
        self.line("raise AssertionError('unreachable code was reached')")

    @prints("print")
    def print_(self, op: Op) -> None:
        values = [literal(op.attrs["format"]), *(self.text_of(v).text for v in op.operands)]
        self.line(f'print(text({", ".join(values)}), end="")')

    @prints("warn")
    def warn(self, op: Op) -> None:
        values = [literal(op.attrs["message"]), *(self.text_of(v).text for v in op.operands)]
        cls = self.signature.outside(op.attrs["category"], None)
        self.line(f"warnings.warn(text({', '.join(values)}), {cls})")

    @prints("state.set")
    def state_set(self, op: Op) -> None:
        values = [self.text_of(v).within(ATOM) for v in op.operands]
        self.line(self.signature.assignment(op.attrs["target"], op.attrs["form"], values))
