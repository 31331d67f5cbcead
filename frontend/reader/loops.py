"""Loops. Loops over known sequences are unrolled; others become loops of the IR."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NoReturn

from scriptc.frontend.library.python.iterators_decomposed import SequenceIterator, has_next
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.reader.binding import with_own_content
from scriptc.frontend.reader.comprehensions import element_of, is_filtered, is_in_library, stages
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.dispatch import runs
from scriptc.frontend.reader.errors import Poisoned, UserError
from scriptc.frontend.reader.generators import loop_over
from scriptc.frontend.reader.iterables import known_bounds, length_of_range, spend
from scriptc.frontend.reader.iteration import iterated, unrolled_walk
from scriptc.frontend.reader.paths import (
    Env,
    Exit,
    changed,
    fill_exits,
    flatten,
    joinable,
    plan_joins,
    reached,
    rebind,
    restore,
    scoped,
    snapshot,
)
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.speculation import keep_length
from scriptc.frontend.reader.statements import assign
from scriptc.frontend.rejections import rejection
from scriptc.frontend.source.scope import assigned, has_leave
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    GeneratorValue,
    Ident,
    Known,
    Moved,
    OneOf,
    RangeValue,
    RuntimeValue,
)
from scriptc.frontend.values.alternatives import is_kind
from scriptc.frontend.values.frame import LoopTarget
from scriptc.frontend.values.joins import OneOfPlan, Plan, is_number
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_length,
    is_generator,
    is_known,
    is_list,
    is_made_tuple,
    is_object,
)
from scriptc.frontend.values.structure import AFTER_ERROR, UNROLL_LIMIT
from scriptc.frontend.values.verbs import is_run_time, materialize, unrolled_ranges, walked_sequence
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.types import INT

_MOST_VALUES = 2000  # the most values that a loop carries
_FEW = 64  # the largest trip count of a loop that is unrolled because its carried values have no common type
_MOST_DIMS = 3  # the largest trip count of a loop of the library that is unrolled at once
_MAX_READINGS = 50  # readings of a loop's body before the types count as diverging


@runs(ast.While)
def run_while(reader: Reader, node: ast.While) -> bool:
    names = assigned([*node.body, node.test]) & reader.position.frame.live.header[node]

    def loop(breaks: LoopTarget | None) -> bool:
        def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
            condition = reader.test(node.test)
            if is_known(condition) and not isinstance(node.test, ast.Constant):
                reader.speculation.decided.add(site)
            if not is_known(condition):
                # `while c: body` is an endless loop with a break where the test fails
                reader.branch(condition, lambda: True, leave, frozenset())
            elif not condition.obj:
                return leave()
            return reader.run(node.body)

        return dynamic_loop(reader, node, names, None, body, breaks, site)

    site = (reader.position.loc, "while")
    if site in reader.assumptions.unrolled:
        return unrolled(reader, node, lambda: goes_on(reader, node), names)
    return with_else(reader, node, names, loop)


def goes_on(reader: Reader, node: ast.While) -> bool:
    """Return whether the condition of a loop holds, evaluated at compile time."""
    found = require_known(
        reader, reader.test(node.test), "the condition of a loop whose body needs its numbers at compile time"
    )
    return bool(found)


@runs(ast.For)
def run_for(reader: Reader, node: ast.For) -> bool:
    sequence = iterated(reader, reader.evaluate(node.iter))
    keeps_items = reader.assumptions.keeps_items
    if has_known_length(sequence) and keeps_items:
        sequence = with_own_content(reader, sequence)
    if has_alternatives(sequence):
        kinds = sequence.alternatives.values()
        if all(has_known_length(a) or keeps_items and is_made_tuple(a) for a in kinds):
            return run_for_each(reader, node, sequence, [*sequence.alternatives])
    return run_over(reader, node, sequence)


def run_for_each(reader: Reader, node: ast.For, sequence: OneOf, tags: Sequence[int]) -> bool:
    """Read a loop over a list to which some paths gave other items, once for each of the lists."""
    first, *rest = tags
    if not rest:
        return run_over(reader, node, sequence.alternatives[first])
    names = assigned([node]) & reader.position.frame.live.after[node]
    return reader.branch(
        is_kind(reader, sequence, first),
        lambda: run_over(reader, node, sequence.alternatives[first]),
        lambda: run_for_each(reader, node, sequence, rest),
        names,
    )


def run_over(reader: Reader, node: ast.For, sequence: AbstractValue) -> bool:
    """Read a `for` loop over a value."""
    names = assigned([node.target, *node.body]) & reader.position.frame.live.header[node]
    sequence = _with_known_dims(reader, sequence)
    site = (reader.position.loc, "for")
    if is_generator(sequence):
        return loop_over(reader, node, sequence, partial(take_item, reader, node))
    if isinstance(sequence, GeneratorValue) and is_generator(sequence.sequence):
        spend(reader, sequence)
        return loop_over(reader, node, sequence.sequence, partial(take_element, reader, node, sequence, names))
    if isinstance(sequence, GeneratorValue) and sequence.node.generators[1:] and not has_leave(node.body, ast.Break):
        return loop_of_loops(reader, node, sequence)
    take: Callable[[ast.For, AbstractValue, frozenset[str]], bool] = partial(take_item, reader)
    if isinstance(sequence, GeneratorValue) and is_filtered(sequence):
        spend(reader, sequence)
        take, sequence = filter_of(reader, sequence), sequence.sequence
    if is_asked(reader, sequence):
        ask = lambda breaks: asking_loop(reader, node, names, sequence, breaks)  # noqa: E731
        return with_else(reader, node, names, ask)
    plan = unrolled_walk(reader, reader.iteration(sequence, site), site)
    if plan.items is not None:
        items = iter(plan.items)
        item: AbstractValue | None = None

        def advance() -> bool:
            nonlocal item
            item = next(items, None)
            return item is not None

        reader.position.walked.append(sequence)
        try:
            return unrolled(reader, node, advance, names, plan, lambda: take(node, item, names))  # type: ignore[arg-type]
        finally:
            reader.position.walked.pop()
    if plan.count is None:
        return reader.run(node.orelse)

    if site in reader.assumptions.growing:
        grows = lambda breaks: growing_loop(reader, node, names, plan, breaks, take)  # noqa: E731
        return with_else(reader, node, names, grows, plan.finish)

    def loop(breaks: LoopTarget | None) -> bool:
        def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
            return take(node, plan.item(RuntimeValue(target.counter)), names)  # type: ignore[misc, arg-type]

        assert plan.count is not None
        before = len(reader.emit.builder.block.ops)
        falls = dynamic_loop(reader, node, names, plan.count, body, breaks, site, sequence)
        made = reader.emit.builder.block.ops[before:]
        if plan.lists and any(_changes_length(inner, plan.lists) for op in made for inner in op.walk()):
            reader.speculation.walk_growing(site)
        return falls

    return with_else(reader, node, names, loop, plan.finish)


def _with_known_dims(reader: Reader, sequence: AbstractValue) -> AbstractValue:
    """Return a short range in code of the library as the tuple of its numbers.

    Most are dims, which must be known: the function would be read again to unroll the loop.
    """
    bounds = known_bounds(sequence) if isinstance(sequence, RangeValue) else None
    short = bounds is not None and bounds[2] != 0 and length_of_range(range(*bounds)) <= _MOST_DIMS and is_in_library(reader)
    return unrolled_ranges(reader, sequence) if short else sequence


def loop_of_loops(reader: Reader, node: ast.For, av: GeneratorValue) -> bool:
    """Read a loop over a generator expression with several `for` as nested loops, so that items are made on demand."""
    first, *rest = av.node.generators
    name = f"·inner {len(rest)}"
    inner = ast.GeneratorExp(av.node.elt, rest)
    outer = ast.GeneratorExp(inner, [first])
    each = ast.For(node.target, ast.Name(name, ast.Load()), node.body, [])
    whole = ast.For(ast.Name(name, ast.Store()), ast.Name(name, ast.Load()), [each], node.orelse)
    for made, original in ((inner, av.node), (outer, av.node), (each, node), (whole, node)):
        ast.fix_missing_locations(ast.copy_location(made, original))
    live = reader.position.frame.live
    live.after[whole], live.after[each] = live.after[node], live.header[node]
    live.header[whole] = live.header[each] = live.header[node]
    reader.position.frame.locals[name] = GeneratorValue(outer, av.frame, av.sequence, av.scopes, mark=av.mark, cls=av.cls)
    try:
        return run_for(reader, whole)
    finally:
        reader.position.frame.locals.pop(name, None)


def take_item(reader: Reader, node: ast.For, item: AbstractValue, names: frozenset[str] = frozenset()) -> bool:
    """Read the body of a loop for one item."""
    assign(reader, node.target, item)
    return reader.run(node.body)


def take_element(
    reader: Reader, node: ast.For, sequence: GeneratorValue, names: frozenset[str], item: AbstractValue
) -> bool:
    """Read the body of a loop over a generator expression for one item of the generator's own sequence."""
    if sequence.node.generators[0].ifs:
        return filter_of(reader, sequence)(node, item, names)
    return take_item(reader, node, element_of(reader, sequence, item))


