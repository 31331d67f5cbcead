"""Sequences as loops walk them, and the sequences that are walked at run time."""

from __future__ import annotations

from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    IteratorValue,
    Known,
    RangeValue,
    ReversedValue,
    YieldsValue,
    ZipValue,
)
from scriptc.frontend.values.alternatives import present, split
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_tensor
from scriptc.frontend.values.structure import LONG, UNROLL_LIMIT
from scriptc.frontend.values.verbs import class_name_of, is_walked
from scriptc.frontend.values.walk import is_spent
from scriptc.ir.core import Value
from scriptc.ir.types import TensorType


def known_bounds(av: RangeValue) -> tuple[int, int, int] | None:
    """Return start, stop and step of a range whose bounds are known."""
    bounds = [b.obj for b in (av.start, av.stop, av.step) if is_known(b)]
    return (bounds[0], bounds[1], bounds[2]) if len(bounds) == 3 else None


def length_of_range(bounds: range) -> int:
    """Return the length of a range, for which `len` raises where it takes more than 63 bits."""
    if not bounds:
        return 0
    return (bounds[-1] - bounds.start) // bounds.step + 1


def is_short(count: AbstractValue) -> bool:
    """Return whether a sequence of this length is walked item by item."""
    return is_known(count) and count.obj <= LONG


def count_of_parts(value: Value | None) -> int | None:
    """Return how many views `unbind` made of a tensor, if `value` is their list and the tensor's type says so."""
    if value is None or value.op is None or value.op.name != "unbind":
        return None
    t = value.op.operands[0].type
    assert isinstance(t, TensorType) and t.dims is not None
    count = t.dims[value.op.attrs["dim"]]
    return count if isinstance(count, int) else None


def spend(reader: Reader, av: GeneratorValue | YieldsValue | ZipValue | ReversedValue | IteratorValue) -> None:
    """Note that an iterator is walked, so that it has no items afterwards, or only some."""
    if is_spent(av.mark, reader.heap.contents):
        reader.reject("iterator_walked_again")
    for ident in av.mark.idents:
        reader.heap.contents[ident] = Known(True)
        if any(ident.serial < watch.mark for watch in reader.position.watches):
            note_change(reader, ident)


def checked_iterable(reader: Reader, av: AbstractValue, quality: str = "iterable") -> AbstractValue:
    """Return a value without its alternative None, for `iter()`. A value that cannot be walked raises a TypeError
    here."""
    av = present(reader, av, "TypeError", f"'NoneType' object is not {quality}")
    if has_alternatives(av) and not all(map(is_walked, av.alternatives.values())):
        split(reader, av, lambda a: checked_iterable(reader, a, quality))
    elif is_tensor(av) and not is_walked(av):
        reader.emit.raise_error("TypeError", "iteration over a 0-d tensor")
    elif not is_walked(av):
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object is not {quality}")
    return av


def known_range(reader: Reader, av: RangeValue) -> list[AbstractValue]:
    bounds = [require_known(reader, b, "the bounds of an unrolled range") for b in (av.start, av.stop, av.step)]
    return known_numbers(reader, range(*bounds))


def known_numbers(reader: Reader, numbers: range) -> list[AbstractValue]:
    if length_of_range(numbers) > UNROLL_LIMIT:
        reader.reject("too_long_to_unroll", count=length_of_range(numbers))
    return [Known(i) for i in numbers]


def item_at(reader: Reader, owner: AbstractValue, index: int) -> AbstractValue:
    """Return the item at an index in bounds."""
    return reader.subscript(owner, Known(index))
