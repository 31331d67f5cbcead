"""Sets and their methods. A known set that is changed, or combined with a run-time set, becomes a run-time set."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import sets_decomposed as sets
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import wrap
from scriptc.frontend.operations.runtime_dicts import (
    in_any_order,
    is_set_like,
    key_type,
    may_table,
    new_set,
    set_add,
    table_delete,
    table_of,
)
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, KnownSet, Made, Native, TupleValue
from scriptc.frontend.values.element_types import is_laid_out_anew
from scriptc.frontend.values.predicates import is_dict, is_known, is_made_tuple, is_set, made_of
from scriptc.frontend.values.verbs import class_name_of, is_run_time, materialize, python_class


@serves("builtins.set")
def set_(r: Reader, sequence: AbstractValue | None = None) -> AbstractValue:
    return _made(r, sequence, Made(set), (r.position.loc, "set()"))


@serves("builtins.frozenset")
def frozenset_(r: Reader, sequence: AbstractValue | None = None) -> AbstractValue:
    if sequence is not None and python_class(r, sequence) is frozenset:
        return sequence
    return _made(r, sequence, Made(frozenset), (r.position.loc, "frozenset()"))


def _made(r: Reader, sequence: AbstractValue | None, made: Made, site: Any) -> AbstractValue:
    if sequence is None:
        return new_set(r, [], site, made)
    if (
        is_known(sequence)
        and isinstance(sequence.obj, (set, frozenset, tuple, str))
        and (sequence.obj and site not in r.assumptions.tables)
    ):
        found = call_in_python(r, made.cls, sequence.obj)
        return KnownSet(found.obj, (site,)) if is_known(found) and made.cls is set else found
    if not (is_set(sequence) or is_dict(sequence) or is_run_time(r, sequence)):
        return new_set(r, r.iterate(sequence), site, made)
    may_table(r, site)
    target = new_set(r, [], site, made)
    _add(r, target, sequence)
    return target


def _add(r: Reader, target: AbstractValue, items: AbstractValue) -> None:
    """Execute `target.update(items)` for a run-time set."""
    r.speculation.promote(items)
    if is_set_like(items) and not is_set(items):
        items = _made_anew(r, TupleValue(r.iterate(items)))
    if not (is_set(items) or is_dict(items)) or is_laid_out_anew(key_type(r, items), key_type(r, target)):
        r.call(Known(sets.add_all), [_adder(r, target), items], {})
        return
    table, other = materialize(r, target), materialize(r, items)
    r.speculation.widen(table.type, 0, key_type(r, items))
    r.emit.effect("set.merge", [table, other])


def _adder(r: Reader, target: AbstractValue) -> AbstractValue:
    """Return a function that adds an item to a run-time set or frozenset."""

    def add_item(item: AbstractValue) -> AbstractValue:
        set_add(r, target, item)
        return Known(None)

    return Native(add_item)


def _run_time(r: Reader, av: AbstractValue) -> AbstractValue:
    """Return a set, or the items of any sequence, as a run-time set."""
    r.speculation.promote(av)
    return av if is_set(av) else _made_anew(r, av)


def _made_anew(r: Reader, av: AbstractValue) -> AbstractValue:
    site = (r.position.loc, f"set of {class_name_of(r, av)}")
    may_table(r, site)
    target = new_set(r, [], site)
    _add(r, target, av)
    return target


def _changed(r: Reader, s: AbstractValue) -> AbstractValue:
    """Return the run-time set that a changing method works on."""
    r.speculation.promote(s)
    if is_made_tuple(s):
        r.reject("set_of_items")
    if not is_set(s):
        r.reject("container_outside_changed", kind=class_name_of(r, s))
    if made_of(materialize(r, s).type).cls is frozenset:
        r.emit.raise_error("AttributeError", "'frozenset' object has no such attribute")
    return s


def _aligned(r: Reader, a: AbstractValue, b: AbstractValue) -> list[Any]:
    """Return two sets as run-time sets whose keys have one type."""
    x, y = _run_time(r, a), _run_time(r, b)
    r.speculation.widen(materialize(r, x).type, 0, key_type(r, y))
    r.speculation.widen(materialize(r, y).type, 0, key_type(r, x))
    return [materialize(r, x), materialize(r, y)]


# ---- asking ----
@serves("set.issubset", "frozenset.issubset")
def issubset(r: Reader, s: AbstractValue, other: AbstractValue) -> AbstractValue:
    with in_any_order(r):
        return r.call(Known(sets.less_equal), [s, other if is_set_like(other) else _run_time(r, other)], {})


@serves("set.issuperset", "frozenset.issuperset")
def issuperset(r: Reader, s: AbstractValue, other: AbstractValue) -> AbstractValue:
    with in_any_order(r):
        return r.call(Known(sets.within), [other, s], {})


@serves("set.isdisjoint", "frozenset.isdisjoint")
def isdisjoint(r: Reader, s: AbstractValue, other: AbstractValue) -> AbstractValue:
    with in_any_order(r):
        return r.call(Known(sets.apart), [s, other], {})


# ---- new sets ----
def _like(r: Reader, s: AbstractValue) -> AbstractValue:
    """Return an empty run-time set of the class of another set."""
    site = (r.position.loc, "new set")
    may_table(r, site)
    return new_set(r, [], site, Made(python_class(r, s)))


@serves("set.copy", "frozenset.copy")
def copy(r: Reader, s: AbstractValue) -> AbstractValue:
    return union(r, s)


@serves("set.union", "frozenset.union")
def union(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    target = _like(r, s)
    for items in (_run_time(r, s), *others):
        _add(r, target, items)
    return target


@serves("set.intersection", "frozenset.intersection")
def intersection(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    if not others:
        return copy(r, s)
    for other in others:
        if is_set_like(other):
            s = _result(r, "set.and", s, other)
        else:
            found = _like(r, s)
            r.call(Known(sets.add_common), [_adder(r, found), _run_time(r, s), other], {})
            s = found
    return s


@serves("set.difference", "frozenset.difference")
def difference(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    if not others:
        return copy(r, s)
    for other in others:
        if is_set_like(other) or is_dict(other):
            s = _result(r, "set.minus", s, other)
        else:
            s = copy(r, s)
            r.emit.effect("set.drop", _aligned(r, s, other))
    return s


@serves("set.symmetric_difference", "frozenset.symmetric_difference")
def symmetric_difference(r: Reader, s: AbstractValue, other: AbstractValue) -> AbstractValue:
    target = _like(r, s)
    _add(r, target, _run_time(r, other))
    r.emit.effect("set.flip", _aligned(r, target, s))
    return target


def _result(r: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    operands = _aligned(r, a, b)
    return table_of(r, r.emit.build(op, operands), (r.position.loc, op), Made(python_class(r, a)))


# ---- changing ----
@serves("set.add")
def add(r: Reader, s: AbstractValue, item: AbstractValue) -> AbstractValue:
    set_add(r, _changed(r, s), item)
    return Known(None)


@serves("set.discard")
def discard(r: Reader, s: AbstractValue, item: AbstractValue) -> AbstractValue:
    return r.call(Known(sets.discard), [_changed(r, s), item], {})


@serves("set.remove")
def remove(r: Reader, s: AbstractValue, item: AbstractValue) -> AbstractValue:
    table_delete(r, _changed(r, s), item)
    return Known(None)


@serves("set.pop")
def pop(r: Reader, s: AbstractValue) -> AbstractValue:
    s = _changed(r, s)
    check_that(r, r.truth(s), "KeyError", "'pop from an empty set'")
    return wrap(r, r.emit.build("set.pop", [materialize(r, s)]))


@serves("set.clear")
def clear(r: Reader, s: AbstractValue) -> AbstractValue:
    r.emit.effect("dict.clear", [materialize(r, _changed(r, s))])
    return Known(None)


@serves("set.update")
def update(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    for other in others:
        r.speculation.promote(other)
        _add(r, _changed(r, s), other)
    return Known(None)


@serves("set.intersection_update")
def intersection_update(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    for other in others:
        kept = other if is_set_like(other) else intersection(r, s, other)
        r.emit.effect("set.keep", _aligned(r, _changed(r, s), kept))
    return Known(None)


@serves("set.difference_update")
def difference_update(r: Reader, s: AbstractValue, *others: AbstractValue) -> AbstractValue:
    for other in others:
        r.emit.effect("set.drop", _aligned(r, _changed(r, s), other))
    return Known(None)


@serves("set.symmetric_difference_update")
def symmetric_difference_update(r: Reader, s: AbstractValue, other: AbstractValue) -> AbstractValue:
    r.emit.effect("set.flip", _aligned(r, _changed(r, s), other))
    return Known(None)
