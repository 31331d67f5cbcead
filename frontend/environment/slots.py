"""Slots and targets: attributes and items outside that compiled code changes, and their new values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import torch

from scriptc.frontend.environment.specs import PlaceSpec, WriteBack
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.paths import settle_leaving
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Ident
from scriptc.frontend.values.joins import Plan
from scriptc.frontend.values.predicates import has_known_keys, is_object, is_unbound, may_be_unbound
from scriptc.frontend.values.structure import parts_of
from scriptc.frontend.values.verbs import describe, frozen, materialize, result_of, with_content
from scriptc.ir.core import Value


def own_setter(obj: Any) -> FunctionType | None:
    """Return the `__setattr__` of an object's class, where it is Python code other than nn.Module's."""
    found = type(obj).__setattr__
    return found if isinstance(found, FunctionType) and found is not torch.nn.Module.__setattr__ else None


class BufferForm(NamedTuple):
    """Say how a buffer is registered. `made` says that it is an nn.Buffer."""

    persistent: bool
    made: bool


class PlainlySet:
    """Set attributes of an object past its class's `__setattr__`, since compiled code has run that method already."""

    def __init__(self, obj: Any):
        object.__setattr__(self, "obj", obj)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.obj, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setter = torch.nn.Module.__setattr__ if isinstance(self.obj, torch.nn.Module) else object.__setattr__
        setter(self.obj, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.obj, name)


class RegistersBuffer:
    """Set attributes of a module as buffers. `made` says that the values are nn.Buffers, not plain tensors."""

    def __init__(self, module: torch.nn.Module, *, persistent: bool, made: bool) -> None:
        object.__setattr__(self, "module", module)
        object.__setattr__(self, "persistent", persistent)
        object.__setattr__(self, "made", made)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.made:
            setattr(self.module, name, torch.nn.Buffer(value, persistent=self.persistent))
        else:
            self.module.register_buffer(name, value, self.persistent)

    def __delattr__(self, name: str) -> None:
        delattr(self.module, name)


@dataclass(eq=False)
class Target:
    """An attribute or item that `state.set` ops set, and the forms of the values that they set it to."""

    number: int
    name: str
    owner: Any
    key: Any
    path: tuple[Any, ...] | None = None  # for an item: the path from `owner` to its container
    direct: dict[Any, Any] | None = None
    forms: list[AbstractValue] = field(default_factory=list)

    def write_back(self) -> WriteBack:
        return WriteBack(
            self.name, self.owner, self.key, self.path, self.direct, tuple(result_of(av)[0] for av in self.forms)
        )


@dataclass
class OutsideState:
    """Keep the slots and targets of one reading. In a build ahead of time (`ahead`), slots are in the context."""

    ahead: bool
    slots: dict[Any, Slot] = field(default_factory=dict)
    targets: dict[Any, Target] = field(default_factory=dict)
    assigned: set[Any] = field(default_factory=set)  # the slots that entries of the same package assign
    context_variables: dict[Any, DictValue] = field(default_factory=dict)  # by ContextVar: its value, as a dict
    accumulating: list[Value] = field(default_factory=list)  # the leaves made here to whose `.grad` backward() adds

    def keeps_object(self, at: Any) -> bool:
        """Return whether a slot holds the same object at each call, as nothing that was read assigns the slot."""
        slot = self.slots[at]
        at_slot = [(id(slot.location.owner), path, slot.location.key) for path in (None, ())]
        own = any((owner, path, key) in at_slot for owner, path, key, _ in self.targets)
        return slot.container is not None and not own and at not in self.assigned


@dataclass(eq=False)
class Slot:
    """A late-bound location outside. `container` holds the value at entry, under the location's key; None if it is
    absent."""

    location: StateLocation
    name: str
    container: Any
    ident: Ident
    kinds: tuple[Any, ...] = ()  # ahead of time: all kinds of values that the slot may hold
    plan: Plan | None = None  # ahead of time: how the slot's value is put together from its leaves
    initial: tuple[Any, ...] = ()
    patterns: tuple[tuple[Any, ...], ...] = ()  # ahead of time: for each kind what the leaves hold, see `Kept`
    target: int | None = None
    default: AbstractValue | None = None  # of a missing key of defaultdict(dict): the dict that a read puts there


def all_parts(av: AbstractValue) -> Iterator[AbstractValue]:
    """Yield a value, its parts and its alternatives, all the way down."""
    yield av
    for part in parts_of(av):
        yield from all_parts(part)


def is_default_of_slot(reader: Reader, av: DictValue) -> bool:
    """Return whether a dict is what a read of a missing key of a defaultdict outside puts there."""
    made = [slot.default for slot in reader.state.slots.values() if slot.default is not None]
    return any(has_known_keys(default) and default.ident == av.ident for default in made)


def find_target(
    reader: Reader, owner: Any, key: Any, path: tuple[Any, ...] | None, name: str, buffer: BufferForm | None = None
) -> Target:
    """Return the target of an attribute or item. buffer: the attribute is set as a buffer of this form."""
    at = (id(owner), path, key, buffer)
    if at not in reader.state.targets:
        is_plain = path is not None or isinstance(owner, PlaceSpec) or own_setter(owner) is None
        by = owner if is_plain else PlainlySet(owner)
        if buffer is not None:
            by = RegistersBuffer(owner, **buffer._asdict())
        reader.state.targets[at] = Target(len(reader.state.targets), name, by, key, path)
    return reader.state.targets[at]


def set_target(reader: Reader, target: Target, value: AbstractValue) -> None:
    if is_unbound(value):
        reader.emit.effect("state.set", (), name=target.name, target=target.number, form=-1)
        return
    _set_form(reader, target, frozen(settle_leaving(reader, value, reader.heap.contents, reader.position.loc)))


def _set_form(reader: Reader, target: Target, held: AbstractValue) -> None:
    """Set a target to a value. A dict has one form with a key that only some paths gave it, and one without."""
    items = held.items if has_known_keys(held) else {}
    optional = next(((key, item) for key, item in items.items() if may_be_unbound(item)), None)
    if optional is not None:
        key, item = optional
        if not item.placed:
            reader.speculation.promote(held)
            reader.reject("other_keys_on_a_path", what=describe(held))

        def run(content: dict[Any, AbstractValue]) -> bool:
            _set_form(reader, target, with_content(held, content))
            return True

        others = {k: v for k, v in items.items() if k != key}
        reader.branch(item.flag, lambda: run({**items, key: item.av}), lambda: run(others), frozenset())
        return
    if not isinstance(target.owner, PlaceSpec) and any(
        is_object(part) and part.cls is not Deque for part in all_parts(held)
    ):
        reader.reject("made_is_kept", what=describe(held))
    try:
        _, leaves = result_of(held)
    except Conflict as e:
        reader.reject("kept_structure", name=target.name, what=describe(held), why=e)
    reader.emit.effect(
        "state.set", [materialize(reader, leaf) for leaf in leaves], name=target.name, target=target.number,
        form=len(target.forms),
    )  # fmt: skip
    target.forms.append(held)
