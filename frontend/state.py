"""State: attributes and items outside that compiled code changes, and that keep what they were given after the call.

Where a statement changes such a place, the place is noted in `Assumptions.state` and the function is read again. The place
is then a *slot*: its value at entry is a parameter of the compiled function, never baked in, and its kind (None or a
tensor, rank, dtype, length of a tuple) part of the signature. What a slot holds stands in the reader's heap, so that
paths join it as they join variables. Each assignment also builds a `state.set`, in the order of the program: whoever
called the code stores the last value of each *target* when the call is over, also when it ended in an exception.

A run-time list is changed in place, and those who pass it in see that; it needs a slot, but no target.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import torch

from scriptc.frontend.assumptions import Assumptions, Place
from scriptc.frontend.context import Context, Poisoned
from scriptc.frontend.decompositions.queues import Deque
from scriptc.frontend.flow import identities
from scriptc.frontend.joins import Conflict, Plan
from scriptc.frontend.objects import is_plain
from scriptc.frontend.outside import is_library
from scriptc.frontend.results import result_of
from scriptc.frontend.shapes import shape_of
from scriptc.frontend.signature import Signature
from scriptc.frontend.specs import KnownSpec, LiveValue, PlaceSpec, Spec, Store
from scriptc.frontend.values import (
    AV,
    Content,
    DictV,
    Dyn,
    Home,
    Ident,
    Known,
    KnownLengthListV,
    Maybe,
    ObjectV,
    OneOf,
    Poison,
    RecordDictV,
    RecordV,
    Tup,
    Unbound,
    describe,
    home_of,
    is_tensor,
)
from scriptc.ir.core import Block, Module, Value
from scriptc.ir.loc import Loc
from scriptc.ir.types import Type

ABSENT = object()
_TABLES = ("_parameters", "_buffers", "_modules")


def own_setter(obj: Any) -> FunctionType | None:
    """The `__setattr__` of an object's class, where that is Python code other than nn.Module's."""
    found = type(obj).__setattr__
    return found if isinstance(found, FunctionType) and found is not torch.nn.Module.__setattr__ else None


class PlainlySet:
    """An object whose class has a `__setattr__` of its own, which was compiled: its attributes are set by the one behind."""

    def __init__(self, obj: Any):
        object.__setattr__(self, "obj", obj)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.obj, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setter = torch.nn.Module.__setattr__ if isinstance(self.obj, torch.nn.Module) else object.__setattr__
        setter(self.obj, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.obj, name)


@dataclass(eq=False)
class Target:
    """A place that `state.set` ops set, and the values that they set it to."""

    number: int
    name: str
    owner: Any
    key: Any
    path: tuple[Any, ...] | None = (
        None  # None: an attribute of owner; else an item of what the path leads to from owner
    )
    direct: dict[Any, Any] | None = None
    forms: list[AV] = field(default_factory=list)

    def store(self) -> Store:
        return Store(
            self.name, self.owner, self.key, self.path, self.direct, tuple(result_of(av)[0] for av in self.forms)
        )


@dataclass(eq=False)
class Slot:
    """A place that is read live. `container` holds it at entry under the place's key; None where it is absent then."""

    place: Place
    name: str
    container: Any
    ident: Ident
    plan: Plan | None = None  # ahead of time: how its leaves make it up
    initial: tuple[Any, ...] = ()
    target: int | None = None


