"""Exceptions whose class has an `__init__` of its own: what an instance holds travels beside the exception.

At run time an exception is its class and its message. The attributes of an instance are a variable of its class, set in front
of the `raise`: a handler finds it as it finds all that changed in its `try`, and so does Python when the exception leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from scriptc.frontend.context import Context
from scriptc.frontend.specs import Raised
from scriptc.frontend.values import AV, Dyn, Ident, Known, Maybe, Native, ObjectV, Tup, Unbound
from scriptc.ir.core import Value


class CaughtV(Dyn):
    """An exception that was caught: what instances of the classes that it may be of hold."""

    __slots__ = ("instances", "named")

    def __init__(self, value: Value, named: Sequence[type], instances: dict[type, ObjectV]):
        Dyn.__init__(self, value)
        self.named, self.instances = named, instances  # named: the classes that the handler names


class RaisedObjects(Context):
    """Mixin: instances of exception classes that have code of their own."""

    def exception_of(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """cls(*args, **kwargs)"""
        made = ObjectV(cls, {"args": self.tuple_of(list(args))})
        init = own_init(cls)
        if init is not None:
            self.guard("TYPE_ATTR_IS", cls, "__init__", init)
            self.call(Known(init), [made, *args], kwargs)
        elif kwargs:
            self.raises_at_run_time("TypeError", f"{cls.__name__}() takes no keyword arguments")
        return made

    def base_init(self, made: AV) -> AV:
        """The __init__ of a class of Python's own, called from one of the user's."""

        def init(*args: AV) -> AV:
            if isinstance(made, ObjectV) and issubclass(made.cls, BaseException):
                self.set_items(made, {**self.items_of(made), "args": self.tuple_of(list(args))})
            return Known(None)

        return Native(init)

    # ---- raising ----
    def note_held(self, made: ObjectV) -> None:
        """Sets what an exception holds that is about to be raised."""
        items = self.items_of(made)
        if own_init(made.cls) is None:
            if len(items) > 1:
                self.fail("raised_attributes_lost", name=made.cls.__name__)
            return
        names = tuple(items)
        if self.held_names.setdefault(made.cls, names) != names:
            self.fail("raised_with_other_attributes", name=made.cls.__name__)
        self.set_held(made.cls, Tup(list(items.values())))

    def set_held(self, cls: type, held: AV) -> None:
        place = self.held_places.setdefault(cls, Ident(cls.__name__, -1 - len(self.held_places)))
        self.heap[place] = held
        self.note_change(place)
        if self.nested:
            self.unseen.add(cls)
        if not self.ahead:
            holder = self.outside.raised.setdefault(cls, Raised(cls))
            target = self.target(holder, "held", None, self.exception_name(cls))
            self.set_target(target, Tup([Known(self.held_names[cls]), held]))

    def hold_again(self, av: AV) -> None:
        """The same of an exception that is raised again: another one of its class may have been raised since."""
        for cls, made in av.instances.items() if isinstance(av, CaughtV) else ():
            self.set_held(cls, Tup(list(made.items.values())))

    # ---- handlers ----
    def caught(self, e: AV, classes: Sequence[type]) -> AV:
        """The exception that a handler for some classes has got, with what it holds."""
        if not isinstance(e, Dyn):
            return e
        instances: dict[type, ObjectV] = {}
        for cls, place in self.held_places.items():
            held = self.heap.get(place)
            held = held.av if isinstance(held, Maybe) else held
            if issubclass(cls, tuple(classes)) and held is not None and not isinstance(held, Unbound):
                instances[cls] = ObjectV(cls, dict(zip(self.held_names[cls], self.iterate(held), strict=True)))
        return CaughtV(e.value, classes, instances) if instances else e

    def caught_attribute(self, e: AV, name: str) -> AV:
        instances = e.instances if isinstance(e, CaughtV) else {}
        if not instances or name.startswith("__") or self.nested or self.unseen:
            self.fail("attribute_of_exception", name=name)
        assert isinstance(e, CaughtV)
        only = all(own_init(cls) is not None for cls in e.named)
        return self.attribute_of_one(e, list(instances.values()), name, only)

    def attribute_of_one(self, e: CaughtV, instances: Sequence[ObjectV], name: str, only: bool) -> AV:
        """The attribute of whichever it is; `only`: it is one of these."""
        if not instances:
            if name in ("args", "add_note", "with_traceback"):
                self.fail("attribute_of_exception", name=name)
            class_name = self.op("text", e, format="%n")
            text = [Known("'"), class_name, Known(f"' object has no attribute '{name}'")]
            self.raise_with("AttributeError", self.joined(text))
        first, *rest = instances
        found = lambda: self.object_attribute(first, name)  # noqa: E731
        if only and not rest:
            return found()
        is_first = self.is_exception(e, [first.cls], exact=True)
        return self.choose(is_first, found, lambda: self.attribute_of_one(e, rest, name, only))


def own_init(cls: type) -> FunctionType | None:
    """The __init__ of an exception class, where that is Python code."""
    found = getattr(cls, "__init__", None)
    return found if isinstance(found, FunctionType) else None
