"""Proofs of `a <= b + c` for integers and lengths of lists, at a point of a function.

The proofs are those of ABCD (Bodik, Gupta, Sarkar: "ABCD: eliminating array bounds checks on demand", PLDI 2000) for
structured control flow. A goal is reduced to goals about the operands of `a` or `b`, and to the conditions under which
control reaches the point, until no goal is left. A goal about a carried value is proved by induction: it is assumed for
the previous iteration.

Integer operations raise if their results leave 64 bits, so results are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import isqrt

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.inequalities import ABOVE, BELOW, Goal, Length, Term, Way, without_constants
from scriptc.ir.path_conditions import LENGTHS, PathConditions
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import Operand, RegionArgument, is_loop, loop_of_counter, runs_to_its_end

_BUDGET = 60  # goals that the proof of one question may try
_ALLOWANCE = 4_000  # goals for all questions about a function; they take a fifth of a second
_DEPTH = 8
_APPENDS = 8  # loops that may lengthen one list
_LONGEST = 2**48  # every list and string is shorter: addresses have 48 bits
_FACTOR = isqrt(2**63 - 1)  # the product of two ints up to this fits 64 bits
_INDEXED = frozenset({"list.get", "list.at", "list.set", "list.put"})

Floor = tuple[Value | None, int]  # v + k, a lower bound


class Bounds:
    """Answer questions about the body of one function, while the body does not change."""

    def __init__(self, body: Block):
        self.conditions = PathConditions(body)
        self._left = 0
        self._allowance = _ALLOWANCE
        self._assumed: list[Goal] = []
        self._failed: dict[Goal, int] = {}  # by failed goal: the steps that were left
        self._asked: set[Value] = set()

    def is_index(self, index: Value, xs: Value, at: Op) -> bool:
        """Return whether `index` is in bounds of a list and not negative."""
        return self._hold(Goal(index, Length(xs), -1, at), Goal(None, index, 0, at))

    def is_exact(self, op: Op) -> bool:
        """Return whether a sum, difference or product of ints certainly stays within 64 bits."""
        largest = _FACTOR if op.name == "int.mul" else 2**62 - 1
        x, y = op.operands
        if op.name == "int.add" and (k := constant_int(y)) is not None and k > 0 and self._is_below(x, k, op):
            return True
        return self._hold(*(g for v in (x, y) for g in (Goal(v, None, largest, op), Goal(None, v, largest, op))))

    def _is_below(self, x: Value, k: int, at: Op) -> bool:
        """Return whether some int is larger than x by k, so that x + k fits 64 bits."""
        return any(fact.x is x and fact.y is not None and fact.k <= -k for fact in self.conditions.about(x, at))

    def _hold(self, *goals: Goal) -> bool:
        granted = self._left = min(_BUDGET, self._allowance)
        proved = all(self._prove(goal, _DEPTH) for goal in goals)
        self._allowance -= granted - self._left
        return proved

    def _prove(self, goal: Goal, depth: int) -> bool:
        goal = without_constants(goal)
        a, b, c, _ = goal
        if a == b:
            return c >= 0
        if any((a, b) == (known.a, known.b) and c >= known.c for known in self._assumed):
            return True
        if depth <= self._failed.get(goal, 0) or self._left == 0:
            return False
        self._left -= 1
        before, self._failed[goal] = self._failed.get(goal, 0), depth  # set early, so that no goal follows from itself
        ways = chain(self._by_facts(goal), self._above(goal), self._below(goal))
        proved = (
            any(all(self._prove(part, depth - 1) for part in way) for way in ways)
            or self._by_induction(goal, a, b, depth)
            or self._by_induction(goal, b, a, depth)
        )
        if proved or self._left == 0:
            self._failed[goal] = before
        return proved

    def _by_induction(self, goal: Goal, term: Term, other: Term, depth: int) -> bool:
        """Return whether the goal holds for all operands that a region op may pass on as a value."""
        argument = self.conditions.region_arguments.get(term) if isinstance(term, Value) else None
        if argument is None or not _is_outside(other, argument.op):
            return False
        self._assumed.append(goal)
        proved = True
        for op, i in _givers(argument, term):
            given = op.operands[i]
            part = Goal(given, other, goal.c, op) if term is goal.a else Goal(other, given, goal.c, op)
            proved = proved and self._prove(part, depth - 1)
        self._assumed.pop()
        return proved

    def _by_facts(self, goal: Goal) -> Iterator[Way]:
        a, b, c, at = goal
        if isinstance(a, Value):
            for x, y, k in self.conditions.about(a, at):
                if x is a:
                    yield [Goal(y, b, c - k, at)]
                elif x is not None and x.op is not None and x.op.name in ("int.add", "int.mul"):
                    m = constant_int(x.op.operands[1]) if x.op.name == "int.add" else None  # a is x - m, or at most x
                    yield [Goal(y, b, c - k + m, at)] if m is not None else [Goal(a, x, 0, at), Goal(y, b, c - k, at)]
        if isinstance(b, Value):
            yield from ([Goal(a, x, c - k, at)] for x, y, k in self.conditions.about(b, at) if y is b)

    def _above(self, goal: Goal) -> Iterator[Way]:
        """Yield goals from upper bounds of `a`."""
        a, b, c, at = goal
        if isinstance(a, Length):
            yield from self._of_longest(a.of, goal)
        elif a is not None:
            if (loop := loop_of_counter(a)) is not None and (step := constant_int(loop.operands[2])):
                yield [goal.with_a(loop.operands[1], 1) if step > 0 else goal.with_a(loop.operands[0])]
            if b is None and c >= _LONGEST and self._is_length(a, at):
                yield []
            if a.op is not None and a.op.name in ABOVE:
                yield from ABOVE[a.op.name](goal, *a.op.operands)

    def _below(self, goal: Goal) -> Iterator[Way]:
        """Yield goals from lower bounds of `b`."""
        b, at = goal.b, goal.at
        if isinstance(b, Length):
            yield from ([goal.with_b(v, k)] for v, k in self._floors(b.of, at))
        elif b is not None:
            if (loop := loop_of_counter(b)) is not None and (step := constant_int(loop.operands[2])):
                yield [goal.with_b(loop.operands[0]) if step > 0 else goal.with_b(loop.operands[1], 1)]
            if b.op is not None and b.op.name == "list.len":
                yield from ([goal.with_b(v, k)] for v, k in self._floors(b.op.operands[0], b.op))
            if b.op is not None and (b.op.name in LENGTHS or b.op.name == "size"):
                yield [goal.with_b(None)]
            if b.op is not None and b.op.name in BELOW:
                yield from BELOW[b.op.name](goal, *b.op.operands)

    def _is_length(self, value: Value, at: Op) -> bool:
        """Return whether an object in memory has this many items, or more."""
        if value.op is not None and value.op.name in LENGTHS:
            return True
        made = (user for user in value.users() if user.name == "list.repeat" and user.operands[1] is value)
        return any(self._repeats(user) and self.conditions.dominates(user, at) for user in made)

    def _repeats(self, op: Op) -> int:
        """Return a lower bound for the length of a repeated list."""
        xs = op.operands[0]
        return _items(xs) if self.conditions.keeps_length(xs, grows=True) else 0

    def _of_longest(self, xs: Value, goal: Goal) -> Iterator[Way]:
        """Yield goals from the original length of a list that keeps its length."""
        op = xs.op
        if goal.b is None and goal.c >= _LONGEST:
            yield []
        if op is None or not self.conditions.keeps_length(xs):
            return
        if op.name == "list.new":
            yield [goal.with_a(None, -len(op.operands))]
        elif op.name == "list.repeat" and self.conditions.keeps_length(op.operands[0]) and _items(op.operands[0]) == 1:
            yield [goal.with_a(op.operands[1]), goal.with_a(None)]

    def _floors(self, xs: Value, at: Op) -> Iterator[Floor]:
        """Yield lower bounds for the length of a list when control reaches `at`."""
        if xs in self._asked or not self.conditions.keeps_length(xs, grows=True):
            return
        users = self.conditions.users(xs)
        for user in self.conditions.nearest(users, at, lambda user: user):
            if user.name in _INDEXED and self.conditions.dominates(user, at):
                yield user.operands[1], 1
            elif user.name == "list.len" and self.conditions.dominates(user, at):
                yield user.result, 0
        yield None, _items(xs)
        if xs.op is not None and xs.op.name == "list.repeat" and self._repeats(xs.op):
            yield xs.op.operands[1], 0
        for append in [user for user in users if user.name == "list.append"][:_APPENDS]:
            yield from self._by_appending(append, at)
        yield from self._passed_floors(xs)

    def _by_appending(self, append: Op, at: Op) -> Iterator[Floor]:
        """Yield the trip count of a loop that appends to a list in each iteration, as a lower bound of its length."""
        assert append.parent is not None and at.parent is not None
        loop, xs = append.parent.parent, append.operands[0]
        if loop is None or not is_loop(loop) or not loop.attrs["counted"] or not _is_outside(xs, loop):
            return
        start, stop, step = loop.operands[:3]
        first = constant_int(start)
        if first is None or constant_int(step) != 1 or not runs_to_its_end(loop):
            return
        if self.conditions.dominates(loop, at):
            yield stop, _items(xs) - first
        elif append.parent.encloses(at.parent):
            yield append.parent.args[0], _items(xs) - first + self.conditions.dominates(append, at)

    def _passed_floors(self, xs: Value) -> list[Floor]:
        """Yield common lower bounds for the lengths of all lists that a region op may pass on as this one."""
        argument = self.conditions.region_arguments.get(xs)
        givers = [(op, i) for op, i in _givers(argument, xs) if op.operands[i] is not xs] if argument is not None else []
        if argument is None or not givers:
            return []
        (op, i), *others = givers
        self._asked.add(xs)
        found = []
        for v, k in self._floors(op.operands[i], op):
            if _is_outside(v, argument.op):
                self._assumed.append(Goal(v, Length(xs), -k, op))
                if all(self._prove(Goal(v, Length(o.operands[j]), -k, o), _DEPTH) for o, j in others):
                    found.append((v, k))
                self._assumed.pop()
        self._asked.discard(xs)
        return found


def _givers(argument: RegionArgument, value: Term) -> tuple[Operand, ...]:
    return argument.into_inner if value is argument.inner else argument.into_result


def _items(xs: Value) -> int:
    """Return the number of items of a list display."""
    return len(xs.op.operands) if xs.op is not None and xs.op.name == "list.new" else 0


def _is_outside(term: Term, op: Op) -> bool:
    """Return whether a term exists before a region op and stays the same while the op runs."""
    value = term.of if isinstance(term, Length) else term
    return value is None or (value.op is not op and not any(region.encloses(value.block) for region in op.regions))