def filter_of(reader: Reader, av: GeneratorValue) -> Callable[[ast.For, AbstractValue, frozenset[str]], bool]:
    """Return the body of a loop over a generator expression, for an item that the conditions may skip."""
    keep, make = stages(reader, av)

    def take(node: ast.For, item: AbstractValue, names: frozenset[str]) -> bool:
        truth = keep(item)
        run = lambda: take_item(reader, node, make(item), names)  # noqa: E731
        if is_known(truth):
            return run() if truth.obj else True
        return reader.branch(truth, run, lambda: True, names)

    return take


def is_asked(reader: Reader, av: AbstractValue) -> bool:
    """Return whether a sequence is an iterator over a sequence whose length is known only at run time."""
    return (
        is_object(av)
        and av.cls is SequenceIterator
        and is_run_time(reader, reader.items_of(av)["sequence"])
    )


def asking_loop(
    reader: Reader, node: ast.For, names: frozenset[str], iterator: AbstractValue, breaks: LoopTarget | None
) -> bool:
    """Read a loop over an iterator that its body may use too, and that has more items after a `break`."""

    def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
        reader.branch(reader.call(Known(has_next), [iterator], {}), lambda: True, leave, frozenset())
        return take_item(reader, node, reader.call(reader.attribute(iterator, "__next__"), [], {}), names)

    return dynamic_loop(reader, node, names, None, body, breaks)


