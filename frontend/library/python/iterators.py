"""iter() and next()."""

from __future__ import annotations

from collections.abc import Iterator

from scriptc.frontend.library.python import iterators_decomposed as iterators
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.iteration import iterated_object
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    GeneratorValue,
    IteratorValue,
    Known,
    ListValue,
    Moved,
    ObjectValue,
    RangeValue,
    ReversedValue,
    TupleValue,
    ZipValue,
)
from scriptc.frontend.values.predicates import is_tensor
from scriptc.frontend.values.verbs import class_name_of, describe, is_run_time


@serves("builtins.iter")
def iter_(r: Reader, source: AbstractValue) -> AbstractValue:
    if isinstance(source, GeneratorValue):
        return source
    if isinstance(source, ObjectValue):
        return source if source.cls is iterators.SequenceIterator else iterated_object(r, source)
    if isinstance(source, (ZipValue, ReversedValue, IteratorValue)) and is_run_time(r, source):
        return source
    if not isinstance(source, (ListValue, RangeValue, TupleValue)) and not is_tensor(source):
        source = TupleValue(r.iterate(source))
    return over(source)


@serves("builtins.next")
def next_(r: Reader, iterator: AbstractValue, *default: AbstractValue) -> AbstractValue:
    if isinstance(iterator, (GeneratorValue, ZipValue, ReversedValue, IteratorValue)):  # nobody asks it again
        return r.call(Known(iterators.first_or if default else iterators.first), [iterator, *default], {})
    if not isinstance(iterator, ObjectValue):
        if isinstance(iterator, Known) and isinstance(iterator.obj, Iterator):
            r.reject("iteration_over_outside", what=describe(iterator))
        r.emit.raise_error("TypeError", f"'{class_name_of(r, iterator)}' object is not an iterator")
    if iterator.cls is iterators.SequenceIterator and isinstance(r.items_of(iterator)["at"], Moved):
        r.reject("iterator_walked_again")
    if default and iterator.cls is iterators.SequenceIterator:
        return r.call(Known(iterators.next_or), [iterator, *default], {})
    if default:
        r.reject("next_with_default")
    return r.call(r.attribute(iterator, "__next__"), [], {})




def over(sequence: AbstractValue) -> AbstractValue:
    return ObjectValue(iterators.SequenceIterator, {"sequence": sequence, "at": Known(0)})
