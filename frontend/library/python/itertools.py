"""The itertools module: known sequences item by item, all others as lists."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from scriptc.frontend.library.python import itertools_decomposed as lists
from scriptc.frontend.library.python.iterators import over
from scriptc.frontend.library.python.iterators_decomposed import SequenceIterator, taken
from scriptc.frontend.library.python.sequences import as_list, list_
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, IteratorValue, Known, ObjectValue, TupleValue
from scriptc.frontend.values.predicates import is_known, is_made_list, is_none, is_object
from scriptc.frontend.values.verbs import is_run_time, python_class

_NONE = Known(None)


def gives(*names: str) -> Callable[[Callable[..., AbstractValue]], Callable[..., AbstractValue]]:
    """Register a handler that returns the sequence of an iterator's items."""

    def register(handler: Callable[..., AbstractValue]) -> Callable[..., AbstractValue]:
        @functools.wraps(handler)
        def iterator(r: Reader, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
            return IteratorValue(handler(r, *args, **kwargs))

        serves(*names)(iterator)
        return handler

    return register


def _any_run_time(r: Reader, sequences: tuple[AbstractValue, ...]) -> bool:
    return any(is_run_time(r, s) for s in sequences)


@gives("itertools.chain")
def chain(r: Reader, *sequences: AbstractValue) -> AbstractValue:
    if _any_run_time(r, sequences):
        return r.call(Known(lists.chained), [TupleValue(list(sequences))], {})
    return TupleValue([item for s in sequences for item in r.iterate(s)])


@gives("itertools.chain.from_iterable")
def chain_from_iterable(r: Reader, sequences: AbstractValue) -> AbstractValue:
    if is_run_time(r, sequences):
        return r.call(Known(lists.chained), [sequences], {})
    return chain(r, *r.iterate(sequences))


@gives("itertools.product")
def product(r: Reader, *sequences: AbstractValue, repeat: AbstractValue = Known(1)) -> AbstractValue:
    times = require_known(r, repeat, "repeat")
    if _any_run_time(r, sequences):
        return r.call(Known(lists.product), [TupleValue([as_list(r, s) for s in sequences] * times)], {})
    found: list[list[AbstractValue]] = [[]]
    for items in [r.iterate(s) for s in sequences] * times:
        found = [[*row, item] for row in found for item in items]
    return TupleValue([make_tuple(row) for row in found])


def _rows(name: str) -> Callable[..., AbstractValue]:
    choose = getattr(itertools, name)

    def of_length(reader: Reader, /, iterable: AbstractValue, r: AbstractValue) -> AbstractValue:
        return handler(reader, iterable, r)

    def handler(reader: Reader, /, iterable: AbstractValue, r: AbstractValue = _NONE) -> AbstractValue:
        if is_run_time(reader, iterable):
            xs = as_list(reader, iterable)
            length = reader.call(Known(len), [xs], {}) if is_none(r) else r
            return reader.call(Known(getattr(lists, name)), [xs, length], {})
        items, known = reader.iterate(iterable), require_known(reader, r, f"the length that {name}() is given")
        return TupleValue([make_tuple(list(row)) for row in choose(items, len(items) if known is None else known)])

    return handler if name == "permutations" else of_length


for _name in ("combinations", "combinations_with_replacement", "permutations"):  # only permutations() has a default length
    gives(f"itertools.{_name}")(_rows(_name))


@gives("itertools.accumulate")
def accumulate(
    r: Reader, iterable: AbstractValue, func: AbstractValue = _NONE, *, initial: AbstractValue = _NONE
) -> AbstractValue:
    from_start = not is_none(initial)
    if is_run_time(r, iterable):
        given = [as_list(r, iterable), func]
        if from_start:
            return r.call(Known(lists.accumulated_from), [initial, *given], {})
        return r.call(Known(lists.accumulated), given, {})
    items = [*([initial] if from_start else []), *r.iterate(iterable)]
    adds = is_none(func)
    found = items[:1]
    for item in items[1:]:
        found.append(r.binary("Add", found[-1], item) if adds else r.call(func, [found[-1], item], {}))
    return TupleValue(found)


@gives("itertools.islice")
def islice(r: Reader, sequence: AbstractValue, *bounds: AbstractValue) -> AbstractValue:
    if not 1 <= len(bounds) <= 3:
        r.emit.raise_error("TypeError", f"islice expected 2 to 4 arguments, got {1 + len(bounds)}")
    given = [_NONE, *bounds, _NONE][:3] if len(bounds) == 1 else [*bounds, _NONE][:3]
    start, stop, step = (
        Known(least) if is_none(b) else b
        for b, least in zip(given, (0, None, 1), strict=True)
    )
    r.call(Known(lists.check_bounds), [start, stop, step], {})
    if is_object(sequence) and sequence.cls is SequenceIterator:
        return r.call(Known(taken), [sequence, start, stop, step], {})
    known = [b.obj for b in (start, stop, step) if is_known(b)]
    if len(known) == 3 and not is_run_time(r, sequence):
        return TupleValue(r.iterate(sequence)[slice(*known)])
    if is_made_list(sequence):
        return r.subscript(sequence, TupleValue([start, stop, step], slice))
    return r.call(Known(lists.sliced), [sequence, start, stop, step], {})


@gives("itertools.zip_longest")
def zip_longest(r: Reader, *sequences: AbstractValue, fillvalue: AbstractValue = _NONE) -> AbstractValue:
    if _any_run_time(r, sequences):
        return r.call(Known(lists.filled_rows), [TupleValue([as_list(r, s) for s in sequences]), fillvalue], {})
    rows = itertools.zip_longest(*map(r.iterate, sequences), fillvalue=fillvalue)
    return TupleValue([make_tuple(list(row)) for row in rows])


@gives("itertools.pairwise")
def pairwise(r: Reader, sequence: AbstractValue) -> AbstractValue:
    if is_run_time(r, sequence):
        return r.call(Known(lists.pairs), [as_list(r, sequence)], {})
    items = r.iterate(sequence)
    return TupleValue([make_tuple(list(pair)) for pair in zip(items, items[1:], strict=False)])


@gives("itertools.starmap")
def starmap(r: Reader, function: AbstractValue, sequence: AbstractValue) -> AbstractValue:
    if is_run_time(r, sequence):
        return r.call(Known(lists.starred), [function, sequence], {})
    return TupleValue([r.call(function, r.iterate(row), {}) for row in r.iterate(sequence)])


# ---- selections of items ----
@gives("itertools.takewhile")
def takewhile(r: Reader, function: AbstractValue, sequence: AbstractValue) -> AbstractValue:
    return r.call(Known(lists.taken_while), [function, sequence], {})


@gives("itertools.dropwhile")
def dropwhile(r: Reader, function: AbstractValue, sequence: AbstractValue) -> AbstractValue:
    return r.call(Known(lists.dropped_while), [function, sequence], {})


@gives("itertools.filterfalse")
def filterfalse(r: Reader, function: AbstractValue, sequence: AbstractValue) -> AbstractValue:
    return r.call(Known(lists.left_out), [function, sequence], {})


@gives("itertools.compress")
def compress(r: Reader, data: AbstractValue, selectors: AbstractValue) -> AbstractValue:
    return r.call(Known(lists.compressed), [data, selectors], {})


@serves("itertools.groupby")
def groupby(r: Reader, iterable: AbstractValue, key: AbstractValue = _NONE) -> AbstractValue:
    """Return an iterator over keys and groups.

    A group is an iterator that can be walked once, as in Python.
    """
    return r.call(Known(lists.grouped), [r.call(Known(lists.groups), [iterable, key], {})], {})


@serves(lists.as_iterator)
def as_iterator(r: Reader, items: AbstractValue) -> AbstractValue:
    return IteratorValue(items)


# ---- infinite sequences ----
@serves("itertools.count")
def count(r: Reader, start: AbstractValue = Known(0), step: AbstractValue = Known(1)) -> AbstractValue:
    if not all(issubclass(python_class(r, n), int) for n in (start, step)):
        r.reject("form_of_call", name="itertools.count", why="it counts by ints alone")
    return over(ObjectValue(lists.Numbers, {"start": start, "step": step}))


@serves("itertools.cycle")
def cycle(r: Reader, iterable: AbstractValue) -> AbstractValue:
    return over(ObjectValue(lists.Rounds, {"items": list_(r, iterable), "start": Known(0)}))


@serves("itertools.repeat")
def repeat(r: Reader, object: AbstractValue, times: AbstractValue | None = None) -> AbstractValue:
    if times is None:
        return over(ObjectValue(lists.Repeats, {"item": object, "start": Known(0)}))
    if is_known(times):
        return IteratorValue(TupleValue([object] * times.obj))
    return IteratorValue(r.call(Known(lists.repeated), [object, times], {}))
