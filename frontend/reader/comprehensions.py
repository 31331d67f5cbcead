"""Comprehensions and generator expressions. Over known sequences they are unrolled; otherwise they are read as
loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.operations.materialize import new_list
from scriptc.frontend.operations.runtime_dicts import may_table, new_dict, new_set
from scriptc.frontend.reader.dispatch import reads
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.iterables import checked_iterable, length_of_range
from scriptc.frontend.reader.iteration import iterated
from scriptc.frontend.reader.kept_items import sites_to_keep
from scriptc.frontend.reader.paths import restore, snapshot, splice_block
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import assign
from scriptc.frontend.source.nodes import all_nodes
from scriptc.frontend.source.scope import assigned
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    Known,
    Native,
    RangeValue,
    Scope,
    TupleValue,
    Unbound,
)
from scriptc.frontend.values.predicates import (
    has_alternatives,
    is_generator,
    is_known,
    is_list,
    is_made_tuple,
    is_plain_tuple,
)
from scriptc.frontend.values.verbs import is_run_time, unrolled_ranges, walked_sequence
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Block

_SHORT = 64  # the largest range that a dict or set comprehension is unrolled over

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


# ---- displays ----


LIST_METHODS, SET_METHODS = ("append", "extend"), ("add", "update")  # to add one value, and all of a sequence


def display(
    reader: Reader, nodes: Sequence[ast.expr], empty: Callable[[], AbstractValue], methods: tuple[str, str] = LIST_METHODS
) -> tuple[list[AbstractValue], AbstractValue | None]:
    """Return the items in a list, tuple or set display, or a container with the items if a starred value has a length that
    is known only at run time; `empty` makes it. A starred value gives its items before the next value is read."""
    items: list[AbstractValue] = []
    grown: AbstractValue | None = None
    one, several = methods
    for node in nodes:
        is_starred = isinstance(node, ast.Starred)
        av = reader.evaluate(node.value if isinstance(node, ast.Starred) else node)
        if is_starred and grown is None and _is_grown_by(reader, av):
            grown = empty()
            for item in items:
                reader.call(reader.attribute(grown, one), [item], {})
        if grown is not None:
            reader.call(reader.attribute(grown, several if is_starred else one), [av], {})
        else:
            items += reader.iterate(av) if is_starred else [av]
    return items, grown


def _is_grown_by(reader: Reader, av: AbstractValue) -> bool:
    """Return whether a starred value has a length that is known only at run time."""
    return has_alternatives(av) and is_plain_tuple(av) or is_run_time(reader, av)  # the tuples differ in length


# ---- comprehensions ----


@reads(ast.SetComp)
def read_set_comp(reader: Reader, node: ast.SetComp) -> AbstractValue:
    site = (reader.position.loc, "set comp")
    sequence = iterated(reader, reader.evaluate(node.generators[0].iter))
    items = known_comprehension(reader, node, node.elt, sequence, site)
    if items is not None:
        return new_set(reader, items, site)
    target = new_set(reader, [], site)
    return comprehended(reader, node, [node.elt], target, reader.attribute(target, "add"), sequence)


@reads(ast.DictComp)
def read_dict_comp(reader: Reader, node: ast.DictComp) -> AbstractValue:
    site = (reader.position.loc, "dict comp")
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    sequence = iterated(reader, reader.evaluate(node.generators[0].iter))
    items = known_comprehension(reader, node, pair, sequence, site)
    if items is not None:
        pairs = [reader.iterate(item) for item in items]
        return new_dict(reader, [(key, value) for key, value in pairs], site)
    target = new_dict(reader, [], site)

    def store(key: AbstractValue, value: AbstractValue) -> AbstractValue:
        reader.store_item(target, key, value)
        return Known(None)

    return comprehended(reader, node, [node.key, node.value], target, Native(store), sequence)


def known_comprehension(
    reader: Reader, node: Comprehension, elt: ast.expr, sequence: AbstractValue, site: Any
) -> list[AbstractValue] | None:
    """Return the items of a dict or set comprehension; None if the comprehension becomes a run-time container."""
    if site in reader.assumptions.tables:
        return None
    items = known_items_of(reader, node.generators, elt, written_out(reader, sequence))
    if items is None:
        may_table(reader, site)
    return items


def written_out(reader: Reader, sequence: AbstractValue) -> AbstractValue:
    """Return a short range as the tuple of its numbers."""
    if isinstance(sequence, RangeValue):
        bounds = [b.obj for b in (sequence.start, sequence.stop, sequence.step) if is_known(b)]
        if len(bounds) == 3 and length_of_range(range(*bounds)) > _SHORT:
            return sequence
    return unrolled_ranges(reader, sequence)


@reads(ast.ListComp)
def read_list_comp(reader: Reader, node: ast.ListComp) -> AbstractValue:
    return comprehension(reader, node, node.elt, (reader.position.loc, "comp"))


@reads(ast.GeneratorExp)
def read_generator_exp(reader: Reader, node: ast.GeneratorExp) -> AbstractValue:
    sequence = iterated(reader, checked_iterable(reader, reader.evaluate(node.generators[0].iter)))
    return GeneratorValue(node, reader.position.frame, sequence, tuple(reader.position.frame.scopes))


def is_stepwise(sequence: AbstractValue) -> bool:
    """Return whether a loop over a sequence reads the body of a generator."""
    return is_generator(sequence) or isinstance(sequence, GeneratorValue) and is_stepwise(sequence.sequence)


def is_in_library(reader: Reader) -> bool:
    """Return whether code of the library is read, which loops over dims and the like."""
    func = reader.position.frame.func
    return func is not None and is_library(func.__module__)


def comprehension(
    reader: Reader, node: Comprehension, elt: ast.expr, site: Any, sequence: AbstractValue | None = None
) -> AbstractValue:
    """Read a list comprehension as the loop that it abbreviates, with names of its own."""
    first = node.generators[0]
    sequence = iterated(reader, reader.evaluate(first.iter) if sequence is None else sequence)
    if site in reader.assumptions.known_length or (is_in_library(reader) and not is_run_time(reader, sequence)):
        sequence = unrolled_ranges(reader, sequence)
    items = known_items_of(reader, node.generators, elt, sequence)
    if items is not None:
        return new_list(reader, items, site)
    if site in reader.assumptions.known_length:
        keep_walked_length(reader, sequence, reader.assumptions.why_known_length[site])
    target = new_list(reader, [], site)
    return comprehended(reader, node, [elt], target, reader.attribute(target, "append"), sequence)


def keep_walked_length(reader: Reader, sequence: AbstractValue, why: str) -> None:
    """Keep the length of a list that a comprehension walks whose own length must be known; return where it cannot be."""
    walked = walked_sequence(sequence)
    if is_list(walked) and (sites := sites_to_keep(reader, walked)):
        reader.speculation.keep_items(sites, why)


def comprehended(
    reader: Reader,
    node: Comprehension,
    elts: list[ast.expr],
    target: AbstractValue,
    add: AbstractValue,
    sequence: AbstractValue,
) -> AbstractValue:
    """Read the loop that calls `add` with a comprehension's value for each item."""
    first = node.generators[0]
    result = "·result"
    append = ast.Expr(ast.Call(ast.Name("·append", ast.Load()), elts, []))
    body: ast.stmt = ast.copy_location(append, elts[0])
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = ast.copy_location(ast.If(test, [body], []), test)
        iterable = ast.Name("·iter", ast.Load()) if generator is first else generator.iter
        loop = ast.For(generator.target, iterable, [body], [])
        body = ast.copy_location(loop, node)
    ast.fix_missing_locations(body)
    frame = reader.position.frame
    saved, scopes = dict(frame.locals), frame.scopes
    frame.locals[result] = target
    frame.locals["·append"] = add
    frame.locals["·iter"] = sequence
    names = {n.id for g in node.generators for n in all_nodes(g.target) if isinstance(n, ast.Name)}
    # A function made in the loop must see the loop's variables, not equal names of the comprehensions around the loop.
    frame.scopes = [{name: av for name, av in scope.items() if name not in names} for scope in scopes]
    try:
        statement_of_comprehension(reader, body)
    finally:
        frame.scopes = scopes
    for name in (result, "·append", "·iter", *names):
        frame.locals.pop(name, None)
        if name in saved:
            frame.locals[name] = saved[name]
    return target


