"""Methods of lists, dicts and named tuples."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.library import serves
from scriptc.frontend.library.sequences import as_list, is_run_time
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, DictV, Known, KnownLengthListV, ListV, ObjectV, Tup


@serves("list.append")
def list_append(r: Reader, target: ListV, item: AV) -> AV:
    r.append(target, item)
    return Known(None)


@serves("list.extend")
def list_extend(r: Reader, target: ListV, items: AV) -> AV:
    if is_run_time(r, items):
        end = r.const(2**63 - 1)
        r.splice_list(target, end, end, as_list(r, items))
        return Known(None)
    for item in r.iterate(items):
        r.append(target, item)
    return Known(None)


@serves("list.insert")
def list_insert(r: Reader, target: ListV, index: AV, item: AV) -> AV:
    if isinstance(target, KnownLengthListV):
        place = r.known(index, "an index into a list of different types")
        r.edit(target, lambda items: items.insert(place, item))
        return Known(None)
    value = r.stored(target, item)
    r.widen(target, value.type)
    r.effect("list.insert", [r.mutate(target), r.integer(index), value])
    return Known(None)


@serves("list.pop")
def list_pop(r: Reader, target: ListV, index: AV = Known(-1)) -> AV:  # noqa: B008
    if isinstance(target, KnownLengthListV):
        found: AV = r.edit(target, lambda items: items.pop(r.known(index, "an index into a list of different types")))
        return found
    list_value = r.mutate(target)
    item = r.subscript(target, index)
    r.effect("list.delete", [list_value, r.integer(index)])
    return item


# ---- dicts: their keys are known ----
def _pairs(r: Reader, d: AV) -> list[tuple[Any, AV]]:
    if isinstance(d, DictV):
        return list(r.items_of(d).items())
    assert isinstance(d, Known)
    return [(k, r.known_item(d, k)) for k in d.obj]


def _own(r: Reader, d: AV) -> DictV:
    if not isinstance(d, DictV):
        r.fail("a dict from outside cannot be changed in compiled code", "make a new dict: dict(d)")
    return d


@serves("dict.items")
def dict_items(r: Reader, d: AV) -> AV:
    return Tup([Tup([Known(k), v]) for k, v in _pairs(r, d)])


@serves("dict.values")
def dict_values(r: Reader, d: AV) -> AV:
    return Tup([v for _, v in _pairs(r, d)])


@serves("dict.keys")
def dict_keys(r: Reader, d: AV) -> AV:
    return Tup([Known(k) for k, _ in _pairs(r, d)])


@serves("dict.get")
def dict_get(r: Reader, d: AV, key: AV, default: AV = Known(None)) -> AV:  # noqa: B008
    return dict(_pairs(r, d)).get(r.known(key, "the key of a dict"), default)


@serves("dict.copy")
def dict_copy(r: Reader, d: AV) -> AV:
    return DictV(dict(_pairs(r, d)))


@serves("dict.update")
def dict_update(r: Reader, d: AV, other: AV | None = None, **items: AV) -> AV:
    more = {} if other is None else dict(_pairs(r, other))
    r.set_items(_own(r, d), {**r.items_of(_own(r, d)), **more, **items})
    return Known(None)


@serves("dict.setdefault")
def dict_setdefault(r: Reader, d: AV, key: AV, default: AV = Known(None)) -> AV:  # noqa: B008
    name, items = r.known(key, "the key of a dict"), r.items_of(_own(r, d))
    if name not in items:
        r.set_items(_own(r, d), {**items, name: default})
        return default
    return items[name]


@serves("dict.pop")
def dict_pop(r: Reader, d: AV, key: AV, *default: AV) -> AV:
    name, items = r.known(key, "the key of a dict"), dict(r.items_of(_own(r, d)))
    if name not in items:
        if default:
            return default[0]
        r.raises_at_run_time("KeyError", repr(name))
    found = items.pop(name)
    r.set_items(_own(r, d), items)
    return found


@serves("dict.popitem")
def dict_popitem(r: Reader, d: AV) -> AV:
    items = dict(r.items_of(_own(r, d)))
    if not items:
        r.raises_at_run_time("KeyError", "'popitem(): dictionary is empty'")
    key, value = items.popitem()
    r.set_items(_own(r, d), items)
    return Tup([Known(key), value])


@serves("dict.clear")
def dict_clear(r: Reader, d: AV) -> AV:
    r.set_items(_own(r, d), {})
    return Known(None)


@serves("builtins.dict.fromkeys")
def dict_fromkeys(r: Reader, keys: AV, value: AV = Known(None)) -> AV:  # noqa: B008
    return DictV({r.known(k, "the key of a dict"): value for k in r.iterate(keys)})


# ---- copies ----
@serves("copy.copy")
def copy_(r: Reader, x: AV) -> AV:
    match x:
        case ListV():
            return r.subscript(x, Known(slice(None)))
        case DictV():
            return dict_copy(r, x)
        case ObjectV():
            return ObjectV(x.cls, dict(r.items_of(x)))
        case Tup():
            return x
        case Known(obj) if isinstance(obj, (int, float, str, bool, tuple, type(None))):
            return x
    r.fail("copy.copy() of this value is not supported", "use clone() for tensors")


@serves("dataclasses.replace")
def replace(r: Reader, x: AV, **changes: AV) -> AV:
    if not isinstance(x, ObjectV):
        r.fail("dataclasses.replace() of an object from outside is not supported", "make it in the compiled code")
    return r.call(Known(x.cls), [], {**r.items_of(x), **changes})
