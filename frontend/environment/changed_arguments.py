"""Changes of the object of an argument: `x.squeeze_()`, `x.data = new`, `x.requires_grad_()`.

The SSA value of the argument becomes the result of an op, as that of a tensor made here does (leaves.py), so all names see
the change. A `state.set` lets the caller's tensor have the change after the call, also if the call raises.
"""

from __future__ import annotations

from collections.abc import Callable

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.leaves import SAME_OBJECT, leaf_sources, leaves_by_jump, replace_by, runs_with
from scriptc.frontend.environment.slots import find_target, set_target
from scriptc.frontend.environment.tensor_changes import DATA, LEAF, SHAPE, TENSOR_CHANGES
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import argument_behind, is_known, ssa_value, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.analysis import holds, keeps
from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Module, Op, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.types import ListType, TensorType

_CHANGES = ("changed_argument", "leaf_argument")
_KEEP_THE_OBJECT = ("return", "state.set")


def may_change(reader: Reader, value: Value | None) -> bool:
    """Return whether a value is an argument that only this value stands for, and that code at this point may change."""
    argument = None if value is None else argument_behind(value)
    if value is None or argument is None or argument.block is not reader.emit.body or reader.state.ahead:
        return False
    return runs_with(reader, value) and _has_one_name(value) and not leaves_by_jump(reader, value)


def reshape_argument(
    reader: Reader, tensor: AbstractValue, name: str, reshape: Callable[[AbstractValue], AbstractValue]
) -> bool:
    """Let an argument have another shape. Return whether the tensor is such an argument. Views keep their shapes."""
    value = ssa_value(tensor)
    if value is None or not may_change(reader, value):
        return False
    if not reader.emit.builder.no_grad:
        reader.emit.check_leaf(value)

    def reshaped(before: RuntimeValue) -> Value:
        made = ssa_value(reshape(before))
        if made is None:  # the rank depends on sizes
            _demand_sizes(reader, before)
            reader.reject("reshape_in_place", name=name)
        return made

    _change(reader, value, reshaped, SHAPE)
    return True


def _demand_sizes(reader: Reader, tensor: AbstractValue) -> None:
    for dim in range(tensor_type(tensor).rank):
        size = size_av(reader, tensor, dim)
        if not is_known(size):
            require_known(reader, size, "a size of an argument whose shape changes in place")


def assign_data_of_argument(reader: Reader, tensor: Value, data: AbstractValue) -> None:
    """Execute `x.data = data` for an argument that may change."""
    _change(reader, tensor, lambda before: materialize(reader, data), DATA)


def _change(reader: Reader, value: Value, make: Callable[[RuntimeValue], Value], kind: str) -> None:
    made: list[Value] = []

    def changed(before: RuntimeValue) -> RuntimeValue:
        made.append(make(before))
        return RuntimeValue(reader.emit.build("changed_argument", [made[0], before.value]))

    has_other_data = kind == DATA or _has_other_data(value)
    replace_by(reader, value, changed)
    change = [RuntimeValue(value), RuntimeValue(made[0]), Known(DATA if has_other_data else SHAPE)]
    _write_back(reader, value, "data", change)


def _has_other_data(value: Value) -> bool:
    """Return whether the data of an argument have been assigned to."""
    while value.op is not None and value.op.name in _CHANGES:
        if value.op.name == "changed_argument" and _root(value.op.operands[0]) is not argument_behind(value):
            return True
        value = value.op.operands[-1 if value.op.name == "changed_argument" else 0]
    return False


def _root(value: Value) -> Value:
    """Return the value that a view is taken of, in the end."""
    while value.op is not None and value.op.has("VIEW") and value.op.name != "alias":
        value = value.op.operands[0]
    return value


def is_leaf_argument(value: Value) -> bool:
    """Return whether a value is an argument that the program lets require grad."""
    while value.op is not None and value.op.name in _CHANGES:
        if value.op.name == "leaf_argument":
            return True
        value = value.op.operands[1]
    return False


def become_leaf_argument(reader: Reader, value: Value) -> None:
    """Let an argument that may change require grad from now on."""

    def leaf(before: RuntimeValue) -> RuntimeValue:
        with reader.emit.grad_mode(True):
            return RuntimeValue(reader.emit.build("leaf_argument", [before.value, *leaf_sources(reader)]))

    replace_by(reader, value, leaf)
    _write_back(reader, value, LEAF, [RuntimeValue(value), Known(None), Known(LEAF)])


def _write_back(reader: Reader, value: Value, what: str, change: list[AbstractValue]) -> None:
    record_this_process()
    argument = argument_behind(value)
    assert argument is not None
    name = f"{argument.name}.{what}"
    target = find_target(reader, TENSOR_CHANGES, (reader.emit.body.args.index(argument), what), (), name)
    set_target(reader, target, TupleValue(change))


def _has_one_name(value: Value) -> bool:
    """Return whether no other value is this argument's object, as far as this function has made one, and no container
    holds it."""
    others = ((op, i) for (_, i), op in value.uses.items() if op.name not in _KEEP_THE_OBJECT)
    return not any(op.has("TERMINATOR") or op.regions or op.name in SAME_OBJECT or keeps(op, i) for op, i in others)


# ---- other names ----


def check_other_names(module: Module, entry: Func) -> None:
    """Let each change raise if the argument is another one, or another tensor that the code reads, as well."""
    for op in [op for op in entry.body.ops if op.name in _CHANGES]:
        argument = argument_behind(op.result)
        if argument is not None:
            _check_other_names(module, entry, op, argument)


def _check_other_names(module: Module, entry: Func, op: Op, argument: Value) -> None:
    builder, kind = Builder.before(op), argument.type
    assert isinstance(kind, TensorType)
    others: list[Value] = [a for a in entry.body.args if a is not argument]
    for name, param in module.params.items():
        if _may_be(param.type, kind):
            others.append(builder.op("param", (), op.loc, types=[param.type], name=name).result)
    for other in others:
        if isinstance(other.type, ListType) and isinstance(other.type.elem, TensorType):
            if _may_be(other.type.elem, kind):
                builder.op("check.absent", [argument, other], op.loc)
        elif isinstance(other.type, TensorType):
            if _may_be(other.type, kind):
                builder.op("check.other", [argument, other], op.loc)
        elif holds(other.type, "tensor"):
            raise CompileError([Diagnostic(op.loc, *rejection("argument_in_container"))])


def _may_be(t: TensorType, kind: TensorType) -> bool:
    return (t.dtype, t.rank) == (kind.dtype, kind.rank)
