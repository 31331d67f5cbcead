"""torch.autograd.Function: `apply` runs `forward`. Gradients flow from what it gives to all that it was given."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch

from scriptc.frontend.decompositions.custom_functions import Context
from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Dyn, Known, ObjectV, Tup, is_tensor, tensor_type
from scriptc.ir.dtypes import INEXACT


@serves("torch.autograd.Function.apply.__func__")
def apply(r: Reader, cls: AV, *args: AV, **kwargs: AV) -> AV:
    function = r.known(cls, "an autograd.Function")
    context = ObjectV(Context)
    r.call(r.attribute(context, "__init__"), [], {})
    with r.leaves_unprotected():
        if function.setup_context is torch.autograd.Function.setup_context:
            given = list(args)
            result = r.call(Known(function.forward), [context, *args], kwargs)
        else:
            given = _with_defaults(r, function, args, kwargs)
            result = r.call(Known(function.forward), given, {})
            r.call(Known(function.setup_context), [context, r.tuple_of(given), result], {})
    if r.graded is None and isinstance(dirty := r.attribute(context, "dirty"), Tup):
        for tensor in filter(is_tensor, dirty.items):
            r.check_leaf(r.value(tensor))
    if isinstance(result, Tup) and result.cls is tuple:
        return r.tuple_of([_output(r, item, given, context) for item in result.items])
    return _output(r, result, given, context)


def _with_defaults(r: Reader, function: type[torch.autograd.Function], args: Sequence[AV], kwargs: dict[str, AV]) -> list[AV]:
    try:
        bound = inspect.signature(function.forward).bind(*args, **kwargs)
    except TypeError as e:
        r.raises_at_run_time("TypeError", str(e))
    parameters = inspect.signature(function.forward).parameters
    given: list[AV] = []
    for name, parameter in parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL:
            given += bound.arguments.get(name, ())
        else:
            given.append(bound.arguments.get(name, Known(parameter.default)))
    return given


def _output(r: Reader, output: AV, given: Sequence[AV], context: AV) -> AV:
    """A tensor that is given back is another object, unless `forward` says that it wrote to it."""
    if not is_tensor(output):
        return output
    if _is_among(r, output, r.attribute(context, "dirty")):
        return output
    if _is_among(r, output, r.attribute(context, "without_gradient")):
        return r.op("alias", output)
    if any(is_tensor(a) and r.value(a) is r.value(output) for a in given):
        output = r.view_of(output)
    sources = [r.value(a) for a in given if is_tensor(a) and tensor_type(a).dtype in INEXACT]
    if not sources or tensor_type(output).dtype not in INEXACT:
        return output
    return Dyn(r.build("linked", [r.value(output), *sources]))


def _is_among(r: Reader, tensor: AV, tensors: AV) -> bool:
    return isinstance(tensors, Tup) and any(is_tensor(t) and r.value(t) is r.value(tensor) for t in tensors.items)


@serves("scriptc.frontend.decompositions.custom_functions.asks_for_gradients")
def asks_for_gradients(r: Reader) -> AV:
    r.fail("attribute_of_autograd", name="needs_input_grad")