class State(Context):
    """Mixin: slots and targets."""

    ahead = False  # for a build ahead of time

    def __init__(self, module: Module, assumptions: Assumptions, default_dtype: str):
        super().__init__(module, assumptions, default_dtype)
        self.slots: dict[Any, Slot] = {}
        self.targets: dict[Any, Target] = {}
        self.found: dict[
            int, tuple[Any, Any]
        ] = {}  # where lists and dicts outside were found, by id: container and key

    body: Block

    def argument(self, spec: Spec, name: str, home: Home | None = None, *, kept: bool = False) -> AV:
        raise NotImplementedError

    def parameter(self, type: Type, name: str) -> Value:
        raise NotImplementedError

    def filled(self, spec: Spec, name: str) -> Spec:
        raise NotImplementedError

    def path(self, module: torch.nn.Module, name: str) -> str:
        raise NotImplementedError

    def is_new(self, av: AV) -> bool:
        raise NotImplementedError

    def class_attribute(self, obj: Any, cls: type, found: Any, name: str) -> AV:
        raise NotImplementedError

    # ---- entry ----
    def open_slots(self, signature: Signature) -> None:
        """Makes the slots of this reading; what they hold at entry becomes parameters."""
        opened: set[Any] = set()
        while more := [at for at in self.assume.state if at not in opened]:
            for at in more:
                opened.add(at)
                self.open_slot(at, self.assume.state[at], signature)

    def open_slot(self, at: Any, place: Place, signature: Signature) -> None:
        container = _holder(place)
        name = self.place_name(place)
        if any(slot.name == name for slot in self.slots.values()):
            name = f"{name}_{len(self.slots)}"
        slot = self.slots[at] = Slot(place, name, container, Ident(name))
        if self.ahead:
            self.heap[slot.ident] = self.kept_value(at, slot, signature)
        else:
            self.heap[slot.ident] = self.absent(slot) if container is None else self.present_value(slot, signature)

    def place_name(self, place: Place) -> str:
        if isinstance(place.owner, torch.nn.Module):
            return self.path(place.owner, str(place.key))
        return str(place.key)

    def present_value(self, slot: Slot, signature: Signature) -> AV:
        container, key = slot.container, slot.place.key
        obj = container[key]
        if isinstance(obj, torch.Tensor) and container is getattr(slot.place.owner, "_parameters", None):
            return self.live_tensor(obj, container, key, slot.name)
        spec = self.slot_spec(obj, slot.name, signature)
        spec = self.filled(spec, f"state.{slot.name}")
        self.outside.values.append(LiveValue(container, key, spec))
        self.open_items(obj, spec, slot.place.loc)
        return self.argument(spec, f"state.{slot.name}", Home(container, (key,)))

    def open_items(self, obj: Any, spec: Spec, loc: Loc) -> None:
        """The items of a list of several kinds that is changed are slots too."""
        if isinstance(obj, list) and isinstance(spec, KnownSpec) and id(obj) in self.assume.changed:
            self.guard("LIST_LENGTH_IS", obj, None, len(obj))
            for i in range(len(obj)):
                self.assume.state.setdefault((id(obj), i), Place(obj, i, loc, is_item=True))

    def slot_spec(self, obj: Any, name: str, signature: Signature) -> Spec:
        if isinstance(obj, list):  # of different kinds are told apart item by item
            return signature.container(obj, name) or KnownSpec(obj)
        if is_plain(type(obj)) and hasattr(obj, "__dict__"):
            return KnownSpec(obj)
        return signature.spec(obj, name)

    def absent(self, slot: Slot) -> AV:
        """What an attribute is that the object itself does not have: that of its class, or nothing."""
        owner, name = slot.place.owner, slot.place.key
        tables = [vars(owner)]
        if isinstance(owner, torch.nn.Module):
            tables += [vars(owner)[t] for t in _TABLES]
        for table in tables:
            self.guard("DICT_MISSING", table, name, None)
        found = getattr(type(owner), name, ABSENT)
        return Unbound() if found is ABSENT else self.class_attribute(owner, type(owner), found, name)

    def kept_value(self, at: Any, slot: Slot, signature: Signature) -> AV:
        raise NotImplementedError

    def keep(self, at: Any, slot: Slot, value: AV) -> None:
        raise NotImplementedError

    # ---- reading ----
    def slot_value(self, slot: Slot) -> AV:
        """What a slot holds here; AttributeError at run time on paths on which it has been deleted, or never set."""
        match self.heap[slot.ident]:
            case Maybe(flag, inner):
                self.check_that(flag, "AttributeError", self.no_attribute(slot))
                self.heap[slot.ident] = inner
                return inner
            case Unbound():
                return self.class_value_of(slot)
            case av:
                return av

    def class_value_of(self, slot: Slot) -> AV:
        """What reading an attribute gives that the object itself no longer has."""
        cls, name = type(slot.place.owner), slot.place.key
        found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), ABSENT)
        if found is ABSENT:
            self.raises_at_run_time("AttributeError", self.no_attribute(slot))
        if hasattr(found, "__get__") or isinstance(found, torch.Tensor):
            self.fail("attribute_behind_del", name=name, class_name=cls.__name__)
        self.guard("TYPE_ATTR_IS", cls, name, found)
        return Known(found)

    def no_attribute(self, slot: Slot) -> str:
        return f"'{type(slot.place.owner).__name__}' object has no attribute '{slot.place.key}'"

    def attribute_slot(self, obj: Any, name: str) -> Slot | None:
        own = getattr(obj, "__dict__", None)
        return self.slots.get((id(own), name)) if isinstance(own, dict) else None

    def has_slot(self, slot: Slot) -> AV:
        """hasattr() of an attribute that is a slot."""
        match self.heap[slot.ident]:
            case Maybe(flag, _):
                return flag
            case Unbound():
                return Known(hasattr(type(slot.place.owner), slot.place.key))
        return Known(True)

    # ---- attributes ----
    def store_outside(self, obj: Any, name: str, value: AV) -> None:
        """obj.name = value for an object outside."""
        setter = own_setter(obj)
        if setter is None:
            self.store_plain(obj, name, value)
        elif is_library(setter.__module__):
            self.fail("own_setattr", class_name=type(obj).__name__, method="__setattr__")
        else:
            self.call(Known(setter), [Known(obj), Known(name), value], {})

    def store_plain(self, obj: Any, name: str, value: AV) -> None:
        """obj.name = value as object and nn.Module do it."""
        raw = next((c.__dict__[name] for c in type(obj).__mro__ if name in c.__dict__), None)
        if isinstance(raw, property) and raw.fset is not None:
            self.call(Known(raw.fset), [Known(obj), value], {})
            return
        if isinstance(raw, property):
            self.raises_at_run_time(
                "AttributeError", f"property '{name}' of '{type(obj).__name__}' object has no setter"
            )
        if isinstance(obj, torch.nn.Module) and id(obj) in self.outside.made:  # once, and not in each call
            self.fail("object_of_other_class", name=type(obj).__name__)
        if isinstance(value, Known) and isinstance(obj, torch.nn.Module) and value.obj is obj._modules.get(name, value):
            self.guard("DICT_IS", obj._modules, name, value.obj)  # a module that is the attribute already
            return
        if (slot := self.own_slot(obj, name, raw)) is None:
            return
        if isinstance(obj, torch.nn.Module):
            self.check_registered(obj, name, value)
        self.set_slot(slot, value)

    def delete_attribute(self, obj: Any, name: str) -> None:
        raw = next((c.__dict__[name] for c in type(obj).__mro__ if name in c.__dict__), None)
        if type(obj).__delattr__ not in (object.__delattr__, torch.nn.Module.__delattr__):
            self.fail("own_setattr", class_name=type(obj).__name__, method="__delattr__")
        if (slot := self.own_slot(obj, name, raw)) is None:
            return
        match self.heap[slot.ident]:
            case Maybe(flag, _):
                self.check_that(flag, "AttributeError", self.no_attribute(slot))
            case Unbound():
                self.raises_at_run_time("AttributeError", self.no_attribute(slot))
        self.set_slot(slot, Unbound())

    def own_slot(self, obj: Any, name: str, raw: Any) -> Slot | None:
        """The slot of an attribute that is about to change; None where it will be one in the next reading."""
        own = getattr(obj, "__dict__", None)
        if isinstance(obj, (type, ModuleType)) or not isinstance(own, dict) or hasattr(type(raw), "__set__"):
            what = "a class" if isinstance(obj, type) else f"a {type(obj).__name__}"
            self.fail("attribute_of_outside_assigned", name=name, what=what)
        at = (id(own), name)
        slot = self.slots.get(at)
        if slot is None or slot.place.is_item:
            self.assume.state[at] = Place(obj, name, self.loc)
            self.outside.keep.append(own)
            self.outdate(f"the attribute '{name}' is assigned to")
            return None
        return slot

    def check_registered(self, module: torch.nn.Module, name: str, value: AV) -> None:
        """What nn.Module asks of values for the names of its parameters, buffers and modules."""
        kinds = list(value.alternatives.values()) if isinstance(value, OneOf) else [value]
        held = {table: name in vars(module)[table] for table in _TABLES}
        if held["_modules"] or any(isinstance(k, Known) and isinstance(k.obj, torch.nn.Module) for k in kinds):
            self.fail("module_replaced")
        tensors = [is_tensor(k) for k in kinds]
        none = [isinstance(k, Known) and k.obj is None for k in kinds]
        if all(n or (t and held["_buffers"]) for n, t in zip(none, tensors, strict=True)):
            return
        if (
            held["_parameters"]
            and not any(none)
            and all(t and self.is_new(k) for t, k in zip(tensors, kinds, strict=True))
        ):
            self.raises_at_run_time(
                "TypeError",
                f"cannot assign 'torch.FloatTensor' as parameter '{name}' (torch.nn.Parameter or None expected)",
            )
        if held["_parameters"] and not all(self.is_parameter(k) for k in kinds):
            self.fail("parameter_replaced")
        if held["_buffers"] and not any(t or n for t, n in zip(tensors, none, strict=True)):
            self.raises_at_run_time(
                "TypeError",
                f"cannot assign '{self.type_name(value)}' object to buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None required)",
            )
        if held["_buffers"]:
            self.fail("buffer_of_other", name=name, what=describe(value))

    def is_parameter(self, av: AV) -> bool:
        """Whether a value is an nn.Parameter that lives outside."""
        op = av.value.op if isinstance(av, Dyn) else None
        if op is None or op.name != "param":
            return False
        live = next(v for v in self.outside.live if v.name == op.attrs["name"])
        return isinstance(live.container[live.key], torch.nn.Parameter)

    # ---- items ----
    def change_outside(self, obj: Any) -> None:
        """A list or dict outside is about to change: this reading took it as it was, the next one reads it live."""
        kind = type(obj).__name__
        if id(obj) not in self.found or not isinstance(obj, (list, dict)) or id(obj) in self.assume.changed:
            self.fail("container_outside_changed", kind=kind)
        container, key = self.found[id(obj)]
        self.assume.changed[id(obj)] = obj
        self.assume.state.setdefault((id(container), key), Place(container, key, self.loc, is_item=True))
        self.outside.keep.append(container)
        self.outdate(f"a {kind} outside is changed")

    def open_queue(self, obj: deque[Any]) -> None:
        """A deque outside, which changes without anybody asking it, is read live from the next reading on."""
        container, key = self.found.get(id(obj), (None, None))
        if not Signature().common(list(obj), "")[0]:
            self.fail("queue_of_kinds")
        if container is None:
            self.fail("queue_out_of_reach")
        if isinstance(container, list):
            self.change_outside(container)
        else:
            self.assume.state.setdefault((id(container), key), Place(container, key, self.loc, is_item=True))
            self.outside.keep.append(container)
            self.outdate("a deque outside is read")
        raise Poisoned

    def items_changed(self, av: DictV | ObjectV | KnownLengthListV, old: dict[Any, AV], new: dict[Any, AV]) -> None:
        """Sets what an object or dict of the caller, or one that a slot was given, holds from here on. The items of a deque
        are a list that is changed in place."""
        if isinstance(av, ObjectV) and av.cls is Deque:
            return
        if av.home is not None:
            if av.home.owner is None:
                self.fail("dict_changed")
            if isinstance(av, KnownLengthListV) and len(old) != len(new):
                self.fail("list_of_kinds_of_caller")
            path = None if isinstance(av, ObjectV) else av.home.path
            gone = [(key, Unbound()) for key in old if key not in new]
            for key, value in [*gone, *((k, v) for k, v in new.items() if v is not old.get(k))]:
                self.check_alone(value, self.owner_name(av, key))
                self.set_target(self.target(av.home.owner, key, path, str(key)), value)
            return
        for holder in self.outside.objects:
            if not isinstance(holder, (DictV, KnownLengthListV, ObjectV)):
                continue
            for key, value in self.items_of(holder).items():
                if av.ident in identities(self.settled(value, self.heap)):
                    assert holder.home is not None
                    path = None if isinstance(holder, ObjectV) else holder.home.path
                    self.set_target(self.target(holder.home.owner, key, path, str(key)), value)
        for slot in self.slots.values():
            if av.ident in identities(self.settled(self.heap[slot.ident], self.heap)):
                self.set_slot(slot, self.heap[slot.ident])

    def item_slot(self, obj: Any, index: AV) -> Slot | None:
        """The slot of an item of a list outside whose items are of different kinds."""
        if not isinstance(obj, list) or not isinstance(index, Known) or type(index.obj) is not int:
            return None
        return self.slots.get((id(obj), index.obj if index.obj >= 0 else index.obj + len(obj)))

    def has_item_slots(self, obj: list[Any]) -> bool:
        return bool(obj) and (id(obj), 0) in self.slots

    def is_plain_attribute(self, owner: AV, name: str) -> bool:
        """Whether an attribute is just what an object outside holds itself."""
        if not isinstance(owner, Known):
            return False
        found = getattr(type(owner.obj), name, ABSENT)
        return found is ABSENT or not hasattr(found, "__set__") and name in getattr(owner.obj, "__dict__", {})

    # ---- targets ----
    def set_slot(self, slot: Slot, value: AV) -> None:
        place = slot.place
        self.check_alone(value, slot.name)
        if isinstance(value, Poison):
            raise Poisoned
        if self.ahead:
            self.keep(next(at for at, s in self.slots.items() if s is slot), slot, value)
            self.heap[slot.ident] = value
            return
        target = self.target(place.owner, place.key, () if place.is_item else None, slot.name)
        target.direct = slot.container if isinstance(slot.container, dict) else None
        self.set_target(target, value)
        self.heap[slot.ident] = value
        self.note_change(slot.ident)

    def kept(self, heap: dict[Ident, AV]) -> Iterator[tuple[str, AV]]:
        """What lives on after the call: names of places, and what they hold."""
        for slot in self.slots.values():
            yield slot.name, heap[slot.ident]
        for holder in self.outside.objects:
            if isinstance(holder, (DictV, KnownLengthListV, ObjectV)):
                content = heap.get(holder.ident)
                items = content.items if isinstance(content, Content) else {}
                yield from ((self.owner_name(holder, key), value) for key, value in items.items())

    def owner_name(self, av: DictV | KnownLengthListV | ObjectV, key: Any) -> str:
        return f"{describe(av)}.{key}" if isinstance(av, ObjectV) else f"{describe(av)}[{key!r}]"

    def check_alone(self, value: AV, name: str) -> None:
        """Objects and dicts made here are built anew from what they hold, so they may have one place alone."""
        mine = set(identities(self.settled(value, self.heap)))
        for other, held in self.kept(self.heap) if mine else ():
            if other != name and mine & set(identities(self.settled(held, self.heap))):
                self.fail("object_kept_twice", other=other, name=name)

    def check_returned(self, value: AV, heap: dict[Ident, AV]) -> None:
        """The same of what is returned; `heap` is that of the return."""
        mine = set(identities(self.settled(value, heap)))
        for name, held in self.kept(heap) if mine else ():
            if mine & set(identities(self.settled(held, heap))):
                self.fail("kept_and_returned", name=name)

    def target(self, owner: Any, key: Any, path: tuple[Any, ...] | None, name: str) -> Target:
        at = (id(owner), path, key)
        if at not in self.targets:
            plain = path is not None or isinstance(owner, PlaceSpec) or own_setter(owner) is None
            self.targets[at] = Target(len(self.targets), name, owner if plain else PlainlySet(owner), key, path)
        return self.targets[at]

    def set_target(self, target: Target, value: AV) -> None:
        if isinstance(value, Unbound):
            self.effect("state.set", (), name=target.name, target=target.number, form=-1)
            return
        held = frozen(self.settled(value, self.heap))
        if not isinstance(target.owner, PlaceSpec) and any(
            isinstance(part, ObjectV) and part.cls is not Deque for part in _parts(held)
        ):
            self.fail("made_is_kept", what=describe(held))
        try:
            _, leaves = result_of(held)
        except Conflict as e:
            self.fail("kept_structure", name=target.name, what=describe(held), why=e)
        self.effect(
            "state.set", [self.value(leaf) for leaf in leaves], name=target.name, target=target.number,
            form=len(target.forms),
        )  # fmt: skip
        target.forms.append(held)

    def settled(self, av: AV, env: Any) -> AV:
        raise NotImplementedError


