"""The builtins iter() and next()."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scriptc.frontend.library.python import iterators_decomposed as iterators
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.containers import container_of
from scriptc.frontend.reader.iteration import iterated_object, walked_by_index
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    GeneratorValue,
    IteratorValue,
    Known,
    ListValue,
    Moved,
    ObjectValue,
    RangeValue,
    ReversedValue,
    TupleValue,
    ViewValue,
    YieldsValue,
    ZipValue,
)
from scriptc.frontend.values.predicates import has_known_keys, is_known
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import class_name_of, describe, is_run_time
from scriptc.ir.types import TensorType


def over(sequence: AbstractValue) -> AbstractValue:
    """Return an iterator over a sequence: an object with the sequence and a position."""
    return ObjectValue(iterators.SequenceIterator, {"sequence": sequence, "at": Known(0)})


@serves("builtins.iter")
def iter_(r: Reader, source: AbstractValue) -> AbstractValue:
    return _iterator(r, source)


@Verb
def _iterator(r: Reader, source: AbstractValue) -> AbstractValue:
    """Return `iter(source)`: by default, an iterator over a tuple of the items."""
    return over(TupleValue(r.iterate(source)))


@_iterator.of(ListValue, RangeValue, TupleValue, TensorType)
def _iterator_by_index(r: Reader, source: AbstractValue) -> AbstractValue:
    return over(source)


@_iterator.of(ViewValue)
def _iterator_over_view(r: Reader, source: ViewValue) -> AbstractValue:
    if has_known_keys(source.table) and is_known(size := verbs.length(r, source.table)):
        return over(ViewValue(source.table, source.part, size.obj))
    return _iterator.default(r, source)


@_iterator.of(DictValue)
def _iterator_over_dict(r: Reader, source: DictValue) -> AbstractValue:
    return _iterator(r, ViewValue(source, "keys"))


@_iterator.of(GeneratorValue, YieldsValue)
def _generator_itself(r: Reader, source: GeneratorValue | YieldsValue) -> AbstractValue:
    return source


@_iterator.of(ZipValue, ReversedValue, IteratorValue)
def _iterator_itself(r: Reader, source: AbstractValue) -> AbstractValue:
    return source if is_run_time(r, source) else _iterator.default(r, source)


@_iterator.of(ObjectValue)
def _iterator_of_object(r: Reader, source: ObjectValue) -> AbstractValue:
    if source.cls is iterators.SequenceIterator:
        return source
    held = container_of(r, source)
    return iterated_object(r, source) if held is None or defines(source, "__iter__") else _iterator(r, held)


serves("collections.abc.Sequence.__iter__")(walked_by_index)


@serves("builtins.map")
def map_(r: Reader, *given: AbstractValue) -> AbstractValue:
    return _of_class(map, r.call(Known(iterators.mapped), given, {}))


@serves("builtins.filter")
def filter_(r: Reader, *given: AbstractValue) -> AbstractValue:
    return _of_class(filter, r.call(Known(iterators.kept), given, {}))


def _of_class(cls: type, made: AbstractValue) -> AbstractValue:
    assert isinstance(made, GeneratorValue)
    return replace(made, cls=cls)


@serves("builtins.next")
def next_(r: Reader, iterator: AbstractValue, *default: AbstractValue) -> AbstractValue:
    return _next_item(r, iterator, *default)


@Verb
def _next_item(r: Reader, iterator: AbstractValue, *default: AbstractValue) -> AbstractValue:
    """Return `next(iterator, *default)`."""
    r.emit.raise_error("TypeError", f"'{class_name_of(r, iterator)}' object is not an iterator")


@_next_item.of(Known)
def _next_item_outside(r: Reader, iterator: Known, *default: AbstractValue) -> AbstractValue:
    if isinstance(iterator.obj, Iterator):
        r.reject("iteration_over_outside", what=describe(iterator))
    return _next_item.default(r, iterator, *default)


@_next_item.of(GeneratorValue, YieldsValue, ZipValue, ReversedValue, IteratorValue)
def _only_item(r: Reader, iterator: AbstractValue, *default: AbstractValue) -> AbstractValue:
    """Return the first item of an iterator that no other code walks."""
    return r.call(Known(iterators.first_or if default else iterators.first), [iterator, *default], {})


@_next_item.of(ObjectValue)
def _next_item_of_object(r: Reader, iterator: ObjectValue, *default: AbstractValue) -> AbstractValue:
    own = iterator.cls is iterators.SequenceIterator
    if not hasattr(iterator.cls, "__next__"):
        return _next_item.default(r, iterator, *default)
    if own and isinstance(r.items_of(iterator)["at"], Moved):
        r.reject("iterator_walked_again")
    if default and own:
        return r.call(Known(iterators.next_or), [iterator, *default], {})
    if default:
        return r.call(Known(iterators.asked_or), [iterator, *default], {})
    return r.call(r.attribute(iterator, "__next__"), [], {})