def growing_loop(
    reader: Reader, node: ast.For, names: frozenset[str], plan: Walk, breaks: LoopTarget | None,
    take: Callable[[ast.For, AbstractValue, frozenset[str]], bool],
) -> bool:  # fmt: skip
    """Read a loop whose body changes the length of the walked lists. Like Python, it reads the length before each
    item."""
    at = f"·at {node.lineno}:{node.col_offset}"
    reader.position.frame.locals[at] = Known(0)

    def body(target: LoopTarget, leave: Callable[[], bool]) -> bool:
        assert plan.length is not None and plan.item is not None
        index = reader.position.frame.locals[at]
        reader.branch(reader.compare("Lt", index, plan.length()), lambda: True, leave, frozenset())
        reader.position.frame.locals[at] = reader.binary("Add", index, Known(1))
        return take(node, plan.item(RuntimeValue(materialize(reader, index))), names)

    return dynamic_loop(reader, node, names | {at}, None, body, breaks)


def with_else(
    reader: Reader, node: ast.For | ast.While, names: frozenset[str], loop: Callable[[LoopTarget | None], bool],
    finish: Callable[[], None] | None = None,
) -> bool:  # fmt: skip
    """Read a loop, the check at its regular end, and its `else`. A break leaves all of them."""

    def end() -> bool:
        if finish is not None:
            finish()
        return reader.run(node.orelse)

    if not (node.orelse or finish) or not has_leave(node.body, ast.Break):
        return loop(None) and end()
    names |= assigned(node.orelse) & reader.position.frame.live.after[node]

    def both(label: str, exits: list[Exit]) -> bool:
        return loop(LoopTarget(label, label, breaks=exits)) and end()

    return scoped(reader, names, both)