def _holder(place: Place) -> Any:
    """The dict or list that holds the value of a place now; None where there is none."""
    if place.is_item:
        return place.owner
    tables = [vars(place.owner)]
    if isinstance(place.owner, torch.nn.Module):
        tables += [vars(place.owner)[t] for t in _TABLES]
    return next((t for t in tables if place.key in t), None)


def frozen(av: AV) -> AV:
    """A settled value that stays as it is: lists of known length otherwise ask the reader for what they hold."""
    home = home_of(av)
    if home is not None and home.place is not None:
        return av
    match av:
        case RecordV() | RecordDictV():
            return av
        case KnownLengthListV(first=items):
            return KnownLengthListV({k: frozen(v) for k, v in items.items()}, None, av.ident, av.home)
        case DictV(items):
            return DictV({k: frozen(v) for k, v in items.items()}, av.ident, av.home, av.sites, av.made)
        case ObjectV(cls, items):
            return ObjectV(cls, {k: frozen(v) for k, v in items.items()}, av.ident, av.home)
        case Tup(items, cls):
            return Tup([frozen(i) for i in items], cls)
        case OneOf(tag, alternatives):
            return OneOf(tag, {t: frozen(a) for t, a in alternatives.items()})
    return av


def _parts(av: AV) -> Iterator[AV]:
    yield av
    if isinstance(av, OneOf):
        parts: Iterable[AV] = av.alternatives.values()
    else:
        shape = shape_of(av)
        parts = shape.parts if shape is not None else ()
    for part in parts:
        yield from _parts(part)
