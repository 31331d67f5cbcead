"""nn.Buffers that compiled code makes, and buffers that it registers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from scriptc.frontend.environment.slots import BufferForm
from scriptc.frontend.environment.state import set_buffer
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.elementwise import apply_op
from scriptc.frontend.operations.objects import register
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, BufferValue, Known, Structure
from scriptc.frontend.values.predicates import is_buffer, is_made_parameter, is_none, is_object, is_tensor
from scriptc.frontend.values.user_classes import class_of
from scriptc.frontend.values.verbs import class_name_of


@verbs.describe.of(BufferValue)
def buffer_description(owner: BufferValue) -> str:
    return "an nn.Buffer that no module holds yet"


@verbs.structure_of.of(BufferValue)
def buffer_structure(owner: BufferValue) -> Structure:
    return Structure(("buffer", owner.persistent), [owner.tensor], lambda parts: BufferValue(parts[0], owner.persistent))


@verbs.held_values.of(BufferValue)
def held_by_buffer(owner: BufferValue) -> Sequence[AbstractValue]:
    return [owner.tensor]


@verbs.class_name_of.of(BufferValue)
def class_name_of_buffer(reader: Reader, owner: BufferValue) -> str:
    return "Buffer"


@serves("torch.nn.Buffer")
def make_buffer(r: Reader, data: AbstractValue = Known(None), *, persistent: AbstractValue = Known(True)) -> AbstractValue:
    tensor = apply_op(r, "alias", data) if is_tensor(data) else r.call(Known(torch.empty), [Known(0)], {})
    return BufferValue(tensor, bool(require_known(r, persistent, "persistent")))


@serves("torch.nn.Module.register_buffer")
def register_buffer(
    r: Reader, self: AbstractValue, name: AbstractValue, tensor: AbstractValue, persistent: AbstractValue = Known(True)
) -> AbstractValue:
    """Register a buffer with the checks of nn.Module."""
    key = require_known(r, name, "the name of a buffer")
    if not isinstance(key, str):
        r.emit.raise_error("TypeError", f"buffer name should be a string. Got {torch.typename(key)}")
    for wrong, why in (("." in key, "buffer name can't contain \".\""), (not key, "buffer name can't be empty string \"\"")):
        if wrong:
            r.emit.raise_error("KeyError", repr(why))
    if is_object(self):
        register(r, self, key, tensor, "_buffers")
        return Known(None)
    module = require_known(r, self, "the module")
    form = BufferForm(bool(require_known(r, persistent, "persistent")), is_buffer(tensor))
    held = tensor.tensor if is_buffer(tensor) else tensor
    if not is_tensor(held) and not is_none(held):
        what = f"cannot assign '{class_name_of(r, held)}' object to buffer '{key}' (torch Tensor or None required)"
        r.emit.raise_error("TypeError", what)
    set_buffer(r, module, key, held, form, is_new=True)
    return Known(None)


@serves("torch.nn.Module.register_parameter")
def register_parameter(r: Reader, self: AbstractValue, name: AbstractValue, param: AbstractValue) -> AbstractValue:
    """Register a parameter of a module that the code makes."""
    key = require_known(r, name, "the name of a parameter")
    if not is_object(self):
        r.reject("parameter_replaced")
    if not isinstance(key, str) or "." in key or not key or not is_none(param) and not is_made_parameter(param):
        r.reject("module_made_here", name="register_parameter", class_name=self.cls.__name__)
    register(r, self, key, param, "_parameters")
    return Known(None)


@serves("torch.nn.Module.add_module", "torch.nn.Module.register_module")
def add_module(r: Reader, self: AbstractValue, name: AbstractValue, module: AbstractValue) -> AbstractValue:
    """Add a submodule to a module that the code makes."""
    key = require_known(r, name, "the name of a module")
    if not is_object(self):
        r.reject("module_replaced")
    if not isinstance(key, str) or "." in key or not key or not issubclass(class_of(module) or object, torch.nn.Module):
        r.reject("module_made_here", name="add_module", class_name=self.cls.__name__)
    r.store_attribute(self, key, module)
    return Known(None)
