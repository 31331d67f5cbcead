"""Exceptions: `raise`, and `try` with its handlers.

A handler sees the last values of the names and objects that its `try` body changes. So each change in the body leaves a
placeholder while the body is read. Then the states at all changes are joined like paths. The joined values go through
cells, which are written at each change and read where the handler begins.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import FunctionType
from typing import NoReturn

from scriptc.frontend.operations.formatting import joined, message_parts, raise_with
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.dispatch import runs
from scriptc.frontend.reader.jumps import RETURNED, leave_by
from scriptc.frontend.reader.paths import (
    Env,
    Exit,
    Names,
    changed,
    held_in,
    join_blocks,
    plan_joins,
    reached,
    rebind,
    restore,
    scoped,
    snapshot,
    splice_block,
)
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import (
    caught_instance,
    exception_name,
    exception_of,
    is_exception,
    note_held,
)
from scriptc.frontend.reader.statements import bind_name
from scriptc.frontend.source.scope import assigned
from scriptc.frontend.values.abstract import AbstractValue, Ident, Known, ObjectValue, RuntimeValue, Unbound
from scriptc.frontend.values.frame import Final, Leaving, Site, Watch
from scriptc.frontend.values.joins import Leaf, Plan
from scriptc.frontend.values.predicates import is_known, without_flag
from scriptc.frontend.values.verb import Question
from scriptc.frontend.values.verbs import raise_value
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.regions import may_raise
from scriptc.ir.types import EXC, CellType

_WAYS = ("return", "break", "continue")
_OWN_CODE = ("__new__", "__str__")


# ---- raise ----


@runs(ast.Raise)
def run_raise(reader: Reader, node: ast.Raise) -> bool:
    if node.exc is None:
        if not reader.position.handling:
            reader.emit.raise_error("RuntimeError", "No active exception to reraise")
        raise_value(reader, reader.position.handling[-1])
    value = reader.evaluate(node.exc)
    if node.cause is not None and not may_be_cause(reader.evaluate(node.cause)):
        reader.emit.raise_error("TypeError", "exception causes must derive from BaseException")
    raise_value(reader, value)


@Question
def may_be_cause(av: AbstractValue) -> bool:
    """Return whether `raise ... from av` accepts a value, if that is known: None, exceptions and their classes."""
    return True


def raise_made(reader: Reader, made: ObjectValue) -> NoReturn:
    if any(isinstance(home.__dict__.get(n), FunctionType) for home in made.cls.__mro__ for n in _OWN_CODE):
        reader.reject("raise_with_own_str", name=made.cls.__name__)
    if issubclass(made.cls, StopIteration) and reader.position.leaves_generator:
        reader.emit.raise_error("StopIteration", "")
    note_held(reader, made)
    raise_with(reader, exception_name(reader, made.cls), joined(reader, message_parts(reader, made)))


# ---- try ----


@runs(ast.Try)
def run_try(reader: Reader, node: ast.Try) -> bool:
    if not node.finalbody:
        return excepting(reader, node)
    live = reader.position.frame.live.final[node]
    names = assigned([node]) & reader.position.frame.live.after[node]

    def last() -> bool:
        return reader.run(node.finalbody)

    def caught(e: AbstractValue) -> bool:
        e = caught_instance(reader, e, [BaseException])
        if last():
            raise_value(reader, e)
        return False

    return finishing(reader, assigned([node]), live, names, lambda: excepting(reader, node), last, caught)


def excepting(reader: Reader, node: ast.Try) -> bool:
    """Read a `try` without its `finally`."""
    if not node.handlers:
        return reader.run(node.body)
    live = reader.position.frame.live
    names = assigned([node]) & live.final[node]

    def body() -> bool:
        return reader.run(node.body)

    if not node.orelse:
        handlers = lambda e: run_handlers(reader, node.handlers, e, names)  # noqa: E731
        return protected(reader, live.caught[node], names, body, handlers)

    def whole(label: str, exits: list[Exit]) -> bool:
        def handle(e: AbstractValue) -> bool:
            if run_handlers(reader, node.handlers, e, names):
                exits.append((reader.emit.effect("break", (), to=label), snapshot(reader)))
            return False

        after_body = assigned(node.body) & live.after[node.body[-1]]
        return protected(reader, live.caught[node], after_body, body, handle) and reader.run(node.orelse)

    return scoped(reader, names, whole)


def run_handlers(reader: Reader, handlers: Sequence[ast.ExceptHandler], e: AbstractValue, names: Names) -> bool:
    """Read the first handler that fits. If none fits, the exception propagates."""
    if not handlers:
        raise_value(reader, e)
    first, *rest = handlers
    saved, reader.position.node = reader.position.node, first
    try:
        classes = [BaseException] if first.type is None else classes_of(reader, reader.evaluate(first.type))
        fits = is_exception(reader, e, classes)
        here = lambda: handler(reader, first, caught_instance(reader, e, classes))  # noqa: E731
        if is_known(fits):
            return here() if fits.obj else run_handlers(reader, rest, e, names)
        return reader.branch(fits, here, lambda: run_handlers(reader, rest, e, names), names)
    finally:
        reader.position.node = saved


def handler(reader: Reader, node: ast.ExceptHandler, e: AbstractValue) -> bool:
    reader.position.handling.append(e)
    try:
        if node.name:
            bind_name(reader, node.name, e)
        falls = reader.run(node.body)
    finally:
        reader.position.handling.pop()
    if node.name and falls:
        bind_name(reader, node.name, Unbound())
    return falls


def classes_of(reader: Reader, av: AbstractValue) -> list[type[BaseException]]:
    """Return the exception classes of a handler."""
    found = require_known(reader, av, "the class of an exception")
    classes = list(found) if isinstance(found, tuple) else [found]
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            reader.emit.raise_error(
                "TypeError", "catching classes that do not inherit from BaseException is not allowed"
            )
    return classes


# ---- bodies whose exceptions are caught ----


def protected(
    reader: Reader, live: Names, names: Names, run: Callable[[], bool], handle: Callable[[AbstractValue], bool]
) -> bool:
    """Read `run()`, and `handle(exception)` if it raises. The handler sees the last values of the names `live`.

    If no code remains of the handler but that it raises the exception again, there is no `try`: what the handler changes
    in the compiler is lost with the exception, unless a handler around it sees that.

    names: joined after both.
    """
    mark, before, place = Ident().serial, snapshot(reader), (reader.position.loc, "try")
    watch = Watch(reader.position.frame, live, mark)
    reader.position.watches.append(watch)
    try:
        with reader.emit.builder.at(Block(), goes_on=True) as body:
            falls = reached(run)
    finally:
        reader.position.watches.pop()
    if not any(map(may_raise, body.walk())):
        for site in watch.sites:
            site.op.erase()
        splice_block(reader, body)
        return falls
    if not falls and (raised := _only_raise(body)) is not None:
        for site in watch.sites:
            site.op.erase()
        raised.erase()
        splice_block(reader, body)
        cls, message = getattr(builtins, raised.attrs["type"]), raised.attrs["message"]
        return reached(lambda: handle(exception_of(reader, cls, [Known(message)] if message else [], {})))
    end = snapshot(reader)
    restore(reader, before)
    envs = [before, *(site.env for site in watch.sites)]
    keys: set[Hashable] = {s.key for s in watch.sites if isinstance(s.key, str)}
    keys |= {k for env in envs for k in changed(before, env, mark) if isinstance(k, Ident)}
    plans = plan_joins(reader, keys, envs, fresh=True, mark=mark)
    with reader.emit.builder.at(Block(), goes_on=True) as ahead:
        cells = cells_for(reader, plans, before, envs)
    noted_around = [(outer, len(outer.sites)) for outer in reader.position.watches]
    with reader.emit.builder.at(Block([(EXC, "error")])) as handler:
        held = [reader.emit.build("cell.get", [c]) for row in cells.values() for c in row]
        rebind(reader, plans, held, envs, mark)
        start = snapshot(reader)
        goes_on = reached(lambda: handle(RuntimeValue(handler.args[0])))
    if not goes_on and _only_reraises(handler) and not reader.recursion.nested and place not in reader.assumptions.tries:
        lost = any(isinstance(key, Ident) for key in changed(start, snapshot(reader), mark))
        for outer, count in noted_around:
            outer.dropped |= {place} if lost else set()
            del outer.sites[count:]
        for noted in watch.sites:
            noted.op.erase()
        for unused in (handler, ahead):
            unused.drop()
        restore(reader, end)
        splice_block(reader, body)
        return falls
    if watch.dropped:
        reader.speculation.keep_tries(watch.dropped)
    splice_block(reader, ahead)
    set_cells(reader, watch.sites, plans, cells, envs)
    ends = [(body, end)] if falls else []
    altered = changed(before, end, mark) if falls else set()
    if goes_on:
        ends.append((handler, snapshot(reader)))
        altered |= changed(before, ends[-1][1], mark) | changed(start, ends[-1][1], mark)
    restore(reader, before)
    keys = set(names) | {k for k in altered if isinstance(k, Ident)}
    return join_blocks(reader, "try", [], [body, handler], ends, keys, altered, mark)


def _only_reraises(handler: Block) -> bool:
    """Return whether a handler does nothing but raise its exception again."""
    *others, last = handler.ops
    pure = all(
        (op.has("PURE") and not may_raise(op)) or op.name == "cell.get" or op.name == "cell.set" and not op.operands
        for op in others
    )  # a `cell.set` without operands is the mark of a change, for a `try` around
    return pure and last.name == "reraise" and last.operands[0] is handler.args[0]


def _only_raise(body: Block) -> Op | None:
    """Return the op at the end of a block that always raises a builtin exception with a known message, if no other op of
    the block may raise. The arguments of a KeyError do not follow from its message."""
    last = body.ops[-1] if body.ops else None
    if last is None or last.name != "raise" or last.operands or last.attrs["type"] == "KeyError":
        return None
    known = hasattr(builtins, last.attrs["type"])
    return last if known and not any(may_raise(op) for op in body.walk() if op is not last) else None


def cells_for(
    reader: Reader, plans: dict[Hashable, Plan], before: Env, envs: Sequence[Env]
) -> dict[Hashable, list[Value]]:
    """Return cells for the values that each plan passes, with the values before the body."""
    found: dict[Hashable, list[Value]] = {}
    for key, plan in plans.items():
        values = list(plan.flatten(reader, held_in(reader, before, key, envs)))
        name = key if isinstance(key, str) else ""
        found[key] = [
            reader.emit.builder.op("cell.new", [v], reader.position.loc, types=[CellType(t)], names=[name]).result
            for v, t in zip(values, plan.types(), strict=True)
        ]
    return found


def set_cells(
    reader: Reader, sites: Sequence[Site], plans: dict[Hashable, Plan], cells: dict[Hashable, list[Value]],
    envs: Sequence[Env],
) -> None:  # fmt: skip
    """Write the changed values to cells at each site.

    A change of an object may change all values that hold the object. A cell is written if its value differs from the
    last one in the same block or around it: a value that a block in between changed would be a result of that block.
    """
    saved = reader.emit.builder
    written: dict[Block, dict[Value, Value]] = {}
    for site in sites:
        assert site.op.parent is not None
        around = [*_blocks_around(site.op.parent)]
        for key, plan in plans.items():
            if key == site.key or (isinstance(site.key, Ident) and not isinstance(plan, Leaf)):
                reader.emit.builder = Builder.before(site.op)
                with reader.emit.builder.at(Block()) as made:
                    values = list(plan.flatten(reader, held_in(reader, site.env, key, envs)))
                news = [
                    (cell, value) for cell, value in zip(cells[key], values, strict=True)
                    if not _are_equal(value, next((written[b][cell] for b in around if cell in written.get(b, ())), None))
                ]  # fmt: skip
                if not news:
                    made.drop()
                    continue
                splice_block(reader, made)
                for cell, value in news:
                    reader.emit.builder.op("cell.set", [cell, value], site.op.loc)
                    written.setdefault(site.op.parent, {})[cell] = value
        site.op.erase()
    reader.emit.builder = saved


def _blocks_around(block: Block) -> Iterator[Block]:
    """Yield a block and those around it, innermost first."""
    inner: Block | None = block
    while inner is not None:
        yield inner
        inner = inner.parent.parent if inner.parent is not None else None


def _are_equal(value: Value, last: Value | None) -> bool:
    if value is last or last is None or value.op is None or last.op is None:
        return value is last
    same = value.op.name == last.op.name in ("const", "undef") and value.type == last.type
    return same and repr(value.op.attrs) == repr(last.op.attrs)


def finishing(
    reader: Reader, written: Names, live: Names, names: Names, run: Callable[[], bool], last: Callable[[], bool],
    caught: Callable[[AbstractValue], bool],
) -> bool:  # fmt: skip
    """Read `run()`, and `last()` on each way out of it. `caught(exception)` handles the exceptions.

    written: names that run() assigns.
    live: names that last() reads.
    names: names that are read after it.
    """
    pending = Final(len(reader.position.frame.loops))

    def body() -> bool:
        reader.position.frame.finals.append(pending)
        try:
            return run()
        finally:
            reader.position.frame.finals.pop()

    def whole(done: str, ends: list[Exit]) -> bool:
        def leave(falls: bool) -> bool:
            if falls:
                ends.append((reader.emit.effect("break", (), to=done), snapshot(reader)))
            return False

        def to_the_end() -> None:
            leave(protected(reader, live, written & (live | names), body, lambda e: leave(caught(e))) and reached(last))

        def behind(way: str, returned: AbstractValue | None) -> None:
            if reached(last):
                leave_by(reader, way, returned)

        ways_out(reader, pending, live & written, written, to_the_end, behind)
        return False

    return scoped(reader, names, whole)


def ways_out(
    reader: Reader, pending: Final, returning: Names, jumping: Names, run: Callable[[], None],
    behind: Callable[[str, AbstractValue | None], None],
) -> None:  # fmt: skip
    """Read `run()`, and `behind(way, returned)` where return, break or continue leaves it.

    The remaining arguments name the variables that behind() reads: on return, and on break or continue.
    """

    def attempt(ways: Sequence[str]) -> bool:
        if not ways:
            run()
            return False
        way, *rest = ways

        def inside(label: str, exits: list[Exit]) -> bool:
            pending.ways[way] = label, exits
            return attempt(rest)

        if scoped(reader, returning | {RETURNED} if way == "return" else jumping, inside):
            behind(way, reader.position.frame.locals.pop(RETURNED, None))
        return False

    attempt(_WAYS)


def putting_off(reader: Reader, run: Callable[[], bool], leaving: Leaving) -> bool:
    """Read `run()` such that return, break and continue lead to its end as well, and jump on later.

    The heap holds the variables that run() assigns.
    """
    pending = Final(len(reader.position.frame.loops))

    def whole(done: str, ends: list[Exit]) -> bool:
        def end(way: int) -> None:
            reader.heap.contents[leaving.way] = Known(way)
            ends.append((reader.emit.effect("break", (), to=done), snapshot(reader)))

        def body() -> None:
            reader.position.frame.finals.append(pending)
            try:
                falls = run()
            finally:
                reader.position.frame.finals.pop()
            if falls:
                end(0)

        def behind(way: str, value: AbstractValue | None) -> None:
            leaving.found.add(way)
            if value is not None:
                reader.heap.contents[leaving.returned] = value
            end(_WAYS.index(way) + 1)

        ways_out(reader, pending, frozenset(), frozenset(), body, behind)
        return False

    return scoped(reader, frozenset(), whole)


def go_on(reader: Reader, leaving: Leaving) -> bool:
    """Jump on by the return, break or continue that was put off."""
    left, returned = reader.heap.contents.pop(leaving.way), reader.heap.contents.pop(leaving.returned)
    value = without_flag(returned)

    def leave(way: str) -> bool:
        leave_by(reader, way, value if way == "return" else None)
        return False

    for number, way in enumerate(_WAYS, 1):
        if way in leaving.found:
            chosen = reader.truth(reader.compare("Eq", left, Known(number)))
            if not is_known(chosen):
                reader.branch(chosen, lambda way=way: leave(way), lambda: True, frozenset())  # type: ignore[misc]
            elif chosen.obj:
                return leave(way)
    return True
