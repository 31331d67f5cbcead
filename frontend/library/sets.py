"""Sets and their methods. A set of known items that is changed, or meets a run-time one, becomes a run-time set."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.cells import is_laid_out_anew
from scriptc.frontend.decompositions import hashed
from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.tables import is_set_like
from scriptc.frontend.values import AV, Known, KnownSet, Made, Native, Tup, is_dict, is_set, made_of


@serves("builtins.set")
def set_(r: Reader, sequence: AV | None = None) -> AV:
    return _made(r, sequence, Made(set), (r.loc, "set()"))


@serves("builtins.frozenset")
def frozenset_(r: Reader, sequence: AV | None = None) -> AV:
    if sequence is not None and r.python_class(sequence) is frozenset:
        return sequence
    return _made(r, sequence, Made(frozenset), (r.loc, "frozenset()"))


def _made(r: Reader, sequence: AV | None, made: Made, site: Any) -> AV:
    if sequence is None:
        return r.new_set([], site, made)
    if (
        isinstance(sequence, Known)
        and isinstance(sequence.obj, (set, frozenset, tuple, str))
        and (sequence.obj and site not in r.assume.tables)
    ):
        found = r.evaluate(made.cls, sequence.obj)
        return KnownSet(found.obj, (site,)) if isinstance(found, Known) and made.cls is set else found
    if not (is_set(sequence) or is_dict(sequence) or r.is_run_time(sequence)):
        return r.new_set(r.iterate(sequence), site, made)
    r.may_table(site)
    target = r.new_set([], site, made)
    _add(r, target, sequence)
    return target


def _add(r: Reader, target: AV, items: AV) -> None:
    """target.update(items) of a run-time set."""
    r.promote(items)
    if is_set_like(items) and not is_set(items):
        items = _made_anew(r, Tup(r.iterate(items)))
    if not (is_set(items) or is_dict(items)) or is_laid_out_anew(r.key_type(items), r.key_type(target)):
        r.call(Known(hashed.add_all), [_adder(r, target), items], {})
        return
    table, other = r.value(target), r.value(items)
    r.widen(table.type, 0, r.key_type(items))
    r.effect("set.merge", [table, other])


def _adder(r: Reader, target: AV) -> AV:
    """A function that adds to a run-time set, of whatever class."""

    def add_item(item: AV) -> AV:
        r.set_add(target, item)
        return Known(None)

    return Native(add_item)


def _run_time(r: Reader, av: AV) -> AV:
    """A set, or the items of any sequence, as a run-time set."""
    r.promote(av)
    return av if is_set(av) else _made_anew(r, av)


def _made_anew(r: Reader, av: AV) -> AV:
    site = (r.loc, f"set of {r.type_name(av)}")
    r.may_table(site)
    target = r.new_set([], site)
    _add(r, target, av)
    return target


def _changed(r: Reader, s: AV) -> AV:
    """A set that is about to change."""
    r.promote(s)
    if isinstance(s, Tup):
        r.fail("set_of_items")
    if not is_set(s):
        r.fail("container_outside_changed", kind=r.type_name(s))
    if made_of(r.value(s).type).cls is frozenset:
        r.raises_at_run_time("AttributeError", "'frozenset' object has no such attribute")
    return s


def _aligned(r: Reader, a: AV, b: AV) -> list[Any]:
    """Two run-time sets with keys of one type."""
    x, y = _run_time(r, a), _run_time(r, b)
    r.widen(r.value(x).type, 0, r.key_type(y))
    r.widen(r.value(y).type, 0, r.key_type(x))
    return [r.value(x), r.value(y)]


# ---- asking ----
@serves("set.issubset", "frozenset.issubset")
def issubset(r: Reader, s: AV, other: AV) -> AV:
    with r.in_any_order():
        return r.call(Known(hashed.less_equal), [s, other if is_set_like(other) else _run_time(r, other)], {})


@serves("set.issuperset", "frozenset.issuperset")
def issuperset(r: Reader, s: AV, other: AV) -> AV:
    with r.in_any_order():
        return r.call(Known(hashed.within), [other, s], {})


@serves("set.isdisjoint", "frozenset.isdisjoint")
def isdisjoint(r: Reader, s: AV, other: AV) -> AV:
    with r.in_any_order():
        return r.call(Known(hashed.apart), [s, other], {})


# ---- new sets ----
def _like(r: Reader, s: AV) -> AV:
    """An empty set of the class of another."""
    site = (r.loc, "new set")
    r.may_table(site)
    return r.new_set([], site, Made(r.python_class(s)))


@serves("set.copy", "frozenset.copy")
def copy(r: Reader, s: AV) -> AV:
    return union(r, s)


@serves("set.union", "frozenset.union")
def union(r: Reader, s: AV, *others: AV) -> AV:
    target = _like(r, s)
    for items in (_run_time(r, s), *others):
        _add(r, target, items)
    return target


@serves("set.intersection", "frozenset.intersection")
def intersection(r: Reader, s: AV, *others: AV) -> AV:
    if not others:
        return copy(r, s)
    for other in others:
        if is_set_like(other):
            s = _result(r, "set.and", s, other)
        else:
            found = _like(r, s)
            r.call(Known(hashed.add_common), [_adder(r, found), _run_time(r, s), other], {})
            s = found
    return s


@serves("set.difference", "frozenset.difference")
def difference(r: Reader, s: AV, *others: AV) -> AV:
    if not others:
        return copy(r, s)
    for other in others:
        if is_set_like(other) or is_dict(other):
            s = _result(r, "set.minus", s, other)
        else:
            s = copy(r, s)
            r.effect("set.drop", _aligned(r, s, other))
    return s


@serves("set.symmetric_difference", "frozenset.symmetric_difference")
def symmetric_difference(r: Reader, s: AV, other: AV) -> AV:
    target = _like(r, s)
    _add(r, target, _run_time(r, other))
    r.effect("set.flip", _aligned(r, target, s))
    return target


def _result(r: Reader, op: str, a: AV, b: AV) -> AV:
    operands = _aligned(r, a, b)
    return r.table_of(r.build(op, operands), (r.loc, op), Made(r.python_class(a)))


# ---- changing ----
@serves("set.add")
def add(r: Reader, s: AV, item: AV) -> AV:
    r.set_add(_changed(r, s), item)
    return Known(None)


@serves("set.discard")
def discard(r: Reader, s: AV, item: AV) -> AV:
    return r.call(Known(_discard), [_changed(r, s), item], {})


def _discard(s: Any, item: Any) -> None:
    """Compiled, not run."""
    if item in s:
        s.remove(item)


@serves("set.remove")
def remove(r: Reader, s: AV, item: AV) -> AV:
    r.table_delete(_changed(r, s), item)
    return Known(None)


@serves("set.pop")
def pop(r: Reader, s: AV) -> AV:
    s = _changed(r, s)
    r.check_that(r.truth(s), "KeyError", "'pop from an empty set'")
    return r.wrap(r.build("set.pop", [r.value(s)]))


@serves("set.clear")
def clear(r: Reader, s: AV) -> AV:
    r.effect("dict.clear", [r.value(_changed(r, s))])
    return Known(None)


@serves("set.update")
def update(r: Reader, s: AV, *others: AV) -> AV:
    for other in others:
        r.promote(other)
        _add(r, _changed(r, s), other)
    return Known(None)


@serves("set.intersection_update")
def intersection_update(r: Reader, s: AV, *others: AV) -> AV:
    for other in others:
        kept = other if is_set_like(other) else intersection(r, s, other)
        r.effect("set.keep", _aligned(r, _changed(r, s), kept))
    return Known(None)


@serves("set.difference_update")
def difference_update(r: Reader, s: AV, *others: AV) -> AV:
    for other in others:
        r.effect("set.drop", _aligned(r, _changed(r, s), other))
    return Known(None)


@serves("set.symmetric_difference_update")
def symmetric_difference_update(r: Reader, s: AV, other: AV) -> AV:
    r.effect("set.flip", _aligned(r, _changed(r, s), other))
    return Known(None)
