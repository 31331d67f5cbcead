"""Random programs of nested branches, loops, scopes and lists: C gives what the interpreter gives and leaks nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from compiled_program import Compiled, assert_no_warnings

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.interp import Interpreter
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.types import INT, OptionalType, TensorType, Type, list_of
from scriptc.ir.verifier import verify

LOC = Loc("<random>", 1)
TENSOR = TensorType("f32", (None,))
LIST = list_of(TENSOR)
MAYBE = OptionalType(TENSOR)
KINDS: tuple[Type, ...] = (TENSOR, INT, MAYBE, OptionalType(INT))
PROGRAMS, PER_LIBRARY = 120, 40


class Generator:
    """Writes one function. `fuel` bounds its size; every loop counts its rounds, so that it ends."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.body = Block([(TENSOR, "x"), (TENSOR, "y"), (INT, "n"), (LIST, "xs")])
        self.build = Builder(self.body)
        self.fuel = 28
        self.labels = 0
        self.targets: list[tuple[str, str, list[Type]]] = []  # (op, label, types) that a terminator may go to

    def func(self, name: str) -> Func:
        results: list[Type] = [TENSOR, INT, TENSOR]
        self.targets.append(("return", "", results))
        self.statements(list(self.body.args), results, "return")
        return Func(name, self.body, results, LOC)

    def pick(self, env: list[Value], t: Type) -> Value:
        """A value that may stand where `t` is expected."""
        fitting = [v for v in env if v.type == t]
        if isinstance(t, OptionalType):
            fitting += [v for v in env if v.type == t.item]
            if self.rng.random() < 0.3:
                return self.build.const(None, LOC)
        return self.rng.choice(fitting)

    def leave(self, env: list[Value], name: str, types: list[Type], label: str = "") -> None:
        attrs = {"to": label} if label else {}
        self.build.op(name, [self.pick(env, t) for t in types], LOC, **attrs)

    def statements(self, env: list[Value], types: list[Type], end: str) -> None:
        """Ops, then a terminator: mostly `end`, sometimes one that leaves more."""
        env = list(env)
        for _ in range(self.rng.randrange(1, 7)):
            self.fuel -= 1
            if self.fuel > 0:
                env += self.statement(env)
        if end == "yield" and self.rng.random() < 0.2:
            self.leave_far(env)
        else:
            self.leave(env, end, types)

    def leave_far(self, env: list[Value]) -> None:
        name, label, types = self.rng.choice(self.targets)
        self.leave(env, name, types, label)

    def statement(self, env: list[Value]) -> list[Value]:
        choice = self.rng.random()
        if choice < 0.4:
            return [self.simple(env)]
        made = self.structured(env, choice)
        return [v for r in made.results for v in (r, self.settled(r, env))]

    def simple(self, env: list[Value]) -> Value:
        rng, build = self.rng, self.build
        match rng.randrange(6):
            case 0:
                return build.build("add", [self.pick(env, TENSOR), self.pick(env, TENSOR)], LOC)
            case 1:
                return build.build("mul", [self.pick(env, TENSOR), build.const(0.5, LOC)], LOC)
            case 2:
                bits = build.build("int.and_", [self.pick(env, INT), build.const(7, LOC)], LOC)
                return build.build("int.add", [bits, build.const(rng.randrange(4), LOC)], LOC)
            case 3:
                values = [self.pick(env, TENSOR) for _ in range(rng.randrange(1, 3))]
                return build.build("list.new", values, LOC)
            case 4:
                chosen = self.pick(env, LIST)
                build.op("list.append", [chosen, self.pick(env, TENSOR)], LOC)
                return build.build("list.len", [chosen], LOC)
        return build.build("list.get", [self.pick(env, LIST), build.const(0, LOC)], LOC)

    def settled(self, value: Value, env: list[Value]) -> Value:
        """The value in an optional, or another where there is none."""
        if not isinstance(value.type, OptionalType):
            return value
        present = self.build.build("optional.present", [value], LOC)
        then, orelse = Block(), Block()
        with self.build.at(then):
            self.build.op("yield", [self.build.build("optional.unwrap", [value], LOC)], LOC)
        with self.build.at(orelse):
            self.build.op("yield", [self.pick(env, value.type.item)], LOC)
        return self.build.op("if", [present], LOC, regions=[then, orelse], types=[value.type.item]).result

    def structured(self, env: list[Value], choice: float) -> Op:
        types = [self.rng.choice(KINDS) for _ in range(self.rng.randrange(4))]
        if choice < 0.65:
            condition = self.condition(env)
            regions = [self.region(env, types) for _ in range(2)]
            return self.build.op("if", [condition], LOC, regions=regions, types=types)
        self.labels += 1
        label = f"L{self.labels}"
        if choice < 0.75:
            self.targets.append(("break", label, types))
            region = self.region(env, types)
            self.targets.pop()
            return self.build.op("scope", [], LOC, regions=[region], types=types, label=label)
        return self.counted(env, types, label) if choice < 0.9 else self.uncounted(env, types, label)

    def condition(self, env: list[Value]) -> Value:
        return self.build.build("int.gt", [self.pick(env, INT), self.build.const(self.rng.randrange(5), LOC)], LOC)

    def region(self, env: list[Value], types: list[Type]) -> Block:
        block = Block()
        with self.build.at(block):
            self.statements(env, types, "yield")
        return block

    def counted(self, env: list[Value], types: list[Type], label: str) -> Op:
        bounds = [self.build.const(v, LOC) for v in (0, self.rng.randrange(4), self.rng.choice((1, 2)))]
        init = [self.pick(env, t) for t in types]
        block = Block([(INT, "i"), *((t, "c") for t in types)])
        self.targets += [("break", label, types), ("continue", label, types)]
        with self.build.at(block):
            self.statements([*env, *block.args], types, "yield")
        del self.targets[-2:]
        attrs: dict[str, Any] = {"label": label, "counted": True}
        return self.build.insert(Op(OPS["loop"], [*bounds, *init], types, attrs, LOC, [block]))

    def uncounted(self, env: list[Value], types: list[Type], label: str) -> Op:
        """Its first carried value counts down to a break."""
        held: list[Type] = [INT, *types]
        init = [self.build.const(self.rng.randrange(4), LOC), *(self.pick(env, t) for t in types)]
        block = Block([(t, "c") for t in held])
        self.targets.append(("break", label, held))
        with self.build.at(block):
            done = self.build.build("int.le", [block.args[0], self.build.const(0, LOC)], LOC)
            then, orelse = Block(), Block()
            with self.build.at(then):
                self.leave([*env, *block.args], "break", held, label)
            with self.build.at(orelse):
                self.build.op("yield", [], LOC)
            self.build.op("if", [done], LOC, regions=[then, orelse], types=[])
            left = self.build.build("int.sub", [block.args[0], self.build.const(1, LOC)], LOC)
            inside = [*env, *block.args[1:]]
            for _ in range(self.rng.randrange(3)):
                self.fuel -= 1
                if self.fuel > 0:
                    inside += self.statement(inside)
            self.build.op("yield", [left, *(self.pick(inside, t) for t in types)], LOC)
        self.targets.pop()
        return self.build.insert(Op(OPS["loop"], init, held, {"label": label, "counted": False}, LOC, [block]))


def random_module(part: int) -> Module:
    module = Module(f"random{part}")
    for seed in range(part * PER_LIBRARY, (part + 1) * PER_LIBRARY):
        func = Generator(seed).func(f"f{seed}")
        module.funcs[func.name] = func
        module.entries.append(func.name)
    verify(module)
    return module


def test_random_programs_have_no_warnings(tmp_path: Path) -> None:
    assert_no_warnings(random_module(0), tmp_path)


@pytest.mark.parametrize("part", range(PROGRAMS // PER_LIBRARY))
def test_random_programs(part: int) -> None:
    module = random_module(part)
    compiled, interpreter = Compiled(module), Interpreter(module)
    for name in module.entries:
        for n in (0, 2, 5):
            x, y = torch.arange(3.0), torch.ones(3)
            expected = interpreter.run(name, x, y, n, [x, y])
            got = compiled.run(name, x, y, n, [x, y])
            for a, b in zip(got, expected, strict=True):
                assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b, (name, n)
            assert compiled.live == 0, (name, n)
