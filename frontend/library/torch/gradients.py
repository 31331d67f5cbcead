"""Gradients that compiled code asks for: torch.autograd.grad and backward()."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from scriptc.frontend.environment.gradient_slots import (
    TensorOutside,
    read_gradient,
    set_gradient,
    slot_of,
    tensor_outside,
)
from scriptc.frontend.environment.leaves import is_leaf
from scriptc.frontend.environment.watching import grad_mode
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.operations.sizes import shape_of_tensor
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import is_known, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.core import Value
from scriptc.ir.gradients.activity import Flow, blocks_behind, carries
from scriptc.ir.types import TensorType

_NONE, _FALSE = Known(None), Known(False)
_NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
_OF_ARGUMENT = "backward() in compiled code does not reach an argument that requires grad; use torch.autograd.grad()"
_NO_GRAD = "One of the differentiated Tensors does not require grad"


@serves("torch.autograd.grad")
def grad(
    r: Reader, outputs: AbstractValue, inputs: AbstractValue, grad_outputs: AbstractValue = _NONE,
    retain_graph: AbstractValue = _NONE, create_graph: AbstractValue = _FALSE, only_inputs: AbstractValue = Known(True),
    allow_unused: AbstractValue = _NONE, is_grads_batched: AbstractValue = _FALSE, materialize_grads: AbstractValue = _FALSE,
) -> AbstractValue:  # fmt: skip
    given = {
        name: require_known(r, value, f"{name} of autograd.grad()")
        for name, value in (("retain_graph", retain_graph), ("create_graph", create_graph), ("allow_unused", allow_unused),
                            ("is_grads_batched", is_grads_batched), ("materialize_grads", materialize_grads))
    }  # fmt: skip
    if given["create_graph"] or given["is_grads_batched"]:
        r.reject("gradients_of_gradients", name="create_graph" if given["create_graph"] else "is_grads_batched")
    of, wrt = _tensors(r, outputs), _tensors(r, inputs)
    flow = Flow(blocks_behind(materialize(r, t) for t in (*of, *wrt)), with_zeros=True)
    _check_graph(r, flow, of, _NO_GRAPH)
    for tensor in wrt:
        _check_graph(r, flow, [tensor], _NO_GRAD)
    starts = _cotangents(r, of, [_NONE] * len(of) if is_known(grad_outputs) else _items(r, grad_outputs))
    sources = flow.sources(materialize(r, t) for t in of)
    used = [_is_among(r, t, sources) for t in wrt]
    if not all(used) and not given["allow_unused"] and not given["materialize_grads"]:
        r.emit.raise_error("RuntimeError", _text_of_unused(used.index(False)))
    asked = [t for t, is_used in zip(wrt, used, strict=True) if is_used]
    found = iter(gradients(r, of, asked, starts, retain=bool(given["retain_graph"])))

    def missing(tensor: AbstractValue) -> AbstractValue:
        return r.call(Known(torch.zeros_like), [tensor], {}) if given["materialize_grads"] else _NONE

    return make_tuple([next(found) if is_used else missing(t) for t, is_used in zip(wrt, used, strict=True)])


def _text_of_unused(index: int) -> str:
    """Return what torch says of the input with an index, which no output depends on."""
    with torch.enable_grad():
        used, unused = torch.zeros(2, requires_grad=True).unbind()
        try:
            torch.autograd.grad(used * 1, [used] * index + [unused * 1])
        except RuntimeError as e:
            return str(e)
    raise AssertionError("autograd takes an input that was not used")


@serves("Tensor.backward", "torch.autograd.backward")
def backward(
    r: Reader, tensors: AbstractValue, gradient: AbstractValue = _NONE, retain_graph: AbstractValue = _NONE,
    create_graph: AbstractValue = _FALSE, inputs: AbstractValue = _NONE,
) -> AbstractValue:  # fmt: skip
    """Add the gradients of all leaves outside to their `.grad`."""
    if require_known(r, create_graph, "create_graph of backward()"):
        r.reject("gradients_of_gradients", name="create_graph")
    retain = bool(require_known(r, retain_graph, "retain_graph of backward()"))
    of = _tensors(r, tensors)
    flow = Flow(blocks_behind(materialize(r, t) for t in of), with_zeros=True)
    _check_graph(r, flow, of, _NO_GRAPH)
    starts = _cotangents(r, of, [_NONE] * len(of) if is_known(gradient) else _items(r, gradient))
    sources = flow.sources(materialize(r, t) for t in of)
    if is_known(inputs) and inputs.obj is None:
        leaves = _leaves(r, sources)
    else:
        leaves = [t for t in _tensors(r, inputs) if _is_among(r, t, sources)]
    outside = [tensor_outside(r, leaf) for leaf in leaves]
    slots = [slot_of(r, leaf) if leaf is not None else r.reject("gradient_of_inner") for leaf in outside]
    if any(slot is None for slot in slots):
        raise Poisoned
    found = gradients(r, of, leaves, starts, retain=retain)
    for leaf, new in zip(leaves, found, strict=True):
        _accumulate(r, leaf, new)
    return _NONE


def _accumulate(r: Reader, leaf: AbstractValue, new: AbstractValue) -> None:
    def add(old: AbstractValue) -> AbstractValue:
        if is_known(old):
            set_gradient(r, leaf, new)
            return _NONE
        with r.emit.grad_mode(False):
            return r.call(r.attribute(old, "add_"), [new], {})

    split(r, read_gradient(r, leaf), add)


def _leaves(r: Reader, sources: set[Value]) -> list[AbstractValue]:
    """Return the tensors outside that require grad, read here, and refuse arguments that do."""
    found: dict[str, AbstractValue] = {}
    for value in sources:
        leaf = RuntimeValue(value)
        if value.op is not None and value.op.name == "leaf_argument":
            r.reject("gradient_of_inner")
        if value.op is not None and is_leaf(value):
            r.state.accumulating.append(value)
        if (outside := tensor_outside(r, leaf)) is not None:
            if _requires_grad(r, outside):
                found.setdefault(outside.name, _read_here(r, value))
        elif value.op is None and value.block is r.emit.body and not r.state.ahead:
            check_that(r, negated(r, _argument_requires_grad(r, value)), "NotImplementedError", _OF_ARGUMENT)
    return [found[name] for name in sorted(found)]


def _read_here(r: Reader, value: Value) -> AbstractValue:
    """Return a tensor outside that was read elsewhere, perhaps in a loop that has ended."""
    if value.op is None or value.op.name != "param":
        return RuntimeValue(value)
    op = r.emit.builder.op("param", (), r.position.loc, types=[value.type], name=value.op.attrs["name"])
    return RuntimeValue(op.result)


def gradients(
    r: Reader, outputs: Sequence[AbstractValue], inputs: Sequence[AbstractValue], starts: Sequence[AbstractValue], *,
    retain: bool,
) -> list[AbstractValue]:  # fmt: skip
    """Return the gradients of inputs, given those of outputs."""
    values = [materialize(r, av) for av in (*outputs, *inputs, *starts)]
    types = [v.type for v in values[len(outputs) : len(outputs) + len(inputs)]]
    op = r.emit.build_op("autograd.grad", values, outputs=len(outputs), inputs=len(inputs), retain=retain, types=types)
    return [RuntimeValue(v) for v in op.results]


def _tensors(r: Reader, av: AbstractValue) -> list[AbstractValue]:
    found = [av] if is_tensor(av) else _items(r, av)
    for item in found:
        if not is_tensor(item) or not carries(tensor_type(item)):
            r.reject("gradient_of_other")
    return found


def _items(r: Reader, av: AbstractValue) -> list[AbstractValue]:
    return [av] if is_tensor(av) else r.iterate(av)


def _cotangents(r: Reader, of: Sequence[AbstractValue], given: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Return the gradients of outputs: ones for scalars whose gradients are not given."""
    if len(given) != len(of):
        message = f"got {len(of)} tensors and {len(given)} gradients"
        r.emit.raise_error("RuntimeError", message)
    return [_cotangent(r, i, output, g) for i, (output, g) in enumerate(zip(of, given, strict=True))]


