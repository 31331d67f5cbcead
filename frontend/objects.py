"""Instances of user classes that compiled code makes: named tuples are tuples, all others have their attributes split up."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Generic, Protocol

import torch

from scriptc.frontend.alternatives import Alternatives
from scriptc.frontend.decompositions import lists
from scriptc.frontend.decompositions.futures import Future
from scriptc.frontend.outside import is_library, uncompiled
from scriptc.frontend.pure import makes_constant
from scriptc.frontend.values import (
    AV,
    Bound,
    Content,
    DictV,
    Dyn,
    Known,
    Maybe,
    Native,
    ObjectV,
    RecordV,
    SuperV,
    Tup,
    describe,
)

_PLAIN_BASES = (object, Generic, Protocol)


class Objects(Alternatives):
    """Mixin: making objects, and their attributes."""

    def construct(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        made = self.constructed(cls, args, kwargs)
        return self.as_record(made) if isinstance(made, ObjectV) else made

    def constructed(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        if (cls.__module__ == "torch.return_types" or cls is torch.Size) and args and not isinstance(args[0], Known):
            return self.split(args[0], lambda a: Tup(self.iterate(a), cls))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self.call(self.maker_after(cls, 0), [Known(cls), *args], kwargs)
        if issubclass(cls, BaseException):
            return self.exception_of(cls, args, kwargs)
        known = [a.obj for a in args if isinstance(a, Known)]
        if len(known) == len(args) and all(isinstance(v, Known) for v in kwargs.values()):
            if makes_constant(cls):
                return self.evaluate(cls, *known, **{k: v.obj for k, v in kwargs.items() if isinstance(v, Known)})
            if issubclass(cls, torch.nn.Module) and (made := self.module_without_tensors(cls, known, kwargs)) is not None:
                return made
        if issubclass(cls, enum.Enum) and len(args) == 1 and not kwargs:
            return self.member_of(cls, args[0], list(cls))
        if cls is super and len(args) == 2 and isinstance(args[0], Known) and isinstance(args[0].obj, type):
            return self.super_of(args[0].obj, args[1])
        if cls is slice and 1 <= len(args) <= 3 and not kwargs:
            bounds = [Known(None), *args] if len(args) == 1 else list(args)
            return Tup([*bounds, Known(None)][:3], slice)
        if not is_plain(cls) and not is_plain_module(cls):
            self.fail("object_of_other_class", name=cls.__name__)
        if dataclasses.is_dataclass(cls) and cls.__init__.__code__.co_filename == "<string>":
            return self.dataclass_of(cls, args, kwargs)
        if inspect.isabstract(cls):
            try:
                object.__new__(cls)
            except TypeError as e:
                self.raises_at_run_time("TypeError", str(e))
        made = ObjectV(cls)
        init = getattr(cls, "__init__", None)
        if isinstance(init, FunctionType):
            self.watch_class_attribute(cls, "__init__")
            self.call(Known(init), [made, *args], kwargs)
        elif args or kwargs:
            self.raises_at_run_time("TypeError", f"{cls.__name__}() takes no arguments")
        return made

    def module_without_tensors(self, cls: type, args: list[Any], kwargs: dict[str, AV]) -> AV | None:
        """`nn.Softmax(dim=1)`: what torch's own `__init__` makes of known arguments is the same in each call."""
        init = inspect.getattr_static(cls, "__init__")
        if not is_library(cls.__module__) and init is not torch.nn.Module.__init__:
            return None
        with torch.random.fork_rng(devices=[]):
            made = self.evaluate(cls, *args, **{k: self.known(v, "an argument") for k, v in kwargs.items()})
        module = self.known(made, "a module")
        if any(True for _ in (*module.parameters(), *module.buffers())):
            return None
        for inner in module.modules():
            self.made_here(inner)
        return made

    def member_of(self, cls: type, value: AV, members: list[Any]) -> AV:
        """The first of an enum's members whose value equals one of run time."""
        if not members:
            shown = self.call(Known(repr), [value], {})
            self.raise_with("ValueError", self.joined([shown, Known(f" is not a valid {cls.__qualname__}")]))
        return self.choose(
            self.truth(self.compare("Eq", Known(members[0].value), value)),
            lambda: Known(members[0]),
            lambda: self.member_of(cls, value, members[1:]),
        )

    def maker_after(self, cls: type, place: int) -> AV:
        """The `__new__` that is found from a place in the order of bases of a named tuple's class on."""
        home = next(b for b in cls.__mro__[place:] if "__new__" in b.__dict__)
        if "_fields" in home.__dict__:  # the one that `namedtuple` wrote
            return Native(lambda made, *args, **kwargs: self.named_tuple(self.known(made, "the class"), args, kwargs))
        found = home.__dict__["__new__"]
        return Known(found.__func__ if isinstance(found, staticmethod) else found)

    def named_tuple(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        if any(defines(Tup([], cls), name) for name in ("__len__", "__iter__", "__getitem__")):
            self.fail("object_of_other_class", name=cls.__name__)
        fields = list(cls._fields)  # type: ignore[attr-defined]
        defaults = getattr(cls, "_field_defaults", {})
        items = self.by_name(f"{cls.__name__}.__new__", fields, args, kwargs)
        for name in fields:
            if name not in items:
                if name not in defaults:
                    self.raises_at_run_time(
                        "TypeError", f"{cls.__name__}.__new__() missing a required argument: '{name}'"
                    )
                items[name] = Known(defaults[name])
        return Tup([items[n] for n in fields], cls)

    def tuple_method(self, owner: Tup, name: str) -> AV | None:
        """What `namedtuple` and `tuple` define; None for all else."""
        fields = list(getattr(owner.cls, "_fields", ()))
        match name:
            case "_replace" if fields:
                return Native(lambda **new: self.replaced(owner, fields, new))
            case "_asdict" if fields:
                return Native(lambda: DictV(dict(zip(fields, owner.items, strict=True))))
            case "index" | "count":
                return Native(lambda *args: self.found_in_tuple(owner, name, args))
        return None

    def replaced(self, owner: Tup, fields: list[str], new: dict[str, AV]) -> AV:
        if odd := [name for name in new if name not in fields]:
            kind = "ValueError" if sys.version_info < (3, 13) else "TypeError"
            self.raises_at_run_time(kind, f"Got unexpected field names: {odd}")
        return Tup([new.get(name, item) for name, item in zip(fields, owner.items, strict=True)], owner.cls)

    def made_of(self, cls: Any, items: Sequence[AV]) -> AV:
        """cls._make(items) of a named tuple's class."""
        if len(items) != len(cls._fields):
            self.raises_at_run_time("TypeError", f"Expected {len(cls._fields)} arguments, got {len(items)}")
        return Tup(items, cls)

    def found_in_tuple(self, owner: Tup, name: str, args: Sequence[AV]) -> AV:
        """`index` and `count`, where all is known at once."""
        known = [av.obj for av in (*owner.items, *args) if isinstance(av, Known) and isinstance(av.obj, (int, str))]
        if len(known) == len(owner.items) + len(args):
            items = tuple(known[: len(owner.items)])
            return self.evaluate(getattr(items, name), *known[len(items) :])
        return self.call(Known(getattr(lists, name)), [Tup(owner.items), *args], {})

    def by_name(self, what: str, names: list[str], args: Sequence[AV], kwargs: dict[str, AV]) -> dict[str, AV]:
        items = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            self.raises_at_run_time("TypeError", f"{what}() takes {len(names)} arguments but {len(args)} were given")
        for name, value in kwargs.items():
            if name in items or name not in names:
                said = "multiple values for" if name in items else "an unexpected keyword"
                self.raises_at_run_time("TypeError", f"{what}() got {said} argument '{name}'")
            items[name] = value
        return items

    def dataclass_of(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """What the __init__ that `dataclass` writes does."""
        parameters = list(inspect.signature(cls).parameters.values())
        positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(positional):
            self.raises_at_run_time(
                "TypeError",
                f"{cls.__name__}.__init__() takes {len(positional) + 1} positional arguments but {len(args) + 1} were given",
            )
        given = self.by_name(f"{cls.__name__}.__init__", [p.name for p in parameters], args, kwargs)
        missing = f"{cls.__name__}.__init__() missing 1 required positional argument"
        items: dict[str, AV] = {}
        for f in dataclasses.fields(cls):
            if f.name in given:
                items[f.name] = given[f.name]
            elif f.default is not dataclasses.MISSING:
                items[f.name] = Known(f.default)
            elif f.default_factory is not dataclasses.MISSING:
                items[f.name] = self.call(Known(f.default_factory), [], {})
            elif f.init:
                self.raises_at_run_time("TypeError", f"{missing}: '{f.name}'")
        passed_on = []  # what is annotated as InitVar: `__post_init__` gets it
        for p in parameters:
            if all(f.name != p.name for f in dataclasses.fields(cls)):
                if p.name not in given and p.default is p.empty:
                    self.raises_at_run_time("TypeError", f"{missing}: '{p.name}'")
                passed_on.append(given.get(p.name, Known(p.default)))
        made = ObjectV(cls, items)
        if hasattr(cls, "__post_init__"):
            self.call(self.object_attribute(made, "__post_init__"), passed_on, {})
        return made

    def compared_fields(self, av: AV) -> list[AV]:
        """What the comparisons that `dataclass` writes compare."""
        return [self.attribute(av, f.name) for f in dataclasses.fields(class_of(av)) if f.compare]  # type: ignore[arg-type]

    # ---- attributes ----
    def class_value(self, owner: AV, cls: type, name: str) -> AV | None:
        """What the class of an object made here gives for an attribute, bound to the object; None where it has none."""
        home = next((c for c in cls.__mro__ if name in c.__dict__), None)
        if home is None:
            return None
        if home is torch.nn.Module and isinstance(owner, ObjectV):
            return self.of_module_class(owner, name)
        raw = home.__dict__[name]
        self.watch_class_attribute(cls, name)
        return self.bound_to(owner, cls, name, raw)

    def of_module_class(self, made: ObjectV, name: str) -> AV:
        """What nn.Module itself says of a module that is made here: it is an object with a `forward`."""
        if name == "__init__":
            return Native(lambda: self.begin_module(made))
        if name == "__call__":
            return self.object_attribute(made, "forward")
        self.fail("module_made_here", name=name, class_name=made.cls.__name__)

    def begin_module(self, made: ObjectV) -> AV:
        self.store_attribute(made, "training", Known(True))
        return Known(None)

    def check_module_attribute(self, made: ObjectV, name: str, value: AV) -> None:
        """nn.Module keeps modules and parameters aside, from __init__ on, and lets nothing else take their places."""
        items = self.items_of(made)
        placed = [*([items[name]] if name in items else []), *([] if "training" in items else [value])]
        if any(_is_kept_aside(av) for av in placed):
            self.fail("module_made_here", name=name, class_name=made.cls.__name__)

    def bound_to(self, owner: AV, cls: type, name: str, raw: Any) -> AV:
        raw = uncompiled(raw)
        if isinstance(raw, property):
            return self.call(Known(raw.fget), [owner], {})
        if isinstance(raw, staticmethod):
            return Known(raw.__func__)
        if isinstance(raw, classmethod):
            return Bound(Known(cls), name, uncompiled(raw.__func__))
        if isinstance(raw, functools.cached_property):
            value = self.call(Known(raw.func), [owner], {})
            self.store_attribute(owner, name, value)
            return value
        if isinstance(getattr(type(raw), "__get__", None), FunctionType):  # a descriptor written in Python
            return self.call(Known(type(raw).__get__), [Known(raw), owner, Known(cls)], {})
        if callable(raw) and not isinstance(raw, type):
            return Bound(owner, name, raw)
        return self.element(Known(raw), name)

    def object_attribute(self, owner: ObjectV, name: str) -> AV:
        if isinstance(owner, RecordV):
            return self.record_attribute(owner, name)
        items = self.items_of(owner)
        if name in items and not _is_data_descriptor(inspect.getattr_static(owner.cls, name, None)):
            return self.attribute_of_some(owner, name, held) if isinstance(held := items[name], Maybe) else held
        if name == "__class__":
            return Known(owner.cls)
        if name == "__dict__":
            self.refuse_attributes_of_some(owner)
            return DictV(dict(items))
        return self.found_in_class(owner, name)

    def found_in_class(self, owner: ObjectV, name: str) -> AV:
        found = self.class_value(owner, owner.cls, name)
        if found is None:
            self.raises_at_run_time("AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
        return found

    def attribute_of_some(self, owner: ObjectV, name: str, held: Maybe) -> AV:
        """An attribute that only some paths have set: elsewhere it is what the class has, or an error."""
        if hasattr(owner.cls, name):
            return self.choose(held.flag, lambda: held.av, lambda: self.found_in_class(owner, name))
        self.check_that(held.flag, "AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
        if not isinstance(owner, RecordV):
            self.heap[owner.ident] = Content({**self.items_of(owner), name: held.av}, owner.items, owner.cls)
        return held.av

    def refuse_attributes_of_some(self, owner: ObjectV) -> None:
        """For what asks for all attributes."""
        if any(isinstance(av, Maybe) for av in self.items_of(owner).values()):
            self.fail("other_keys_on_a_path", what=describe(owner))

    def set_attribute(self, owner: ObjectV, name: str, value: AV) -> None:
        found = inspect.getattr_static(owner.cls, name, None)
        if isinstance(found, property):
            if found.fset is None:
                self.raises_at_run_time(
                    "AttributeError", f"property '{name}' of '{owner.cls.__name__}' object has no setter"
                )
            self.call(Known(found.fset), [owner, value], {})
            return
        if _is_data_descriptor(found):
            self.guard("TYPE_ATTR_IS", owner.cls, name, found)
            self.call(Known(type(found).__set__), [Known(found), owner, value], {})
            return
        if not owner.cls.__dictoffset__ and not hasattr(type(found), "__set__"):
            how = "is read-only" if found is not None else None
            self.raises_at_run_time(
                "AttributeError",
                f"'{owner.cls.__name__}' object " + (f"attribute '{name}' {how}" if how else f"has no attribute '{name}'"),
            )
        parameters = getattr(owner.cls, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            self.fail("frozen", name=owner.cls.__name__)
        if issubclass(owner.cls, torch.nn.Module):
            self.check_module_attribute(owner, name, value)
        if isinstance(owner, RecordV):
            self.set_field(owner, name, value)
        else:
            self.set_items(owner, {**self.items_of(owner), name: value})

    def super_value(self, owner: SuperV, name: str) -> AV:
        if name == "__new__" and isinstance(owner.obj, Known) and hasattr(owner.obj.obj, "_fields"):
            made = owner.obj.obj
            return self.maker_after(made, made.__mro__.index(owner.after) + 1)
        cls = self.python_class(owner.obj)
        mro = cls.__mro__
        for home in mro[mro.index(owner.after) + 1 :]:
            if name == "__init__" and home.__module__ == "builtins":
                return self.base_init(owner.obj)
            if home is torch.nn.Module and isinstance(owner.obj, ObjectV):
                return self.of_module_class(owner.obj, name)
            if name in home.__dict__:
                self.watch_class_attribute(home, name)
                return self.bound_to(owner.obj, cls, name, home.__dict__[name])
        self.raises_at_run_time("AttributeError", f"'super' object has no attribute '{name}'")

    def special(self, owner: AV, name: str, args: Sequence[AV]) -> AV | None:
        """owner.__name__(*args) of an object of a user's class; None where its class does not say."""
        if not defines(owner, name):
            return None
        if isinstance(owner, ObjectV):
            return self.call(self.object_attribute(owner, name), args, {})
        if isinstance(owner, Tup):
            method = self.class_value(owner, owner.cls, name)
            return None if method is None else self.call(method, args, {})
        assert isinstance(owner, Known)
        cls = type(owner.obj)
        return self.call(self.class_attribute(owner.obj, cls, getattr(cls, name), name), args, {})


def class_of(av: AV) -> type | None:
    """The class of an object that is made here, or known, or of a named tuple."""
    if isinstance(av, ObjectV) or isinstance(av, Tup) and hasattr(av.cls, "_fields"):
        return av.cls
    return type(av.obj) if isinstance(av, Known) else None


def defines(av: AV, name: str) -> bool:
    """Whether an object is of a user's class that defines a method: then what it does may change from call to call."""
    method = getattr(class_of(av), name, None)
    if not isinstance(method, FunctionType) or isinstance(av, ObjectV):
        return isinstance(method, FunctionType)
    root = method.__module__.partition(".")[0]
    if isinstance(av, Tup):  # what `namedtuple` writes is of the module collections
        return not is_library(root)
    return not isinstance(av.obj, type) and not is_library(root) and root not in sys.stdlib_module_names  # type: ignore[attr-defined]


def defines_outside(av: AV, name: str) -> bool:
    """Return whether an object that lives outside, or a named tuple, is of a user's class that defines a method."""
    return isinstance(av, (Known, Tup)) and defines(av, name)


def is_generated(av: AV, name: str) -> bool:
    """Whether a method is one that `dataclass` wrote, of which there is no source."""
    return defines(av, name) and inspect.unwrap(getattr(class_of(av), name)).__code__.co_filename == "<string>"


def _is_data_descriptor(found: Any) -> bool:
    """Return whether what a class has for a name is asked, in front of the object itself, by code in Python."""
    return isinstance(found, property) or isinstance(getattr(type(found), "__set__", None), FunctionType)


def _is_kept_aside(av: AV) -> bool:
    """Whether nn.Module keeps what is assigned to it as one of its modules or, as it may be one, its parameters."""
    made_outside = isinstance(av, Dyn) and av.value.op is not None and av.value.op.name == "param"
    return made_outside or issubclass(class_of(av) or object, torch.nn.Module)


def is_plain_module(cls: type) -> bool:
    """Whether a class adds nothing to nn.Module but attributes and Python methods, an `__init__` among them."""
    own = cls.__mro__[: cls.__mro__.index(torch.nn.Module)] if issubclass(cls, torch.nn.Module) else ()
    special = ("__new__", "__call__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__")
    return any("__init__" in c.__dict__ for c in own) and not any(
        is_library(c.__module__) or any(name in c.__dict__ for name in special) for c in own
    )


def _is_set_plainly(cls: type) -> bool:
    """Return whether no code of the user's runs where an attribute is assigned to or deleted."""
    own = [m for m in (cls.__setattr__, cls.__delattr__) if m not in (object.__setattr__, object.__delattr__)]
    codes = [getattr(m, "__code__", None) for m in own]
    return all(code is not None and code.co_filename == "<string>" for code in codes)  # of a frozen dataclass


def is_plain(cls: type) -> bool:
    """Whether instances of a class have nothing but attributes and Python methods."""
    if issubclass(cls, (BaseException, enum.Enum)) or cls.__new__ is not object.__new__:
        return False
    if any(b.__module__ == "builtins" and b is not object for b in cls.__mro__):
        return False
    own = not is_library(cls.__module__) or cls.__module__.startswith("torch.distributions.") or cls is Future
    if not own or type(cls).__call__ is not type.__call__ or not _is_set_plainly(cls):
        return False
    return cls.__getattribute__ is object.__getattribute__ and not hasattr(cls, "__getattr__")