def known_items_of(
    reader: Reader, generators: list[ast.comprehension], elt: ast.expr, sequence: AbstractValue
) -> list[AbstractValue] | None:
    """Return the items of a comprehension. Return None, and build nothing, if their number is known only at run
    time."""
    if is_stepwise(sequence):
        return None
    take_back = attempt(reader)
    ended = False
    with reader.emit.builder.at(Block()) as block:
        try:
            items = items_inside(reader, generators, elt, sequence, {})
        except Terminated:
            ended, items = True, []
    if items is None:
        take_back(block)
        return None
    splice_block(reader, block)
    if ended:
        raise Terminated
    return items


def items_inside(
    reader: Reader, generators: list[ast.comprehension], elt: ast.expr, sequence: AbstractValue, scope: Scope
) -> list[AbstractValue] | None:  # fmt: skip
    first, *rest = generators
    walk = reader.iteration(sequence, None)
    if walk.items is None or walk.limit is not None:
        return [] if walk.items is walk.count is None else None
    found: list[AbstractValue] = []
    for item in walk.items:
        on_item = partial(with_target, reader, scope, first.target, item)
        tests = [on_item(lambda t=test: silent_test(reader, t)) for test in first.ifs]
        if any(not is_known(t) for t in tests):
            return None
        if all(t.obj for t in tests if is_known(t)):
            if not rest:
                found.append(on_item(lambda: reader.evaluate(elt)))
                continue
            inner = on_item(lambda: known_inner(reader, rest, elt, scope))
            if not is_made_tuple(inner):
                return None
            found += inner.items
    return found


