"""itertools: known sequences item by item, all others as lists."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from scriptc.frontend.decompositions import itertools as lists
from scriptc.frontend.decompositions.iterators import SequenceIterator, taken
from scriptc.frontend.library import serves
from scriptc.frontend.library.sequences import as_list
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, IteratorV, Known, ObjectV, Tup

_NONE = Known(None)


def gives(*names: str) -> Callable[[Callable[..., AV]], Callable[..., AV]]:
    """Registers a handler that works out what an iterator gives."""

    def register(handler: Callable[..., AV]) -> Callable[..., AV]:
        @functools.wraps(handler)
        def iterator(r: Reader, *args: AV, **kwargs: AV) -> AV:
            return IteratorV(handler(r, *args, **kwargs))

        serves(*names)(iterator)
        return handler

    return register


def _any_run_time(r: Reader, sequences: tuple[AV, ...]) -> bool:
    return any(r.is_run_time(s) for s in sequences)


@gives("itertools.chain")
def chain(r: Reader, *sequences: AV) -> AV:
    if _any_run_time(r, sequences):
        return r.call(Known(lists.chained), [Tup(list(sequences))], {})
    return Tup([item for s in sequences for item in r.iterate(s)])


@gives("itertools.chain.from_iterable")
def chain_from_iterable(r: Reader, sequences: AV) -> AV:
    if r.is_run_time(sequences):
        return r.call(Known(lists.chained), [sequences], {})
    return chain(r, *r.iterate(sequences))


@gives("itertools.product")
def product(r: Reader, *sequences: AV, repeat: AV = Known(1)) -> AV:  # noqa: B008
    times = r.known(repeat, "repeat")
    if _any_run_time(r, sequences):
        return r.call(Known(lists.product), [Tup([as_list(r, s) for s in sequences] * times)], {})
    found: list[list[AV]] = [[]]
    for items in [r.iterate(s) for s in sequences] * times:
        found = [[*row, item] for row in found for item in items]
    return Tup([r.tuple_of(row) for row in found])


def _rows(name: str) -> Callable[..., AV]:
    choose = getattr(itertools, name)

    def handler(r: Reader, iterable: AV, length: AV = _NONE) -> AV:
        if r.is_run_time(iterable):
            r.fail("itertools_of_unknown", name=name)
        items, count = r.iterate(iterable), r.known(length, f"the length that {name}() is given")
        return Tup([r.tuple_of(list(row)) for row in choose(items, len(items) if count is None else count)])

    return handler


for _name in ("combinations", "combinations_with_replacement", "permutations"):
    gives(f"itertools.{_name}")(_rows(_name))


@gives("itertools.accumulate")
def accumulate(r: Reader, iterable: AV, func: AV = _NONE, *, initial: AV = _NONE) -> AV:
    from_start = not (isinstance(initial, Known) and initial.obj is None)
    if r.is_run_time(iterable):
        given = [as_list(r, iterable), func]
        if from_start:
            return r.call(Known(lists.accumulated_from), [initial, *given], {})
        return r.call(Known(lists.accumulated), given, {})
    items = [*([initial] if from_start else []), *r.iterate(iterable)]
    adds = isinstance(func, Known) and func.obj is None
    found = items[:1]
    for item in items[1:]:
        found.append(r.binary("Add", found[-1], item) if adds else r.call(func, [found[-1], item], {}))
    return Tup(found)


@gives("itertools.islice")
def islice(r: Reader, sequence: AV, *bounds: AV) -> AV:
    if isinstance(sequence, ObjectV) and sequence.cls is SequenceIterator:
        if len(bounds) > 2:
            r.fail("itertools_of_unknown", name="islice")
        return r.call(Known(taken), [sequence, *[Known(0), *bounds][-2:]], {})
    if r.is_run_time(sequence) or not all(isinstance(b, Known) for b in bounds):
        parts = [_NONE, *bounds, _NONE][:3] if len(bounds) == 1 else [*bounds, _NONE][:3]
        return r.subscript(as_list(r, sequence), Tup(parts, slice))
    return Tup(r.iterate(sequence)[slice(*(b.obj for b in bounds if isinstance(b, Known)))])


@gives("itertools.zip_longest")
def zip_longest(r: Reader, *sequences: AV, fillvalue: AV = _NONE) -> AV:
    if _any_run_time(r, sequences):
        if len(sequences) != 2:
            r.fail("zip_longest_of_many")
        return r.call(Known(lists.filled_pairs), [*(as_list(r, s) for s in sequences), fillvalue], {})
    rows = itertools.zip_longest(*map(r.iterate, sequences), fillvalue=fillvalue)
    return Tup([r.tuple_of(list(row)) for row in rows])


@gives("itertools.repeat")
def repeat(r: Reader, item: AV, times: AV) -> AV:
    if isinstance(times, Known):
        return Tup([item] * times.obj)
    return r.call(Known(lists.repeated), [item, times], {})


@gives("itertools.pairwise")
def pairwise(r: Reader, sequence: AV) -> AV:
    if r.is_run_time(sequence):
        return r.call(Known(lists.pairs), [as_list(r, sequence)], {})
    items = r.iterate(sequence)
    return Tup([r.tuple_of(list(pair)) for pair in zip(items, items[1:], strict=False)])


@gives("itertools.starmap")
def starmap(r: Reader, function: AV, sequence: AV) -> AV:
    if r.is_run_time(sequence):
        r.fail("itertools_of_unknown", name="starmap")
    return Tup([r.call(function, r.iterate(row), {}) for row in r.iterate(sequence)])
