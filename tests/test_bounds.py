"""What `ir.bounds` proves holds: random programs of counters, conditions and lists, run by the interpreter, which stops where
an index that needs no test lies outside, or where a sum that needs none leaves 64 bits."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
from settings import sweep
from statements import module_of

from scriptc.frontend.entry import read
from scriptc.ir.bounds import Bounds
from scriptc.ir.core import Module
from scriptc.ir.interp import Interpreter
from scriptc.ir.passes.manager import run_pipeline

PROGRAMS = 40  # in each part
CALLS = [(0, 1, -1, [], [3]), (5, 2, 3, [1, 2, 3, 4, 5], [0, 1, 2]), (7, -3, 2**62, [2, 0, 1], [5, 4, 3, 2, 1, 0, 7]),
         (2**63 - 1, -(2**63), 4, [1, 1, 2, 3], [2**62, 0, 1, 2**61])]  # fmt: skip


class Writer:
    """Writes one program, of a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.shrinks = self.random.random() < 0.1
        self.lines = ["def program(n, m, k, xs, ys):", "    i = j = total = fuel = 0", "    zs = [0] * 4"]
        self.block(1, 3)
        self.lines.append("    return i, j, total, xs, ys, zs")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.pick("i", "j", "n", "m", "k", "total")

    def sequence(self) -> str:
        return self.pick("xs", "ys", "zs", "zs")

    def index(self) -> str:
        v, xs = self.pick("i", "j"), self.sequence()
        return self.pick(
            v, v, v, v, v, v, v, f"{v} + 1", f"{v} - 1", f"{v} % len({xs})", f"({v} + {self.pick('i', 'j')}) // 2", "0",
            f"min({v}, {self.name()})", f"max({v}, 0)", f"{v} * {self.pick('i', '2')}", f"len({xs}) - 1 - {v}", f"{v} & 3",
        )  # fmt: skip

    def expression(self) -> str:
        return self.pick(
            self.name(), str(self.random.randrange(-2, 4)), self.index(), f"len({self.sequence()})",
            f"{self.name()} + {self.name()}", f"{self.name()} * {self.name()}", f"{self.sequence()}[{self.index()}]",
            f"abs({self.name()}) % 5", f"{self.name()} - {self.name()}",
        )  # fmt: skip

    def condition(self) -> str:
        v, sign = self.pick("i", "j"), self.pick("<", "<=", ">", ">=", "!=", "==", "<", "<")
        limit = self.pick(f"len({self.sequence()})", f"len({self.sequence()}) - 1", self.name(), "0", "4", "n")
        one = f"{self.pick(v, v, f'{v} + 1', f'{v} * {v}')} {sign} {limit}"
        return self.pick(one, one, f"{one} and {v} >= 0", f"0 <= {v} < {limit}", f"not {one}", f"{v} < 0 or {one}")

    def block(self, depth: int, size: int) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth)

    def loop(self, depth: int, condition: str) -> None:
        self.line(depth, f"while {condition}:")
        self.line(depth + 1, "fuel += 1")
        self.line(depth + 1, "if fuel > 40:")
        self.line(depth + 2, "break")

    def statement(self, depth: int) -> None:
        kind = self.random.randrange(9 if depth > 3 else 17) if depth > 1 else self.random.randrange(6, 17)
        match kind:
            case 0:
                self.line(depth, f"total += {self.sequence()}[{self.index()}]")
            case 1 | 2:
                self.line(depth, f"{self.sequence()}[{self.index()}] = {self.expression()}")
            case 3:
                self.line(depth, f"{self.pick('i', 'j')} {self.pick('+=', '-=', '+=')} {self.pick('1', '1', '2', 'i', 'm')}")
            case 4:
                self.line(depth, f"{self.pick('i', 'j')} = {self.pick('0', '1', self.index())}")
            case 5:
                self.line(depth, f"total = {self.expression()}")
            case 6:
                self.line(depth, f"zs = [{self.name()}] * {self.pick('4', 'len(xs)', 'min(n, 9)')}")
            case 7:
                xs = self.sequence()
                self.line(depth, f"if len({xs}) < 20:")
                self.line(depth + 1, f"{xs}.{'pop()' if self.shrinks else 'append(total)'}")
            case 8:
                self.line(depth, "zs = []")
                self.line(depth, f"for q in range({self.pick('5', 'len(xs)', 'min(n, 9)')}):")
                self.line(depth + 1, f"zs.append({self.pick('q', 'total', 'i')})")
            case 9 | 10:
                self.loop(depth, self.condition())
                self.block(depth + 1, 4)
                self.line(depth + 1, f"{self.pick('i', 'j')} {self.pick('+=', '+=', '-=')} 1")
            case 11 | 12:
                bounds = self.pick("min(n, 9)", "len(xs)", "len(zs)", "1, len(ys)", "len(zs) - 1, -1, -1", "i, 5", "0, 9, 3")
                self.line(depth, f"for {self.pick('i', 'j')} in range({bounds}):")
                self.block(depth + 1, 4)
            case 13 | 14:
                v, xs = self.pick("i", "j"), self.sequence()
                self.line(depth, f"{v} = {self.pick('0', '0', '1', 'n', 'len(ys)')}")
                self.loop(depth, f"{v} {self.pick('<', '<', '<', '<=')} len({xs})")
                self.line(depth + 1, f"{xs}[{v}] = {self.expression()}")
                self.block(depth + 1, 2)
                self.line(depth + 1, f"{v} += {self.pick('1', '2', '1 + fuel')}")
            case 15:
                v, xs = self.pick("i", "j"), self.sequence()
                self.line(depth, f"if {self.pick('-1', '0', '0')} <= {v} {self.pick('<', '<', '<=')} len({xs}):")
                self.line(depth + 1, f"total += {xs}[{v}] + {self.pick('i', 'j')}")
                self.block(depth + 1, 2)
            case 16:
                self.line(depth, f"if {self.condition()}:")
                self.block(depth + 1, 3)
                if self.random.random() < 0.5:
                    self.line(depth, "else:")
                    self.block(depth + 1, 3)


