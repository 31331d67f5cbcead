"""Iterators, which a program walks once: zip, enumerate, reversed, iterators over known sequences, generator
expressions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from scriptc.frontend.library.python.iterators_decomposed import taken_for
from scriptc.frontend.reader.comprehensions import walk_generator
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.iterables import spend
from scriptc.frontend.reader.iteration import reversed_range, starts_at_zero, walk_zip
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import unpacked, unpacked_items
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    IteratorValue,
    Known,
    RangeValue,
    ReversedValue,
    Scope,
    Structure,
    TupleValue,
    WalkMark,
    ZipValue,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import is_made_list
from scriptc.frontend.values.verbs import is_run_time, unrolled_ranges, walked_sequence
from scriptc.frontend.values.walk import Walk, mark_of


@verbs.structure_of.of(ReversedValue)
def reversed_structure(owner: ReversedValue) -> Structure:
    return Structure("reversed", [owner.part, owner.mark], lambda parts: ReversedValue(parts[0], mark_of(parts)))


@verbs.structure_of.of(IteratorValue)
def iterator_structure(owner: IteratorValue) -> Structure:
    return Structure("iterator", [owner.part, owner.mark], lambda parts: IteratorValue(parts[0], mark_of(parts)))


@verbs.structure_of.of(ZipValue)
def zip_structure(owner: ZipValue) -> Structure:
    n, offset, strict = len(owner.parts), owner.offset, owner.strict
    return Structure(
        ("zip", n, offset is None, strict),
        [*owner.parts, *([] if offset is None else [offset]), owner.mark],
        lambda made: ZipValue(made[:n], None if offset is None else made[n], strict, mark_of(made)),
    )


@verbs.structure_of.of(GeneratorValue)
def expression_structure(owner: GeneratorValue) -> Structure:
    names = [(i, name) for i, scope in enumerate(owner.scopes) for name in scope]

    def make(parts: list[AbstractValue]) -> AbstractValue:
        scopes: list[Scope] = [{} for _ in owner.scopes]
        for (i, name), part in zip(names, parts[1:-1], strict=True):
            scopes[i][name] = part
        return replace(owner, sequence=parts[0], scopes=scopes, mark=mark_of(parts))

    held = [owner.sequence, *(owner.scopes[i][name] for i, name in names), owner.mark]
    return Structure(("generator", id(owner.node), id(owner.frame), *names), held, make)


@verbs.kind_of.of(GeneratorValue)
def kind_of_expression(owner: GeneratorValue) -> Hashable:
    raise Conflict(verbs.describe(owner))  # the code behind the paths is read for each of them


@verbs.leaf_kinds.of(WalkMark)
def leaf_kinds_of_mark(owner: WalkMark) -> Iterator[Hashable]:
    yield "iterator"


@verbs.held_values.of(WalkMark)
def held_by_mark(owner: WalkMark) -> Sequence[AbstractValue]:
    return ()


@verbs.held_values.of(ReversedValue, IteratorValue)
def held_by_iterator(owner: ReversedValue | IteratorValue) -> Sequence[AbstractValue]:
    return (owner.part,)


@verbs.held_values.of(GeneratorValue)
def held_by_generator(owner: GeneratorValue) -> Sequence[AbstractValue]:
    return (owner.sequence,)


@verbs.held_values.of(ZipValue)
def held_by_zip(owner: ZipValue) -> Sequence[AbstractValue]:
    return owner.parts


@verbs.class_name_of.of(ReversedValue)
def class_name_of_reversed(reader: Reader, owner: ReversedValue) -> str:
    return "list_reverseiterator"


@verbs.python_class.of(GeneratorValue)
def class_of_generator(reader: Reader, owner: GeneratorValue) -> type:
    return owner.cls


@verbs.class_name_of.of(GeneratorValue)
def class_name_of_generator(reader: Reader, owner: GeneratorValue) -> str:
    return owner.cls.__name__


@verbs.python_class.of(ZipValue)
def class_of_zip(reader: Reader, owner: ZipValue) -> type:
    return zip if owner.offset is None else enumerate


@verbs.class_name_of.of(ZipValue)
def class_name_of_zip(reader: Reader, owner: ZipValue) -> str:
    return "zip" if owner.offset is None else "enumerate"


@verbs.is_run_time.of(ReversedValue, IteratorValue)
def is_iterator_run_time(reader: Reader, owner: ReversedValue | IteratorValue) -> bool:
    return is_run_time(reader, owner.part)


@verbs.is_run_time.of(GeneratorValue)
def is_generator_run_time(reader: Reader, owner: GeneratorValue) -> bool:
    first, *more = owner.node.generators
    return is_run_time(reader, owner.sequence) or bool(first.ifs or more)


@verbs.is_run_time.of(ZipValue)
def is_zip_run_time(reader: Reader, owner: ZipValue) -> bool:
    return any(is_run_time(reader, part) for part in owner.parts)


@verbs.unrolled_ranges.of(ReversedValue, IteratorValue)
def unrolled_iterator(reader: Reader, owner: ReversedValue | IteratorValue) -> AbstractValue:
    return replace(owner, part=unrolled_ranges(reader, owner.part))


@verbs.unrolled_ranges.of(GeneratorValue)
def unrolled_generator(reader: Reader, owner: GeneratorValue) -> AbstractValue:
    return replace(owner, sequence=unrolled_ranges(reader, owner.sequence))


@verbs.unrolled_ranges.of(ZipValue)
def unrolled_zip(reader: Reader, owner: ZipValue) -> AbstractValue:
    return replace(owner, parts=[unrolled_ranges(reader, p) for p in owner.parts])


@verbs.walked_sequence.of(ReversedValue, IteratorValue)
def sequence_of_iterator(owner: ReversedValue | IteratorValue) -> AbstractValue:
    return walked_sequence(owner.part)


@verbs.walked_sequence.of(ZipValue)
def sequence_of_zip(owner: ZipValue) -> AbstractValue:
    """Return the first list of a zip whose length is known only at run time."""
    parts = map(walked_sequence, owner.parts)
    return next((part for part in parts if is_made_list(part) and part.items is None), owner)


@verbs.walked_sequence.of(GeneratorValue)
def sequence_of_generator(owner: GeneratorValue) -> AbstractValue:
    return walked_sequence(owner.sequence)


@verbs.walk.of(GeneratorValue)
def walk_generator_value(reader: Reader, owner: GeneratorValue, site: Any) -> Walk:
    spend(reader, owner)
    return walk_generator(reader, owner, site)


@verbs.walk.of(IteratorValue)
def walk_iterator(reader: Reader, owner: IteratorValue, site: Any) -> Walk:
    spend(reader, owner)
    return reader.iteration(owner.part, site)


@verbs.walk.of(ZipValue)
def walk_zip_value(reader: Reader, owner: ZipValue, site: Any) -> Walk:
    spend(reader, owner)
    return walk_zip(reader, owner, site)


@verbs.walk.of(ReversedValue)
def walk_reversed(reader: Reader, owner: ReversedValue, site: Any) -> Walk:
    spend(reader, owner)
    if isinstance(owner.part, RangeValue):
        return reader.iteration(reversed_range(reader, owner.part), site)
    walk = reader.iteration(owner.part, site)
    if walk.backward is not None:
        return Walk(items=walk.backward())
    if walk.items is not None and walk.limit is None:
        return Walk(items=list(walk.items)[::-1])
    if walk.items is None and walk.count is None:
        return Walk()
    assert walk.count is not None and walk.item is not None and starts_at_zero(walk.count)
    last = reader.binary("Sub", walk.count[1], Known(1))
    return Walk(count=(last, Known(-1), Known(-1)), item=walk.item)


@unpacked_items.of(IteratorValue)
def unpack_iterator(reader: Reader, owner: IteratorValue, count: int | None) -> list[AbstractValue]:
    spend(reader, owner)
    return unpacked_items(reader, owner.part, count)


@unpacked_items.of(GeneratorValue)
def unpack_generator(reader: Reader, owner: GeneratorValue, count: int | None) -> list[AbstractValue]:
    if not isinstance(owner.sequence, IteratorValue):
        if is_run_time(reader, owner):
            return unpacked_items(reader, reader.call(Known(taken_for), [owner, Known(count)], {}), count)
        return reader.iterate(owner)
    spend(reader, owner.sequence)  # as in map(list, zip(*rows))
    each = lambda part: TupleValue(unpacked(reader, replace(owner, sequence=part), count))  # noqa: E731
    return unpacked_items(reader, split(reader, owner.sequence.part, each), count)
