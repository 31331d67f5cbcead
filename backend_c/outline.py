"""Move code that long functions repeat into functions of their own, and so the loops of long functions.

    %s = c.call(%x, %w1) {kernel = "sc_mul", ...}         %r = call(%x, %w1, %n1, %at1) {func = "f.part"}
    %r = c.call(%s) {kernel = "sc_pad", args = [2]}       %q = call(%r, %w2, %n2, %at2) {func = "f.part"}
    %t = c.call(%r, %w2) {kernel = "sc_mul", ...}    =>
    %q = c.call(%t) {kernel = "sc_pad", args = [3]}       func @f.part(%x: f32[?], %w: f32[?], %n: i64, %at: i64) -> (f32[?]) {
                                                            ...

Windows of statements that are equal up to their operands become one function, a part, in which everything that differs
is a parameter: objects and numbers, integers among the arguments of kernels, and the rows in the table of locations at
which ops fail. Values that are used behind a window are results of the part. So a net's layers are compiled once.

Results and errors stay the same. A window holds whole statements, no jump leaves it, and c.retain and c.release move with
their statements. What differs in a loop is an object, never a number that the C compiler may use. Code in loops stays
where it is. `isomorphism.py` says which statements are equal, `repeats.py` finds windows.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scriptc.backend_c.isomorphism import (
    LEADING,
    ROWS,
    NumberSite,
    Statement,
    Statements,
    is_literal,
    lines_of,
    literal_key,
    without_sizes,
)
from scriptc.backend_c.locations import whole_lines
from scriptc.backend_c.repeats import repeated_windows
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.regions import is_loop
from scriptc.ir.types import INT, ITER, ElemType, PtrType, Type

MAX_PARAMETERS = 60
CALL = 2  # ops that a call with its check of errors counts as, without arguments
ROUNDS = 6


@dataclass(frozen=True)
class Limits:
    """Numbers that decide which statements become a part.

    long: functions of more ops outside of loops are outlined, since the C compiler takes more than linear time for these.
    size: the fewest ops of a part that repeats. saved: the fewest ops that such a part saves.
    """

    long: int = 200
    size: int = 12
    saved: int = 40


DEFAULT = Limits()


def outline(module: Module, limits: Limits | None = None) -> dict[str, str]:
    """Outline the long functions of a module of the loop IR, in place.

    Return the function that each part comes from, by name.
    """
    limits, parts = limits or DEFAULT, dict[str, str]()
    for func in list(module.funcs.values()):
        if _straight_ops(func.body) > limits.long:
            parts |= {part.name: func.name for part in _Outliner(module, func, limits).run()}
    return parts


def _straight_ops(block: Block) -> int:
    """Return the number of ops outside of loops."""
    total = 0
    for op in block.ops:
        total += not is_literal(op)
        if not is_loop(op):
            total += sum(map(_straight_ops, op.regions))
    return total


Shape = tuple[tuple[int, int] | None, ...]


class _Sequence:
    """The statements of a function outside of loops, those of each block behind one another.

    keys: a number for each, equal for equal statements; a negative one, which is unique, for one that stays where it is, as
    terminators do. home: the statement that makes a value. last: the last one of the value's block that uses the value.
    holder: the statement whose region holds a statement.
    held: the statements in the regions of one.
    """

    def __init__(self, funcs: Sequence[Func], known: dict[Op, Statement]) -> None:
        self.statements: list[Statement] = []
        self.keys: list[int] = []
        self.home: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self.holder: dict[int, int] = {}
        self.held: dict[int, range] = {}
        self._numbers: dict[Hashable, int] = {}
        for func in funcs:
            self._add(func.body, Statements(func, known), None)
        self.sizes = [0]
        for statement in self.statements:
            self.sizes.append(self.sizes[-1] + statement.size)

    def _add(self, block: Block, describer: Statements, holder: int | None) -> None:
        found, first = list(describer.of(block)), len(self.statements)
        self.statements += found
        for at, statement in enumerate(found, first):
            for op, index in statement.values:
                if op.operands[index].block is block:
                    self.last[op.operands[index]] = at
            self.home |= dict.fromkeys(statement.results, at)
            key = statement.key
            self.keys.append(-at - 2 if key is None else self._numbers.setdefault(key, len(self._numbers)))
            if holder is not None:
                self.holder[at] = holder
        for at, statement in enumerate(found, first):
            op = statement.ops[-1]
            if op.name in ("if", "scope", "try"):
                begin = len(self.statements)
                for region in op.regions:
                    self._add(region, describer, at)
                self.held[at] = range(begin, len(self.statements))

    def size(self, start: int, length: int) -> int:
        """Return the number of ops of a window."""
        return self.sizes[start + length] - self.sizes[start]

    def shape(self, start: int, length: int) -> Shape | None:
        """Return which operands of a window are results of the window; None if a part cannot take the others."""
        found: list[tuple[int, int] | None] = []
        for statement in self.statements[start : start + length]:
            for op, index in statement.values:
                value = op.operands[index]
                home = self.home.get(value, -1)
                inside = start <= home < start + length
                if not inside and not _can_pass(value) and not (value.op and is_literal(value.op)):
                    return None
                found.append((home - start, value.op.results.index(value)) if inside and value.op else None)
        return tuple(found)

    def is_used_behind(self, value: Value, end: int) -> bool:
        return self.last.get(value, -1) >= end

    def around(self, at: int) -> Iterator[int]:
        """Yield the statements that hold a statement."""
        while (holder := self.holder.get(at)) is not None:
            yield holder
            at = holder

    def take(self, at: int, taken: bytearray) -> None:
        """Mark a statement, those that hold it, and those that it holds."""
        taken[at] = 1
        for holder in self.around(at):
            taken[holder] = 1
        for inner in self.held.get(at, ()):
            taken[inner] = 1


def _can_pass(value: Value) -> bool:
    """Return whether a value can be a parameter of a part."""
    return value.type != ITER and not isinstance(value.type, (PtrType, ElemType))


class _Window:
    """Occurrences of a window that become one part.

    starts: of each occurrence, its first statement. sites: of each occurrence, where values, numbers and lines stand that
    may differ. results: the statement and index of each value that is used behind an occurrence.
    parameters: for each, a site of the argument. given: of each site, its parameter; None if the part has all that it needs.
    The last parameter may be the first of consecutive rows of the table of locations. rows: sites of these rows.
    offsets: of each site that is a row, the number of rows in front of it.
    """

    def __init__(self, sequence: _Sequence, starts: Sequence[int], length: int, shape: Shape) -> None:
        self.starts = starts
        self.occurrences = [sequence.statements[start : start + length] for start in starts]
        self.sites = [_sites(statements) for statements in self.occurrences]
        self.size = sequence.size(starts[0], length)
        self.results = [
            (i, k)
            for i, statement in enumerate(self.occurrences[0])
            for k in range(len(statement.results))
            if any(sequence.is_used_behind(sequence.statements[s + i].results[k], s + length) for s in starts)
        ]
        self.parameters: list[int] = []
        self.given: dict[int, int] = {}
        self.rows: list[int] = []
        self.offsets: dict[int, int] = {}
        self.row_count = 0
        self._compare(shape)

    def _compare(self, shape: Shape) -> None:
        places: dict[Hashable, int] = {}
        for at, column in enumerate(zip(*self.sites, strict=True)):
            if at < len(shape) and shape[at] is not None:
                continue
            keys = tuple(map(_key, column))
            if len(set(keys)) == 1 and not isinstance(keys[0], Value):
                continue
            if all(map(_row_literals, column)):
                if keys not in places:
                    places[keys] = self.row_count
                    self.rows.append(at)
                    self.row_count += len(_row_literals(column[0]))
                self.offsets[at] = places[keys]
            else:
                if keys not in places:
                    places[keys] = len(self.parameters)
                    self.parameters.append(at)
                self.given[at] = places[keys]

    @property
    def is_possible(self) -> bool:
        """Return whether a part can have these parameters and results. A view is a variable of its block."""
        values = [self.occurrences[0][i].results[k] for i, k in self.results]
        few = len(self.parameters) + len(values) <= MAX_PARAMETERS
        return few and all(_can_pass(v) and v.op is not None and v.op.name != "c.view" for v in values)

    @property
    def saved(self) -> int:
        """Return about how many ops fewer the C compiler reads."""
        calls = len(self.starts)
        return (calls - 1) * self.size - calls * (CALL + (len(self.parameters) + len(self.results)) // 4)


Site = tuple[Op, int] | NumberSite | Op  # an operand; a number; an op that fails at its line


def _sites(statements: Sequence[Statement]) -> list[Site]:
    values: list[Site] = [site for statement in statements for site in statement.values]
    numbers = [site for statement in statements for site in statement.numbers]
    return [*values, *numbers, *(op for statement in statements for op in statement.lines)]


def _literal(site: Site) -> Op | None:
    """Return the literal that an operand is."""
    op = site[0].operands[site[1]].op if isinstance(site, tuple) else None
    return op if op is not None and is_literal(op) else None


def _key(site: Site) -> Hashable:
    """Return what tells a site from those of other occurrences."""
    if isinstance(site, NumberSite):
        return site.type, str(site.number)
    if isinstance(site, Op):
        return (whole_lines(site.loc),)
    literal = _literal(site)
    return site[0].operands[site[1]] if literal is None else literal_key(literal)


def _row_literals(site: Site) -> list[Loc]:
    """Return the locations whose rows stand at a site; none if it is no row."""
    if isinstance(site, Op):
        return [site.loc]
    literal = _literal(site)
    return [line.loc for line in lines_of(literal)] if literal is not None and literal.name in ROWS else []


class _Outliner:
    """Outline one function. funcs: the function, and the parts that were made of it. known: the statements of them all."""

    def __init__(self, module: Module, func: Func, limits: Limits) -> None:
        self.module = module
        self.func = func
        self.limits = limits
        self.funcs = [func]
        self.known: dict[Op, Statement] = {}

    def run(self) -> list[Func]:
        """Return the parts."""
        for _ in range(ROUNDS):
            windows = _chosen(_Sequence(self.funcs, self.known), self.limits)
            for window in windows:
                self.replace(window)
            if not windows:
                break
        for func in list(self.funcs):
            if _straight_ops(func.body) > self.limits.long:
                self.move_loops(func)
        return self.funcs[1:]

    def move_loops(self, func: Func) -> None:
        """Move the loops of a function into parts, if that can be done for all. The rest is compiled without effort."""
        sequence = _Sequence([func], self.known)
        at = {statement.ops[-1]: i for i, statement in enumerate(sequence.statements)}
        moved: dict[int, _Window] = {}
        for op in filter(is_loop, at):
            place: int | None = at[op]
            while place is not None:
                shape = sequence.shape(place, 1) if sequence.keys[place] >= 0 else None
                if shape is not None and (window := _Window(sequence, [place], 1, shape)).is_possible:
                    moved[place] = window
                    break
                place = sequence.holder.get(place)
            else:
                return
        for place, window in moved.items():
            if not any(around in moved for around in sequence.around(place)):
                self.replace(window)

    def replace(self, window: _Window) -> None:
        """Replace the occurrences of a window by calls of a part."""
        part = self.part(window)
        self.module.funcs[part.name] = part
        self.funcs.append(part)
        for statements, sites in zip(window.occurrences, window.sites, strict=True):
            first, ops = statements[0].ops[0], [op for statement in statements for op in statement.ops]
            build = Builder.before(first)
            operands = [_argument(build, sites[at]) for at in window.parameters]
            lines = [build.op("c.line", (), loc).result for at in window.rows for loc in _row_literals(sites[at])]
            operands += [build.op("c.lines", lines, first.loc).result] if len(lines) > 1 else lines
            results = [statements[i].results[k] for i, k in window.results]
            call = build.op("call", operands, first.loc, types=[v.type for v in results], names=[v.name for v in results],
                            func=part.name)  # fmt: skip
            for value, new in zip(results, call.results, strict=True):
                value.replace_all_uses(new)
            assert first.parent is not None
            self.forget_holders(first)
            first.parent.erase(ops[::-1])

    def forget_holders(self, op: Op) -> None:
        """Forget what is known of the statements that hold an op, because it goes."""
        block = op.parent
        while block is not None and block.parent is not None:
            self.known.pop(block.parent, None)
            block = block.parent.parent

    def part(self, window: _Window) -> Func:
        """Return the part that an occurrence becomes."""
        statements, sites = window.occurrences[0], window.sites[0]
        body = Block([*(_parameter(sites[at]) for at in window.parameters), *([(INT, "line")] if window.rows else [])])
        build = Builder(body)
        values: dict[Value, Value] = {}
        copies: dict[Op, Op] = {}
        own = dict.fromkeys(op for statement in statements for held in statement.ops for op in held.walk())
        literals = {v.op: v for op in own for v in op.operands if v.op is not None and is_literal(v.op) and v.op not in own}
        for literal, value in literals.items():
            values[value] = _copied(build, literal)
        for statement in statements:
            for op in statement.ops:
                copies.update(zip(op.walk(), clone_op(build, op, values).walk(), strict=True))
        for at, parameter in window.given.items():
            _take(sites[at], copies, body.args[parameter])
        for at, offset in window.offsets.items():
            _take_row(sites[at], copies, body.args[-1], offset)
        for op in body.walk():
            for value in (*op.results, *(arg for region in op.regions for arg in region.args)):
                value.type = without_sizes(value.type)
        results = [values[statements[i].results[k]] for i, k in window.results]
        loc = statements[0].ops[0].loc
        build.op("return", results, loc)
        body.erase([op for op in reversed(body.ops) if is_literal(op) and not op.result.uses])
        count = len(window.occurrences)
        source = [f"A part of {self.func.name} that runs {count} times. Lines in comments are those of the first."]
        name = f"{self.func.name}.part{len(self.funcs) if len(self.funcs) > 1 else ''}"
        return Func(name, body, [v.type for v in results], loc, source if count > 1 else [])


def _parameter(site: Site) -> tuple[Type, str]:
    if isinstance(site, NumberSite):
        return site.type, "n"
    assert isinstance(site, tuple)
    value = site[0].operands[site[1]]
    return without_sizes(value.type), value.name


def _argument(build: Builder, site: Site) -> Value:
    """Build the argument that a call gives for a site."""
    if isinstance(site, NumberSite):
        return build.const(site.number, site.op.loc)
    assert isinstance(site, tuple)
    literal = _literal(site)
    return site[0].operands[site[1]] if literal is None else _copied(build, literal)


def _copied(build: Builder, literal: Op) -> Value:
    """Build a copy of a literal."""
    return clone_op(build, literal, {v: _copied(build, v.op) for v in literal.operands if v.op is not None}).result


def _take(site: Site, copies: Mapping[Op, Op], value: Value) -> None:
    """Let the copy of a site take a parameter."""
    if isinstance(site, NumberSite):
        site.give(copies[site.op], value)
    elif isinstance(site, tuple):
        copies[site[0]].set_operand(site[1], value)


def _take_row(site: Site, copies: Mapping[Op, Op], row: Value, offset: int) -> None:
    """Let the copy of a site take the row that comes `offset` rows behind another."""
    assert not isinstance(site, NumberSite)
    op = copies[site[0] if isinstance(site, tuple) else site]
    assert op.parent is not None
    at = op.parent.ops.index(op)
    while at and op.parent.ops[at - 1].name in LEADING:
        at -= 1
    build = Builder(op.parent, at)
    if offset:
        row = build.op("c.line_behind", [row], op.loc, offset=offset).result
    if isinstance(site, tuple):
        op.set_operand(site[1], row)
    else:
        build.op("c.at", [row], op.loc)


def _chosen(sequence: _Sequence, limits: Limits) -> list[_Window]:
    """Return windows that do not overlap, the ones that save most first."""
    heap = [
        (-_most_saved(size, len(starts)), i, length, starts)
        for i, (length, starts) in enumerate(repeated_windows(sequence.keys))
        if (size := sequence.size(starts[0], length)) >= limits.size
    ]
    heapq.heapify(heap)
    taken, chosen = bytearray(len(sequence.keys)), list[_Window]()
    while heap and -heap[0][0] >= limits.saved:
        bound, i, length, starts = heapq.heappop(heap)
        following = heap[0][0] if heap else 0
        shape, starts = _equal(sequence, taken, length, starts)
        if len(starts) < 2:
            continue
        most = -_most_saved(sequence.size(starts[0], length), len(starts))
        if most > bound and most > following:  # another window may save more
            heapq.heappush(heap, (most, i, length, starts))
            continue
        window = _Window(sequence, starts, length, shape)
        if window.is_possible and window.saved >= limits.saved:
            if -window.saved > bound and -window.saved > following:
                heapq.heappush(heap, (-window.saved, i, length, starts))
                continue
            chosen.append(window)
            for start in starts:
                for at in range(start, start + length):
                    sequence.take(at, taken)
    return chosen


def _most_saved(size: int, count: int) -> int:
    return (count - 1) * size - count * CALL


def _equal(sequence: _Sequence, taken: bytearray, length: int, starts: Sequence[int]) -> tuple[Shape, list[int]]:
    """Return the occurrences of a window that are free, do not overlap and have one shape, as many as there are."""
    groups: dict[Shape, list[int]] = {}
    for start in starts:
        if not any(taken[start : start + length]) and (shape := sequence.shape(start, length)) is not None:
            found = groups.setdefault(shape, [])
            if not found or found[-1] + length <= start:
                found.append(start)
    return max(groups.items(), key=lambda group: len(group[1]), default=((), []))
