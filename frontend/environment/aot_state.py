"""State of builds ahead of time: a slot has one layout for all kinds of values that it may hold.

Readings find the kinds: the function is read again until no assignment adds a kind. The plan that joins values of all
these kinds gives the leaves of the layout. The leaves are parameters of the entry function and operands of each
`state.set`; the C API keeps them from call to call. Tensors outside that the code writes to are slots as well.
"""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.environment.aot_kinds import generalized, is_kept, refuse_kept
from scriptc.frontend.environment.arguments import argument, fill_spec, parameter
from scriptc.frontend.environment.host_objects import ABSENT, dtype_name
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.slots import Slot
from scriptc.frontend.environment.specs import (
    GIVEN,
    MISSING,
    Kept,
    LateBoundTensor,
    PlaceSpec,
    Spec,
    TensorSpec,
    values_of,
)
from scriptc.frontend.environment.specs import describe as described
from scriptc.frontend.environment.state import open_items, plain_slot_spec
from scriptc.frontend.environment.watching import is_python_descriptor, static_attribute
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Unbound
from scriptc.frontend.values.joins import Plan, unify
from scriptc.ir.analysis import calls, roots_in_lists
from scriptc.ir.core import Block

_MOST_KINDS = 8


def kept_value(reader: Reader, at: Any, slot: Slot, signature: Signature) -> AbstractValue:
    """Return the value of a slot at entry, in a variant that serves all kinds of values of the slot."""
    name, key = f"state.{slot.name}", slot.location.key
    obj = ABSENT if slot.container is None else slot.container[key]
    if slot.container is None and not slot.location.is_item:
        found = static_attribute(type(slot.location.owner), key)
        obj = ABSENT if is_python_descriptor(found) else getattr(type(slot.location.owner), key, ABSENT)
    if isinstance(obj, torch.Tensor) and any(_holds(other, obj) for other in reader.state.slots.values() if other is not slot):
        refuse_kept(slot, "written_tensor_of_no_attribute")  # two states would be one tensor at first
    first: Any = ABSENT if obj is ABSENT else slot_spec(reader, obj, slot.name, signature)
    if isinstance(first, PlaceSpec):
        refuse_kept(slot, "object_kept_twice", other=name_of_first_location(reader, obj))
    if first is not ABSENT:
        open_items(reader, obj, first, slot.location.loc)
    kinds = reader.speculation.kinds_at(at, first)
    if len(kinds) > _MOST_KINDS:
        refuse_kept(slot, "state_of_many_kinds")
    slot.kinds = tuple(dict.fromkeys(k if k is ABSENT else fill_spec(reader, k, name) for k in kinds))
    for kind in slot.kinds:
        if kind is not ABSENT and not is_kept(kind):
            refuse_kept(slot, "state_of_structure", what=described(kind))
    try:
        avs = [scratch(reader, k, name)[0] for k in slot.kinds]
        slot.plan = unify(avs, reader.kinds, fresh=True, mark=-1)
    except Conflict as e:
        refuse_kept(slot, "state_of_two_kinds", why=e)
    slot.initial = initial_leaves(reader, slot.plan, slot.kinds[0], obj, name)
    slot.patterns = tuple(pattern_of(reader, slot.plan, kind, name) for kind in slot.kinds)
    return slot.plan.rebuild(iter([parameter(reader, t, name) for t in slot.plan.types()]), name)


def _holds(slot: Slot, tensor: torch.Tensor) -> bool:
    return slot.container is not None and slot.container[slot.location.key] is tensor


def slot_spec(reader: Reader, obj: Any, name: str, signature: Signature) -> Spec:
    if not reader.state.ahead:
        return plain_slot_spec(obj, name, signature)
    if isinstance(obj, torch.Tensor) and id(obj) in reader.assumptions.written and (dtype := dtype_name(obj.dtype)):
        return TensorSpec(dtype, tuple(obj.shape))  # the code changes its elements alone
    with signature.known_keys():
        return generalized(plain_slot_spec(obj, name, signature))


def name_of_first_location(reader: Reader, obj: Any) -> str:
    """Return the name of the location at which an object was found first."""
    slots = [s for s in reader.state.slots.values() if s.container is not None]
    return next((s.name for s in slots if s.container[s.location.key] is obj), "an argument")


def scratch(reader: Reader, spec: Any, name: str) -> tuple[AbstractValue, Block]:
    """Return a value of a kind that stands for an argument of a separate block."""
    saved, reader.emit.body = reader.emit.body, Block()
    try:
        return (Unbound() if spec is ABSENT else argument(reader, spec, name, kept=True)), reader.emit.body
    finally:
        reader.emit.body = saved


def initial_leaves(reader: Reader, plan: Plan, spec: Any, obj: Any, name: str) -> tuple[Any, ...]:
    av, block = scratch(reader, spec, name)
    given = dict(zip(block.args, () if spec is ABSENT else values_of(spec, obj), strict=True))
    with reader.emit.builder.at(Block()):
        leaves = list(plan.flatten(reader, av))
    return tuple(given[v] if v in given else v.op.attrs.get("value") if v.op else None for v in leaves)


def pattern_of(reader: Reader, plan: Plan, spec: Any, name: str) -> tuple[Any, ...]:
    """Return what the leaves of a slot hold for one kind of value, see `Kept`."""
    av, _ = scratch(reader, spec, name)
    with reader.emit.builder.at(Block()):
        ops = [leaf.op for leaf in plan.flatten(reader, av)]
    found: list[Any] = []
    for op in ops:
        constant = op.attrs["value"] if op is not None and op.name == "const" else None
        is_number = isinstance(constant, (bool, int))
        found.append(constant if is_number else MISSING if op is not None and op.name == "undef" else GIVEN)
    return tuple(found)


def find_written(reader: Reader) -> dict[int, StateLocation]:
    """Return the locations of tensors outside that the code writes to and that are not slots yet, by tensor."""
    found: dict[int, StateLocation] = {}
    ops = list(reader.emit.module.walk())
    written = roots_in_lists(op.operands[0] for op in ops if "tensor" in op.defn.writes and op.operands and not calls(op))
    for op in ops:
        if op.name == "param" and op.result in written:
            late = next(v for v in reader.environment.tensors if v.name == op.attrs["name"])
            tensor = late.container[late.key] if isinstance(late.container, dict) else None
            if tensor is not None and id(tensor) not in {*reader.assumptions.written, *found}:
                found[id(tensor)] = StateLocation(late.container, late.key, op.loc, True, state_name(reader, late))
    return found


def state_name(reader: Reader, late: LateBoundTensor) -> str:
    """Return the name of the slot of a tensor outside that the code writes to."""
    owner = reader.environment.names.get(id(late.container))
    return late.name if owner is None else f"{owner}.{late.key}"


def _container_of(slot: Slot) -> Any:
    if slot.container is not None:
        return slot.container
    return slot.location.owner if slot.location.is_item else vars(slot.location.owner)


def kept_slots(reader: Reader) -> list[Kept]:
    return [
        Kept(
            slot.name,
            _container_of(slot),
            slot.location.key,
            tuple(slot.plan.types()),
            slot.initial,
            slot.target,
            slot.patterns,
        )  # fmt: skip
        for slot in reader.state.slots.values()
        if slot.plan is not None
    ]
