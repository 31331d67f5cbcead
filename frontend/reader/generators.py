"""Generators: functions with `yield`.

A call of a generator gives a value whose body has not been read. A `for` loop over it reads the body in place, and at
each `yield` the body of the loop. So the generator runs in step with the loop, as in Python, and may have loops of any
length and no end. What takes all items at once, such as `list(...)`, collects them in a list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from scriptc.frontend.operations.materialize import new_list
from scriptc.frontend.reader.dispatch import reads
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.iterables import spend
from scriptc.frontend.reader.paths import Exit, scoped
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import inline
from scriptc.frontend.source.functions import statements_of, yields_within_try
from scriptc.frontend.source.scope import assigned, has_leave
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Ident,
    Known,
    ListValue,
    ManagerValue,
    Unbound,
    YieldsValue,
)
from scriptc.frontend.values.frame import Frame, LoopTarget
from scriptc.frontend.values.predicates import is_generator
from scriptc.frontend.values.verbs import describe


@reads(ast.Yield)
def read_yield(reader: Reader, node: ast.Yield) -> AbstractValue:
    given = Known(None) if node.value is None else reader.evaluate(node.value)
    return yielded(reader, given)


@reads(ast.YieldFrom)
def read_yield_from(reader: Reader, node: ast.YieldFrom) -> AbstractValue:
    frame, inner = reader.position.frame, reader.evaluate(node.value)
    if is_generator(inner):
        return run_generator(reader, inner, lambda value: _as(reader, frame, node, value))
    target, source = "·yielded", "·source"
    passing = ast.Expr(ast.Yield(ast.Name(target, ast.Load())))
    loop = ast.For(ast.Name(target, ast.Store()), ast.Name(source, ast.Load()), [passing], [])
    ast.fix_missing_locations(ast.copy_location(loop, node))
    ast.copy_location(passing, node)
    live = frame.live
    for stmt in (loop, passing):
        live.after[stmt] = live.header[stmt] = frozenset()
    frame.locals[source] = inner
    try:
        if not reader.run([loop]):
            raise Terminated
    finally:
        for name in (source, target):
            frame.locals.pop(name, None)
    return Known(None)


def yielded(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return what `yield value` gives the generator that is read."""
    on_yield = reader.position.frame.on_yield
    if on_yield is None:
        reader.reject("yield")
    return on_yield(value)


def _as(reader: Reader, frame: Frame, node: ast.expr, value: AbstractValue) -> AbstractValue:
    """Yield a value of an inner generator from the generator of a frame."""
    with outside_generator(reader), back_in(reader, frame, node):
        return yielded(reader, value)


def manager_of(reader: Reader, made: AbstractValue) -> ManagerValue:
    """Return the context manager that a function decorated by contextlib.contextmanager makes of its result."""
    if not is_generator(made):
        reader.reject("with_of_other", what=describe(made))
    return ManagerValue(made)


def run_generator(
    reader: Reader, generator: YieldsValue, on_yield: Callable[[AbstractValue], AbstractValue]
) -> AbstractValue:
    """Read the body of a generator, and call `on_yield` at each `yield`; return what the generator returns."""
    spend(reader, generator)
    frame = generator.frame
    fresh = replace(frame, locals=dict(frame.locals), cells={}, returns=[], loops=[], finals=[], on_yield=on_yield)
    reader.position.generators.append(len(reader.position.watches))
    try:
        return inline(reader, fresh, statements_of(generator.node))
    finally:
        reader.position.generators.pop()


def loop_over(
    reader: Reader, node: ast.For, generator: YieldsValue, take: Callable[[AbstractValue], bool]
) -> bool:
    """Read a `for` loop over a generator; `take` reads the body of the loop for an item.

    Meanwhile the heap holds the variables that the loop's body assigns, since loops and branches of the generator join
    them. Its other variables are before each item what they were before the loop: what the last reading of the body left
    there may be of another path.
    """
    if yields_within_try(generator.node):
        reader.reject("yield_within_try", name=generator.frame.qualified_name)
    caller = reader.position.frame
    shared = assigned([node.target, *node.body]) & caller.live.header[node]

    def whole(label: str, exits: list[Exit]) -> bool:
        before = caller.locals

        def on_yield(value: AbstractValue) -> AbstractValue:
            def once(next_label: str, continues: list[Exit]) -> bool:
                caller.loops.append(LoopTarget(label, next_label, "break", exits, continues))
                try:
                    return take(value)
                finally:
                    caller.loops.pop()

            caller.locals = dict(before)
            with outside_generator(reader), back_in(reader, caller, node):
                falls = scoped(reader, frozenset(), once) if skips else once(label, [])
            if not falls:
                raise Terminated
            return Known(None)

        run_generator(reader, generator, on_yield)
        caller.locals = dict(before)
        return reader.run(node.orelse)

    skips = has_leave(node.body, ast.Continue)
    with variables_in_heap(reader, shared):
        return scoped(reader, assigned(node.orelse) & caller.live.after[node], whole)


def collected(reader: Reader, generator: YieldsValue) -> ListValue:
    """Return a list of all values that a generator yields."""
    made = new_list(reader, [], (generator.frame.source.loc(generator.node, generator.frame.inlined_at), "yields"))

    def keep(value: AbstractValue) -> AbstractValue:
        with outside_generator(reader):
            return reader.call(Bound(made, "append"), [value], {})

    run_generator(reader, generator, keep)
    return made


@contextmanager
def variables_in_heap(reader: Reader, names: Iterable[str]) -> Iterator[None]:
    """Keep variables of the present frame in the heap within the context, while other frames are read."""
    frame = reader.position.frame
    shared = {name: Ident(name) for name in names if name not in frame.cells}
    for name, cell in shared.items():
        frame.cells[name] = cell
        reader.heap.contents[cell] = frame.locals.pop(name, Unbound())
    try:
        yield
    finally:
        for name, cell in shared.items():
            del frame.cells[name]
            frame.locals[name] = reader.heap.contents.pop(cell, Unbound())


@contextmanager
def outside_generator(reader: Reader) -> Iterator[None]:
    """Read code that walks the innermost generator: its exceptions do not leave the generator."""
    innermost = reader.position.generators.pop()
    try:
        yield
    finally:
        reader.position.generators.append(innermost)


@contextmanager
def back_in(reader: Reader, frame: Frame, node: ast.stmt | ast.expr) -> Iterator[None]:
    """Read a node of a frame that called the frame being read."""
    reader.position.frames.append(frame)
    saved, reader.position.node = reader.position.node, node
    try:
        yield
    finally:
        reader.position.frames.pop()
        reader.position.node = saved
