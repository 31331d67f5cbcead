"""`.grad` of parameters and other tensors outside, which is state."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from scriptc.frontend.environment.lookup import late_binding_of
from scriptc.frontend.environment.slots import Slot
from scriptc.frontend.environment.state import set_slot, slot_value
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import ssa_value


class TensorOutside(NamedTuple):
    """A tensor outside, as the value at a key of a container. name: of the param or of the state."""

    tensor: torch.Tensor
    container: Any
    key: Any
    name: str


def tensor_outside(reader: Reader, av: AbstractValue) -> TensorOutside | None:
    """Return the tensor outside that a value is; None for other values.

    Ahead of time, tensors that the code writes to are state.
    """
    if (late := late_binding_of(reader, av)) is not None:
        return TensorOutside(late.container[late.key], late.container, late.key, late.name)
    value = ssa_value(av)
    for slot in reader.state.slots.values() if reader.state.ahead and value is not None else ():
        if slot.container is not None and ssa_value(reader.heap.contents[slot.ident]) is value:
            tensor = slot.container[slot.location.key]
            return TensorOutside(tensor, slot.container, slot.location.key, slot.name)
    return None


def lasting_tensor(reader: Reader, av: AbstractValue) -> TensorOutside | None:
    """Return the tensor outside that a value is at each call; None for other values, and for state that may be assigned."""
    found = tensor_outside(reader, av)
    is_late = late_binding_of(reader, av) is not None
    return found if found is not None and (is_late or id(found.tensor) in reader.assumptions.written) else None


def guarded_tensor(reader: Reader, found: TensorOutside) -> torch.Tensor:
    """Return a tensor outside, and guard that calls find the same one."""
    reader.environment.guard("DICT_IS", found.container, found.key, found.tensor)
    return found.tensor


def slot_of(reader: Reader, found: TensorOutside) -> Slot | None:
    """Return the slot of the gradient of a tensor outside; None if only the next reading makes it a slot."""
    tensor = guarded_tensor(reader, found)
    slot = reader.state.slots.get((id(tensor), "grad"))
    if slot is None:
        reader.environment.keep.append(tensor)
        location = StateLocation(tensor, "grad", reader.position.loc, name=f"{found.name}.grad")
        reader.speculation.add_slot(tensor, location, "the gradient of a tensor is read or set")
    return slot


def read_gradient(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return `tensor.grad` of a tensor outside."""
    found = tensor_outside(reader, tensor)
    if found is None:
        reader.reject("attribute_of_autograd", name="grad")
    slot = slot_of(reader, found)
    if slot is None:
        raise Poisoned
    return slot_value(reader, slot)


def set_gradient(reader: Reader, tensor: AbstractValue, value: AbstractValue) -> None:
    """Execute `tensor.grad = value` for a tensor outside."""
    found = tensor_outside(reader, tensor)
    if found is None:
        reader.reject("attribute_of_autograd", name="grad")
    slot = slot_of(reader, found)
    if slot is not None:
        set_slot(reader, slot, value)
