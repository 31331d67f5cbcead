"""Ranges whose bounds compiled code computes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Any

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.comparison import contains, equal_truth
from scriptc.frontend.operations.complexes import complex_parts
from scriptc.frontend.operations.formatting import listed_text
from scriptc.frontend.operations.logic import logical_and
from scriptc.frontend.reader.iterables import known_bounds, known_range, length_of_range
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.subscripts import range_item
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, RangeValue, Structure, TupleValue
from scriptc.frontend.values.predicates import is_complex_number, is_known
from scriptc.frontend.values.structure import LONG
from scriptc.frontend.values.verbs import python_class
from scriptc.frontend.values.walk import Walk

_NEVER_INTS = (NoneType, str, bytes, tuple, list, dict, set, frozenset, range)  # classes of values that equal no int


@verbs.structure_of.of(RangeValue)
def range_structure(owner: RangeValue) -> Structure:
    return Structure("range", [owner.start, owner.stop, owner.step], lambda parts: RangeValue(*parts))


@verbs.held_values.of(RangeValue)
def held_by_range(owner: RangeValue) -> Sequence[AbstractValue]:
    return ()


@verbs.python_class.of(RangeValue)
def class_of_range(reader: Reader, owner: RangeValue) -> type:
    return range


@verbs.class_name_of.of(RangeValue)
def class_name_of_range(reader: Reader, owner: RangeValue) -> str:
    return "range"


@verbs.item.of(RangeValue)
def range_item_at(reader: Reader, owner: RangeValue, index: AbstractValue) -> AbstractValue:
    return range_item(reader, owner, index)


@verbs.truth.of(RangeValue)
def range_truth(reader: Reader, owner: RangeValue) -> AbstractValue:
    return reader.call(Known(lists.has_items), [owner.start, owner.stop, owner.step], {})


@verbs.length.of(RangeValue)
def range_length(reader: Reader, owner: RangeValue) -> AbstractValue:
    bounds = known_bounds(owner)
    if bounds is not None:
        length = length_of_range(range(*bounds))
        if length > sys.maxsize:
            reader.emit.raise_error("OverflowError", "Python int too large to convert to C ssize_t")
        return Known(length)
    return reader.call(Known(lists.range_length), [owner.start, owner.stop, owner.step], {})


@contains.of(RangeValue)
def range_contains(reader: Reader, owner: RangeValue, item: AbstractValue) -> AbstractValue:
    if python_class(reader, item) in _NEVER_INTS:
        return Known(False)
    if is_complex_number(item) and (parts := complex_parts(reader, item)) is not None:
        is_real = equal_truth(reader, parts[1], Known(0.0))
        return logical_and(reader, is_real, range_contains(reader, owner, parts[0]))
    return reader.truth(reader.call(Known(lists.in_range), [item, owner.start, owner.stop, owner.step], {}))


@verbs.is_run_time.of(RangeValue)
def is_range_run_time(reader: Reader, owner: RangeValue) -> bool:
    bounds = known_bounds(owner)
    return bounds is None or length_of_range(range(*bounds)) > LONG


@verbs.unrolled_ranges.of(RangeValue)
def unrolled_range(reader: Reader, owner: RangeValue) -> AbstractValue:
    return owner if known_bounds(owner) is None else TupleValue(known_range(reader, owner))


@verbs.walk.of(RangeValue)
def walk_range(reader: Reader, owner: RangeValue, site: Any) -> Walk:
    bounds = known_bounds(owner)  # None where the bounds are not known yet
    if bounds is not None and bounds[2] and reader.assumptions.unrolls(site, length_of_range(range(*bounds))):
        return Walk(items=known_range(reader, owner))
    # `len` gives the trip count, since a range may end before its start.
    length = lambda: reader.call(Known(len), [owner], {})  # noqa: E731
    return Walk(count=(owner.start, owner.stop, owner.step), item=lambda i: i, length=length)


@verbs.text_parts.of(RangeValue)
def range_text(reader: Reader, owner: RangeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    start, stop, step = owner.start, owner.stop, owner.step
    is_plain = is_known(step) and step.obj == 1
    yield from listed_text(reader, "range(", [start, stop] if is_plain else [start, stop, step], ")")
