"""Leaves of autograd that compiled code makes, such as an nn.Parameter.

The op `leaf` says that a tensor made here requires grad. Its second operand, the *source*, is a tensor outside that always
requires grad. Gradients flow from each leaf to the source, so results that depend on a leaf require grad, as they do on an
argument that requires grad.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import torch

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.lookup import late_binding_of, parameter_outside
from scriptc.frontend.environment.specs import TensorSpec
from scriptc.frontend.operations.held_tensors import holds
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import AbstractValue, RuntimeValue
from scriptc.frontend.values.predicates import param_behind, ssa_value
from scriptc.ir.analysis import calls, keeps
from scriptc.ir.core import Func, Module, Op, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.gradients.activity import Flow, carries
from scriptc.ir.regions import ancestor_in, fed_values
from scriptc.ir.types import TensorType

_SOURCE = {"leaf": torch.zeros((), requires_grad=True)}
_LEAVING = ("return", "state.set")
SAME_OBJECT = ("contiguous", "linked")  # may return the tensor that they are given


def is_source(reader: Reader, value: Value) -> bool:
    """Return whether a value is the source of leaves."""
    late = late_binding_of(reader, RuntimeValue(value))
    return late is not None and late.container is _SOURCE


def is_leaf(value: Value) -> bool:
    """Return whether a value is a leaf that compiled code makes and that requires grad."""
    return value.op is not None and value.op.name == "leaf" and bool(value.op.attrs["requires_grad"])


def made_leaf(reader: Reader, tensor: Value, *, parameter: bool, requires_grad: bool) -> Value:
    """Return a new tensor as a leaf. parameter: the leaf is an nn.Parameter."""
    with reader.emit.grad_mode(True):
        sources = leaf_sources(reader) if requires_grad else []
        return reader.emit.build("leaf", [tensor, *sources], parameter=parameter, requires_grad=requires_grad)


def may_become(reader: Reader, value: Value) -> bool:
    """Return whether a value is a tensor object made by code on this path, which no other value may be."""
    op = value.op
    if op is None or op.name in ("param", *SAME_OBJECT) or op.has("FETCHES") or op.has("CONTROL") or calls(op):
        return False
    return runs_with(reader, value) and _has_one_name(value) and not leaves_by_jump(reader, value)


def runs_with(reader: Reader, value: Value) -> bool:
    """Return whether the current point runs wherever a value is defined, once.

    It is in the block of the value, or in a function that is inlined there as it is.
    """
    at = reader.emit.builder.block
    for frame in reversed(reader.position.frames):
        if at is value.block or frame.block is not at or frame.called_in is None:
            break
        at = frame.called_in
    return at is value.block


def leaves_by_jump(reader: Reader, value: Value) -> bool:
    """Return whether a `return`, `break` or `continue` from before passes a value on, as it is there."""
    for frame in reader.position.frames:
        passed = [av for site in frame.returns for av in (site.av, *site.heap.values())]
        jumps = [jump for loop in frame.loops for jump in (*loop.breaks, *loop.continues)]
        jumps += [jump for final in frame.finals for _, noted in final.ways.values() for jump in noted]
        passed += [av for _, env in jumps for av in env.values()]
        if any(holds(av, value) for av in passed):
            return True
    return False


def replace_by(reader: Reader, tensor: Value, make: Callable[[RuntimeValue], RuntimeValue]) -> None:
    """Let all code that follows see what `make` returns in the place of a tensor, which `make` is given.

    The tensor is made here, or is an argument.
    """
    before = Value(tensor.type, tensor.owner, tensor.name)
    tensor.replace_all_uses(before)
    _put(tensor, before)
    new = before
    try:
        new = make(RuntimeValue(before)).value
    finally:
        if new is before:  # the tensor stays as it is
            before.replace_all_uses(tensor)
        tensor.owner, tensor.type = new.owner, new.type
        _put(new, tensor)


def _put(old: Value, new: Value) -> None:
    """Let an op, or a block, define another value in the place of one."""
    defined = old.op.results if old.op is not None else old.block.args
    defined[defined.index(old)] = new


def reshape_in_place(
    reader: Reader, tensor: AbstractValue, name: str, reshape: Callable[[AbstractValue], AbstractValue]
) -> bool:
    """Let all names of a tensor made here see another shape, if the tensor has none outside of this path.

    Views from before keep their shapes.
    """
    value = ssa_value(tensor)
    if value is None or not isinstance(value.type, TensorType) or not may_become(reader, value):
        return False
    if not reader.emit.builder.no_grad:
        reader.emit.check_leaf(value)
    if is_leaf(value):
        return False

    def reshaped(before: RuntimeValue) -> RuntimeValue:
        made = ssa_value(reshape(before))
        if made is None:  # of a rank that is known only at run time
            reader.reject("reshape_in_place", name=name)
        return RuntimeValue(made)

    replace_by(reader, value, reshaped)
    return True


def become_leaf(reader: Reader, tensor: Value, *, requires_grad: bool) -> None:
    """Let a tensor made here be a leaf from now on: all code that follows sees the leaf in its place."""

    def leaf(before: RuntimeValue) -> RuntimeValue:
        return RuntimeValue(made_leaf(reader, before.value, parameter=False, requires_grad=requires_grad))

    replace_by(reader, tensor, leaf)


def turn_off(leaf: Value) -> bool:
    """Let a leaf require no grad, unless code has computed with it. Return whether it requires none."""
    op = leaf.op
    assert op is not None
    users = (user for user in leaf.users() if not user.no_grad and user.name not in _LEAVING)
    if any(carries(result.type) for user in users for result in user.results):
        return False
    op.set_operands(op.operands[:1])
    op.attrs["requires_grad"] = False
    return True


def leaf_sources(reader: Reader) -> list[Value]:
    """Return the source of leaves. Ahead of time, nothing outside records a graph."""
    if reader.state.ahead:
        return []
    record_this_process()
    spec = TensorSpec("f32", ())
    return [parameter_outside(reader, _SOURCE["leaf"], _SOURCE, "leaf", "leaf", spec).value]


def refuse_leaves_that_leave(module: Module, func: Func, accumulating: Collection[Value]) -> None:
    """Raise CompileError for a leaf that the caller would get as a plain tensor, or without what depends on it.

    accumulating: the leaves to whose `.grad` backward() adds, which compiled code does not keep.
    """
    candidates = [op for op in module.walk() if op.name in ("leaf", "with_data")]
    leaves = [op for op in candidates if op.name == "leaf"]
    replaced = [op for op in candidates if op.name == "with_data" and param_behind(RuntimeValue(op.result)) is not None]
    leaving = [v for op in func.body.walk() if op.name in _LEAVING for v in op.operands] if leaves else []
    flow = Flow([func.body] if leaves else [])
    found = [Diagnostic(op.loc, *rejection("data_of_result")) for op in replaced if _leaves_as_other(op, func, itself=True)]
    for op in leaves:
        dependents = flow.dependents([op.result]) - {op.result} if is_leaf(op.result) and op.result in leaving else ()
        if not op.attrs["parameter"] and _is_read_later(op):
            found.append(Diagnostic(op.loc, *rejection("requires_grad_late")))
        elif op.result in accumulating and op.result in leaving:
            found.append(Diagnostic(op.loc, *rejection("leaf_with_gradient")))
        elif _leaves_as_other(op, func):
            found.append(Diagnostic(op.loc, *rejection("leaf_in_container")))
        elif op.parent is not func.body and any(v in dependents for v in leaving):
            found.append(Diagnostic(op.loc, *rejection("leaf_with_results")))
    for op in func.body.ops:
        if op.name == "leaf_argument" and (_is_read_later(op) or _is_recorded_before(op)):
            found.append(Diagnostic(op.loc, *rejection("requires_grad_late")))
    if found:
        raise CompileError(found)


def _is_recorded_before(leaf: Op) -> bool:
    """Return whether autograd would record a use from before an argument became a leaf, if it had required grad then."""
    block, todo = leaf.parent, [leaf.operands[0]]
    assert block is not None
    while todo:
        for op in todo.pop().users():
            at = ancestor_in(block, op)
            if op.no_grad or op.name == "alias" or at is None or not at.is_before(leaf):
                continue
            if any(carries(result.type) for result in op.results) or op.regions or op.has("TERMINATOR"):
                return True
    return False


def _is_read_later(leaf: Op) -> bool:
    """Return whether a view from before a tensor became a leaf is used behind that. Autograd records such uses, too."""
    block, todo = leaf.parent, [u for u in leaf.operands[0].users() if u is not leaf]
    assert block is not None
    while todo:
        op = todo.pop()
        if op.has("VIEW") and op.name != "alias":
            todo += [user for result in op.results for user in result.users()]
            at = ancestor_in(block, op)
            if at is None or leaf.is_before(at):
                return True
        elif op.has("FETCHES"):
            return True
        elif (at := ancestor_in(block, op)) is None or leaf.is_before(at):
            return True
    return False


def _leaves_as_other(leaf: Op, entry: Func, *, itself: bool = False) -> bool:
    """Return whether a container holds a leaf, or whether another value that may be the leaf leaves the call.

    itself: return so as well if the leaf itself leaves the call.
    """
    seen, todo = set[Value](), [leaf.result]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for (_, i), op in value.uses.items():
            if op.name in _LEAVING:
                if itself or value is not leaf.result or (op.name == "return" and op.parent is not entry.body):
                    return True
            elif op.has("TERMINATOR") or op.regions:
                todo += fed_values(op, i)
            elif op.name in SAME_OBJECT and i == 0:
                todo += op.results
            elif calls(op):
                return True
            elif keeps(op, i):
                todo += [*op.results, *(op.operands[:1] if i > 0 else ())]
            elif op.has("FETCHES"):
                todo += op.results
    return False


def _has_one_name(value: Value) -> bool:
    """Return whether no other value may be this tensor's object, and no container holds it."""
    return not any(
        op.has("TERMINATOR") or op.regions or op.name in SAME_OBJECT or keeps(op, i) for (_, i), op in value.uses.items()
    )