class Watching(Interpreter):
    """An interpreter that does not believe that a sum stays in 64 bits."""

    def __init__(self, module: Module):
        super().__init__(module)
        self.exact: set[int] = set()
        for func in module.funcs.values():
            bounds = Bounds(func.body)
            arithmetic = [op for op in func.body.walk() if op.name in ("int.add", "int.sub", "int.mul")]
            self.exact |= {id(op.attrs) for op in arithmetic if bounds.is_exact(op)}

    def apply(self, name: str, operands: list[Any], attrs: dict[str, Any]) -> Any:
        try:
            return super().apply(name, operands, attrs)
        except OverflowError:
            assert id(attrs) not in self.exact, f"{name} of {operands}"
            raise


def _outcome(interpreter: Interpreter, name: str, args: tuple[Any, ...]) -> Any:
    given = copy.deepcopy(args)
    try:
        return interpreter.run(name, *given), given
    except (IndexError, ZeroDivisionError, OverflowError) as e:
        return type(e), given


@pytest.mark.parametrize("part", sweep(range(2), 0))
def test_random_programs_stay_within_what_is_proved(part: int, tmp_path: Path) -> None:
    texts = ["\n".join(Writer(seed).lines) for seed in range(part * PROGRAMS, (part + 1) * PROGRAMS)]
    functions = vars(module_of("\n".join(text.replace("program", f"p{i}", 1) for i, text in enumerate(texts)), tmp_path))
    proved = exact = 0
    for i, text in enumerate(texts):
        arguments = {"n": 0, "m": 1, "k": 2, "xs": [1], "ys": [2]}
        before, after = (read(functions[f"p{i}"], None, arguments).module for _ in range(2))
        run_pipeline(after, "clean,drop_bounds_checks", verify=True)
        proved += sum(op.name in ("list.at", "list.put") for op in after.walk())
        plain, watching = Interpreter(before), Watching(after)
        exact += len(watching.exact)
        for args in CALLS:
            assert _outcome(plain, f"p{i}", args) == _outcome(watching, f"p{i}", args), text
    assert proved > PROGRAMS // 2 and exact > PROGRAMS  # else it says nothing
