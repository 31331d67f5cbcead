"""Dicts and their methods: handlers for known keys, which call decompositions for run-time keys."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any

from scriptc.frontend.environment.host_items import outside_item, outside_table
from scriptc.frontend.library.python import dicts_decomposed as dicts
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.dict_views import pairs_of
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.runtime_dicts import (
    function_at,
    is_dict_like,
    item_at_position,
    key_at,
    key_of,
    may_table,
    new_dict,
    position_of_key,
)
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import may_have, optional_items, set_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import unpacked
from scriptc.frontend.values.abstract import AbstractValue, DictValue, IteratorValue, Known, Made, TupleValue, ViewValue
from scriptc.frontend.values.predicates import (
    has_known_keys,
    has_method,
    is_dict,
    is_known,
    is_none,
    is_object,
    made_of,
)
from scriptc.frontend.values.verbs import class_name_of, dict_behind, is_run_time, materialize, python_class

_OWN_COPIES = (
    Counter,
    OrderedDict,
    defaultdict,
)  # `copy` keeps their class; a copy of another subclass of dict is a dict


def _own(r: Reader, d: AbstractValue) -> DictValue:
    if not has_known_keys(d):
        r.reject("container_outside_changed", kind=class_name_of(r, d))
    return d


def _key(r: Reader, d: AbstractValue, key: AbstractValue) -> Any:
    return key_of(r, d, key) if has_known_keys(d) else require_known(r, key, "the key of a dict")


def _only(r: Reader, name: str, sources: Sequence[AbstractValue]) -> AbstractValue:
    """Return the one source of the items of a dict, or an empty one. A source with a name could not be the key of an item."""
    if len(sources) > 1:
        r.reject("form_of_call", name=name, why="too many positional arguments")
    return sources[0] if sources else Known(())


# ---- making ----
@serves("builtins.dict")
def dict_(r: Reader, /, *sources: AbstractValue, **items: AbstractValue) -> AbstractValue:
    source, site = _only(r, "dict", sources), (r.position.loc, "dict()")
    if has_known_keys(source) and source.made.cls is dict and site not in r.assumptions.tables:
        held = {**r.items_of(source), **items}
        return new_dict(r, [(Known(k), v) for k, v in held.items()], site)
    made = new_dict(r, [], site)
    _update(r, made, source, items)
    return made


@serves("collections.OrderedDict")
def ordered_dict(r: Reader, /, *sources: AbstractValue, **items: AbstractValue) -> AbstractValue:
    made = new_dict(r, [], (r.position.loc, "OrderedDict()"), Made(OrderedDict))
    _update(r, made, _only(r, "collections.OrderedDict", sources), items)
    return made


@serves("collections.defaultdict")
def defaultdict_(r: Reader, /, *given: AbstractValue, **items: AbstractValue) -> AbstractValue:
    makes = None if not given or is_none(given[0]) else given[0]
    made = new_dict(r, [], (r.position.loc, "defaultdict()"), Made(defaultdict, makes))
    _update(r, made, _only(r, "collections.defaultdict", given[1:]), items)
    return made


@serves("collections.Counter")
def counter(r: Reader, /, *sources: AbstractValue, **items: AbstractValue) -> AbstractValue:
    source, site = _only(r, "collections.Counter", sources), (r.position.loc, "Counter()")
    is_counted = is_run_time(r, source) and not is_dict(source)
    if is_counted:
        may_table(r, site)
    made = new_dict(r, [], site, Made(Counter, Known(int)))
    if is_counted:
        r.call(Known(dicts.count), [made, source], {})
        source = Known(())
    counter_update(r, made, source, **items)
    return made


@serves("builtins.dict.fromkeys")
def dict_fromkeys(r: Reader, keys: AbstractValue, value: AbstractValue = Known(None)) -> AbstractValue:
    site = (r.position.loc, "fromkeys")
    if is_run_time(r, keys):
        may_table(r, site)
        made = new_dict(r, [], site)
        r.call(Known(dicts.store_all), [made, r.call(Known(dicts.zip_with), [keys, value], {})], {})
        return made
    return new_dict(r, [(k, value) for k in r.iterate(keys)], site)


def _update(r: Reader, d: AbstractValue, source: AbstractValue, items: dict[str, AbstractValue]) -> None:
    """Execute `d.update(source, **items)`."""
    source = dict_behind(r, source)
    if is_object(source) and has_method(python_class(r, source), "keys"):
        source = r.call(Known(dicts.pairs_of), [source], {})
    if is_dict(source) or not is_dict_like(source) and is_run_time(r, source):
        if has_known_keys(d):
            r.speculation.promote(d)
            r.reject("dict_gets_run_time_keys")
        r.call(Known(dicts.store_items if is_dict(source) else dicts.store_all), [d, source], {})
        pairs: list[tuple[AbstractValue, AbstractValue]] = []
    elif is_dict_like(source):
        pairs = [(Known(k), v) for k, v in pairs_of(r, source)]
    else:
        pairs = []
        for pair in r.iterate(source):
            key, value = unpacked(r, pair, 2)
            pairs.append((key, value))
    for key, value in [*pairs, *((Known(k), v) for k, v in items.items())]:
        r.store_item(d, key, value)


# ---- asking ----
@serves("dict.items")
def dict_items(r: Reader, d: AbstractValue) -> AbstractValue:
    return ViewValue(d, "items")


@serves("dict.values")
def dict_values(r: Reader, d: AbstractValue) -> AbstractValue:
    return ViewValue(d, "values")


@serves("dict.keys")
def dict_keys(r: Reader, d: AbstractValue) -> AbstractValue:
    return ViewValue(d, "keys")


@serves("dict.get")
def dict_get(r: Reader, d: AbstractValue, key: AbstractValue, default: AbstractValue = Known(None)) -> AbstractValue:
    if is_known(d):
        d = outside_table(r, d, key)
    if is_dict(d):
        position = position_of_key(r, d, key)
        return r.choose(r.compare("GtE", position, Known(0)), lambda: item_at_position(r, d, position, key), lambda: default)
    if is_known(d) and (item := outside_item(r, d, key, lambda: default)) is not None:
        return item
    if has_known_keys(d) and (item := function_at(r, d, key, lambda: default)) is not None:
        return item
    if not has_known_keys(d):
        return dict(pairs_of(r, d)).get(_key(r, d, key), default)
    name = key_of(r, d, key)
    if (some := may_have(r, d, name)) is not None:
        return r.choose(some.flag, lambda: some.av, lambda: default)
    return optional_items(r, d).get(name, default)


@serves("dict.copy", "dict.__copy__")
def dict_copy(r: Reader, d: AbstractValue) -> AbstractValue:
    site = (r.position.loc, "copy")
    if not is_dict(d):
        cls = type(d.obj) if is_known(d) and type(d.obj) in _OWN_COPIES else dict
        made = d.made if has_known_keys(d) else Made(cls)
        return new_dict(r, [(Known(k), v) for k, v in pairs_of(r, d)], site, made)
    may_table(r, site)
    copy = new_dict(r, [], site, made_of(materialize(r, d).type))
    r.call(Known(dicts.store_items), [copy, d], {})
    return copy


# ---- changing ----
@serves("dict.update")
def dict_update(r: Reader, d: AbstractValue, /, *others: AbstractValue, **items: AbstractValue) -> AbstractValue:
    _update(r, d if is_dict(d) else _own(r, d), _only(r, "dict.update", others), items)
    return Known(None)


@serves("dict.setdefault")
def dict_setdefault(
    r: Reader, d: AbstractValue, key: AbstractValue, default: AbstractValue = Known(None)
) -> AbstractValue:
    if is_dict(d):
        return r.call(Known(dicts.setdefault), [d, key, default], {})
    name = _key(r, _own(r, d), key)
    if (some := may_have(r, _own(r, d), name)) is not None:
        value = r.choose(some.flag, lambda: some.av, lambda: default)
        r.store_item(d, key, value)
        return value
    items = optional_items(r, _own(r, d))
    if name not in items:
        set_items(r, _own(r, d), {**items, name: default})
        return default
    return items[name]


@serves("dict.pop")
def dict_pop(r: Reader, d: AbstractValue, key: AbstractValue, *default: AbstractValue) -> AbstractValue:
    if len(default) > 1:
        r.emit.raise_error("TypeError", f"pop expected at most 2 arguments, got {1 + len(default)}")
    if is_dict(d):
        return r.call(Known(dicts.pop_or if default else dicts.pop), [d, key, *default], {})
    name, items = _key(r, _own(r, d), key), dict(optional_items(r, _own(r, d)))
    if (some := may_have(r, _own(r, d), name)) is not None:
        del items[name]
        set_items(r, _own(r, d), items)
        if default:
            return r.choose(some.flag, lambda: some.av, lambda: default[0])
        check_that(r, some.flag, "KeyError", repr(name))
        return some.av
    if name not in items:
        if default:
            return default[0]
        r.emit.raise_error("KeyError", repr(name))
    found = items.pop(name)
    set_items(r, _own(r, d), items)
    return found


@serves("dict.popitem")
def dict_popitem(r: Reader, d: AbstractValue, last: AbstractValue = Known(True)) -> AbstractValue:
    if is_dict(d):
        return _popitem(r, d, last)
    items = dict(r.items_of(_own(r, d)))
    if not items:
        r.emit.raise_error("KeyError", "'popitem(): dictionary is empty'")
    key = list(items)[-1 if require_known(r, last, "whether the last item is taken") else 0]
    value = items.pop(key)
    set_items(r, _own(r, d), items)
    return TupleValue([Known(key), value])


def _popitem(r: Reader, d: AbstractValue, last: AbstractValue) -> AbstractValue:
    table, length = materialize(r, d), r.call(Known(len), [d], {})
    check_that(r, r.compare("Gt", length, Known(0)), "KeyError", "'popitem(): dictionary is empty'")
    r.emit.build("dict.walk", [table])
    position = r.choose(r.truth(last), lambda: r.binary("Sub", length, Known(1)), lambda: Known(0))
    item = TupleValue([key_at(r, d, position), item_at_position(r, d, position)])
    r.emit.effect("dict.remove", [table, materialize(r, position)])
    return item


@serves("dict.clear")
def dict_clear(r: Reader, d: AbstractValue) -> AbstractValue:
    if is_dict(d):
        r.emit.effect("dict.clear", [materialize(r, d)])
    else:
        set_items(r, _own(r, d), {})
    return Known(None)


@serves("OrderedDict.move_to_end")
def dict_move_to_end(
    r: Reader, d: AbstractValue, key: AbstractValue, last: AbstractValue = Known(True)
) -> AbstractValue:
    if is_dict(d):
        return r.call(Known(dicts.move_to_end), [d, key, last], {})
    name, items = _key(r, _own(r, d), key), dict(r.items_of(_own(r, d)))
    if name not in items:
        r.emit.raise_error("KeyError", repr(name))
    found = {name: items.pop(name)}
    to_end = require_known(r, last, "whether an item goes to the end")
    set_items(r, _own(r, d), {**items, **found} if to_end else {**found, **items})
    return Known(None)


# ---- counters ----
@serves("Counter.update")
def counter_update(r: Reader, d: AbstractValue, /, *sources: AbstractValue, **items: AbstractValue) -> AbstractValue:
    _count(r, d, _only(r, "Counter.update", sources), dicts.add_counts, "Add")
    for key, number in items.items():
        r.store_item(d, Known(key), r.binary("Add", r.subscript(d, Known(key)), number))
    return Known(None)


@serves("Counter.subtract")
def counter_subtract(r: Reader, d: AbstractValue, source: AbstractValue) -> AbstractValue:
    _count(r, d, source, dicts.subtract_counts, "Sub")
    return Known(None)


def _count(r: Reader, d: AbstractValue, source: AbstractValue, of_counts: Any, op: str) -> None:
    """Add or subtract the numbers of a dict, or one for each item of a sequence."""
    source = dict_behind(r, source)
    if is_dict(source) or is_run_time(r, source) and not is_dict_like(source):
        if has_known_keys(d):
            r.speculation.promote(d)
        counts = source if is_dict(source) else counter(r, source)
        r.call(Known(of_counts), [d, counts], {})
        return
    known = pairs_of(r, source) if is_dict_like(source) else None
    pairs = [(k, Known(1)) for k in r.iterate(source)] if known is None else [(Known(k), n) for k, n in known]
    for key, number in pairs:
        r.store_item(d, key, r.binary(op, r.subscript(d, key), number))


@serves("Counter.most_common")
def counter_most_common(r: Reader, d: AbstractValue, n: AbstractValue = Known(None)) -> AbstractValue:
    if has_known_keys(d):
        r.speculation.promote(d)
    return r.call(Known(dicts.most_common), [d, n], {})


@serves("Counter.elements")
def counter_elements(r: Reader, d: AbstractValue) -> AbstractValue:
    if has_known_keys(d):
        r.speculation.promote(d)
    return IteratorValue(r.call(Known(dicts.elements), [d], {}))


@serves("Counter.total")
def counter_total(r: Reader, d: AbstractValue) -> AbstractValue:
    return r.call(Known(sum), [dict_values(r, d)], {})
