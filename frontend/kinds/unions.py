"""Values of one of several kinds. Each operation is done on each alternative, on a path of its own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import Chooser, result_tree
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.operations.formatting import joined
from scriptc.frontend.operations.materialize import refuse_kinds
from scriptc.frontend.reader.constant_demand import demand_constant
from scriptc.frontend.reader.contents import content_items
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.exceptions import may_be_cause
from scriptc.frontend.reader.iterables import checked_iterable
from scriptc.frontend.reader.iteration import walk_several
from scriptc.frontend.reader.managers import run_within
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.recursion import kinds_of_leaves
from scriptc.frontend.reader.statements import unpacked, unpacked_items
from scriptc.frontend.source.scope import assigned
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    HeapValue,
    Kinds,
    Known,
    KnownLengthListValue,
    MaybeUnbound,
    OneOf,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import is_kind, present, split, without
from scriptc.frontend.values.predicates import has_alternatives, has_known_keys, is_text
from scriptc.frontend.values.structure import holds_function, sequence_items
from scriptc.frontend.values.verbs import describe, frozen, is_run_time, materialize, raise_value, text_parts
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value


@verbs.describe.of(OneOf)
def union_description(owner: OneOf) -> str:
    return " or ".join(describe(a) for a in owner.alternatives.values())


@verbs.held_values.of(OneOf)
def held_by_union(owner: OneOf) -> Sequence[AbstractValue]:
    return list(owner.alternatives.values())


@verbs.frozen.of(OneOf)
def frozen_union(owner: OneOf) -> AbstractValue:
    return OneOf(owner.tag, {t: frozen(a) for t, a in owner.alternatives.items()})


@verbs.result_of.of(OneOf)
def union_result(owner: OneOf) -> tuple[Spec, list[AbstractValue]]:
    chooser = Chooser(tuple(owner.alternatives))
    parts = [RuntimeValue(owner.tag), *owner.alternatives.values()]
    return result_tree(parts, lambda specs: TupleSpec(specs, chooser))


@kept_kinds.of(OneOf)
def kept_kinds_of_union(owner: OneOf) -> list[Any]:
    return [kind for a in owner.alternatives.values() for kind in kept_kinds(a)]


@verbs.materialize.of(OneOf)
def materialize_union(reader: Reader, owner: OneOf) -> Value:
    if is_text(owner):
        return materialize(reader, split(reader, owner, lambda a: RuntimeValue(materialize(reader, a))))
    if Kinds.NONE in owner.alternatives:
        return materialize(reader, present(reader, owner, "TypeError", "None is not supported here"))
    refuse_kinds(reader, owner)


@verbs.class_name_of.of(OneOf)
def class_name_of_union(reader: Reader, owner: OneOf) -> str:
    refuse_kinds(reader, owner)


@verbs.attribute.of(OneOf)
def read_union_attribute(reader: Reader, owner: OneOf, name: str) -> AbstractValue:
    found = present(reader, owner, "AttributeError", f"'NoneType' object has no attribute '{name}'")
    return split(reader, found, lambda o: reader.attribute(o, name))


@verbs.store_attribute.of(OneOf)
def store_union_attribute(reader: Reader, owner: OneOf, name: str, value: AbstractValue) -> None:
    found = present(reader, owner, "AttributeError", f"'NoneType' object has no attribute '{name}'")

    def store(alternative: AbstractValue) -> AbstractValue:
        reader.store_attribute(alternative, name, value)
        return Known(None)

    split(reader, found, store)


@verbs.truth.of(OneOf)
def union_truth(reader: Reader, owner: OneOf) -> AbstractValue:
    return split(reader, owner, reader.truth)


@verbs.call.of(OneOf)
def call_union(
    reader: Reader, func: OneOf, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    found = present(reader, func, "TypeError", "'NoneType' object is not callable")
    return split(reader, found, lambda f: reader.call(f, args, kwargs))


@verbs.is_run_time.of(OneOf)
def is_union_run_time(reader: Reader, owner: OneOf) -> bool:
    return any(is_run_time(reader, a) for a in owner.alternatives.values())


@verbs.walk.of(OneOf)
def walk_union(reader: Reader, owner: OneOf, site: Any) -> Walk:
    found = checked_iterable(reader, owner)
    if has_alternatives(found) and all(sequence_items(a) for a in found.alternatives.values()):
        found = split(reader, found, lambda a: TupleValue(reader.iterate(a)))  # tuples that differ in class
    return walk_several(reader, found) if has_alternatives(found) else reader.iteration(found, site)


@verbs.text_parts.of(OneOf)
def union_text(reader: Reader, owner: OneOf, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield split(reader, owner, lambda v: joined(reader, [*text_parts(reader, v, quoted=quoted)]))


@run_within.of(OneOf)
def run_within_one(
    reader: Reader, manager: OneOf, node: ast.With, enter: Callable[[AbstractValue], bool]
) -> bool:
    """Read a `with` over one of several managers: the body is read for each of them."""
    demand_constant(reader, manager.tag, "the manager of a `with` is one of several")
    number, first = next(iter(manager.alternatives.items()))
    rest, names = without(manager, number), assigned([node]) & reader.position.frame.live.after[node]
    run_first = lambda: run_within(reader, first, node, enter)  # noqa: E731
    return reader.branch(is_kind(reader, manager, number), run_first, lambda: run_within(reader, rest, node, enter), names)


@verbs.raise_value.of(OneOf)
def raise_one(reader: Reader, owner: OneOf) -> NoReturn:
    split(reader, owner, partial(raise_value, reader))
    raise Terminated


@verbs.leaf_kinds.of(OneOf)
def kinds_of_union(owner: OneOf) -> Iterator[Hashable]:
    for tag, alternative in owner.alternatives.items():
        yield tag
        yield from kinds_of_leaves(alternative)


@content_items.of(OneOf, MaybeUnbound)
def items_that_differ(reader: Reader, content: OneOf | MaybeUnbound, av: HeapValue) -> dict[Any, AbstractValue]:
    reader.speculation.found_items |= has_known_keys(av)
    if reader.assumptions.keeps_items and has_alternatives(content):
        demand_constant(reader, content.tag, "it tells which items a list has")
    reader.speculation.promote(av)
    promote_objects(reader, [content, av])
    if not isinstance(av, KnownLengthListValue):
        reader.reject("other_keys_on_a_path", what=describe(av))
    reader.speculation.settle_lengths(av, content)
    reader.speculation.allow_unions()
    if holds_function(content):
        reader.reject("functions_in_list")
    why = reader.assumptions.why_known_length.get(av.site, "its items differ in kind")
    if isinstance(content, OneOf):
        demand_constant(reader, content.tag, why)
    reader.reject("list_of_other_length", why=why)


@unpacked_items.of(OneOf)
def unpack_union(reader: Reader, owner: OneOf, count: int | None) -> list[AbstractValue]:
    if count is None:
        return reader.iterate(owner)
    return unpacked_items(reader, split(reader, owner, lambda a: TupleValue(unpacked(reader, a, count))), count)


@may_be_cause.of(OneOf)
def may_union_be_cause(owner: OneOf) -> bool:
    return any(map(may_be_cause, owner.alternatives.values()))
