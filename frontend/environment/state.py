"""State: attributes and items outside that compiled code changes, and that keep their values after the call.

If a statement changes such a location, `Assumptions.state` notes the location, and the function is read again. The
location is then a *slot*. Its value at entry is a parameter of the compiled function, which is never baked in. The kind
of the value (None or a tensor, rank, dtype, length of a tuple) is part of the signature. The reader's heap holds the
slot's content, so paths join it as they join variables. Each assignment also builds a `state.set`, in program order.
After the call, the caller writes the last value of each *target* back, also if the call raised.

A run-time list is changed in place, and those who pass it in see that; it needs a slot, but no target.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import torch

from scriptc.frontend.environment.aot_kinds import keep_value
from scriptc.frontend.environment.host_objects import ABSENT, is_library
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.slots import BufferForm, Slot, find_target, own_setter, set_target
from scriptc.frontend.environment.specs import Attributes, ConstantSpec, Spec
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.paths import identities, note_change, settle
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    HeapValue,
    Ident,
    Known,
    Poison,
    Unbound,
)
from scriptc.frontend.values.predicates import (
    defining_op,
    has_alternatives,
    has_known_length,
    is_buffer,
    is_known,
    is_made_parameter,
    is_none,
    is_object,
    is_on_heap,
    is_tensor,
    is_unbound,
    may_be_unbound,
    param_behind,
    without_flag,
)
from scriptc.frontend.values.user_classes import is_plain
from scriptc.frontend.values.verbs import class_name_of, describe
from scriptc.ir.loc import Loc

MODULE_TABLES = ("_parameters", "_buffers", "_modules")


def open_items(reader: Reader, obj: Any, spec: Spec, loc: Loc) -> None:
    """Make the items of a changed list of several kinds slots too."""
    if isinstance(obj, list) and isinstance(spec, ConstantSpec) and id(obj) in reader.assumptions.changed:
        reader.environment.guard("LIST_LENGTH_IS", obj, None, len(obj))
        reader.speculation.add_item_slots(obj, loc)


def plain_slot_spec(obj: Any, name: str, signature: Signature) -> Spec:
    if isinstance(obj, list):  # a list of several kinds has one slot for each item
        return signature.container(obj, name) or ConstantSpec(obj)
    if is_plain(type(obj)) and hasattr(obj, "__dict__"):
        return ConstantSpec(obj)
    return signature.spec(obj, name)


# ---- reading ----


def slot_value(reader: Reader, slot: Slot) -> AbstractValue:
    """Return the present content of a slot. Raise AttributeError at run time on paths that lack the attribute."""
    av = reader.heap.contents[slot.ident]
    if is_unbound(av):
        return class_value_of(reader, slot)
    if may_be_unbound(av):
        check_that(reader, av.flag, "AttributeError", no_attribute(slot))
        reader.heap.contents[slot.ident] = av.av
    return without_flag(av)


def class_value_of(reader: Reader, slot: Slot) -> AbstractValue:
    """Return the class's attribute, which a read finds after the object's own was deleted."""
    cls, name = type(slot.location.owner), slot.location.key
    found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), ABSENT)
    if found is ABSENT:
        reader.emit.raise_error("AttributeError", no_attribute(slot))
    if hasattr(found, "__get__") or isinstance(found, torch.Tensor):
        reader.reject("attribute_behind_del", name=name, class_name=cls.__name__)
    reader.environment.guard("TYPE_ATTR_IS", cls, name, found)
    return Known(found)


def no_attribute(slot: Slot) -> str:
    return f"'{type(slot.location.owner).__name__}' object has no attribute '{slot.location.key}'"


def attribute_slot(reader: Reader, obj: Any, name: str) -> Slot | None:
    own = getattr(obj, "__dict__", None)
    return reader.state.slots.get((id(own), name)) if isinstance(own, dict) else None


def has_slot(reader: Reader, slot: Slot) -> AbstractValue:
    """Return `hasattr()` of an attribute that is a slot."""
    av = reader.heap.contents[slot.ident]
    if is_unbound(av):
        return Known(hasattr(type(slot.location.owner), slot.location.key))
    return av.flag if may_be_unbound(av) else Known(True)


# ---- attributes ----


def store_outside(reader: Reader, obj: Any, name: str, value: AbstractValue) -> None:
    """Execute `obj.name = value` for an object outside."""
    setter = own_setter(obj)
    if setter is None or setter is torch.nn.RNNBase.__setattr__ and not _is_weight(reader, obj, name):
        store_plain(reader, obj, name, value)
    elif is_library(setter.__module__):
        reader.reject("own_setattr", class_name=type(obj).__name__, method="__setattr__")
    else:
        reader.call(Known(setter), [Known(obj), Known(name), value], {})


def _is_weight(reader: Reader, layer: torch.nn.RNNBase, name: str) -> bool:
    """Return whether a recurrent layer has a weight of a name. It sets all other attributes as nn.Module does."""
    names = layer._flat_weights_names
    reader.environment.guard("LIST_ITEMS_ARE", names, None, tuple(names))
    return name in names


def store_plain(reader: Reader, obj: Any, name: str, value: AbstractValue) -> None:
    """Execute `obj.name = value` as object and nn.Module do."""
    raw = next((c.__dict__[name] for c in type(obj).__mro__ if name in c.__dict__), None)
    if isinstance(raw, property) and raw.fset is not None:
        reader.call(Known(raw.fset), [Known(obj), value], {})
        return
    if isinstance(raw, property):
        reader.emit.raise_error("AttributeError", f"property '{name}' of '{type(obj).__name__}' object has no setter")
    if isinstance(setter := getattr(type(raw), "__set__", None), FunctionType):
        reader.environment.guard("TYPE_ATTR_IS", type(obj), name, raw)
        reader.environment.guard("TYPE_ATTR_IS", type(raw), "__set__", setter)
        reader.call(Known(setter), [Known(raw), Known(obj), value], {})
        return
    # The module would be made once, not in each call.
    if isinstance(obj, torch.nn.Module) and id(obj) in reader.environment.made:
        reader.reject("object_of_other_class", name=type(obj).__name__)
    if isinstance(obj, torch.nn.Module) and is_buffer(value):
        set_buffer(reader, obj, name, value.tensor, BufferForm(value.persistent, made=True), is_new=False)
        return
    if is_known(value) and isinstance(obj, torch.nn.Module) and value.obj is obj._modules.get(name, value):
        reader.environment.guard("DICT_IS", obj._modules, name, value.obj)  # the attribute already is this module
        return
    if (slot := own_slot(reader, obj, name, raw)) is None:
        return
    if isinstance(obj, torch.nn.Module):
        check_registered(reader, obj, name, value)
    if any(at[:3] == (id(obj), None, name) and at[3] is not None for at in reader.state.targets):
        reader.reject("buffer_beside_attribute", name=name)
    set_slot(reader, slot, value)


def set_buffer(
    reader: Reader, module: torch.nn.Module, name: str, value: AbstractValue, form: BufferForm, *, is_new: bool
) -> None:
    """Set an attribute of a module as a buffer. is_new: it raises if there is an attribute that is no buffer."""
    if (slot := own_slot(reader, module, name, None)) is None:
        return
    is_buffer = slot.container is module._buffers
    if is_new and (slot.container is not None and not is_buffer or hasattr(type(module), name)):
        reader.emit.raise_error("KeyError", repr(f"attribute '{name}' already exists"))
    is_set_plainly = any(at[:3] == (id(module), None, name) and at[3] is None for at in reader.state.targets)
    if is_set_plainly or not (is_buffer or slot.container is None):
        reader.reject("buffer_beside_attribute", name=name)
    set_slot(reader, slot, value, form)


def delete_attribute(reader: Reader, obj: Any, name: str) -> None:
    raw = next((c.__dict__[name] for c in type(obj).__mro__ if name in c.__dict__), None)
    if type(obj).__delattr__ not in (object.__delattr__, torch.nn.Module.__delattr__):
        reader.reject("own_setattr", class_name=type(obj).__name__, method="__delattr__")
    if (slot := own_slot(reader, obj, name, raw)) is None:
        return
    av = reader.heap.contents[slot.ident]
    if is_unbound(av):
        reader.emit.raise_error("AttributeError", no_attribute(slot))
    if may_be_unbound(av):
        check_that(reader, av.flag, "AttributeError", no_attribute(slot))
    set_slot(reader, slot, Unbound())


def own_slot(reader: Reader, obj: Any, name: str, raw: Any) -> Slot | None:
    """Return the slot of an attribute that is about to change; None if only the next reading makes it a slot."""
    own = getattr(obj, "__dict__", None)
    if isinstance(obj, (type, ModuleType)) or not isinstance(own, dict) or hasattr(type(raw), "__set__"):
        what = "a class" if isinstance(obj, type) else f"a {type(obj).__name__}"
        reader.reject("attribute_of_outside_assigned", name=name, what=what)
    at = (id(own), name)
    slot = reader.state.slots.get(at)
    if slot is None or slot.location.is_item:
        reader.environment.keep.append(own)
        location = StateLocation(obj, name, reader.position.loc)
        reader.speculation.add_slot(own, location, f"the attribute '{name}' is assigned to")
        return None
    return slot


def check_registered(reader: Reader, module: torch.nn.Module, name: str, value: AbstractValue) -> None:
    """Check a value as nn.Module does for the names of its parameters, buffers and modules."""
    kinds = list(value.alternatives.values()) if has_alternatives(value) else [value]
    held = {table: name in vars(module)[table] for table in MODULE_TABLES}
    if held["_modules"] or any(is_known(k) and isinstance(k.obj, torch.nn.Module) for k in kinds):
        reader.reject("module_replaced")
    tensors = [is_tensor(k) for k in kinds]
    none = [is_none(k) for k in kinds]
    if all(n or (t and held["_buffers"]) for n, t in zip(none, tensors, strict=True)):
        return
    if (
        held["_parameters"]
        and not any(none)
        and all(t and is_new(reader, k) and not is_made_parameter(k) for t, k in zip(tensors, kinds, strict=True))
    ):
        reader.emit.raise_error(
            "TypeError",
            f"cannot assign 'torch.FloatTensor' as parameter '{name}' (torch.nn.Parameter or None expected)",
        )
    if held["_parameters"] and not all(is_parameter(reader, k) for k in kinds):
        reader.reject("parameter_replaced")
    if held["_buffers"] and not any(t or n for t, n in zip(tensors, none, strict=True)):
        reader.emit.raise_error(
            "TypeError",
            f"cannot assign '{class_name_of(reader, value)}' object to buffer '{name}' "
            "(torch.nn.Buffer, torch.Tensor or None required)",
        )
    if held["_buffers"]:
        reader.reject("buffer_of_other", name=name, what=describe(value))


def is_parameter(reader: Reader, av: AbstractValue) -> bool:
    """Return whether a value is an nn.Parameter, from outside or made here."""
    if is_made_parameter(av):
        return True
    if (op := param_behind(av)) is None:
        return False
    late = next(v for v in reader.environment.tensors if v.name == op.attrs["name"])
    return isinstance(late.container[late.key], torch.nn.Parameter)


def stays_parameter(reader: Reader, av: AbstractValue) -> bool:
    """Return whether a value is an nn.Parameter in each call, since a module holds it as one.

    Reject a parameter that a global or another object holds, where each call may find another tensor.
    """
    if not is_parameter(reader, av) or is_made_parameter(av):
        return is_made_parameter(av)
    op = param_behind(av)
    assert op is not None
    late = next(v for v in reader.environment.tensors if v.name == op.attrs["name"])
    if id(late.container) not in reader.environment.parameter_tables:
        reader.reject("is_parameter")
    return True


# ---- items ----


def change_outside(reader: Reader, obj: Any) -> None:
    """Make a list or dict outside, which is about to change, late-bound from the next reading on."""
    kind = type(obj).__name__
    if (
        id(obj) not in reader.environment.found
        or not isinstance(obj, (list, dict))
        or id(obj) in reader.assumptions.changed
    ):
        reader.reject("container_outside_changed", kind=kind)
    container, key = reader.environment.found[id(obj)]
    reader.environment.keep.append(container)
    reader.speculation.change_outside(obj, container, key)


def open_queue(reader: Reader, obj: deque[Any]) -> None:
    """Make a deque outside late-bound from the next reading on. Even a read of a deque may change it."""
    container, key = reader.environment.found.get(id(obj), (None, None))
    if not Signature().common(list(obj), "")[0]:
        reader.reject("queue_of_kinds")
    if container is None:
        reader.reject("queue_out_of_reach")
    if isinstance(container, list):
        change_outside(reader, container)
    else:
        reader.environment.keep.append(container)
        location = StateLocation(container, key, reader.position.loc, is_item=True)
        reader.speculation.add_slot(container, location, "a deque outside is read")
    raise Poisoned


def items_changed(
    reader: Reader,
    av: HeapValue,
    old: dict[Any, AbstractValue],
    new: dict[Any, AbstractValue],
) -> None:
    """Record the new content of an object or dict that belongs to the caller or to a slot.

    The items of a deque are a list that is changed in place.
    """
    if is_object(av) and av.cls is Deque:
        return
    if av.home is not None:
        if av.home.owner is None:
            reader.reject("dict_changed")
        if has_known_length(av) and len(old) != len(new):
            reader.reject("list_of_kinds_of_caller")
        path = None if is_object(av) else av.home.path
        gone = [(key, Unbound()) for key in old if key not in new]
        for key, value in [*gone, *((k, v) for k, v in new.items() if v is not old.get(k))]:
            check_alone(reader, value, owner_name(av, key))
            set_target(reader, find_target(reader, av.home.owner, key, path, str(key)), value)
        return
    for holder in reader.environment.objects:
        if not is_on_heap(holder):
            continue
        for key, value in reader.items_of(holder).items():
            if av.ident in identities(settle(reader, value, reader.heap.contents)):
                assert holder.home is not None
                path = None if is_object(holder) else holder.home.path
                set_target(reader, find_target(reader, holder.home.owner, key, path, str(key)), value)
    for slot in reader.state.slots.values():
        if av.ident in identities(settle(reader, reader.heap.contents[slot.ident], reader.heap.contents)):
            set_slot(reader, slot, reader.heap.contents[slot.ident])


def item_slot(reader: Reader, obj: Any, index: AbstractValue) -> Slot | None:
    """Return the slot of an item of a list outside whose items have several kinds."""
    if not isinstance(obj, list) or not is_known(index) or type(index.obj) is not int:
        return None
    return reader.state.slots.get((id(obj), index.obj if index.obj >= 0 else index.obj + len(obj)))


def has_item_slots(reader: Reader, obj: list[Any]) -> bool:
    return bool(obj) and (id(obj), 0) in reader.state.slots


def is_plain_attribute(owner: AbstractValue, name: str) -> bool:
    """Return whether an attribute is stored in the object itself, so that no code of its class runs."""
    if not is_known(owner):
        return False
    found = getattr(type(owner.obj), name, ABSENT)
    return found is ABSENT or not hasattr(found, "__set__") and name in getattr(owner.obj, "__dict__", {})


# ---- targets ----


def set_slot(reader: Reader, slot: Slot, value: AbstractValue, buffer: BufferForm | None = None) -> None:
    location = slot.location
    check_alone(reader, value, slot.name)
    if isinstance(value, Poison):
        raise Poisoned
    if reader.state.ahead:
        keep_value(reader, next(at for at, s in reader.state.slots.items() if s is slot), slot, value)
        reader.heap.contents[slot.ident] = value
        return
    target = find_target(reader, location.owner, location.key, () if location.is_item else None, slot.name, buffer)
    target.direct = slot.container if isinstance(slot.container, dict) and buffer is None else None
    set_target(reader, target, value)
    reader.heap.contents[slot.ident] = value
    note_change(reader, slot.ident)


def kept_in(reader: Reader, heap: dict[Ident, AbstractValue]) -> Iterator[tuple[str, AbstractValue]]:
    """Yield the names of the locations that outlive the call, and their values."""
    for slot in reader.state.slots.values():
        yield slot.name, heap[slot.ident]
    for holder in reader.environment.objects:
        if is_on_heap(holder):
            content = heap.get(holder.ident)
            items = content.items if isinstance(content, Content) else {}
            yield from ((owner_name(holder, key), value) for key, value in items.items())


def owner_name(av: HeapValue, key: Any) -> str:
    return f"{describe(av)}.{key}" if is_object(av) else f"{describe(av)}[{key!r}]"


def check_alone(reader: Reader, value: AbstractValue, name: str) -> None:
    """Reject an object made here that two locations would keep: each would build its own copy after the call."""
    mine = set(identities(settle(reader, value, reader.heap.contents)))
    for other, held in kept_in(reader, reader.heap.contents) if mine else ():
        if other != name and mine & set(identities(settle(reader, held, reader.heap.contents))):
            reader.reject("object_kept_twice", other=other, name=name)


def check_returned(reader: Reader, value: AbstractValue, heap: dict[Ident, AbstractValue]) -> None:
    """Reject an object that is both returned and kept; `heap` is the heap at the return."""
    mine = set(identities(settle(reader, value, heap)))
    for name, held in kept_in(reader, heap) if mine else ():
        if mine & set(identities(settle(reader, held, heap))):
            reader.reject("kept_and_returned", name=name)


def holder_of(location: StateLocation) -> Any:
    """Return the dict or list that holds the value of a location now; None if there is none."""
    if location.is_item:
        is_missing = isinstance(location.owner, dict) and location.key not in location.owner
        return None if is_missing else location.owner
    if isinstance(location.owner, torch.Tensor):
        return Attributes(location.owner)
    tables = [vars(location.owner)]
    if isinstance(location.owner, torch.nn.Module):
        tables += [vars(location.owner)[t] for t in MODULE_TABLES]
    return next((t for t in tables if location.key in t), None)


_PASS_ON = ("contiguous", "call")  # their results may alias tensors that existed before


def is_new(reader: Reader, av: AbstractValue) -> bool:
    """Return whether `tensor` is the fresh result of its defining op, so that no other value aliases it."""
    made = defining_op(av) if is_tensor(av) else None
    return made is not None and not made.has("FETCHES") and not made.has("CONTROL") and made.name not in _PASS_ON