def _cotangent(r: Reader, i: int, output: AbstractValue, given: AbstractValue) -> AbstractValue:
    if is_known(given) and given.obj is None:
        is_scalar = r.compare("Eq", r.call(r.attribute(output, "numel"), [], {}), Known(1))
        check_that(r, is_scalar, "RuntimeError", "grad can be implicitly created only for scalar outputs")
        return r.call(Known(torch.ones_like), [output], {})
    same = r.compare("Eq", shape_of_tensor(r, given), shape_of_tensor(r, output))
    check_that(r, same, "RuntimeError", f"Mismatch in shape: grad_output[{i}] and output[{i}] have different shapes.")
    return cast_to(r, given, tensor_type(output).dtype)


# ---- what requires grad ----


def _check_graph(r: Reader, flow: Flow, tensors: Sequence[AbstractValue], message: str) -> None:
    """Raise unless one of the tensors requires grad."""
    check_that(r, requires_grad(r, flow, tensors), "RuntimeError", message)


def requires_grad(r: Reader, flow: Flow, tensors: Sequence[AbstractValue]) -> AbstractValue:
    """Return whether one of the tensors requires grad, which follows from the params and arguments that they depend on."""
    if not grad_mode(r):
        return _FALSE
    sources = flow.sources(materialize(r, t) for t in tensors)
    outside = {v: tensor_outside(r, RuntimeValue(v)) for v in sources}
    if any(_requires_grad(r, leaf) for leaf in outside.values() if leaf is not None):
        return Known(True)
    answer: AbstractValue = _FALSE
    arguments = [v for v in sources if v.op is None and outside[v] is None]
    if any(v.block is not r.emit.body for v in arguments) or (arguments and r.state.ahead):
        return Known(True)  # of an iteration, whose steps are not known yet; ahead of time, nothing outside records a graph
    for value in arguments:
        of_one = _argument_requires_grad(r, value)
        answer = of_one if answer is _FALSE else RuntimeValue(r.emit.build("bool.or_", [answer.value, of_one.value]))  # type: ignore[attr-defined]
    return answer


def _argument_requires_grad(r: Reader, argument: Value) -> RuntimeValue:
    """Return whether an argument, or a tensor that it holds, requires grad."""
    if isinstance(argument.type, TensorType):
        return RuntimeValue(r.emit.build("requires_grad", [argument]))
    return RuntimeValue(r.emit.build("requires_grad.any", [argument]))


def _requires_grad(r: Reader, leaf: TensorOutside) -> bool:
    requires = bool(leaf.tensor.requires_grad)
    r.environment.guard("REQUIRES_GRAD_IS", leaf.container, leaf.key, requires)
    return requires


def _is_among(r: Reader, tensor: AbstractValue, sources: set[Value]) -> bool:
    """Return whether a tensor, or another read of the same param, is among values."""
    value = materialize(r, tensor)
    names = {v.op.attrs["name"] for v in sources if v.op is not None and v.op.name == "param"}
    is_param = value.op is not None and value.op.name == "param" and value.op.attrs["name"] in names
    return value in sources or is_param
