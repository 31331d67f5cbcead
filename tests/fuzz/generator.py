"""Writes random Python functions that are well typed for the most part, and end.

Tensors hold small whole numbers in float64, so that sums do not depend on their order and comparisons of results are
exact; products are reduced so that they stay small.
"""

from __future__ import annotations

import random
from collections.abc import Callable

# What a variable holds: int, float, bool, tensor of one or two dims, lists, an optional tensor, a pair.
INT, FLOAT, BOOL, VECTOR, MATRIX, INTS, FLOATS, VECTORS, MAYBE, PAIR = KINDS = (
    "int", "float", "bool", "vector", "matrix", "ints", "floats", "vectors", "maybe", "pair",
)  # fmt: skip
PARAMETERS = {"n": INT, "k": INT, "p": FLOAT, "flag": BOOL, "x": VECTOR, "m": MATRIX, "xs": INTS, "ys": VECTORS}
MUTABLE = (VECTOR, MATRIX, INTS, FLOATS, VECTORS)
NUMBERS = (INT, FLOAT, BOOL)
LISTS = {INTS: INT, FLOATS: FLOAT, VECTORS: VECTOR}
_WEIGHTS = {INT: 5, FLOAT: 2, BOOL: 2, VECTOR: 5, MATRIX: 2, INTS: 3, FLOATS: 1, VECTORS: 2, MAYBE: 2, PAIR: 1}


