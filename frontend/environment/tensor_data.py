"""Assignments to `.data` of a tensor, which give the tensor other memory.

`.data` of a tensor outside is a slot, which holds the value that the tensor has in compiled code: at entry the tensor itself,
later an op `with_data`. After the call, the tensor itself gets its new data, so it stays the same object.
"""

from __future__ import annotations

from scriptc.frontend.environment.changed_arguments import assign_data_of_argument, may_change
from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.gradient_slots import TensorOutside, guarded_tensor, tensor_outside
from scriptc.frontend.environment.leaves import may_become, replace_by
from scriptc.frontend.environment.slots import find_target, set_target
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import shape_of_tensor
from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, RuntimeValue
from scriptc.frontend.values.predicates import is_known, is_tensor, param_behind, tensor_type
from scriptc.frontend.values.verbs import class_name_of, materialize
from scriptc.ir.types import TensorType

_OF_ARGUMENT = "assignment to .data of a tensor that is an argument too is not supported in compiled code"
_OF_OTHER_SHAPE = "assignment to .data of a tensor of another shape is not supported in compiled code"


def assign_data(reader: Reader, tensor: AbstractValue, value: AbstractValue) -> None:
    """Execute `tensor.data = value`."""
    if not is_tensor(value):
        reader.emit.raise_error("TypeError", f"Variable data has to be a tensor, but got {class_name_of(reader, value)}")
    old, new = tensor_type(tensor), tensor_type(value)
    if (old.dtype, old.rank) != (new.dtype, new.rank) or reader.state.ahead:
        reader.reject("data_assigned")
    found = tensor_outside(reader, tensor)
    own = materialize(reader, tensor)
    is_argument = found is None and may_change(reader, own)
    if found is None and not is_argument and not may_become(reader, own):
        reader.reject("data_assigned")
    op = param_behind(tensor)
    old_shape = shape_of_tensor(reader, tensor if op is None else RuntimeValue(op.result))
    same = reader.compare("Eq", shape_of_tensor(reader, value), old_shape)
    if is_known(same) and not same.obj:
        reader.reject("data_assigned")
    check_that(reader, same, "NotImplementedError", _OF_OTHER_SHAPE)
    data = apply_op(reader, "alias", value)
    if found is not None:
        _assign_outside(reader, found, tensor, data)
        return

    if is_argument:
        assign_data_of_argument(reader, own, data)
        return

    def with_data(before: RuntimeValue) -> RuntimeValue:
        return RuntimeValue(reader.emit.build("with_data", [materialize(reader, data), before.value]))

    replace_by(reader, own, with_data)


def _assign_outside(reader: Reader, found: TensorOutside, tensor: AbstractValue, data: AbstractValue) -> None:
    held = guarded_tensor(reader, found)
    slot = reader.state.slots.get((id(held), "data"))
    if slot is None:
        reader.environment.keep.append(held)
        record_this_process()
        location = StateLocation(held, "data", reader.position.loc, name=f"{found.name}.data", at=(found.container, found.key))
        reader.speculation.add_slot(held, location, "the data of a tensor is assigned to")
        return
    _refuse_aliases(reader, tensor)
    set_target(reader, find_target(reader, held, "data", None, slot.name), data)
    op = param_behind(tensor)
    assert op is not None
    reader.heap.contents[slot.ident] = RuntimeValue(reader.emit.build("with_data", [materialize(reader, data), op.result]))
    note_change(reader, slot.ident)


def _refuse_aliases(reader: Reader, tensor: AbstractValue) -> None:
    """Raise if an argument is the tensor too, since compiled code would not see its new data by the argument."""
    op = param_behind(tensor)
    assert op is not None
    kind = tensor_type(tensor)
    for arg in reader.emit.body.args:
        is_data = any(user.name == "with_data" and user.operands[0] is arg for user in arg.users())
        if isinstance(arg.type, TensorType) and (arg.type.dtype, arg.type.rank) == (kind.dtype, kind.rank) and not is_data:
            same = RuntimeValue(reader.emit.build("is_same", [arg, op.result]))
            check_that(reader, negated(reader, same), "NotImplementedError", _OF_ARGUMENT)
