"""Facts at a point of a function: the branch conditions on every path to the point, and the indices that were in
bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from scriptc.ir.analysis import Origins, may_write
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.ranges import constant, constant_int
from scriptc.ir.regions import RegionArgument, region_arguments, target
from scriptc.ir.types import Container, ListType

_FLIPPED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
LENGTHS = frozenset({"list.len", "str.len", "dict.len"})  # of objects in memory; an expanded tensor may be larger
_KEEP_LENGTH = frozenset({"list.set", "list.put"})
_GROW = frozenset({"list.append", "list.insert"})
_NEAR = 16  # the most conditions and uses that are examined for one value

T = TypeVar("T")


class Fact(NamedTuple):
    """The inequality `x <= y + k`, where None stands for the number 0."""

    x: Value | None
    y: Value | None
    k: int


def _fact(x: Value, y: Value, k: int) -> Fact:
    m, n = constant_int(x), constant_int(y)
    return Fact(x if m is None else None, y if n is None else None, k - (m or 0) + (n or 0))


@dataclass(frozen=True)
class Known:
    """A fact that holds in one branch of an `if`, and after the `if` if only this branch continues."""

    fact: Fact
    choice: Op
    branch: int
    behind: bool


class PathConditions:
    """Answer questions about the body of one function, while the body does not change."""

    def __init__(self, body: Block):
        self.positions: dict[Op, int] = {}  # positions in program order
        self.region_arguments: dict[Value, RegionArgument] = {}
        self._about: dict[Value, list[Known]] = {}
        self._changes: list[Op] = []
        self._steady: dict[tuple[Value, bool], bool] = {}
        self._users: dict[Value, list[Op]] = {}
        self._origins = Origins()
        self._read(body)

    def _read(self, block: Block) -> None:
        for op in block.ops:
            self.positions[op] = len(self.positions)
            if "list" in op.defn.writes:
                self._changes.append(op)
            if op.name == "if":
                on = _goes_on(op)
                for branch in (0, 1):
                    self._note(op, branch, behind=branch == on)
            if op.has("CONTROL"):
                for argument in region_arguments(op):
                    self.region_arguments.update({v: argument for v in (argument.inner, argument.result) if v is not None})
            for region in op.regions:
                self._read(region)

    def _note(self, choice: Op, branch: int, *, behind: bool) -> None:
        for fact in _of_condition(choice.operands[0], branch == 0):
            made_of = fact.x.op.operands if fact.x is not None and fact.x.op is not None else ()
            for value in dict.fromkeys((fact.x, fact.y, *made_of)):
                if value is not None:
                    self._about.setdefault(value, []).append(Known(fact, choice, branch, behind))

    def dominates(self, a: Op, b: Op) -> bool:
        """Return whether `a` has always run when control reaches `b`."""
        at: Op | None = b
        while at is not None and at.parent is not a.parent:
            at = at.parent.parent if at.parent is not None else None
        return at is not None and self.positions[a] < self.positions[at]

    def nearest(self, sources: Sequence[T], at: Op, op_of: Callable[[T], Op]) -> Iterator[T]:
        """Return the last few sources before `at`, last first. sources: in program order."""
        end = bisect_left(sources, self.positions[at], key=lambda source: self.positions[op_of(source)])
        return reversed(sources[max(0, end - _NEAR) : end])

    def keeps_length(self, xs: Value, *, grows: bool = False) -> bool:
        """Return whether no op changes the length of a list after it is made. grows: ops may make the list longer."""
        key = xs, grows
        if key not in self._steady:
            harmless = _KEEP_LENGTH | _GROW if grows else _KEEP_LENGTH
            changes = (op for op in self._changes if op.name not in harmless and _concerns_lists(op))
            self._steady[key] = not any(may_write(op, xs, self._origins) for op in changes)
        return self._steady[key]

    def users(self, xs: Value) -> list[Op]:
        """Return the ops on a list, in program order."""
        if xs not in self._users:
            changes = (op for op in xs.users() if op.operands[0] is xs)
            self._users[xs] = sorted(changes, key=lambda op: self.positions[op])
        return self._users[xs]

    def about(self, value: Value, at: Op) -> Iterator[Fact]:
        """Yield the facts about a value, or about values computed from it, that hold when control reaches `at`."""
        assert at.parent is not None
        for known in self.nearest(self._about.get(value, ()), at, lambda known: known.choice):
            choice = known.choice
            if choice.regions[known.branch].encloses(at.parent) or (known.behind and self.dominates(choice, at)):
                yield known.fact


def _goes_on(choice: Op) -> int | None:
    """Return the only region of an `if` from which control continues after the `if`; None if both or none do."""
    on = [i for i, region in enumerate(choice.regions) if region.ops and target(region.ops[-1]) is choice]
    return on[0] if len(on) == 1 else None


def _concerns_lists(writer: Op) -> bool:
    """Return whether the memory that an op writes may be a list. A call may write all memory, another op its first
    operand."""
    return "func" in writer.attrs or not isinstance(writer.operands[0].type, Container) or isinstance(
        writer.operands[0].type, ListType
    )


def _of_condition(condition: Value, holds: bool) -> Iterator[Fact]:
    """Yield the facts that follow from the truth of a condition."""
    op = condition.op
    if op is None:
        return
    if op.name == "bool.not":
        yield from _of_condition(op.operands[0], not holds)
    elif op.name == ("bool.and_" if holds else "bool.or_"):
        for part in op.operands:
            yield from _of_condition(part, holds)
    elif op.name == "if":
        yield from _of_choice(op, condition, holds)
    elif op.name == "int.to_bool":
        yield from _is_positive(op.operands[0], holds)
    elif op.name.startswith("int.") and (sign := op.name[4:]) in _FLIPPED:
        yield from _of_comparison(sign if holds else _FLIPPED[sign], *op.operands)


def _of_comparison(sign: str, x: Value, y: Value) -> Iterator[Fact]:
    if sign in ("gt", "ge"):
        x, y, sign = y, x, "lt" if sign == "gt" else "le"
    match sign:
        case "lt":
            yield _fact(x, y, -1)
        case "le":
            yield _fact(x, y, 0)
        case "eq":
            yield from (_fact(x, y, 0), _fact(y, x, 0))
        case "ne" if constant_int(y) == 0:
            yield from _is_positive(x, True)


def _is_positive(x: Value, holds: bool) -> Iterator[Fact]:
    if holds and x.op is not None and x.op.name in LENGTHS:
        yield Fact(None, x, -1)


def _of_choice(choice: Op, result: Value, holds: bool) -> Iterator[Fact]:
    """Yield the facts of an `and` or `or`. The branch that always gives the other truth value was not taken."""
    index = choice.results.index(result)
    ends = [(i, region.ops[-1]) for i, region in enumerate(choice.regions) if target(region.ops[-1]) is choice]
    able = [(i, end.operands[index]) for i, end in ends if _known(choice, i, end.operands[index]) is not (not holds)]
    if len(able) == 1:
        taken, value = able[0]
        yield from _of_condition(choice.operands[0], taken == 0)
        yield from _of_condition(value, holds)


def _known(choice: Op, branch: int, value: Value) -> object:
    """Return the result of a branch: a constant, or the condition itself."""
    return branch == 0 if value is choice.operands[0] else constant(value)
