"""The sequences of `for` loops. Known sequences are unrolled; others become counted loops over an index."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.library.python.iterators_decomposed import SequenceIterator, asked, by_index, check_lengths
from scriptc.frontend.library.python.itertools_decomposed import ENDLESS
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.operations.containers import container_of
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import new_list
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.runtime_dicts import refuse_item_sets
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.errors import NeedsKnown, UserError
from scriptc.frontend.reader.iterables import count_of_parts, known_numbers, length_of_range
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.speculation import keep_length
from scriptc.frontend.reader.subscripts import fetched
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    IteratorValue,
    Known,
    KnownLengthListValue,
    ListValue,
    Moved,
    ObjectValue,
    OneOf,
    RangeValue,
    RuntimeValue,
    TupleValue,
    ZipValue,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.element_types import is_numpy_box, is_of_numbers, is_union
from scriptc.frontend.values.predicates import is_known, is_list, is_made_list, is_object, is_tensor
from scriptc.frontend.values.structure import UNROLL_LIMIT, sequence_items
from scriptc.frontend.values.user_classes import class_of, defines
from scriptc.frontend.values.verbs import (
    class_name_of,
    describe,
    kind_of,
    materialize,
    taken,
    unrolled_ranges,
    walked_sequence,
)
from scriptc.frontend.values.walk import Walk
from scriptc.ir.types import ListType, OptionalType, TupleType


def zipped_rows(node: ast.Call) -> ast.expr | None:
    """Return the rows of `zip(*rows)`, if the zip has no other argument."""
    match node:
        case ast.Call(args=[ast.Starred(rows)], keywords=[] | [ast.keyword("strict", ast.Constant(False))]):
            return rows
    return None


def iterate(reader: Reader, av: AbstractValue) -> list[AbstractValue]:
    """Return all items of a sequence of known length."""
    av = unrolled_ranges(reader, taken(reader, iterated(reader, av)))
    walk = reader.iteration(av, None)
    if walk.items is not None and walk.limit is None:
        return list(walk.items)
    if walk.items is None and walk.count is None:
        return []
    error = UserError(reader.position.loc, *rejection("length_unknown", what=describe(av)))
    walked = walked_sequence(av)
    if is_made_list(walked) and walked.value is not None and is_of_numbers(walked.value.type):
        raise NeedsKnown(walked.value, error)
    if is_list(walked):
        keep_length(reader.speculation, walked, error)
    raise error


def transposed(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return `zip(*av)` of a sequence whose length is known only at run time."""
    rows = av if is_made_list(av) else reader.call(Known(list), [av], {})
    held = materialize(reader, rows).type
    assert isinstance(held, ListType)
    row = held.elem.item if isinstance(held.elem, OptionalType) else held.elem
    if not isinstance(row, TupleType) or is_union(row) or is_numpy_box(row):
        return IteratorValue(reader.call(Known(lists.transposed), [rows], {}))
    columns = [column_of(reader, rows, i) for i in range(len(row.items))]
    count = lambda: Known(len(columns))  # noqa: E731
    none = reader.compare("Eq", reader.call(Known(len), [rows], {}), Known(0))
    if len({str(materialize(reader, c).type) for c in columns}) == 1:  # then one list holds them all
        made = reader.call(
            Known(lists.first_of), [TupleValue(columns), reader.choose(none, lambda: Known(0), count)], {}
        )
        return IteratorValue(made)
    structures = [TupleValue(columns), TupleValue([])]
    tags = [reader.kinds.tag(kind_of(s)) for s in structures]
    which = reader.choose(none, lambda: Known(tags[1]), lambda: Known(tags[0]))
    return IteratorValue(OneOf(materialize(reader, which), dict(zip(tags, structures, strict=True))))


def column_of(reader: Reader, rows: AbstractValue, i: int) -> AbstractValue:
    made = new_list(reader, [], (reader.position.loc, "column", i))
    reader.call(Known(lists.add_column), [made, rows, Known(i)], {})
    return reader.call(Known(tuple), [made], {})


def iteration(reader: Reader, av: AbstractValue, site: Any) -> Walk:
    refuse_item_sets(reader, av)
    return verbs.walk(reader, av, site)


