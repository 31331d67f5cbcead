"""Choose which values of a function are variables of the printed Python, and which are written where they are used.

A value is written into the expression that uses it if the function itself gave it no name, and if it has one use, in the same
block, and nothing between the two whose order matters. All other values are variables. Values that an `if`, a loop or a `try`
passes on share a variable where their live ranges allow it, so that most assignments of one variable to another vanish. This
is the coalescing of register allocation (Chaitin, 1982), on structured code.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping

from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.regions import target
from scriptc.ir.types import Names

_EVERYWHERE = ("const", "undef")  # written at every use
_FREE = ("check",)  # prints nothing, since torch checks for itself
_LARGEST = 3  # the most ops of an expression within another one
_UNNAMED = re.compile(r"t\d*")  # the names that the printer of the IR gives


def inlined_values(func: Func, everywhere: Iterable[str]) -> set[Value]:
    """Return the values that are written where they are used. everywhere: names of ops that are written at every use."""
    found: set[Value] = set()
    written = {*_EVERYWHERE, *everywhere}

    def visit(block: Block) -> None:
        at = {op: i for i, op in enumerate(block.ops)}
        place: dict[Op, int] = {}  # where the expression that an op is written into stands
        for op in reversed(block.ops):
            for region in op.regions:
                visit(region)
            if op.name in written:
                found.add(op.result)
                continue
            if len(op.results) != 1 or op.regions:
                continue
            if not op.result.uses and not op.defn.raises and not op.defn.writes:
                found.add(op.result)  # which is written nowhere
            if not op.has("PURE"):
                continue
            is_own = op.loc.inlined_at is None and op.loc.file == func.loc.file  # earlier processes' locations lack calls
            is_named = is_own and not _UNNAMED.fullmatch(op.result.name)
            users = [user for user in op.result.uses.values() if user.name not in _FREE]
            if is_named or len(users) != 1:
                continue
            user = users[0]
            if user.parent is not block or user.no_grad != op.no_grad:
                continue
            end = place.get(user, at[user])
            if not any(_keeps_order(op, other) for other in block.ops[at[op] + 1 : end] if place.get(other) != end):
                place[op] = end
                found.add(op.result)

    visit(func.body)
    sizes: dict[Value, int] = {}
    for op in func.body.walk():
        size = 1 + sum(sizes.get(v, 0) for v in op.operands if v in found)
        if op.name in written:
            sizes[op.result] = 0
        elif len(op.results) == 1 and op.result in found and op.result.uses:
            sizes[op.result] = size
            if size > _LARGEST:
                found.discard(op.result)
    return found


def _keeps_order(op: Op, other: Op) -> bool:
    """Return whether an op may not be evaluated behind a later one."""
    if other.name in _FREE or other.name in _EVERYWHERE:
        return False
    if other.regions or other.defn.writes or not other.has("PURE"):
        return True
    return bool(op.defn.raises and other.defn.raises)


class Variables:
    """The variables of a function.

    inlined: the values that are written where they are used. taken: names of others. given: names of some values, among
    those that are taken.
    """

    def __init__(self, func: Func, inlined: set[Value], taken: Iterable[str], given: Mapping[Value, str]):
        self.inlined = inlined
        self.results = {result: arg for op in func.body.walk() for result, arg in _results_of_loop(op)}
        self.parent: dict[Value, Value] = {}
        self.apart: dict[Value, set[Value]] = {}  # values whose live ranges overlap, by the first of a variable
        self.copies: dict[tuple[Value, Value], None] = {}
        self.order: dict[Value, int] = {}
        self._number(func.body)
        self._interfere(func)
        for pair in self.copies:
            self._join(*pair)
        self.names = self._named(taken, given)

    def name(self, value: Value) -> str:
        return self.names[self._first(value)]

    def copied(self, destinations: Iterable[Value], sources: Iterable[Value]) -> list[tuple[Value, Value]]:
        """Return the pairs of values that must be assigned, as they are no one variable."""
        pairs = zip(destinations, sources, strict=True)
        return [(d, s) for d, s in pairs if s in self.inlined or self._first(d) is not self._first(s)]

    def _number(self, block: Block) -> None:
        for arg in block.args:
            self.order[arg] = len(self.order)
        for op in block.ops:
            for result in op.results:
                self.order[result] = len(self.order)
            for region in op.regions:
                self._number(region)

    def _named(self, taken: Iterable[str], given: Mapping[Value, str]) -> dict[Value, str]:
        names = Names()
        for word in (*keyword.kwlist, *taken):
            names.fresh(word)
        members: dict[Value, list[Value]] = {}
        for value in self.order:
            if value not in self.inlined:
                members.setdefault(self._first(value), []).append(value)
        table: dict[Value, str] = {}
        for first, values in members.items():
            fixed = [given[v] for v in values if v in given]
            users = [v.name for v in values if v.name.isidentifier() and not _UNNAMED.fullmatch(v.name)]
            table[first] = fixed[0] if fixed else names.fresh(users[0] if users else "t")
        return table

    # ---- variables ----

    def _first(self, value: Value) -> Value:
        value = self.results.get(value, value)
        while value in self.parent:
            value = self.parent[value]
        return value

    def _join(self, a: Value, b: Value) -> None:
        a, b = self._first(a), self._first(b)
        if a is b or b in self.apart.get(a, ()):
            return
        if self.order[b] < self.order[a]:
            a, b = b, a
        self.parent[b] = a
        others = self.apart.pop(b, set())
        self.apart.setdefault(a, set()).update(others)
        for other in others:
            self.apart[other].discard(b)
            self.apart[other].add(a)

    def _separate(self, value: Value, others: Iterable[Value]) -> None:
        value = self._first(value)
        for other in others:
            if other is not value:
                self.apart.setdefault(value, set()).add(other)
                self.apart.setdefault(other, set()).add(value)

    # ---- live ranges ----

    def used(self, values: Iterable[Value]) -> set[Value]:
        """Return the variables that some values are written with."""
        found: set[Value] = set()
        for value in values:
            if value not in self.inlined:
                found.add(self._first(value))
            elif value.op is not None:
                found |= self.used(value.op.operands)
        return found

    def _interfere(self, func: Func) -> None:
        self.after: dict[tuple[str, str], tuple[list[Value], set[Value]]] = {}  # what jumps assign, and what is live behind
        self.handlers: list[set[Value]] = []
        live = self._block(func.body, ([], set()))
        for arg in func.body.args:
            self._separate(arg, live | {self._first(other) for other in func.body.args})

    def _block(self, block: Block, behind: tuple[list[Value], set[Value]]) -> set[Value]:
        """Return what is live in front of a block. behind: what its `yield` assigns, and what is live behind it."""
        live: set[Value] = set()
        for op in reversed(block.ops):
            if len(op.results) == 1 and op.result in self.inlined:
                continue
            live = self._op(op, live, behind)
            for handler in self.handlers:
                live = live | handler
        return live

    def _op(self, op: Op, live: set[Value], behind: tuple[list[Value], set[Value]]) -> set[Value]:
        if op.name in ("break", "continue"):
            return self._assign(op.operands, *self.after[op.name, op.attrs["to"]])
        if op.name == "yield":
            return self._assign(op.operands, *behind)
        if op.has("TERMINATOR"):
            return self.used(op.operands)
        if op.name == "loop":
            return self._loop(op, live)
        if op.regions:
            return self._regions(op, live)
        results = {self._first(r) for r in op.results}
        for result in op.results:
            self._separate(result, live | results)
        return (live - results) | self.used(op.operands)

    def _assign(self, sources: Iterable[Value], destinations: list[Value], live: set[Value]) -> set[Value]:
        """Return what is live in front of assignments that happen at once."""
        pairs = list(zip(destinations, sources, strict=True))
        firsts = {self._first(d) for d in destinations}
        for destination, source in pairs:
            mine = set() if source in self.inlined else {self._first(source)}
            self._separate(destination, (live | firsts) - mine)
            if mine:
                self.copies[destination, source] = None
        return (live - firsts) | self.used(s for _, s in pairs)

    def _loop(self, op: Op, live: set[Value]) -> set[Value]:
        body, counted = op.regions[0], op.attrs["counted"]
        args = body.args[1:] if counted else body.args
        counter = body.args[:1] if counted else []
        held = {self._first(a) for a in args}
        head = (live | held) if counted else set()
        while True:
            self.after["break", op.attrs["label"]] = op.results, live
            self.after["continue", op.attrs["label"]] = args, head
            found = self._block(body, (args, head))
            for i in counter:
                self._separate(i, found | head | held)
            found = (found | head) - {self._first(i) for i in counter}
            if found == head:
                break
            head = found
        for arg in args:
            self._separate(arg, head)
        before = head | self.used(op.operands[:3] if counted else ())
        return self._assign(op.operands[3:] if counted else op.operands, args, before)

    def _regions(self, op: Op, live: set[Value]) -> set[Value]:
        """Return what is live in front of an `if`, a `scope`, a `try` or a `checkpoint`."""
        behind = list(op.results), live
        if "label" in op.attrs:
            self.after["break", op.attrs["label"]] = behind
        if op.name != "try":
            found = set[Value]().union(*(self._block(region, behind) for region in op.regions))
            return found | self.used(op.operands)
        body, handler = op.regions
        caught = self._block(handler, behind)
        for arg in handler.args:
            self._separate(arg, caught)
        caught -= {self._first(arg) for arg in handler.args}
        self.handlers.append(caught)
        found = self._block(body, behind)
        self.handlers.pop()
        return found | caught


def _results_of_loop(op: Op) -> list[tuple[Value, Value]]:
    """Return each result of a loop with the argument of its body whose last value it is."""
    if op.name != "loop":
        return []
    return list(zip(op.results, op.regions[0].args[int(op.attrs["counted"]) :], strict=True))


def jump_target(op: Op) -> Op:
    """Return the loop or scope that a `break` or `continue` leaves or repeats."""
    found = target(op)
    assert found is not None
    return found
