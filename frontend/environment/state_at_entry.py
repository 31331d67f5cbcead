"""Slots at entry: the values outside at the time of the call."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch

from scriptc.frontend.environment.aot_state import kept_value, slot_spec
from scriptc.frontend.environment.arguments import argument, fill_spec
from scriptc.frontend.environment.host_objects import ABSENT
from scriptc.frontend.environment.lookup import class_attribute, late_bound_tensor, module_path
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.slots import Slot
from scriptc.frontend.environment.specs import LateBoundValue
from scriptc.frontend.environment.state import MODULE_TABLES, holder_of, open_items
from scriptc.frontend.environment.watching import is_python_descriptor, static_attribute
from scriptc.frontend.operations.runtime_dicts import new_dict
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, CallerLocation, Ident, RuntimeValue, Unbound
from scriptc.frontend.values.verbs import materialize


def open_slots(reader: Reader, signature: Signature) -> None:
    """Make the slots of this reading. Their values at entry become parameters."""
    opened: set[Any] = set()
    while more := [at for at in reader.assumptions.state if at not in opened]:
        for at in more:
            opened.add(at)
            open_slot(reader, at, reader.assumptions.state[at], signature)


def open_slot(reader: Reader, at: Any, location: StateLocation, signature: Signature) -> None:
    container = holder_of(location)
    name = location_name(reader, location)
    if any(slot.name == name for slot in reader.state.slots.values()):
        name = f"{name}_{len(reader.state.slots)}"
    # The data are an argument of their own, so that a result which views the old data does not view the new ones.
    owner = late_bound_tensor(reader, location.owner, *location.at, location.name) if location.at is not None else None
    slot = reader.state.slots[at] = Slot(location, name, container, Ident(name))
    if owner is not None:
        data = [materialize(reader, av) for av in (present_value(reader, slot, signature), owner)]
        reader.heap.contents[slot.ident] = RuntimeValue(reader.emit.build("with_data", data))
        return
    if reader.state.ahead:
        reader.heap.contents[slot.ident] = kept_value(reader, at, slot, signature)
    else:
        reader.heap.contents[slot.ident] = (
            absent(reader, slot) if container is None else present_value(reader, slot, signature)
        )


def location_name(reader: Reader, location: StateLocation) -> str:
    if location.name:
        return location.name
    if isinstance(location.owner, torch.nn.Module):
        return module_path(reader, location.owner, str(location.key))
    if (owner := reader.environment.names.get(id(location.owner))) is not None:
        return f"{owner}.{location.key}"
    return str(location.key)


def present_value(reader: Reader, slot: Slot, signature: Signature) -> AbstractValue:
    container, key = slot.container, slot.location.key
    obj = container[key]
    if isinstance(obj, torch.Tensor) and container is getattr(slot.location.owner, "_parameters", None):
        return late_bound_tensor(reader, obj, container, key, slot.name)
    spec = slot_spec(reader, obj, slot.name, signature)
    spec = fill_spec(reader, spec, f"state.{slot.name}")
    reader.environment.values.append(LateBoundValue(container, key, spec))
    open_items(reader, obj, spec, slot.location.loc)
    return argument(reader, spec, f"state.{slot.name}", CallerLocation(container, (key,)))


def absent(reader: Reader, slot: Slot) -> AbstractValue:
    """Return the value of an attribute that the object itself lacks: that of the class, or unbound."""
    owner, name = slot.location.owner, slot.location.key
    if slot.location.is_item:
        reader.environment.guard("DICT_MISSING", owner, name, None)
        if isinstance(owner, defaultdict) and owner.default_factory is dict:
            # All reads share one dict, so that paths join its content. Its site is its own, as are the types of its items.
            slot.default = new_dict(reader, [], (slot.location.loc, f"dict() for {slot.name}"))
        return Unbound()
    tables = [vars(owner)]
    if isinstance(owner, torch.nn.Module):
        tables += [vars(owner)[t] for t in MODULE_TABLES]
    for table in tables:
        reader.environment.guard("DICT_MISSING", table, name, None)
    found = static_attribute(type(owner), name)
    if found is ABSENT or is_python_descriptor(found):
        return Unbound()
    return class_attribute(reader, owner, type(owner), found, name)