def walk_several(reader: Reader, av: OneOf) -> Walk:
    """Return the walk over one of several sequences."""
    found = av.alternatives.values()
    if not all(sequence_items(a) is not None or is_made_list(a) or is_tensor(a) for a in found):
        for alternative in found:
            reader.speculation.promote(walked_sequence(alternative))
        reader.reject("iteration_over_one_of_several", what=describe(av))
    length = lambda: split(reader, av, lambda a: reader.call(Known(len), [a], {}))  # noqa: E731

    def item_of(a: AbstractValue, i: AbstractValue) -> AbstractValue:
        known = sequence_items(a)
        return reader.subscript(a, i) if known is None else chosen_item(reader, known, i)

    item = lambda i: split(reader, av, lambda a: item_of(a, i))  # noqa: E731
    lists = [a.value for a in found if is_made_list(a) and a.value is not None]
    return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=lists)


def chosen_item(reader: Reader, items: Sequence[AbstractValue], at: AbstractValue) -> AbstractValue:
    """Return the item of a known tuple at a run-time index in bounds."""
    if not items:
        reader.emit.raise_error("IndexError", "tuple index out of range")
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    first = reader.compare("Lt", at, Known(middle))
    behind = (  # noqa: E731
        lambda: chosen_item(  # noqa: E731
            reader, items[middle:], RuntimeValue(materialize(reader, reader.binary("Sub", at, Known(middle))))
        )
    )
    return reader.choose(first, lambda: chosen_item(reader, items[:middle], at), behind)


def current_items(av: KnownLengthListValue) -> Iterator[AbstractValue]:
    """Yield the items one by one. As in Python, the loop over a list may change the list."""
    i = 0
    while i < len(av.items):
        yield av.items[i]
        i += 1


def walk_queue(reader: Reader, av: ObjectValue, walk: Walk) -> Walk:
    """Return the walk over a deque. It walks the deque's items, but the deque must not change meanwhile."""
    began = reader.items_of(av)["_changes"]

    def check() -> None:
        same = reader.compare("Eq", reader.items_of(av)["_changes"], began)
        check_that(reader, same, "RuntimeError", "deque mutated during iteration")

    def checked(items: Iterable[AbstractValue]) -> Iterator[AbstractValue]:
        for item in items:
            check()
            yield item
        check()

    def length() -> AbstractValue:
        assert walk.length is not None
        check()
        return walk.length()

    if walk.items is not None:
        return replace(walk, items=checked(walk.items))
    return replace(walk, length=length)


