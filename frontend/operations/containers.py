"""Instances of users' classes that inherit from dict, OrderedDict or list.

Such an object holds its container, a dict or list value, as one more attribute. The methods of the user's class come
first; what the class inherits from the builtin class acts on the container.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from scriptc.frontend.library.python import dicts_decomposed as dicts
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, Native, ObjectValue
from scriptc.frontend.values.predicates import is_object
from scriptc.frontend.values.user_classes import CONTENT, container_base, defines
from scriptc.frontend.values.verbs import length


def container_of(reader: Reader, owner: ObjectValue) -> AbstractValue | None:
    """Return the dict or list of an object; None if its class inherits from neither."""
    return reader.items_of(owner).get(CONTENT)


def container_behind(reader: Reader, av: AbstractValue, *methods: str) -> AbstractValue:
    """Return the dict or list that an operator sees in an object whose class defines none of the operator's methods;
    other values stand for themselves."""
    if not is_object(av) or any(defines(av, name) for name in methods):
        return av
    held = container_of(reader, av)
    return av if held is None else held


def inherited_method(reader: Reader, owner: ObjectValue, name: str) -> AbstractValue:
    """Return a method that the class of an object inherits from dict, OrderedDict or list."""
    held = container_of(reader, owner)
    assert held is not None
    base = container_base(owner.cls)
    if base is OrderedDict and name in ("__init__", "update"):  # these call `__setitem__` of a subclass
        return Native(lambda *args, **kwargs: reader.call(Known(dicts.update_each), [owner, *args], kwargs))
    if base is OrderedDict and name in ("setdefault", "pop"):
        by_methods = dicts.item_or_set if name == "setdefault" else dicts.popped_item
        return Native(lambda *args, **kwargs: reader.call(Known(by_methods), [owner, *args], kwargs))
    if base is OrderedDict and name == "copy":
        return Native(lambda: reader.call(Known(owner.cls), [owner], {}))
    if name == "__init__":
        return Native(lambda *args, **kwargs: _fill(reader, base, held, args, kwargs))
    special: dict[str, Callable[..., AbstractValue]] = {
        "__getitem__": lambda key: reader.subscript(held, key),
        "__setitem__": lambda key, value: _done(reader.store_item, held, key, value),
        "__delitem__": lambda key: _done(reader.delete_item, held, key),
        "__contains__": lambda key: reader.compare("In", key, held),
        "__len__": lambda: length(reader, held),
        "__iter__": lambda: reader.call(Known(iter), [held], {}),
        "__reversed__": lambda: reader.call(Known(reversed), [held], {}),
        "__eq__": lambda other: reader.compare("Eq", held, other),
        "__ne__": lambda other: reader.compare("NotEq", held, other),
        "__repr__": lambda: reader.call(Known(repr), [held], {}),
    }
    return Native(special[name]) if name in special else reader.attribute(held, name)


def _fill(
    reader: Reader, base: type | None, held: AbstractValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Execute `base.__init__(...)` of a new object."""
    return reader.call(reader.attribute(held, "extend" if base is list else "update"), args or [Known(())], kwargs)


def _done(run: Callable[..., None], *args: AbstractValue) -> AbstractValue:
    """Run a statement; return None, as a method does."""
    run(*args)
    return Known(None)