def dynamic_loop(
    reader: Reader,
    node: ast.For | ast.While,
    names: frozenset[str],
    bounds: tuple[AbstractValue, AbstractValue, AbstractValue] | None,
    body: Callable[[LoopTarget, Callable[[], bool]], bool],
    breaks: LoopTarget | None,
    site: object = None,
    walked: AbstractValue | None = None,
) -> bool:
    """Build a loop of the IR. walked: the sequence that a `for` walks.

    The body is read under an assumption about the types at the start of an iteration, and read again only if the end of
    an iteration disagrees. `breaks`: the target of a break, if it is not the end of this loop.
    """
    frame, label = reader.position.frame, reader.emit.fresh_label()
    bound_values = [integer(reader, b) for b in bounds] if bounds else []
    mark, before = Ident().serial, snapshot(reader)
    keys: set[Hashable] = joinable(reader, names)
    envs: list[Env] = [before]
    plans = plan_joins(reader, keys, envs, force=True, mark=mark)
    for _ in range(_MAX_READINGS):
        block = Block([(INT, counter_name(node))] if bounds else [])
        args = [Block([(t, "")]).args[0] for plan in plans.values() for t in plan.types()]
        for arg in args:
            arg.owner = block
            block.args.append(arg)
        restore(reader, before)
        rebind(reader, plans, args, [before], mark)
        header = snapshot(reader)
        target = LoopTarget(label, label, counter=block.args[0] if bounds else None)
        if site is not None and all(is_known(b) for b in bounds or ()):
            reader.speculation.counters |= dict.fromkeys(block.args[:1] if bounds else block.args, site)
        reader.speculation.bounds |= dict.fromkeys(block.args[:1] if bounds else (), bound_values)
        exits = target.breaks  # by the test of a `while`
        if breaks is not None:
            exits, target.breaks, target.break_label = [], breaks.breaks, breaks.break_label
        outer_breaks = len(target.breaks)
        errors, poisoned, noted = (
            len(reader.diagnostics.errors),
            reader.diagnostics.poisoned,
            [(x, len(x)) for x in reader.position.leavings()],
        )
        frame.loops.append(target)

        def leave() -> bool:
            exits.append((reader.emit.effect("break", (), to=label), snapshot(reader)))  # noqa: B023
            return False

        with reader.emit.builder.at(block):
            falls = reached(lambda: body(target, leave))  # noqa: B023
        frame.loops.pop()
        end = snapshot(reader)
        inner = [env for _, env in target.continues] + ([end] if falls else [])
        leaving = [env for _, env in exits]
        keys |= {k for env in [*inner, *leaving] for k in changed(header, env, mark) if isinstance(k, Ident)}
        keys -= {k for k in keys if isinstance(header.get(k), Moved)}
        envs = [before, header, *inner, *leaving]
        found = plan_joins(reader, keys, envs, force=True, mark=mark)
        if not reader.diagnostics.poisoned and any(p.key() == "Poison" for p in found.values()):
            unroll_instead(reader, site, bounds)
        ends = bounds or site in reader.speculation.decided  # so that it may be unrolled
        if ends and not reader.diagnostics.poisoned and any(_has_lengths(reader, k, p, envs) for k, p in found.items()):
            unroll_instead(reader, site, bounds)
        # A conflict in one reading stays a conflict, and an object that has moved is not joined again.
        found |= {k: p for k, p in plans.items() if p.key() in ("Poison", "Moved")}
        if {k: p.key() for k, p in found.items()} == {k: p.key() for k, p in plans.items()}:
            break
        block.drop()
        carried = itertools.chain.from_iterable(plan.types() for plan in found.values())
        if next(itertools.islice(carried, _MOST_VALUES, None), None) is not None:
            unroll_instead(reader, site, bounds)
            reject_without_type(reader, walked)  # the carried value grows in each iteration
        plans = found
        if not any(p.key() == "Poison" for p in plans.values()):  # else no later reading reports the cause
            del reader.diagnostics.errors[errors:]
            reader.diagnostics.poisoned = poisoned
        del target.breaks[outer_breaks:]
        for leaving, n in noted:
            del leaving[n:]
    else:
        reject_without_type(reader, walked)
    if falls:
        with reader.emit.builder.at(block):
            reader.emit.effect("yield", flatten(reader, plans, end, envs))
    fill_exits(reader, target.continues, plans, envs)
    fill_exits(reader, exits, plans, envs)
    restore(reader, before)
    initial = flatten(reader, plans, before, envs)
    types = [t for plan in plans.values() for t in plan.types()]
    op = reader.emit.builder.op(
        "loop",
        [*bound_values, *initial],
        reader.position.loc,
        regions=[block],
        types=types,
        label=label,
        counted=bool(bounds),
    )
    if not bounds and not exits:  # only a return, a raise or a break past the `else` leaves the loop
        reader.emit.effect("unreachable", ())
        return False
    rebind(reader, plans, op.results, envs, mark)
    return True


def unroll_instead(
    reader: Reader, site: object, bounds: tuple[AbstractValue, AbstractValue, AbstractValue] | None
) -> None:
    """Unroll a loop whose results have no type, if each result may be known by the number of iterations.

    An example is a list of dims that grows. Return if this is not possible.
    """
    numbers = [b.obj for b in bounds or () if is_known(b)]
    few = len(numbers) == 3 and length_of_range(range(*numbers)) <= _FEW
    if site is not None and (few or site in reader.speculation.decided):
        reader.speculation.unroll(site, "no type holds what a loop carries, so that it is unrolled")