class Generator:
    """One function. `fuel` bounds its statements."""

    def __init__(self, seed: int, name: str):
        self.rng = random.Random(seed)
        self.name = name
        self.lines: list[str] = []
        self.fuel = self.rng.randint(4, 14)
        self.count = 0
        self.loops: list[bool] = []  # around the statement; whether `continue` is safe there
        self.counters: set[str] = set()  # never assigned: loops end by them
        self.functions: list[tuple[str, list[str], str]] = []  # inner functions: name, kinds of parameters, of the result

    def text(self) -> str:
        self.lines.append(f"def {self.name}({', '.join(PARAMETERS)}):")
        env = dict(PARAMETERS)
        self.block(env, 1)
        names = sorted(env)
        self.rng.shuffle(names)
        self.lines.append(f"    return {', '.join(names[: self.rng.randint(1, 4)])},")
        return "\n".join(self.lines) + "\n"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # ---- statements ----
    def block(self, env: dict[str, str], depth: int) -> None:
        before = len(self.lines)
        for _ in range(self.rng.randint(1, 4)):
            if self.fuel <= 0:
                break
            self.fuel -= 1
            if not self.statement(env, depth):
                break
        if len(self.lines) == before:
            self.emit(depth, "pass")

    def statement(self, env: dict[str, str], depth: int) -> bool:
        """Writes one; whether the next is reached."""
        choices: list[tuple[float, Callable[[dict[str, str], int], bool]]] = [
            (6, self.assignment), (2, self.augmented), (2, self.mutation),
            (2.5 if depth < 4 else 0, self.branch), (2.5 if depth < 4 else 0, self.loop),
            (0.5, self.function if depth == 1 else self.assignment),
            (0.5 if depth < 3 else 0, self.handled), (0.4, self.leave), (0.3, self.rebind), (0.3, self.check),
        ]  # fmt: skip
        total = self.rng.uniform(0, sum(w for w, _ in choices))
        for weight, choice in choices:
            total -= weight
            if total <= 0 and weight:
                return choice(env, depth)
        return self.assignment(env, depth)

    def assignment(self, env: dict[str, str], depth: int) -> bool:
        kind = self.rng.choices(KINDS, [_WEIGHTS[k] for k in KINDS])[0]
        if kind == PAIR and self.chance(0.5):
            a, b = self.target(env, INT), self.target(env, VECTOR)
            self.emit(depth, f"{a}, {b} = {self.expr(PAIR, env)}")
            env[a], env[b] = INT, VECTOR
            return True
        name = self.target(env, kind)
        self.emit(depth, f"{name} = {self.expr(kind, env)}")
        env[name] = kind
        return True

    def target(self, env: dict[str, str], kind: str) -> str:
        known = [n for n, k in env.items() if k == kind and n not in self.counters]
        if known and self.chance(0.6):
            return self.rng.choice(known)
        self.count += 1
        return f"v{self.count}"

    def augmented(self, env: dict[str, str], depth: int) -> bool:
        name = self.pick(env, [INT, FLOAT, VECTOR, MATRIX])
        if name is None:
            return self.assignment(env, depth)
        kind = env[name]
        if kind == INT:
            self.emit(depth, f"{name} {self.rng.choice(['+=', '-=', '//=', '%='])} {self.expr(INT, env)}")
        elif kind == FLOAT:
            self.emit(depth, f"{name} {self.rng.choice(['+=', '-='])} {self.expr(FLOAT, env)}")
        else:
            self.emit(depth, f"{name} {self.rng.choice(['+=', '-='])} {self.expr(self.rng.choice([INT, kind]), env)}")
        return True

    def mutation(self, env: dict[str, str], depth: int) -> bool:
        name = self.pick(env, MUTABLE)
        if name is None:
            return self.assignment(env, depth)
        kind = env[name]
        item = LISTS.get(kind)
        if item is not None:
            value = self.expr(item, env)
            guarded = f"if len({name}) < 20:"
            self.emit(depth, self.rng.choice([
                f"{guarded} {name}.append({value})", f"{guarded} {name}.insert({self.small(env)}, {value})",
                f"{name}[{self.small(env)}] = {value}", f"{name}.pop({self.rng.choice(['', '0', '-1'])})",
                f"{name}.reverse()", f"{guarded} {name}.extend({self.expr(kind, env)})", f"del {name}[{self.small(env)}]",
                f"{name}[{self.small(env)}:] = {self.expr(kind, env)}",
                f"{name}.sort()" if kind != VECTORS else f"{name}.clear()",
            ]))  # fmt: skip
            return True
        where = f"{name}[{self.index(env)}]"
        self.emit(depth, self.rng.choice([
            f"{where} = {self.expr(INT, env)}", f"{where} += {self.expr(INT, env)}", f"{name}.add_({self.expr(INT, env)})",
            f"{name}[{self.small(env)}:].fill_({self.expr(INT, env)})", f"{name}.clamp_(-9, 9)", f"{where}.mul_(2)",
            f"{name}[{name} > {self.expr(INT, env)}] = 0", f"{name}.t().sub_(1)" if kind == MATRIX else f"{name}.neg_()",
        ]))  # fmt: skip
        return True

    def branch(self, env: dict[str, str], depth: int) -> bool:
        self.emit(depth, f"if {self.expr(BOOL, env)}:")
        ends = []
        inner = dict(env)
        self.block(inner, depth + 1)
        ends.append(inner)
        if self.chance(0.3):
            self.emit(depth, f"elif {self.expr(BOOL, env)}:")
            inner = dict(env)
            self.block(inner, depth + 1)
            ends.append(inner)
        if self.chance(0.6):
            self.emit(depth, "else:")
            inner = dict(env)
            self.block(inner, depth + 1)
            ends.append(inner)
        else:
            ends.append(dict(env))
        self.meet(env, ends)
        return True

    def meet(self, env: dict[str, str], ends: list[dict[str, str]]) -> None:
        """Behind a join a name has its kind where all paths agree; sometimes one that only some paths bind is read."""
        for name in {n for e in ends for n in e}:
            kinds = {e.get(name) for e in ends}
            if len(kinds) == 1 or (None in kinds and len(kinds) == 2 and self.chance(0.15)):
                env[name] = next(k for k in kinds if k is not None)
            else:
                env.pop(name, None)

    def loop(self, env: dict[str, str], depth: int) -> bool:
        inner = dict(env)
        kind = self.rng.randrange(4)
        if kind == 0:
            counter = self.fresh()
            self.emit(depth, f"{counter} = 0")
            condition = self.expr(BOOL, env) if self.chance(0.4) else "True"
            self.emit(depth, f"while {counter} < {self.rng.randint(1, 5)} and {condition}:")
            self.counters.add(counter)
            self.emit(depth + 1, f"{counter} += 1")
            inner[counter] = INT
        elif kind == 1:
            counter = self.fresh()
            self.counters.add(counter)
            bounds = self.rng.choice([f"{self.small(env)}", f"0, {self.small(env)}", f"{self.small(env)}, -2, -1"])
            self.emit(depth, f"for {counter} in range({bounds}):")
            inner[counter] = INT
        elif kind == 2:
            item = self.fresh()
            name = self.pick(env, [INTS, VECTORS, VECTOR, MATRIX])
            source = name or "[1, 2, 3]"
            of = {INTS: INT, VECTORS: VECTOR, VECTOR: VECTOR, MATRIX: VECTOR}[env[name] if name else INTS]
            if name and env[name] == VECTOR:
                self.emit(depth, f"for {item} in {source}.tolist():")
                of = FLOAT
            elif self.chance(0.3):
                counter = self.fresh()
                self.counters.add(counter)
                self.emit(depth, f"for {counter}, {item} in enumerate({source}[:]):")
                inner[counter] = INT
            else:
                self.emit(depth, f"for {item} in {source}[:6]:")
            inner[item] = of
        else:
            a, b = self.fresh(), self.fresh()
            self.emit(depth, f"for {a}, {b} in zip({self.expr(INTS, env)}, {self.expr(FLOATS, env)}):")
            inner[a], inner[b] = INT, FLOAT
        self.loops.append(True)
        self.block(inner, depth + 1)
        self.loops.pop()
        if self.chance(0.15):
            self.emit(depth, "else:")
            after = dict(env)
            self.block(after, depth + 1)
        self.meet(env, [dict(env), inner])
        return True

    def fresh(self) -> str:
        self.count += 1
        return f"i{self.count}"

    def function(self, env: dict[str, str], depth: int) -> bool:
        kinds = [self.rng.choice([INT, FLOAT, VECTOR, INTS]) for _ in range(self.rng.randint(1, 2))]
        name = f"g{len(self.functions)}"
        result = self.rng.choice([INT, FLOAT, VECTOR])
        inner = {f"a{i}": k for i, k in enumerate(kinds)}
        inner |= {n: k for n, k in env.items() if self.chance(0.2)}
        self.emit(depth, f"def {name}({', '.join(f'a{i}' for i in range(len(kinds)))}):")
        loops, self.loops, counters = self.loops, [], set(self.counters)
        self.counters |= {n for n in inner if not n.startswith("a")}  # variables outside are read alone
        if kinds[0] == INT and self.chance(0.5):  # calls itself, a few times
            self.emit(depth + 1, "if a0 <= 0 or a0 > 5:")
            self.emit(depth + 2, f"return {self.expr(result, inner)}")
            rest = "".join(f", {self.expr(k, inner)}" for k in kinds[1:])
            self.emit(depth + 1, f"r = {name}(a0 - 1{rest})")
            inner["r"] = result
        elif self.chance(0.5):
            self.emit(depth + 1, f"if {self.expr(BOOL, inner)}:")
            self.emit(depth + 2, f"return {self.expr(result, inner)}")
        self.emit(depth + 1, f"return {self.expr(result, inner)}")
        self.loops, self.counters = loops, counters
        self.functions.append((name, kinds, result))
        return True

    def handled(self, env: dict[str, str], depth: int) -> bool:
        """A `try`; its handlers and its `finally` read what the body has made of names that were there before."""
        self.emit(depth, "try:")
        inner = dict(env)
        self.block(inner, depth + 1)
        if self.chance(0.3):
            self.emit(depth + 1, self.rng.choice([
                f"raise {self.rng.choice(['KeyError', 'ValueError', 'RuntimeError'])}({self.expr(INT, env)})",
                f"assert {self.expr(BOOL, env)}", f"{self.expr(INTS, env)}[{self.small(env)}]",
            ]))  # fmt: skip
        kept = {n: k for n, k in env.items() if inner.get(n) == k}  # of the same kind wherever the body is left
        ends = [inner]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            several = self.rng.choice(["(ValueError, RuntimeError)", "(LookupError, AssertionError)"])
            caught = self.rng.choice(["IndexError", "ZeroDivisionError", "Exception", several])
            self.emit(depth, f"except {caught} as e:")
            handler = dict(kept)
            self.block(handler, depth + 1)
            if self.chance(0.2):
                self.emit(depth + 1, self.rng.choice(["raise", "raise e", 'raise RuntimeError(f"again: {e}") from e']))
            else:
                ends.append(handler)
        if len(ends) > 1 and self.chance(0.2):
            self.emit(depth, "else:")
            self.block(inner, depth + 1)
        if len(ends) == 1 or self.chance(0.3):
            self.emit(depth, "finally:")
            self.block(dict(kept), depth + 1)
        self.meet(env, ends)
        return True

    def leave(self, env: dict[str, str], depth: int) -> bool:
        if self.loops and self.chance(0.7):
            self.emit(depth, self.rng.choice(["break", "continue"]))
            return False
        if depth == 1:
            return self.assignment(env, depth)
        names = [n for n in env if n not in self.counters]
        found = self.rng.sample(names, min(len(names), 2))
        self.emit(depth, f"return {', '.join(found)}," if self.chance(0.7) else f'raise ValueError("{self.name}")')
        return False

    def rebind(self, env: dict[str, str], depth: int) -> bool:
        """A name gets a value of another kind."""
        names = [n for n in env if n not in self.counters]
        name, kind = self.rng.choice(names), self.rng.choice([INT, FLOAT, VECTOR, BOOL])
        self.emit(depth, f"{name} = {self.expr(kind, env)}")
        env[name] = kind
        return True

    def check(self, env: dict[str, str], depth: int) -> bool:
        self.emit(depth, f"assert {self.expr(BOOL, env)}")
        return True

    # ---- expressions ----
    def pick(self, env: dict[str, str], kinds: tuple[str, ...] | list[str]) -> str | None:
        names = [n for n, k in env.items() if k in kinds and n not in self.counters]
        return self.rng.choice(names) if names else None

    def small(self, env: dict[str, str]) -> str:
        """An int that is often a valid index."""
        if self.chance(0.5):
            return str(self.rng.randint(-3, 3))
        return f"({self.expr(INT, env, 1)}) % {self.rng.randint(1, 5)}"

    def index(self, env: dict[str, str]) -> str:
        return self.rng.choice([
            self.small(env), f"{self.small(env)}:", f":{self.small(env)}", "...", f"[0, {self.rng.randint(-1, 0)}]", "::2",
        ])  # fmt: skip

    def expr(self, kind: str, env: dict[str, str], depth: int = 2) -> str:
        names = [n for n, k in env.items() if k == kind]
        if names and (depth <= 0 or self.chance(0.35)):
            return self.rng.choice(names)
        made: str = getattr(self, f"a_{kind}")(env, depth - 1)
        return made

    def called(self, kind: str, env: dict[str, str], depth: int) -> str | None:
        fitting = [(n, ks) for n, ks, result in self.functions if result == kind]
        if depth < 0 or not fitting or not self.chance(0.3):
            return None
        name, kinds = self.rng.choice(fitting)
        return f"{name}({', '.join(self.expr(k, env, depth) for k in kinds)})"

    def a_int(self, env: dict[str, str], d: int) -> str:
        if d < 0:
            return str(self.rng.randint(-4, 9))
        if found := self.called(INT, env, d):
            return found
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        return self.rng.choice([
            lambda: str(self.rng.randint(-4, 9)),
            lambda: f"({e(INT)} {self.rng.choice('+-')} {e(INT)})",
            lambda: f"({e(INT)} * {e(INT)} % 97)",
            lambda: f"({e(INT)} {self.rng.choice(['//', '%'])} {e(INT)})",
            lambda: f"({e(INT)} {self.rng.choice(['&', '|', '^'])} {e(INT)})",
            lambda: f"len({e(self.rng.choice([INTS, VECTORS, VECTOR]))})",
            lambda: f"{e(INTS)}[{self.small(env)}]",
            lambda: f"({e(INT)} if {e(BOOL)} else {e(INT)})",
            lambda: f"{self.rng.choice(['min', 'max'])}({e(INT)}, {e(INT)})",
            lambda: f"abs({e(INT)})",
            lambda: f"int({e(self.rng.choice([FLOAT, BOOL]))})",
            lambda: f"sum({e(INTS)})",
            lambda: f"{e(self.rng.choice([VECTOR, MATRIX]))}.size({self.rng.choice(['0', '-1'])})",
            lambda: f"int({e(VECTOR)}.sum().item())",
            lambda: f"{e(INTS)}.{self.rng.choice(['count', 'index'])}({e(INT)})",
            lambda: f"int({e(VECTOR)}.argmax())",
            lambda: f"round({e(FLOAT)})",
            lambda: f"{e(PAIR)}[0]",
        ])()  # fmt: skip

    def a_float(self, env: dict[str, str], d: int) -> str:
        if d < 0:
            return str(self.rng.randint(-8, 8) / 2)
        if found := self.called(FLOAT, env, d):
            return found
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        return self.rng.choice([
            lambda: str(self.rng.randint(-8, 8) / 2),
            lambda: f"({e(FLOAT)} {self.rng.choice('+-')} {e(self.rng.choice([FLOAT, INT]))})",
            lambda: f"({e(INT)} / {e(INT)})",
            lambda: f"({e(FLOAT)} {self.rng.choice(['//', '%'])} {e(FLOAT)})",
            lambda: f"float({e(self.rng.choice([INT, BOOL]))})",
            lambda: f"({e(FLOAT)} * 0.5)",
            lambda: f"{e(FLOATS)}[{self.small(env)}]",
            lambda: f"max({e(FLOAT)}, {e(FLOAT)})",
            lambda: f"{e(VECTOR)}.sum().item()",
            lambda: f"({e(FLOAT)} if {e(BOOL)} else {e(FLOAT)})",
            lambda: f"sum({e(FLOATS)}, 0.5)",
        ])()  # fmt: skip

    def a_bool(self, env: dict[str, str], d: int) -> str:
        if d < 0:
            return self.rng.choice(["True", "False"])
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        compare = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        maybe = self.pick(env, [MAYBE])
        return self.rng.choice([
            lambda: f"({e(INT)} {compare} {e(INT)})",
            lambda: f"({e(FLOAT)} {compare} {e(self.rng.choice([FLOAT, INT]))})",
            lambda: f"({e(INT)} < {e(INT)} <= {e(INT)})",
            lambda: f"({e(BOOL)} {self.rng.choice(['and', 'or'])} {e(BOOL)})",
            lambda: f"(not {e(BOOL)})",
            lambda: f"({e(INT)} {self.rng.choice(['in', 'not in'])} {e(INTS)})",
            lambda: f"bool({e(VECTOR)}.sum() {compare} {e(INT)})",
            lambda: f"({maybe} is {self.rng.choice(['None', 'not None'])})" if maybe else "True",
            lambda: f"({e(INTS)} {compare} {e(INTS)})",
            lambda: f"any(q > {e(INT)} for q in {e(INTS)})",
            lambda: f"torch.equal({e(VECTOR)}, {e(VECTOR)})",
            lambda: f"bool({e(INTS)})",
        ])()  # fmt: skip

    def a_vector(self, env: dict[str, str], d: int) -> str:
        if d < 0:
            items = [float(self.rng.randint(-3, 3)) for _ in range(self.rng.randint(1, 4))]
            return f"torch.tensor({items}, dtype=torch.float64)"
        if found := self.called(VECTOR, env, d):
            return found
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        return self.rng.choice([
            lambda: f"({e(VECTOR)} {self.rng.choice('+-')} {e(self.rng.choice([VECTOR, INT, FLOAT]))})",
            lambda: f"({e(VECTOR)} * {e(VECTOR)}).remainder(7)",
            lambda: f"{e(VECTOR)}.{self.rng.choice(['relu()', 'abs()', 'neg()', 'flip(0)', 'clone()'])}",
            lambda: f"{e(VECTOR)}.cumsum(0).remainder(9)",
            lambda: f"{e(MATRIX)}[{self.small(env)}]",
            lambda: f"{e(MATRIX)}.{self.rng.choice(['sum', 'amax'])}({self.rng.choice(['0', '1'])}).remainder(11)",
            lambda: f"torch.where({e(VECTOR)} > {e(INT)}, {e(VECTOR)}, {e(self.rng.choice([VECTOR, FLOAT]))})",
            lambda: f"torch.cat([{e(VECTOR)}, {e(VECTOR)}])[:8]",
            lambda: f"{e(VECTORS)}[{self.small(env)}]",
            lambda: f"{e(VECTOR)}[{self.rng.choice([':2', '1:', '::2', '-2:', '[0]', 'None, 0'])}]",
            lambda: f"torch.full(({self.rng.randint(0, 3)},), {e(FLOAT)}, dtype=torch.float64)",
            lambda: f"torch.arange({self.small(env)}, dtype=torch.float64)" if self.chance(0.5) else "torch.zeros(3).double()",
            lambda: f"({e(MATRIX)} @ {e(VECTOR)}).remainder(13)",
            lambda: f"{e(PAIR)}[1]",
            lambda: f"{e(VECTOR)}.clamp({self.rng.randint(-3, 0)}, {self.rng.randint(1, 4)})",
            lambda: f"torch.tensor({e(FLOATS)}, dtype=torch.float64)",
            lambda: f"({e(VECTOR)} if {e(BOOL)} else {e(VECTOR)})",
            lambda: f"{e(VECTOR)}[{e(VECTOR)} != {e(INT)}]" if self.chance(0.2) else e(VECTOR),
        ])()  # fmt: skip

    def a_matrix(self, env: dict[str, str], d: int) -> str:
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        if d < 0:
            return f"torch.ones({self.rng.randint(1, 3)}, {self.rng.randint(1, 3)}, dtype=torch.float64)"
        return self.rng.choice([
            lambda: f"({e(MATRIX)} {self.rng.choice('+-')} {e(self.rng.choice([MATRIX, VECTOR, INT]))})",
            lambda: f"{e(MATRIX)}.t()",
            lambda: f"torch.stack([{e(VECTOR)}, {e(VECTOR)}])",
            lambda: f"({e(MATRIX)} @ {e(MATRIX)}).remainder(5)",
            lambda: f"{e(VECTOR)}[:2].unsqueeze({self.rng.choice('01')})",
            lambda: f"{e(MATRIX)}[{self.rng.choice(['1:', ':, :2', ':, ::2', '[0, 0]'])}]",
            lambda: f"{e(MATRIX)}.clone()",
        ])()  # fmt: skip

    def a_ints(self, env: dict[str, str], d: int) -> str:
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        if d < 0:
            return str([self.rng.randint(-3, 9) for _ in range(self.rng.randint(0, 4))])
        return self.rng.choice([
            lambda: f"[{e(INT)}, {e(INT)}]",
            lambda: f"[q {self.rng.choice(['+ 1', '* 2 % 31', '// 2', '- k'])} for q in {e(INTS)}]",
            lambda: f"[q for q in {e(INTS)} if q {self.rng.choice(['> 1', '% 2 == 0', '!= n'])}]",
            lambda: f"list(range({self.small(env)}))",
            lambda: f"({e(INTS)} + {e(INTS)})[:9]",
            lambda: f"{e(INTS)}[{self.rng.choice([':2', '1:', '::-1', '::2', '-2:', ':'])}]",
            lambda: f"sorted({e(INTS)}{self.rng.choice(['', ', reverse=True', ', key=lambda q: -q', ', key=abs'])})",
            lambda: f"([{e(INT)}] * {self.rng.randint(0, 3)})",
            lambda: f"[int(q) for q in {e(FLOATS)}]",
        ])()  # fmt: skip

    def a_floats(self, env: dict[str, str], d: int) -> str:
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        if d < 0:
            return str([self.rng.randint(-6, 6) / 2 for _ in range(self.rng.randint(0, 3))])
        return self.rng.choice([
            lambda: f"[{e(FLOAT)}, {e(FLOAT)}]",
            lambda: f"[q / 2 for q in {e(INTS)}]",
            lambda: f"{e(VECTOR)}.tolist()",
            lambda: f"{e(FLOATS)}[::-1]",
        ])()  # fmt: skip

    def a_vectors(self, env: dict[str, str], d: int) -> str:
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        if d < 0:
            return f"[{e(VECTOR)}]"
        return self.rng.choice([
            lambda: f"[{e(VECTOR)}, {e(VECTOR)}]",
            lambda: f"[q + {e(INT)} for q in {e(VECTORS)}]",
            lambda: f"list({e(MATRIX)})",
            lambda: f"{e(VECTORS)}[{self.rng.choice([':1', '1:', '::-1'])}]",
            lambda: f"list({e(MATRIX)}.unbind(0))",
        ])()  # fmt: skip

    def a_maybe(self, env: dict[str, str], d: int) -> str:
        e = lambda kind: self.expr(kind, env, d)  # noqa: E731
        return self.rng.choice(["None", e(VECTOR), f"({e(VECTOR)} if {e(BOOL)} else None)"])

    def a_pair(self, env: dict[str, str], d: int) -> str:
        return f"({self.expr(INT, env, d)}, {self.expr(VECTOR, env, d)})"