def known_inner(reader: Reader, generators: list[ast.comprehension], elt: ast.expr, scope: Scope) -> AbstractValue:
    items = items_inside(reader, generators, elt, unrolled_ranges(reader, reader.evaluate(generators[0].iter)), scope)
    return Known(None) if items is None else TupleValue(items)


def silent_test(reader: Reader, node: ast.expr) -> AbstractValue:
    """Return the truth of an expression if no ops are needed to compute it; else a value that is not known."""
    take_back = attempt(reader)
    with reader.emit.builder.at(Block()) as block:
        try:
            truth = reader.test(node)
        except Terminated:
            truth = Unbound()
    if block.ops:
        take_back(block)
        return Unbound()
    return truth


def attempt(reader: Reader) -> Callable[[Block], None]:
    """Return a function that drops all ops and state changes since this call. The block is then unused."""
    before, noted = snapshot(reader), [(x, len(x)) for x in reader.position.leavings()]

    def take_back(block: Block) -> None:
        restore(reader, before)
        block.drop()
        for leaving, n in noted:
            del leaving[n:]

    return take_back


def with_target(reader: Reader, scope: Scope, target: ast.expr, item: AbstractValue, run: Any) -> AbstractValue:
    """Return the result of `run` with the target of a comprehension bound.

    scope: the variables of the comprehension, for functions made in it.
    """
    frame, names, saved = reader.position.frame, assigned([target]), dict(reader.position.frame.locals)
    assign(reader, target, item)
    scope |= {name: frame.locals[name] for name in names}
    frame.scopes.append(scope)
    frame.comprehensions += 1
    try:
        value: AbstractValue = run()
    finally:  # also if `run` raises Terminated
        frame.comprehensions -= 1
        frame.scopes.pop()
        frame.rename(names, saved)
    return value


def is_filtered(av: GeneratorValue) -> bool:
    """Return whether a generator expression is a single `for` with conditions, whose loop asks for the items one by
    one."""
    generators = av.node.generators
    return len(generators) == 1 and bool(generators[0].ifs)


def within(reader: Reader, av: GeneratorValue, run: Callable[[], AbstractValue]) -> AbstractValue:
    """Return `run()`, read in the frame of the generator expression."""
    reader.position.frames.append(av.frame)
    av.frame.generators += 1
    reader.position.generators.append(len(reader.position.watches))
    saved, reader.position.node = reader.position.node, av.node
    try:
        with av.frame.among(av.scopes):
            return run()
    finally:
        reader.position.node = saved
        reader.position.generators.pop()
        av.frame.generators -= 1
        reader.position.frames.pop()


def stages(
    reader: Reader, av: GeneratorValue
) -> tuple[Callable[[AbstractValue], AbstractValue], Callable[[AbstractValue], AbstractValue]]:
    """Return the condition of a generator expression with one `for`, and its value, for an item."""
    generator = av.node.generators[0]
    test = ast.copy_location(ast.BoolOp(ast.And(), generator.ifs), av.node) if generator.ifs[1:] else generator.ifs[0]

    def keep(item: AbstractValue) -> AbstractValue:
        return within(
            reader, av, lambda: with_target(reader, av.scope, generator.target, item, lambda: reader.test(test))
        )

    return keep, partial(element_of, reader, av)


def element_of(reader: Reader, av: GeneratorValue, item: AbstractValue) -> AbstractValue:
    """Return the value of a generator expression with one `for` for an item."""
    element = lambda: reader.evaluate(av.node.elt)  # noqa: E731
    return within(reader, av, lambda: with_target(reader, av.scope, av.node.generators[0].target, item, element))


def walk_generator(reader: Reader, av: GeneratorValue, site: Any) -> Walk:
    """Return the walk over a generator expression. With one `for` and no `if`, items are made on demand."""
    node = av.node
    if node.generators[1:] or node.generators[0].ifs:
        made = within(
            reader, av, lambda: comprehension(reader, node, node.elt, (reader.position.loc, "comp"), av.sequence)
        )
        return reader.iteration(made, site)
    walk = reader.iteration(av.sequence, site)
    if walk.items is not None:
        items = (element_of(reader, av, item) for item in walk.items)
        return Walk(items=items, limit=walk.limit)
    if walk.count is None:
        return walk
    item = walk.item
    assert item is not None
    inner = lambda i: element_of(reader, av, item(i))  # noqa: E731
    return Walk(count=walk.count, item=inner, length=walk.length, lists=walk.lists, finish=walk.finish)


def statement_of_comprehension(reader: Reader, body: ast.stmt) -> None:
    live = reader.position.frame.live
    nodes = [n for n in all_nodes(body) if isinstance(n, (ast.For, ast.If, ast.NamedExpr))]
    bound = frozenset(n.target.id for n in nodes if isinstance(n, ast.NamedExpr))
    for n in nodes:
        if isinstance(n, ast.stmt):
            live.after.setdefault(n, bound)
            live.header.setdefault(n, bound)
    reader.position.frame.comprehensions += 1
    try:
        falls = reader.run([body])
    finally:
        reader.position.frame.comprehensions -= 1
    if not falls:
        raise Terminated