def reject_without_type(reader: Reader, walked: AbstractValue | None) -> NoReturn:
    """Have the items of the list that a loop walks known in the next reading, which unrolls it; reject other loops."""
    error = UserError(reader.position.loc, *rejection("loop_without_type"))
    if walked is not None and is_list(sequence := walked_sequence(walked)):
        keep_length(reader.speculation, sequence, error)
    raise error


def counter_name(node: ast.For | ast.While) -> str:
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call):
        called = node.iter.func
        if isinstance(called, ast.Name) and called.id == "range":
            return node.target.id
    return "i"


def unrolled(
    reader: Reader, node: ast.For | ast.While, advance: Callable[[], bool], names: frozenset[str],
    plan: Walk | None = None, body: Callable[[], bool] | None = None,
) -> bool:  # fmt: skip
    """Read the body of a loop once for each iteration that `advance` gives. The plan may limit the iterations."""
    body = body or (lambda: reader.run(node.body))
    limit, finish = (plan.limit, plan.finish) if plan is not None else (None, None)
    count = after_error = 0

    def more() -> bool:
        nonlocal count, after_error
        count += 1
        if count > UNROLL_LIMIT and isinstance(node, ast.While):
            reader.reject("loop_does_not_end", count=UNROLL_LIMIT)
        after_error += bool(reader.diagnostics.errors)
        if after_error > AFTER_ERROR and isinstance(node, ast.While):
            raise Poisoned  # the condition may be unknown because of the error, so that the loop would not end
        return advance()

    if limit is None and not has_leave(node.body, ast.Break) and not has_leave(node.body, ast.Continue):
        while more():
            if not body():
                return False
        return reader.run(node.orelse)
    targets = assigned([node.target]) if isinstance(node, ast.For) else frozenset()
    names |= (assigned(node.body) | targets) & reader.position.frame.live.header[node]

    def iterations(breaks: LoopTarget, end_label: str, ends: list[Exit]) -> bool:
        def leave() -> bool:
            ends.append((reader.emit.effect("break", (), to=end_label), snapshot(reader)))
            return False

        def once(continue_label: str, continues: list[Exit]) -> bool:
            target = LoopTarget(breaks.break_label, continue_label, "break", breaks.breaks, continues)
            reader.position.frame.loops.append(target)
            try:
                return body()
            finally:
                reader.position.frame.loops.pop()

        while True:
            if limit is not None:
                reader.branch(reader.compare("Lt", Known(count), limit()), lambda: True, leave, frozenset())
            if not more():
                return True
            if not scoped(reader, names, once):
                return False

    def whole(label: str, exits: list[Exit]) -> bool:
        breaks = LoopTarget(label, label, breaks=exits)
        inner = lambda end_label, ends: iterations(breaks, end_label, ends)  # noqa: E731
        if not scoped(reader, names, inner):
            return False
        if finish is not None:
            finish()
        return reader.run(node.orelse)

    return scoped(reader, names | (assigned(node.orelse) & reader.position.frame.live.after[node]), whole)


def _has_lengths(reader: Reader, key: Hashable, plan: Plan, envs: Sequence[Env]) -> bool:
    """Return whether a list whose length must be known, of numbers or of configuration, has several in the iterations."""
    if not isinstance(key, Ident) or not isinstance(plan, OneOfPlan):
        return False
    held = [env[key] for env in envs if key in env]
    parts = [part for av in held for part in (av.alternatives.values() if has_alternatives(av) else [av])]
    lists = [
        p.items for p in parts if isinstance(p, Content) and p.cls is None and [*p.items] == [*range(len(p.items))]
    ]
    any_items = reader.assumptions.keeps_items
    return len(lists) == len(parts) and (any_items or all(is_number(i) for items in lists for i in items.values()))


_LENGTHS = frozenset(
    """list.append list.insert list.delete list.splice dict.set dict.remove dict.clear set.add set.pop set.merge set.keep
set.drop set.flip""".split()
)


def _changes_length(op: Op, lists: Sequence[Value]) -> bool:
    """Return whether an op may change the length of one of the lists, dicts or sets."""
    return op.name in _LENGTHS and any(_may_be_one(op.operands[0], value) for value in lists)


def _may_be_one(a: Value, b: Value) -> bool:
    made = [v.op is not None and v.op.has("ALLOCATES") for v in (a, b)]
    return a is b or (a.type == b.type and not any(made))
