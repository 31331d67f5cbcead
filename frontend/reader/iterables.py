"""How a sequence is walked, and which sequences are walked at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from scriptc.frontend.decompositions.iterators import SequenceIterator
from scriptc.frontend.decompositions.itertools import ENDLESS
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    IteratorValue,
    Known,
    ListValue,
    ObjectValue,
    OneOf,
    RangeValue,
    ReversedValue,
    RuntimeValue,
    TupleValue,
    ViewValue,
    ZipValue,
    is_dict,
    is_empty_list,
    is_run_time_text,
    is_set,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.alternatives import present, split
from scriptc.frontend.values.class_names import class_name_of
from scriptc.frontend.values.structure import LONG, UNROLL_LIMIT
from scriptc.frontend.values.user_classes import defines
from scriptc.ir.core import Value
from scriptc.ir.types import ScalarType


@dataclass
class Walk:
    """How a sequence is walked. `items`: known, one by one, of which those come whose index is below `limit`, where there
    is one. Else `count` bounds an index (None: the sequence is empty) and `item` gives the value at it. `length` asks anew
    for the number of items, where that of `lists` may change."""

    items: Iterable[AbstractValue] | None = None
    limit: Callable[[], AbstractValue] | None = None  # a number known only at run time
    count: tuple[AbstractValue, AbstractValue, AbstractValue] | None = None
    item: Callable[[AbstractValue], AbstractValue] | None = None
    length: Callable[[], AbstractValue] | None = None
    lists: Sequence[Value] = ()
    finish: Callable[[], None] | None = None  # what is asked when the sequence has ended


def _is_walked(av: AbstractValue) -> bool:
    """Whether `iter()` takes it; of objects only it knows, by asking them."""
    match av:
        case RuntimeValue() if is_tensor(av):
            return tensor_type(av).rank > 0
        case RuntimeValue():
            return is_run_time_text(av) or not isinstance(av.type, ScalarType)
        case Known(obj):
            return not isinstance(obj, (int, float, type(None))) or hasattr(obj, "__iter__")
    return True


def is_run_time(reader: Reader, av: AbstractValue) -> bool:
    """Whether the number of items is known only at run time, or too large to take them one by one."""
    match av:
        case Known() if defines(av, "__iter__"):
            return True
        case GeneratorValue():
            return is_run_time(reader, av.sequence) or bool(av.node.generators[0].ifs or av.node.generators[1:])
        case ListValue():
            return av.items is None and not is_empty_list(av)
        case RangeValue(start, stop, step):
            bounds = [b.obj for b in (start, stop, step) if isinstance(b, Known)]
            return len(bounds) < 3 or len(range(*bounds)) > LONG
        case ZipValue(parts):
            return any(is_run_time(reader, part) for part in parts)
        case ReversedValue(part) | IteratorValue(part):
            return is_run_time(reader, part)
        case ViewValue():
            return True
        case OneOf(alternatives=alternatives):
            return any(is_run_time(reader, a) for a in alternatives.values())
        case ObjectValue():
            items = reader.items_of(av)
            if av.cls is SequenceIterator:
                return is_run_time(reader, items["sequence"])
            return av.cls in ENDLESS or hasattr(av.cls, "__iter__")
        case RuntimeValue():
            if is_dict(av) or is_set(av) or is_run_time_text(av):
                return True
            has_items = is_tensor(av) and tensor_type(av).rank > 0
            return has_items and not is_short(size_av(reader, av, 0))
    return False


def is_short(count: AbstractValue) -> bool:
    """Whether so many items are taken one by one."""
    return isinstance(count, Known) and count.obj <= LONG


def unrolled_ranges(reader: Reader, av: AbstractValue) -> AbstractValue:
    """The sequence with the numbers of known ranges written out."""
    match av:
        case RangeValue(start, stop, step) if all(isinstance(b, Known) for b in (start, stop, step)):
            return TupleValue(known_range(reader, av))
        case ZipValue(parts):
            return replace(av, parts=[unrolled_ranges(reader, p) for p in parts])
        case ReversedValue(part) | IteratorValue(part):
            return replace(av, part=unrolled_ranges(reader, part))
        case GeneratorValue(sequence=sequence):
            return replace(av, sequence=unrolled_ranges(reader, sequence))
    return av


def spend(reader: Reader, av: GeneratorValue | ZipValue | ReversedValue | IteratorValue) -> None:
    """Notes that an iterator is walked: it has no items behind that, or only some."""
    if av.ident in reader.heap.contents:
        reader.reject("iterator_walked_again")
    reader.heap.contents[av.ident] = Known(True)
    if any(av.ident.serial < watch.mark for watch in reader.position.watches):
        note_change(reader, av.ident)


def checked_iterable(reader: Reader, av: AbstractValue, quality: str = "iterable") -> AbstractValue:
    """What `iter()` takes, without None: what cannot be walked raises where an iterator over it is made."""
    av = present(reader, av, "TypeError", f"'NoneType' object is not {quality}")
    match av:
        case OneOf(alternatives=alternatives) if any(not _is_walked(a) for a in alternatives.values()):
            split(reader, av, lambda a: checked_iterable(reader, a, quality))
        case RuntimeValue() if is_tensor(av) and not _is_walked(av):
            reader.emit.raise_error("TypeError", "iteration over a 0-d tensor")
        case _ if not _is_walked(av):
            reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object is not {quality}")
    return av


def known_range(reader: Reader, av: RangeValue) -> list[AbstractValue]:
    bounds = [require_known(reader, b, "the bounds of an unrolled range") for b in (av.start, av.stop, av.step)]
    return known_numbers(reader, range(*bounds))


def known_numbers(reader: Reader, numbers: range) -> list[AbstractValue]:
    if len(numbers) > UNROLL_LIMIT:
        reader.reject("too_long_to_unroll", count=len(numbers))
    return [Known(i) for i in numbers]


def item_at(reader: Reader, owner: AbstractValue, index: int) -> AbstractValue:
    """The item at an index known to be in range."""
    return reader.subscript(owner, Known(index))
