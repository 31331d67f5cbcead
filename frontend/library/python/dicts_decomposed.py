"""Methods of dicts in terms of their keys."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.library.python.lists_decomposed import same


def get(d: Any, key: Any, default: Any) -> Any:
    return d[key] if key in d else default


def setdefault(d: Any, key: Any, default: Any) -> Any:
    if key not in d:
        d[key] = default
    return d[key]


def pop(d: Any, key: Any) -> Any:
    if key not in d:
        raise KeyError(key)  # a defaultdict enters no key here
    found = d[key]
    del d[key]
    return found


def pop_or(d: Any, key: Any, default: Any) -> Any:
    return pop(d, key) if key in d else default


def pairs_of(mapping: Any) -> Any:
    """Return the keys and items of an object that `dict` takes for a mapping, as the object has a method `keys`."""
    return [(key, mapping[key]) for key in mapping.keys()]  # noqa: SIM118


def store_all(d: Any, pairs: Any) -> None:
    for key, value in pairs:
        d[key] = value


def store_items(d: Any, other: Any) -> None:
    for key in other:
        d[key] = other[key]


def update_each(d: Any, source: Any = (), /, **items: Any) -> None:
    """Update as `MutableMapping.update` does, which calls `d.__setitem__` for each item."""
    if hasattr(source, "keys"):
        for key in source.keys():  # noqa: SIM118
            d[key] = source[key]
    else:
        for key, value in source:
            d[key] = value
    for key, value in items.items():
        d[key] = value


def item_or_set(d: Any, key: Any, default: Any = None) -> Any:
    """Return `d.setdefault(key, default)` by the methods of a subclass, as OrderedDict does."""
    if key in d:
        return d[key]
    d[key] = default
    return default


def popped_item(d: Any, key: Any, *default: Any) -> Any:
    """Return `d.pop(key, *default)` by the methods of a subclass, as OrderedDict does."""
    if key in d:
        found = d[key]
        del d[key]
        return found
    if len(default) > 0:
        return default[0]
    raise KeyError(key)


def count(d: Any, keys: Any) -> None:
    for key in keys:
        d[key] = d.get(key, 0) + 1


def add_counts(d: Any, other: Any) -> None:
    for key in other:
        d[key] = d.get(key, 0) + other[key]


def subtract_counts(d: Any, other: Any) -> None:
    for key in other:
        d[key] = d.get(key, 0) - other[key]


def most_common(d: Any, n: Any) -> Any:
    ordered = sorted([(key, number) for key, number in d.items()], key=lambda item: item[1], reverse=True)
    return ordered if n is None else ordered[: max(n, 0)]


def move_to_end(d: Any, key: Any, last: Any) -> None:
    item = d[key]
    others = [] if last else [(k, d[k]) for k in d if k != key]
    del d[key]
    if last:
        d[key] = item
    else:
        d.clear()
        d[key] = item
        for k, other in others:
            d[k] = other


def elements(d: Any) -> Any:
    return [key for key, number in d.items() for _ in range(number)]


def same_dict(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    for key in a:
        if key not in b:
            return False
        if not same(a[key], b[key]):
            return False
    return True


def same_ordered_dict(a: Any, b: Any) -> bool:
    return same_dict(a, b) and list(a) == list(b)


def zip_with(keys: Any, value: Any) -> Any:
    """Return the items of dict.fromkeys(keys, value)."""
    return [(key, value) for key in keys]