def iterated(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return what a loop over a value walks: for an object of a user's class, the result of its `__iter__`."""
    if is_object(av) and av.cls not in (SequenceIterator, Deque, *ENDLESS):
        held = container_of(reader, av)
        return iterated_object(reader, av) if held is None or defines(av, "__iter__") else held
    return iterated_object(reader, av) if is_known(av) and defines(av, "__iter__") else av


def iterated_object(reader: Reader, av: ObjectValue | Known) -> AbstractValue:
    """Return the result of an object's `__iter__`."""
    if is_object(av) and av.cls is SequenceIterator:
        return rest_of(reader, av)
    found = special(reader, av, "__iter__", [])
    if found is None and defines(av, "__getitem__"):
        return walked_by_index(reader, av)
    if found is None:
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object is not iterable")
    if class_of(found) is not SequenceIterator and defines(found, "__next__"):
        return reader.call(Known(asked), [found], {})
    return found


def walked_by_index(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return the generator that walks an object by `__getitem__`, as Python does if its class has no other way."""
    length = reader.call(Known(len), [av], {}) if defines(av, "__len__") else None
    count = length.obj + 1 if length is not None and is_known(length) and 0 <= length.obj <= UNROLL_LIMIT else 0
    return reader.call(Known(by_index), [av, TupleValue([Known(i) for i in range(count)])], {})


def rest_of(reader: Reader, av: ObjectValue) -> AbstractValue:
    """Return the remaining items of an iterator. The walk may stop early, so the iterator cannot be used again."""
    items = _unspent(reader, av)
    sequence, at = items["sequence"], items["at"]
    if is_object(sequence) and sequence.cls in ENDLESS:
        start = reader.call(reader.attribute(sequence, "behind"), [at], {})
        rest: AbstractValue = ObjectValue(sequence.cls, {**reader.items_of(sequence), "start": start})
    else:
        rest = reader.subscript(sequence, TupleValue([at, Known(None), Known(None)], slice))
    set_items(reader, av, {**items, "at": Moved()})
    return rest


def _unspent(reader: Reader, av: ObjectValue) -> dict[Any, AbstractValue]:
    """Return the sequence and the position of an iterator that no walk has taken."""
    items = reader.items_of(av)
    if isinstance(items["at"], Moved):
        reader.reject("iterator_walked_again")
    return items


def walk_rest(reader: Reader, av: ObjectValue, site: Any) -> Walk:
    """Return the walk over the remaining items of an iterator, of a list itself, whose length may change meanwhile."""
    items = _unspent(reader, av)
    sequence, at = items["sequence"], items["at"]
    if not is_made_list(sequence):
        return reader.iteration(rest_of(reader, av), site)
    walk = reader.iteration(sequence, site)
    item, length = walk.item, walk.length
    if item is None or length is None:
        return reader.iteration(rest_of(reader, av), site)
    set_items(reader, av, {**items, "at": Moved()})
    rest = lambda: reader.call(Known(max), [Known(0), reader.binary("Sub", length(), at)], {})  # noqa: E731
    behind = lambda i: item(reader.binary("Add", at, i))  # noqa: E731
    return Walk(count=(Known(0), rest(), Known(1)), item=behind, length=rest, lists=walk.lists)


def asked_items(reader: Reader, av: ObjectValue) -> Iterator[AbstractValue]:
    """Yield the remaining items of an iterator over a sequence of known length, each on demand."""
    sequence = reader.items_of(av)["sequence"]
    while (at := require_known(reader, reader.items_of(av)["at"], "how far an iterator has come")) < len(
        known := reader.iterate(sequence)
    ):
        set_items(reader, av, {"sequence": sequence, "at": Known(at + 1)})
        yield known[at]


def walk_list(reader: Reader, av: ListValue) -> Walk:
    value = av.value
    assert value is not None and isinstance(value.type, ListType)
    known = count_of_parts(value)
    length = lambda: RuntimeValue(reader.emit.build("list.len", [value])) if known is None else Known(known)  # noqa: E731

    def item(i: AbstractValue) -> AbstractValue:
        return fetched(reader, value, materialize(reader, i))

    return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=[] if value.type.is_tuple else [value])


def row_of(reader: Reader, tensor: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Return `tensor[i]` for a counter in bounds, without a check."""
    op = reader.emit.builder.op(
        "select", [materialize(reader, tensor), materialize(reader, index)], reader.position.loc, proved=True, dim=0
    )
    return RuntimeValue(op.result)


def starts_at_zero(count: tuple[AbstractValue, AbstractValue, AbstractValue]) -> bool:
    start, _, step = count
    return is_known(start) and start.obj == 0 and is_known(step) and step.obj == 1


def walk_zip(reader: Reader, av: ZipValue, site: Any) -> Walk:
    walks = [reader.iteration(p, None if isinstance(p, RangeValue) else site) for p in av.parts]
    if any(w.items is None and w.count is None for w in walks):
        if not av.strict:
            return Walk()
        walks = [Walk(items=[]) if w.items is None and w.count is None else w for w in walks]
    if all(w.items is not None and w.limit is None for w in walks):
        offset = av.offset
        if offset is not None:
            return Walk(items=(enumerated(reader, offset, i, item) for i, item in enumerate(walks[0].items or ())))
        if not av.strict:
            return Walk(items=map(TupleValue, map(list, zip(*(w.items or () for w in walks), strict=False))))
        return Walk(items=known_rows(reader, [iter(w.items or ()) for w in walks]))
    walks = [replace(w, items=list(w.items or ())) if has_known_items(w) else w for w in walks]
    by_index = [count_walk(reader, w) for w in walks]
    if any(w.items is not None for w in by_index):  # the loop is unrolled, so that all known items stay known
        by_index = [w if has_known_items(w) else other for w, other in zip(walks, by_index, strict=True)]
    walks = by_index
    assert all(w.items is not None or w.count is not None and starts_at_zero(w.count) for w in walks)

    def least(lengths: list[AbstractValue]) -> AbstractValue:
        if all(is_known(length) for length in lengths):
            return Known(min(length.obj for length in lengths if is_known(length)))
        found = lengths[0]
        for other in lengths[1:]:
            found = RuntimeValue(reader.emit.build("int.min", [materialize(reader, found), materialize(reader, other)]))
        return found

    limits = [w.limit for w in walks if w.limit is not None]
    counted = [w for w in walks if w.count is not None]
    length = lambda: least([*map(length_of, counted), *(limit() for limit in limits)])  # noqa: E731

    def item(i: AbstractValue) -> AbstractValue:
        row = [w.item(i) for w in walks]  # type: ignore[misc]
        if av.offset is None:
            return TupleValue(row)
        return TupleValue([reader.binary("Add", av.offset, i), row[0]])

    if len(counted) < len(walks):
        if av.strict and limits:
            reader.reject("zip_strict")
        finish = (lambda: check_equal(reader, [*map(length_of, walks)])) if av.strict else None
        made = limited_rows(reader, walks)
        if av.offset is None:
            return Walk(items=(TupleValue(r) for r in made), limit=length, finish=finish)
        items = (enumerated(reader, av.offset, i, r[0]) for i, r in enumerate(made))
        return Walk(items=items, limit=length, finish=walks[0].finish)
    changing = [v for w in walks for v in w.lists]
    finish = (lambda: check_equal(reader, [*map(length_of, walks)])) if av.strict else None
    if av.offset is not None:
        finish = walks[0].finish  # the `finish` of the enumerated sequence
    return Walk(count=(Known(0), length(), Known(1)), item=item, length=length, lists=changing, finish=finish)


def has_known_items(walk: Walk) -> bool:
    return walk.items is not None and walk.limit is None


def limited_rows(reader: Reader, walks: list[Walk]) -> Iterator[list[AbstractValue]]:
    """Yield the rows of a zip of known and other sequences, each on demand."""
    for i, row in enumerate(zip(*(w.items for w in walks if w.items is not None), strict=False)):
        known = iter(row)
        yield [next(known) if w.item is None else w.item(Known(i)) for w in walks]


def length_of(walk: Walk) -> AbstractValue:
    """Return the present number of items of a walk that starts at index zero, or of an unlimited walk over known
    items."""
    if walk.items is not None:
        return Known(len(list(walk.items)))
    if walk.length is not None:
        return walk.length()
    assert walk.count is not None
    return walk.count[1]


def enumerated(reader: Reader, start: AbstractValue, i: int, item: AbstractValue) -> AbstractValue:
    """Return an item of enumerate."""
    return TupleValue([reader.binary("Add", start, Known(i)), item])


def known_rows(reader: Reader, columns: Sequence[Iterator[AbstractValue]]) -> Iterator[AbstractValue]:
    """Yield the items of a strict zip of known sequences, which raises after the last one if the lengths differ."""
    for count in itertools.count():
        row = [next(column, None) for column in columns]
        found = [item for item in row if item is not None]
        if len(found) < len(columns) or not columns:
            check_equal(reader, [Known(count + (item is not None)) for item in row])
            return
        yield TupleValue(found)


def check_equal(reader: Reader, lengths: Sequence[AbstractValue]) -> None:
    """Check the lengths for zip(strict=True) when one of its sequences has ended."""
    known = [length.obj for length in lengths if is_known(length)]
    if len(known) < len(lengths) or len({*known}) > 1:
        reader.call(Known(check_lengths), [TupleValue(lengths)], {})


def count_walk(reader: Reader, walk: Walk) -> Walk:
    """Return a walk by an index that starts at zero. A walk over items that no list can hold is returned as it is."""
    if walk.items is not None and walk.limit is None:
        items = list(walk.items)
        made = new_list(reader, items, (reader.position.loc, "zip"))
        if made.value is None:
            return Walk(items=items)
        count = Known(len(items))  # no name has the list, so that it keeps its length
        return replace(walk_list(reader, made), count=(Known(0), count, Known(1)), length=lambda: count, lists=[])
    if walk.count is None or starts_at_zero(walk.count) or walk.item is None:
        return walk
    start, _, step = walk.count
    length = reader.call(Known(len), [RangeValue(*walk.count)], {})
    item = walk.item

    def at(i: AbstractValue) -> AbstractValue:
        return item(reader.binary("Add", start, reader.binary("Mult", i, step)))

    return Walk(count=(Known(0), length, Known(1)), item=at)


def reversed_range(reader: Reader, av: RangeValue) -> RangeValue:
    count = reader.call(Known(len), [av], {})
    last = reader.binary("Add", av.start, reader.binary("Mult", reader.binary("Sub", count, Known(1)), av.step))
    step = reader.binary("Sub", Known(0), av.step)
    return RangeValue(last, reader.binary("Add", av.start, step), step)


def unrolled_walk(reader: Reader, walk: Walk, site: Any) -> Walk:
    """Return the items of a walk by an index, if its loop is unrolled and its trip count is known."""
    bounds = [b.obj for b in walk.count or () if is_known(b)]
    if len(bounds) < 3 or walk.lists or walk.item is None:
        return walk
    if not reader.assumptions.unrolls(site, length_of_range(range(*bounds))):
        return walk
    return Walk(items=map(walk.item, known_numbers(reader, range(*bounds))), finish=walk.finish)
