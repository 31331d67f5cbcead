"""torch.autograd.Function: `apply` runs `forward`, and notes which gradients the Function's own `backward` computes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import custom_functions_decomposed as custom_functions
from scriptc.frontend.library.torch.custom_functions_decomposed import Context
from scriptc.frontend.operations.carried_values import NotCarried, carried, leaves_of
from scriptc.frontend.operations.materialize import apply_op, make_tuple
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.user_gradients import UserGradient
from scriptc.frontend.values.abstract import AbstractValue, Ident, Known, ObjectValue, RuntimeValue
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import is_known, is_made_tuple, is_none, is_tensor, tensor_type
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.verbs import describe, materialize
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT

_OF_CONTEXT = ("dirty_tensors", "non_differentiable", "materialize_grads", "saved_tensors")


@serves("torch.autograd.Function.apply.__func__")
def apply(r: Reader, cls: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    function = require_known(r, cls, "an autograd.Function")
    mark, context = Ident().serial, ObjectValue(Context)
    r.call(r.attribute(context, "__init__"), [], {})
    with r.emit.grad_mode(False):
        if function.setup_context is torch.autograd.Function.setup_context:
            given = list(args)
            result = r.call(Known(function.forward), [context, *args], kwargs)
        else:
            given = _with_defaults(r, function, args, kwargs)
            result = r.call(Known(function.forward), given, {})
            r.call(Known(function.setup_context), [context, make_tuple(given), result], {})
    if not r.emit.builder.no_grad:
        for tensor in _tensors(r.attribute(context, "dirty_tensors")):
            r.emit.check_leaf(materialize(r, tensor))
    is_tuple = is_made_tuple(result) and result.cls is tuple
    linked: dict[Value, AbstractValue] = {}
    returned = list(result.items) if is_made_tuple(result) and is_tuple else [result]
    outputs = [_output(r, output, given, context, linked) for output in returned]
    if not r.emit.builder.no_grad:
        r.user_gradients += _noted(r, function, context, given, outputs, mark)
    return make_tuple(outputs) if is_tuple else outputs[0]


def _with_defaults(
    r: Reader, function: type[torch.autograd.Function], args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> list[AbstractValue]:
    try:
        bound = inspect.signature(function.forward).bind(*args, **kwargs)
    except TypeError as e:
        r.emit.raise_error("TypeError", str(e))
    parameters = inspect.signature(function.forward).parameters
    given: list[AbstractValue] = []
    for name, parameter in parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL:
            given += bound.arguments.get(name, ())
        else:
            given.append(bound.arguments.get(name, Known(parameter.default)))
    return given


def _output(
    r: Reader, output: AbstractValue, given: Sequence[AbstractValue], context: AbstractValue,
    linked: dict[Value, AbstractValue],
) -> AbstractValue:  # fmt: skip
    """Return an output.

    An input that is returned becomes another object, unless `forward` marks it dirty.

    linked: by tensor, the outputs so far to which gradients may flow. A tensor that is returned twice is one output.
    """
    if not is_tensor(output):
        return output
    if _is_among(r, output, r.attribute(context, "dirty_tensors")):
        return output
    if _is_among(r, output, r.attribute(context, "non_differentiable")):
        return apply_op(r, "alias", output)
    value = materialize(r, output)
    if value in linked:
        return linked[value]
    if any(is_tensor(a) and materialize(r, a) is value for a in given):
        output = view_of(r, output)
    sources = _sources(r, given)
    if not sources or tensor_type(output).dtype not in INEXACT or r.emit.builder.no_grad:
        return output
    linked[value] = RuntimeValue(r.emit.build("linked", [materialize(r, output), *sources]))
    return linked[value]


def _sources(r: Reader, given: Sequence[AbstractValue]) -> list[Value]:
    """Return the inputs to which gradients may flow."""
    return [materialize(r, a) for a in given if is_tensor(a) and tensor_type(a).dtype in INEXACT]


def _tensors(av: AbstractValue) -> list[AbstractValue]:
    """Return the tensors of a tuple."""
    return list(filter(is_tensor, sequence_items(av) or ()))


def _is_among(r: Reader, tensor: AbstractValue, tensors: AbstractValue) -> bool:
    return any(materialize(r, t) is materialize(r, tensor) for t in _tensors(tensors))


def _noted(
    r: Reader, function: type[torch.autograd.Function], context: ObjectValue, given: Sequence[AbstractValue],
    outputs: Sequence[AbstractValue], mark: int,
) -> list[UserGradient]:  # fmt: skip
    """Build the op that says how gradients flow from the outputs to the inputs; note it, for `backward` to be read later."""
    sources = _sources(r, given)
    dirty = [materialize(r, av) for av in _tensors(r.attribute(context, "dirty_tensors"))]
    values = [materialize(r, av) if is_tensor(av) else None for av in outputs]
    results = list(dict.fromkeys([*(v for v in values if v is not None and (v in dirty or _is_linked(v))), *dirty]))
    if not sources or not results:
        return []
    # An output that is returned twice is the last one of these for autograd.
    own = [v in results and v not in values[i + 1 :] for i, v in enumerate(values)]
    numbers = [results.index(v) if is_own and v is not None else None for v, is_own in zip(values, own, strict=True)]
    items = r.items_of(context)
    saved: list[AbstractValue] = []
    attributes: dict[str, AbstractValue] = {}
    refused, name = "", ""
    if any(v not in values or v not in sources for v in dirty):
        refused = "it marks a tensor as dirty that is no input, or that it does not return"
    try:
        for name, av in items.items():
            if name == "saved_tensors":
                saved += [carried(r, _saved(av), mark) for av in sequence_items(av) or ()]
            elif name not in _OF_CONTEXT:
                attributes[name] = carried(r, av, mark)
    except NotCarried as e:
        refused = f"ctx.{name} is {e}" if name != "saved_tensors" else f"save_for_backward() was given {e}"
    held = [value for av in (*saved, *attributes.values()) for value in leaves_of(av)]
    held += [v for v, number in zip(values, numbers, strict=True) if v is not None and number is None]
    op = r.emit.effect("user_gradient", [*results, *sources, *([] if refused else held)], results=len(results),
                       sources=len(sources), backward="", refused=refused, takes=(), gives=(),
                       dirty=tuple(i for i, v in enumerate(results) if v in dirty))  # fmt: skip
    if refused:
        return []
    materializes, frame = items["materialize_grads"], r.position.frame
    around = Frame(frame.source, frame.func, frame.inlined_at)
    return [UserGradient(op, function, around, r.position.node, given, outputs, numbers, saved, attributes,
                         not is_known(materializes) or bool(materializes.obj))]  # fmt: skip


def _saved(av: AbstractValue) -> AbstractValue:
    """Return a saved tensor or None. Autograd saves no other values."""
    if not is_tensor(av) and not is_none(av):
        raise NotCarried(describe(av))
    return av


def _is_linked(value: Value) -> bool:
    """Return whether a value is an output of `apply` that gradients may reach."""
    return value.op is not None and value.op.name == "linked"


@serves(custom_functions.asks_for_gradients)
def asks_for_gradients(r: Reader) -> AbstractValue:
    r.reject("attribute_of_autograd", name="needs_input_grad")
