"""torch.nn.attention.flex_attention, and torch.compile around it.

The front end reads torch's own Python code. In eager, this code compiles the attention for a backend that runs it as it
stands, so that its result is that of the functions of torch that it calls.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import torch

from scriptc.frontend.library.python.messages import warn
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import flexible_attention_decomposed as decomposed
from scriptc.frontend.library.torch.gradients import requires_grad
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_none
from scriptc.frontend.values.verbs import materialize
from scriptc.ir.gradients.activity import Flow, blocks_behind

_NONE = Known(None)
_HOME = "torch.nn.attention.flex_attention"
_IMPORTED = (_HOME, "torch._dynamo._trace_wrapped_higher_order_op")  # torch's code imports these when it is called

_NO_GRADIENT = (
    "FlexAttention does not support backward on CPU. Please set the input requires_grad to False or use another device."
)


@serves("torch.compile")
def compile_(r: Reader, model: AbstractValue = _NONE, **options: AbstractValue) -> AbstractValue:
    """Return the function itself, as for functions that torch.compile has wrapped outside."""
    if is_none(model):
        r.reject("form_of_call", name="torch.compile", why="a call without a function is not supported")
    return model


@serves("torch._higher_order_ops.utils.setup_compilation_env")
def setup_compilation_env(r: Reader) -> AbstractValue:
    return r.call(Known(contextlib.nullcontext), [Known("eager")], {})


@serves("torch.fx.traceback.annotate")
def annotate(r: Reader, annotation_dict: AbstractValue) -> AbstractValue:
    return r.call(Known(contextlib.nullcontext), [], {})


@serves(f"{_HOME}._warn_once")
def warn_once(
    r: Reader, warning_id: AbstractValue, message: AbstractValue, category: AbstractValue = Known(UserWarning)
) -> AbstractValue:
    r.position.once += 1
    try:
        return warn(r, message, category)
    finally:
        r.position.once -= 1


@serves(f"{_HOME}._ordered_to_dense")
def ordered_to_dense(
    r: Reader, num_blocks_in_row: AbstractValue, col_indices: AbstractValue, num_cols: AbstractValue
) -> AbstractValue:
    return r.call(Known(decomposed.ordered_to_dense), [num_blocks_in_row, col_indices, num_cols], {})


@serves(torch.ops.higher_order.flex_attention)
def flex_attention(r: Reader, query: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    for module in _IMPORTED:
        importlib.import_module(module)
    home: Any = importlib.import_module("torch._higher_order_ops.flex_attention")
    found = r.call(Known(home.math_attention), [query, *args], kwargs)
    return r.call(Known(decomposed.in_order_of), [query, found], {})


@serves(f"{_HOME}._validate_device")
def validate_device(r: Reader, query: AbstractValue, key: AbstractValue, value: AbstractValue) -> AbstractValue:
    """Raise torch's error for tensors that require grad, for which it has no derivative on the CPU."""
    tensors = [query, key, value]
    flow = Flow(blocks_behind(materialize(r, t) for t in tensors))
    check_that(r, negated(r, requires_grad(r, flow, tensors)), "NotImplementedError", _NO_GRADIENT)
    return _NONE
