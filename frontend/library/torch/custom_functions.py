"""torch.autograd.Function: `apply` runs `forward`. Each output depends on all inputs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import custom_functions_decomposed as custom_functions
from scriptc.frontend.library.torch.custom_functions_decomposed import Context
from scriptc.frontend.operations.materialize import apply_op, make_tuple
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue, RuntimeValue
from scriptc.frontend.values.predicates import is_made_tuple, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.dtypes import INEXACT


@serves("torch.autograd.Function.apply.__func__")
def apply(r: Reader, cls: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    function = require_known(r, cls, "an autograd.Function")
    context = ObjectValue(Context)
    r.call(r.attribute(context, "__init__"), [], {})
    with r.emit.leaves_unprotected():
        if function.setup_context is torch.autograd.Function.setup_context:
            given = list(args)
            result = r.call(Known(function.forward), [context, *args], kwargs)
        else:
            given = _with_defaults(r, function, args, kwargs)
            result = r.call(Known(function.forward), given, {})
            r.call(Known(function.setup_context), [context, make_tuple(given), result], {})
    if not r.emit.builder.no_grad and is_made_tuple(dirty := r.attribute(context, "dirty")):
        for tensor in filter(is_tensor, dirty.items):
            r.emit.check_leaf(materialize(r, tensor))
    if is_made_tuple(result) and result.cls is tuple:
        return make_tuple([_output(r, item, given, context) for item in result.items])
    return _output(r, result, given, context)


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


def _output(r: Reader, output: AbstractValue, given: Sequence[AbstractValue], context: AbstractValue) -> AbstractValue:
    """Return an output.

    An input that is returned becomes another object, unless `forward` marks it dirty.
    """
    if not is_tensor(output):
        return output
    if _is_among(r, output, r.attribute(context, "dirty")):
        return output
    if _is_among(r, output, r.attribute(context, "without_gradient")):
        return apply_op(r, "alias", output)
    if any(is_tensor(a) and materialize(r, a) is materialize(r, output) for a in given):
        output = view_of(r, output)
    sources = [materialize(r, a) for a in given if is_tensor(a) and tensor_type(a).dtype in INEXACT]
    if not sources or tensor_type(output).dtype not in INEXACT:
        return output
    return RuntimeValue(r.emit.build("linked", [materialize(r, output), *sources]))


def _is_among(r: Reader, tensor: AbstractValue, tensors: AbstractValue) -> bool:
    return is_made_tuple(tensors) and any(
        is_tensor(t) and materialize(r, t) is materialize(r, tensor) for t in tensors.items
    )


@serves(custom_functions.asks_for_gradients)
def asks_for_gradients(r: Reader) -> AbstractValue:
    r.reject("attribute_of_autograd", name="needs_input_grad")
