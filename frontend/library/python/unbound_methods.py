"""Methods that are called through builtin classes: str.lower(s), sorted(xs, key=str.lower)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

from scriptc.frontend.operations.containers import inherited_method
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_object
from scriptc.frontend.values.user_classes import container_base
from scriptc.frontend.values.verbs import class_name_of

_CLASSES = (str, list, tuple, dict, OrderedDict, set, frozenset, int, float)

# Methods that change known objects. A list or dict that compiled code made is no known object.
CHANGES = {
    "list": ("append", "extend", "insert", "pop", "remove", "clear", "reverse", "sort")
    + ("__setitem__", "__delitem__", "__iadd__", "__imul__"),
    "dict": ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__"),
    "set": ("add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update")
    + ("symmetric_difference_update", "__ior__", "__iand__", "__isub__", "__ixor__"),
}


def call_unbound(
    reader: Reader, method: Any, owner: AbstractValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return the result of a method called through its class.

    None if `method` is no such method, or if the owner's class may override it.
    """
    if not isinstance(method, MethodDescriptorType | WrapperDescriptorType) or method.__objclass__ not in _CLASSES:
        return None
    if has_alternatives(owner):
        return split(reader, owner, lambda o: reader.call(Known(method), [o, *args], kwargs))
    cls, name = method.__objclass__, method.__name__
    is_one = reader.call(Known(isinstance), [owner, Known(cls)], {})
    if is_known(is_one) and not is_one.obj:
        why = f"descriptor '{name}' for '{cls.__name__}' objects doesn't apply to a"
        reader.emit.raise_error("TypeError", f"{why} '{class_name_of(reader, owner)}' object")
    if is_object(owner) and (base := container_base(owner.cls)) is not None:
        if base is not cls and name in (*CHANGES["dict"], "__init__"):
            reader.reject("special_method_of_builtin", kind=cls.__name__, name=name)  # an OrderedDict would lose its order
        return reader.call(inherited_method(reader, owner, name), args, kwargs)
    is_change = is_known(owner) and name in CHANGES.get(cls.__name__, ())
    is_plain = not is_known(owner) or type(owner.obj) is cls
    return reader.call(Bound(owner, name), args, kwargs) if is_change or is_plain else None
