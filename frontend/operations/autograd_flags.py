"""`requires_grad`, `is_leaf` and `grad_fn` of tensors, and code that sets whether a tensor requires grad."""

from __future__ import annotations

from functools import reduce

from scriptc.frontend.environment.changed_arguments import become_leaf_argument, is_leaf_argument, may_change
from scriptc.frontend.environment.gradient_slots import TensorOutside, lasting_tensor
from scriptc.frontend.environment.leaves import become_leaf, is_leaf, made_leaf, may_become, turn_off
from scriptc.frontend.environment.state import is_parameter
from scriptc.frontend.environment.watching import grad_mode
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import argument_behind, is_known, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.gradients.activity import Flow, blocks_behind
from scriptc.ir.gradients.detached import is_detached
from scriptc.ir.types import TensorType

_TRUE, _FALSE = Known(True), Known(False)
_SAME_OBJECT = ("contiguous", "call")  # may return the tensor that they are given
_TURNED_OFF = "compiled code cannot let an argument that requires grad require none; use detach()"
_FUNCTION = "the grad_fn of a tensor that requires grad has no value in compiled code"
_NO_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)


def requires_grad_of(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return `tensor.requires_grad`, which follows from the arguments and weights that the tensor depends on."""
    value = materialize(reader, tensor)
    if tensor_type(tensor).dtype not in INEXACT:
        return _FALSE
    if value.op is not None and value.op.name == "leaf":
        return Known(bool(value.op.attrs["requires_grad"]))
    if value.op is not None and is_detached(value):
        return _of_view_without_grad(reader, value) if value.op.has("VIEW") else _FALSE
    if (outside := lasting_tensor(reader, tensor)) is not None:
        return Known(_requires_grad(reader, outside))
    if (argument := argument_behind(value)) is not None:
        return _TRUE if is_leaf_argument(value) else _of_argument(reader, argument)
    return _of_computed(reader, value)


def is_leaf_of_autograd(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return `tensor.is_leaf`: a tensor without a graph behind it, or one that was made to require grad."""
    value = materialize(reader, tensor)
    if value.op is not None and value.op.name == "leaf" or is_parameter(reader, tensor):
        return _TRUE
    requires = requires_grad_of(reader, tensor)
    is_outside = argument_behind(value) is not None or value.op is None or value.op.name in ("param", *_SAME_OBJECT)
    if is_outside and not (is_known(requires) and not requires.obj):
        reader.reject("attribute_of_autograd", name="is_leaf")
    return negated(reader, requires)


def function_of_gradient(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return `tensor.grad_fn` of a tensor without a graph behind it, which is None."""
    requires = _FALSE if is_parameter(reader, tensor) else requires_grad_of(reader, tensor)
    if is_known(requires) and requires.obj:
        reader.reject("attribute_of_autograd", name="grad_fn")
    check_that(reader, negated(reader, requires), "NotImplementedError", _FUNCTION)
    return Known(None)


def _requires_grad(reader: Reader, outside: TensorOutside) -> bool:
    if not isinstance(outside.container, dict):
        reader.reject("attribute_of_autograd", name="requires_grad")
    requires = bool(outside.tensor.requires_grad)
    reader.environment.guard("REQUIRES_GRAD_IS", outside.container, outside.key, requires)
    return requires


def _of_argument(reader: Reader, value: Value) -> AbstractValue:
    """Return whether an argument requires grad. A `backward` is told of its arguments by the reading of forward."""
    if (flag := reader.kept_flags.get(value)) is not None:
        return flag
    if value in reader.kept_flags or value.block is not reader.emit.body or not isinstance(value.type, TensorType):
        reader.reject("attribute_of_autograd", name="requires_grad")
    if reader.state.ahead:
        return _FALSE
    return RuntimeValue(reader.emit.build("requires_grad", [value]))


def _of_computed(reader: Reader, value: Value) -> AbstractValue:
    """Return whether a tensor requires grad that this call computes."""
    flow = Flow(blocks_behind([value]), with_zeros=True)
    behind = flow.sources([value])
    roots = [v for v in behind if v.op is None or v.op.name in ("param", "leaf")]
    if not roots or not grad_mode(reader):
        is_other = value.op is not None and (value.op.has("VIEW") or value.op.name in _SAME_OBJECT)
        return _of_view_without_grad(reader, value) if is_other else _FALSE
    here = reader.emit.builder.block
    passed = [v for v in behind if v not in roots]
    if any(v.block is not here or not isinstance(v.type, TensorType) or v.op is not None and v.op.regions for v in passed):
        reader.reject("attribute_of_autograd", name="requires_grad")
    if any("tensor" in user.defn.writes and user.parent is not here for v in passed for user in v.users()):
        reader.reject("attribute_of_autograd", name="requires_grad")
    flags = [requires_grad_of(reader, RuntimeValue(v)) for v in sorted(roots, key=lambda v: v.name)]
    if any(is_known(flag) and flag.obj for flag in flags):
        return _TRUE
    asked = [materialize(reader, flag) for flag in flags if not is_known(flag)]
    if not asked:
        return _FALSE
    return RuntimeValue(reduce(lambda a, b: reader.emit.build("bool.or_", [a, b]), asked))


def assign_requires_grad(reader: Reader, tensor: AbstractValue, wanted: bool) -> None:
    """Execute `tensor.requires_grad = wanted`, which raises for each tensor with a graph behind it."""
    value = materialize(reader, tensor)
    is_outside = argument_behind(value) is not None or value.op is not None and value.op.name in ("param", "leaf")
    is_computed = not is_outside and not is_detached(value)
    if is_computed and wanted and tensor_type(tensor).dtype in INEXACT and grad_mode(reader):
        check_that(reader, negated(reader, requires_grad_of(reader, tensor)), "RuntimeError", _NO_LEAF.partition(" If")[0])
    set_requires_grad(reader, tensor, wanted, DTYPE_OF_ATTRIBUTE)


def _of_view_without_grad(reader: Reader, value: Value) -> AbstractValue:
    """Return whether a view requires grad that is made outside of grad mode, where autograd still asks the tensor viewed."""
    assert value.op is not None
    if value.op.name == "alias":
        return _FALSE
    requires = requires_grad_of(reader, RuntimeValue(value.op.operands[0]))
    may_be_copy = bool(value.op.defn.reads) or value.op.name in _SAME_OBJECT
    if may_be_copy and not (is_known(requires) and not requires.obj):
        reader.reject("attribute_of_autograd", name="requires_grad")
    return requires


def set_requires_grad(reader: Reader, tensor: AbstractValue, wanted: bool, message: str) -> None:
    """Execute `tensor.requires_grad_(wanted)`. message: the error for a dtype that has no gradients."""
    value = materialize(reader, tensor)
    if tensor_type(tensor).dtype not in INEXACT:
        if wanted:
            reader.emit.raise_error("RuntimeError", message)
        return
    if lasting_tensor(reader, tensor) is not None or argument_behind(value) is not None:
        requires = requires_grad_of(reader, tensor)
        if is_known(requires) and requires.obj == wanted:
            return
        if wanted and may_change(reader, value):
            become_leaf_argument(reader, value)
            return
        if wanted or is_known(requires):
            reader.reject("requires_grad_set", name=f"requires_grad_({'' if wanted else False})")
        check_that(reader, negated(reader, requires), "NotImplementedError", _TURNED_OFF)
        return
    if wanted and is_leaf(value):
        return
    if wanted:
        if not may_become(reader, value):
            reader.reject("requires_grad_late")
        become_leaf(reader, value, requires_grad=True)
        return
    if is_leaf(value):
        if not turn_off(value):
            reader.reject("requires_grad_late")
        return
    check_that(reader, negated(reader, requires_grad_of(reader, tensor)), "RuntimeError", _NO_LEAF)


def detach_in_place(reader: Reader, tensor: AbstractValue) -> None:
    """Execute `tensor.detach_()`: the tensor becomes a leaf that requires no grad."""
    value = materialize(reader, tensor)
    if tensor_type(tensor).dtype not in INEXACT or value.op is not None and is_leaf(value) and turn_off(value):
        return
    if value.op is None or value.op.name in ("leaf", "param") or not may_become(reader, value):
        requires = requires_grad_of(reader, tensor)
        if not is_known(requires) or requires.obj:
            reader.reject("requires_grad_late")
    elif value.op.has("VIEW") and value.op.name != "alias":
        reader.reject("requires_grad_late")
    else:
        become_leaf(reader, value, requires_grad=False)


def asks_for_leaf(kwargs: dict[str, AbstractValue]) -> bool:
    """Return whether a call that makes a tensor is given `requires_grad=True`."""
    flag = kwargs.get("requires_grad")
    return flag is not None and is_known(flag) and flag.obj is True


def new_leaf(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return a tensor that a function has just made, as a leaf that requires grad: `torch.zeros(3, requires_grad=True)`."""
    if tensor_type(tensor).dtype not in INEXACT:
        message = "Only Tensors of floating point and complex dtype can require gradients"
        reader.emit.raise_error("RuntimeError", message)
    made = made_leaf(reader, materialize(reader, tensor), parameter=False, requires_grad=True)
    return RuntimeValue(made)


def new_parameter(reader: Reader, data: AbstractValue, requires_grad: bool) -> AbstractValue:
    """Return `nn.Parameter(data, requires_grad)`, a new tensor over the memory of `data`."""
    if requires_grad and tensor_type(data).dtype not in INEXACT:
        message = "Only Tensors of floating point and complex dtype can require gradients"
        reader.emit.raise_error("RuntimeError", message)
    with reader.emit.grad_mode(True):
        own = materialize(reader, apply_op(reader, "alias", data))
    return RuntimeValue(made_leaf(reader, own, parameter=True, requires_grad=requires_grad))


def known_flag(reader: Reader, value: AbstractValue, message: str, error: str) -> bool:
    """Return a flag that must be a bool known at compile time."""
    if not is_known(value):
        reader.reject("requires_grad_set", name="requires_grad = ...")
    if type(value.obj) is not bool:
        reader.emit.raise_error(error, message)
    return value.obj


DTYPE_OF_METHOD = "only Tensors of floating point dtype can require gradients"
DTYPE_OF_ATTRIBUTE = "only Tensors of floating point and complex dtype can require gradients"
