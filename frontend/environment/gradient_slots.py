"""`.grad` of parameters and other tensors outside, which is state."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.lookup import late_binding_of
from scriptc.frontend.environment.slots import Slot
from scriptc.frontend.environment.specs import LateBoundTensor
from scriptc.frontend.environment.state import set_slot, slot_value
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue


def slot_of(reader: Reader, late: LateBoundTensor) -> Slot | None:
    """Return the slot of the gradient of a late-bound tensor; None if only the next reading makes it a slot."""
    tensor: Any = late.container[late.key]
    reader.environment.guard("DICT_IS", late.container, late.key, tensor)
    slot = reader.state.slots.get((id(tensor), "grad"))
    if slot is None:
        reader.environment.keep.append(tensor)
        record_this_process()
        location = StateLocation(tensor, "grad", reader.position.loc, name=f"{late.name}.grad")
        reader.speculation.add_slot(tensor, location, "the gradient of a tensor is read or set")
    return slot


def read_gradient(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return `tensor.grad` of a tensor outside."""
    late = late_binding_of(reader, tensor)
    if late is None:
        reader.reject("attribute_of_autograd", name="grad")
    slot = slot_of(reader, late)
    if slot is None:
        raise Poisoned
    return slot_value(reader, slot)


def set_gradient(reader: Reader, tensor: AbstractValue, value: AbstractValue) -> None:
    """Execute `tensor.grad = value` for a tensor outside."""
    late = late_binding_of(reader, tensor)
    if late is None:
        reader.reject("attribute_of_autograd", name="grad")
    slot = slot_of(reader, late)
    if slot is not None:
        set_slot(reader, slot, value)
