"""Writes random Python functions that are well typed for the most part, and end. `grammar.py` has what they consist of."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tests.fuzz import iterators
from tests.fuzz.productions import Grammar, grammar_of
from tests.fuzz.scalars import DTYPES, WEIRD_FLOATS, WEIRD_INTS
from tests.fuzz.specs import percent, spec

Env = dict[str, str]  # the kinds of the variables that are bound
_HOLE = re.compile(r"\$(\w+)")


class Generator:
    """One function of some of the parameters. `fuel` bounds its statements."""

    def __init__(self, seed: int, name: str, grammar: Grammar | None = None):
        self.grammar = grammar or grammar_of()
        self.rng = random.Random(seed)
        self.closures = 0.0 if "closures" not in self.grammar.names else 3.0 if len(self.grammar.names) < 3 else 0.6
        self.yields = 0.0 if "iterators" not in self.grammar.names else 3.0 if len(self.grammar.names) < 3 else 0.6
        self.levels = 0.0 if "containers" not in self.grammar.names else 0.3
        self.name = name
        self.lines: list[str] = []
        self.fuel = self.rng.randint(4, 15)
        self.count = 0
        self.loops = 0  # around the statement, within its function
        self.frozen: set[str] = set()  # never assigned: loops end by them, inner functions only read them
        self.owned: set[str] = set()  # copies and views of them, which are written without another copy
        self.functions: list[tuple[str, list[str], str]] = []  # inner functions: name, kinds of parameters, of the result
        self.generators: list[tuple[str, list[str], str]] = []  # inner generators, with the kind that they yield
        self.yielded: str | None = None  # the kind that the generator around yields
        self.left = 0  # how many more times it may
        self.result: str | None = None  # the kind that the inner function around returns
        count = self.rng.randint(2, 4) if self.grammar.results else 0
        self.returns = [self.rng.choice(self.grammar.results) for _ in range(count)]
        self.parameters = {n: k for n, k in self.grammar.parameters.items() if n in self.grammar.given or self.chance(0.5)}

    def text(self) -> str:
        self.emit(0, f"def {self.name}({', '.join(self.parameters)}):")
        env = dict(self.parameters)
        self.block(env, 1)
        if self.returns:
            self.emit(1, self.returned(env))
            return "\n".join(self.lines) + "\n"
        names = sorted(env)
        self.rng.shuffle(names)
        self.emit(1, f"return {', '.join(names[: self.rng.randint(1, 4)])},")
        return "\n".join(self.lines) + "\n"

    def returned(self, env: Env) -> str:
        """Return a `return` of values of the kinds that all paths return, of the latest variables where there are some."""
        names = {k: [n for n, kind in env.items() if kind == k] for k in self.returns}
        values = (
            self.rng.choice(names[k][-3:]) if names[k] and self.chance(0.8) else self.expr(k, env, 1) for k in self.returns
        )
        return f"return {', '.join(values)},"

    # ---- choices ----
    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def weighted(self, choices: Sequence[str | tuple[float, str]]) -> str:
        pairs = [c if isinstance(c, tuple) else (1.0, c) for c in choices]
        return self.rng.choices([c for _, c in pairs], [w for w, _ in pairs])[0]

    def known(self, env: Env, kinds: Sequence[str]) -> str | None:
        """A variable of one of the kinds that may be assigned."""
        names = [n for n, k in env.items() if k in kinds and n not in self.frozen]
        return self.rng.choice(names) if names else None

    def target(self, env: Env, kind: str) -> str:
        name = self.known(env, [kind]) if self.chance(0.6) else None
        return name or self.fresh("v")

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # ---- expressions ----
    def expr(self, kind: str, env: Env, depth: int = 2) -> str:
        names = [n for n, k in env.items() if k == kind]
        if names and (depth <= 0 or self.chance(0.35)):
            return self.rng.choice(names)
        if depth <= 0:
            return self.fill(self.weighted(self.grammar.leaves[kind]), env, 0)
        fitting = [f for f in self.functions if f[2] == kind]
        if fitting and self.chance(0.25):
            name, kinds, _ = self.rng.choice(fitting)
            return f"{name}({', '.join(self.expr(k, env, depth - 1) for k in kinds)})"
        if self.chance(0.08):
            return self.fill(self.weighted(self.grammar.leaves[kind]), env, 0)
        return self.fill(self.weighted(self.grammar.expressions[kind]), env, depth - 1)

    def fill(self, template: str, env: Env, depth: int = 2) -> str:
        """The template with its holes filled, from left to right; `$same` is what the last `$a_kind` was."""
        named = ""

        def filled(hole: re.Match[str]) -> str:
            nonlocal named
            if hole[1] == "same":
                return named
            text = self.hole(hole[1], env, depth)
            if hole[1].startswith("a_"):
                named = text
            return text

        return _HOLE.sub(filled, template)

    def hole(self, name: str, env: Env, depth: int) -> str:
        match name:
            case "digit":
                return str(self.rng.randint(1, 9))
            case "bit":
                return self.rng.choice("01")
            case "positive":
                return str(self.rng.randint(1, 3))
            case "step":
                return self.rng.choice(["1", "2", "-1", "-2"])
            case "cmp":
                return self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
            case "slice":
                return self.fill(self.rng.choice(self.grammar.slices), env, depth)
            case "small":
                if self.chance(0.5):
                    return str(self.rng.randint(-3, 3))
                return f"({self.expr('int', env, min(depth, 1))}) % {self.rng.randint(1, 5)}"
            case "end":
                return self.rng.choice(["", "", *map(str, range(-5, 6))])
            case "edge":
                return str(self.rng.randint(-4, 6))
            case "back":
                return self.rng.choice(["-1", "-1", "-2", "-3"])
            case "dtype":
                return self.rng.choice(DTYPES)
            case "odd":
                return self.expr(self.rng.choice(["odd_float", "odd_int"]), env, min(depth, 1))
            case "weird_float":
                return self.rng.choice(WEIRD_FLOATS)
            case "weird_int":
                return f"({self.rng.choice(WEIRD_INTS)})"
            case "spec_int" | "spec_float" | "spec_text" | "spec_bool":
                return spec(self.rng, name[5:])
            case "percent_int" | "percent_float" | "percent_text":
                return percent(self.rng, name[8:])
            case "gen_int" | "gen_vector":
                return self.walked(name[4:], env, depth)
            case "a_int" | "a_float" | "a_bool" | "a_text":
                names = [n for n, k in env.items() if k == name[2:]]
                return self.rng.choice(names or ["12"])
            case _ if name.startswith("a_"):
                names = [n for n, k in env.items() if k == name[2:]]
                return self.rng.choice(names) if names else self.fill(self.weighted(self.grammar.leaves[name[2:]]), env, 0)
        return self.expr(name, env, depth)

    # ---- statements ----
    def block(self, env: Env, depth: int) -> None:
        before = len(self.lines)
        for _ in range(self.rng.randint(1, 4)):
            if self.fuel <= 0:
                break
            self.fuel -= 1
            if not self.statement(env, depth):
                break
        if len(self.lines) == before:
            self.emit(depth, "pass")

    def statement(self, env: Env, depth: int) -> bool:
        """Writes one; whether the next is reached."""
        deep = depth >= 4
        choices: list[tuple[float, Callable[[Env, int], bool]]] = [
            (5, self.assignment), (2, self.augmented), (3.5, self.mutation), (0.7, self.unpacking), (0.3, self.deletion),
            (0 if deep else 2.5, self.branch), (0 if deep else 0.5, self.optional), (0 if deep else 0.4, self.cases),
            (0 if deep else 2.5, self.loop), (0 if deep else 0.7, self.handled), (0 if deep else 0.3, self.managed),
            (0.8 if depth == 1 else 0, self.function), (self.closures if depth == 1 else 0, self.closure), (0.4,
                self.leave), (0.3, self.rebind), (0.2, self.check), (self.yields if depth == 1 else 0, self.generator),
            (6 if self.yielded and self.left > 0 else 0, self.yielding), (0 if deep else self.levels, self.level),
        ]  # fmt: skip
        often = self.grammar.often
        weights = [w * often.get(c.__name__, 1) for w, c in choices]
        return self.rng.choices([c for _, c in choices], weights)[0](env, depth)

    def assignment(self, env: Env, depth: int) -> bool:
        kind = self.rng.choices(list(self.grammar.kinds), list(self.grammar.kinds.values()))[0]
        name = self.target(env, kind)
        value = self.expr(kind, env)
        line = f"{name} = {value}"
        if re.split(r"\W", value, maxsplit=1)[0] in self.owned:
            self.owned.add(name)
        else:
            self.owned.discard(name)
        env[name] = kind
        if self.chance(0.07):  # two names of one value
            other = self.target(env, kind)
            line, env[other] = f"{other} = {line}", kind
        self.emit(depth, line)
        return True

    def unpacking(self, env: Env, depth: int) -> bool:
        a, b, c = (self.fresh("v") for _ in range(3))
        first, second = self.known(env, ["int"]), self.known(env, [self.grammar.unpacked])
        swapped = self.rng.choice([k for k in self.grammar.kinds if sum(v == k for v in env.values()) > 1] or [None])
        if swapped and self.chance(0.3):
            x, y = self.rng.sample([n for n, k in env.items() if k == swapped], 2)
            if not {x, y} & self.frozen:
                self.emit(depth, f"{x}, {y} = {y}, {x}")
                return True
        template, bound = self.rng.choice(self.grammar.unpackings)
        places = {"$1": a, "$2": b, "$3": c, "$first": first or a, "$second": second or b}
        for place, name in places.items():
            template = template.replace(place, name)
        kinds = {places[place]: kind for place, kind in bound.items()}
        self.emit(depth, self.fill(template, env))
        env.update(kinds)
        return True

    def augmented(self, env: Env, depth: int) -> bool:
        name = self.known(env, list(self.grammar.augmented))
        if name is None:
            return self.assignment(env, depth)
        self.emit(depth, self.changed(self.grammar.augmented[env[name]], name, env))
        return True

    def mutation(self, env: Env, depth: int) -> bool:
        name = self.rng.choice([n for n, k in env.items() if k in self.grammar.mutations] or [None])
        if name is None:
            return self.assignment(env, depth)
        line = self.changed(self.grammar.mutations[env[name]], name, env)
        if name in self.frozen and re.match(rf"{name} \S+= ", line):  # would bind it
            line = "pass"
        spared = name in self.frozen or env[name] not in self.grammar.copied
        if not spared and self.chance(0.2 if name in self.owned else 0.85):
            self.emit(depth, f"{name} = {name}.clone()")
            self.owned.add(name)
        grows = self.loops and env[name] in self.grammar.items
        self.emit(depth, f"if len({name}) < 20:\n{'    ' * (depth + 1)}{line}" if grows else line)
        return True

    def changed(self, templates: list[str], name: str, env: Env) -> str:
        return self.fill(self.rng.choice(templates).replace("$me", name), env)

    def deletion(self, env: Env, depth: int) -> bool:
        name = self.known(env, list(self.grammar.kinds))
        if name is None or len(env) < 4:
            return self.assignment(env, depth)
        self.emit(depth, f"del {name}")
        del env[name]
        return True

    def branch(self, env: Env, depth: int) -> bool:
        condition = self.expr("bool", env)
        inner = dict(env)
        if self.chance(0.1):
            name = self.fresh("w")
            condition = self.fill(f"({name} := $int) > $int", env)
            env[name] = inner[name] = "int"
        self.emit(depth, f"if {condition}:")
        self.block(inner, depth + 1)
        ends = [inner]
        if self.chance(0.3):
            self.emit(depth, f"elif {self.expr('bool', env)}:")
            ends.append(self.inner(env, depth))
        if self.chance(0.6):
            self.emit(depth, "else:")
            ends.append(self.inner(env, depth))
        else:
            ends.append(dict(env))
        self.meet(env, ends)
        return True

    def inner(self, env: Env, depth: int) -> Env:
        """Writes a block below; what its names are at its end."""
        inner = dict(env)
        self.block(inner, depth + 1)
        return inner

    def optional(self, env: Env, depth: int) -> bool:
        """A test for None, within which the variable has its other type."""
        name = self.rng.choice([n for n, k in env.items() if k in self.grammar.optionals] or [None])
        if name is None:
            return self.branch(env, depth)
        plain = self.grammar.optionals[env[name]]
        if self.chance(0.4):
            self.emit(depth, f"if {name} is None:")
            if name in self.frozen or self.chance(0.5):
                none = self.returned(env) if self.returns else "return None"
                self.emit(depth + 1, f"return {self.expr(self.result, env)}" if self.result else none)
            else:
                self.emit(depth + 1, f"{name} = {self.expr(plain, env)}")
            env[name] = plain
            return True
        self.emit(depth, f"if {name} is not None:")
        ends = [self.inner(env | {name: plain}, depth)]
        self.emit(depth, "else:")
        ends.append(self.inner(env, depth))
        for end in ends:
            if end.get(name) == plain:
                end[name] = env[name]
        self.meet(env, ends)
        return True

    def cases(self, env: Env, depth: int) -> bool:
        kind, patterns = self.rng.choice(self.grammar.cases)
        self.emit(depth, f"match {self.fill(kind, env)}:")
        ends = [dict(env)]
        for pattern in self.rng.sample(patterns, self.rng.randint(1, len(patterns))):
            self.emit(depth + 1, f"case {pattern}:")
            ends.append(self.inner(env, depth + 1))
        if self.chance(0.5):
            self.emit(depth + 1, "case _:")
            ends[0] = self.inner(env, depth + 1)
        self.meet(env, ends)
        return True

    def managed(self, env: Env, depth: int) -> bool:
        if (name := self.known(env, ["ints"])) and self.chance(0.6):
            bound = self.fresh("i")
            self.emit(depth, self.fill(f"with noted({name}, $int) as {bound}:", env))
            inner = env | {bound: "int"}
        else:
            self.emit(depth, "with torch.no_grad():")
            inner = dict(env)
        self.block(inner, depth + 1)
        self.meet(env, [inner])
        return True

    def meet(self, env: Env, ends: list[Env]) -> None:
        """Behind a join a name has its kind where all paths agree; sometimes one that only some paths bind is read."""
        for name in sorted({n for e in ends for n in e}):
            kinds = {e.get(name) for e in ends}
            kind = next((k for k in sorted(kinds - {None})), None)  # type: ignore[type-var]
            if kind and (len(kinds) == 1 or (None in kinds and len(kinds) == 2 and self.chance(0.15))):
                env[name] = kind
            else:
                env.pop(name, None)

    def loop(self, env: Env, depth: int) -> bool:
        inner = dict(env)
        if self.chance(0.25):
            counter = self.fresh("i")
            self.emit(depth, f"{counter} = 0")
            condition = self.expr("bool", env) if self.chance(0.4) else "True"
            self.emit(depth, f"while {counter} < {self.rng.randint(1, 5)} and {condition}:")
            self.emit(depth + 1, f"{counter} += 1")
            self.frozen.add(counter)
            inner[counter] = "int"
        else:
            template, kinds = self.rng.choice(self.grammar.loops)
            for i, kind in enumerate(kinds, 1):
                name = self.fresh("i")
                template = template.replace(f"${i}", name)
                inner[name] = kind
                if self.chance(0.5):
                    self.frozen.add(name)
            self.emit(depth, f"for {self.fill(template, env)}:")
        self.loops += 1
        self.block(inner, depth + 1)
        self.loops -= 1
        ends = [dict(env), inner]
        if self.chance(0.2):
            self.emit(depth, "else:")
            ends[0] = self.inner(env, depth)
        self.meet(env, ends)
        return True

    def function(self, env: Env, depth: int) -> bool:
        kinds = [self.rng.choice(self.grammar.taken) for _ in range(self.rng.randint(1, 2))]
        name = f"g{len(self.functions)}"
        result = self.rng.choice(self.grammar.given_back)
        captured = {n: k for n, k in env.items() if self.chance(0.2)}
        inner = {f"a{i}": k for i, k in enumerate(kinds)} | captured
        self.emit(depth, f"def {name}({', '.join(f'a{i}' for i in range(len(kinds)))}):")
        saved = self.loops, set(self.frozen), self.result
        self.loops, self.result = 0, result
        if (shared := self.known(captured, self.grammar.shared)) and shared not in self.parameters and self.chance(0.5):
            self.emit(depth + 1, f"nonlocal {shared}")
            captured.pop(shared)
        self.frozen |= captured.keys()
        if kinds[0] == "int" and self.chance(self.grammar.recursion):  # calls itself, a few times
            self.emit(depth + 1, "if a0 <= 0 or a0 > 5:")
            self.emit(depth + 2, f"return {self.expr(result, inner)}")
            rest = "".join(f", {self.expr(k, inner)}" for k in kinds[1:])
            self.emit(depth + 1, f"r = {name}(a0 - 1{rest})")
            inner["r"] = result
        else:
            functions, self.functions = self.functions, []
            self.block(inner, depth + 1)
            self.functions = functions
        self.emit(depth + 1, f"return {self.expr(result, inner)}")
        self.loops, self.frozen, self.result = saved
        self.functions.append((name, kinds, result))
        return True

    def generator(self, env: Env, depth: int) -> bool:
        """An inner generator. It yields in loops and branches, and changes what is around it."""
        kinds = [self.rng.choice(self.grammar.taken) for _ in range(self.rng.randint(0, 2))]
        name, kind = self.fresh("y"), self.rng.choice(["int", "int", "vector"])
        captured = {n: k for n, k in env.items() if self.chance(0.3)}
        inner = {f"a{i}": k for i, k in enumerate(kinds)} | captured
        self.emit(depth, f"def {name}({', '.join(f'a{i}' for i in range(len(kinds)))}):")
        saved = self.loops, set(self.frozen), self.result, self.functions, self.generators
        self.loops, self.result, self.functions, self.yielded, self.left = 0, kind, [], kind, self.rng.randint(1, 3)
        self.generators = self.generators if self.chance(0.4) else []
        if (shared := self.known(captured, self.grammar.shared)) and shared not in self.parameters and self.chance(0.5):
            self.emit(depth + 1, f"nonlocal {shared}")
            captured.pop(shared)
        self.frozen |= captured.keys()
        self.yielding(inner, depth + 1)
        self.block(inner, depth + 1)
        if self.chance(0.3):
            self.emit(depth + 1, f"return {self.expr(kind, inner, 1)}")
        self.loops, self.frozen, self.result, self.functions, self.generators = saved
        self.yielded = None
        self.generators = [*self.generators, (name, kinds, kind)]
        return True

    def yielding(self, env: Env, depth: int) -> bool:
        """A `yield`, often in a loop, or all items of another iterator."""
        assert self.yielded is not None
        self.left -= 1
        if self.chance(0.2):
            name = self.target(env, self.yielded)
            found = [g for g in self.generators if g[2] == self.yielded]
            line = f"yield from {self.walked(self.yielded, env, 1)}"
            if found and self.chance(0.3):
                line, env[name] = f"{name} = {line} or {self.expr(self.yielded, env, 0)}", self.yielded
            self.emit(depth, line)
        elif depth < 4 and self.chance(0.5):
            bound = self.fresh("i")
            self.emit(depth, f"for {bound} in range({self.hole('small', env, 1)}):")
            inner = env | {bound: "int"}
            self.loops += 1
            if self.chance(0.6):
                self.block(inner, depth + 1)
            self.emit(depth + 1, f"yield {self.expr(self.yielded, inner)}")
            if self.chance(0.4):
                self.block(inner, depth + 1)
            self.loops -= 1
            self.meet(env, [dict(env), inner])
        else:
            self.emit(depth, f"yield {self.expr(self.yielded, env)}")
        return True

    def walked(self, kind: str, env: Env, depth: int) -> str:
        """An iterator over values of a kind: a call of a generator of the program where there is one."""
        fitting = [g for g in self.generators if g[2] == kind]
        if fitting and self.chance(0.8):
            name, kinds, _ = self.rng.choice(fitting)
            return f"{name}({', '.join(self.expr(k, env, min(depth, 1)) for k in kinds)})"
        return self.fill(self.rng.choice(iterators.OTHERS[kind]), env, min(depth, 1))

    def level(self, env: Env, depth: int) -> bool:
        """A context variable that is set for some statements."""
        token = self.fresh("t")
        self.emit(depth, f"{token} = LEVEL.set({self.expr('int', env)})")
        self.emit(depth, "try:")
        inner = self.inner(env, depth)
        self.emit(depth, "finally:")
        self.emit(depth + 1, f"LEVEL.reset({token})")
        self.meet(env, [inner])
        return True

    def closure(self, env: Env, depth: int) -> bool:
        """A function that makes two over variables of its own, which change them and read them from here on."""
        make, bump, peek = (self.fresh("c") for _ in range(3))
        kind, steps = self.rng.choice(list(self.grammar.closures.items()))
        self.emit(depth, f"def {make}(a, *, b=$digit):".replace("$digit", self.hole("digit", env, 0)))
        self.emit(depth + 1, "c, d = a, 0")
        self.emit(depth + 1, f"def {bump}(q, /, *, r={self.rng.randint(0, 4)}):")
        self.emit(depth + 2, "nonlocal c, d")
        lines = [self.rng.choice(steps), "d += r + b", *self.rng.sample(self.grammar.closure_lines, self.rng.randint(0, 2))]
        self.rng.shuffle(lines)
        for line in lines:
            self.emit(depth + 2, line.replace("\n", "\n" + "    " * (depth + 2)))
        self.emit(depth + 2, "return d")
        self.emit(depth + 1, f"def {peek}():")
        self.emit(depth + 2, "return c")
        self.emit(depth + 1, f"return {bump}, {peek}")
        self.emit(depth, f"{bump}, {peek} = {make}({self.expr(kind, env)}, b={self.rng.randint(0, 3)})")
        self.functions += [(bump, ["int"], "int"), (peek, [], kind)]
        return True

    def handled(self, env: Env, depth: int) -> bool:
        """A `try`; its handlers and its `finally` read what the body has made of names that were there before."""
        self.emit(depth, "try:")
        inner = self.inner(env, depth)
        if self.chance(0.4):
            self.emit(depth + 1, self.fill(self.rng.choice(self.grammar.raises), env))
        kept = {n: k for n, k in env.items() if inner.get(n) == k}  # of the same kind wherever the body is left
        ends = [inner]
        handlers = self.rng.choice([0, 1, 1, 2])
        for _ in range(handlers):
            caught = self.rng.choice(self.grammar.caught)
            self.emit(depth, f"except {caught} as e:")
            seen = dict(kept)
            if caught == "Stop" and self.chance(0.7):
                name = self.fresh("v")
                self.emit(depth + 1, f"{name} = {self.rng.choice(['e.code', 'len(str(e))', 'e.args[0] and e.code'])}")
                seen[name] = "int"
            handler = self.inner(seen, depth)
            if self.chance(0.2):
                self.emit(depth + 1, self.rng.choice(["raise", "raise e", 'raise RuntimeError("again") from e']))
            else:
                ends.append(handler)
        if handlers and self.chance(0.2):
            self.emit(depth, "else:")
            self.block(inner, depth + 1)
        if not handlers or self.chance(0.3):
            self.emit(depth, "finally:")
            self.block(dict(kept), depth + 1)
        self.meet(env, ends)
        return True

    def leave(self, env: Env, depth: int) -> bool:
        if self.loops and self.chance(0.7):
            self.emit(depth, self.rng.choice(["break", "continue"]))
            return False
        if depth == 1:
            return self.assignment(env, depth)
        if self.chance(0.2):
            self.emit(depth, f'raise ValueError("{self.name}")')
        elif self.result:
            self.emit(depth, f"return {self.expr(self.result, env)}")
        elif self.returns:
            self.emit(depth, self.returned(env))
        else:
            names = sorted(n for n in env if n not in self.frozen)
            self.emit(depth, f"return {', '.join(self.rng.sample(names, min(len(names), 2)))},")
        return False

    def rebind(self, env: Env, depth: int) -> bool:
        """A name gets a value of another kind."""
        name, kind = self.known(env, list(self.grammar.kinds)), self.rng.choice(self.grammar.rebound)
        if name is None:
            return self.assignment(env, depth)
        self.emit(depth, f"{name} = {self.expr(kind, env)}")
        env[name] = kind
        return True

    def check(self, env: Env, depth: int) -> bool:
        self.emit(depth, f"assert {self.expr('bool', env)}")
        return True
