"""Plans by which the bridge runs calls that autograd records, without Python between autograd and the compiled entries.

The bridge keeps the values of forward in C (runtime/src/bridge/record.c). It takes calls whose results and kept values are
tensors, lists of tensors and numbers; `dispatch/autograd.py` runs all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from scriptc.dispatch.gradient_calls import GradientCall, assigned_data
from scriptc.dispatch.gradient_groups import Layout, SharedBackward, attach, layout_of, members_of
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.frontend.environment.specs import (
    Contract,
    ListSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    leaves,
)
from scriptc.frontend.environment.tensor_changes import replaces_data
from scriptc.ir.gradients.reached import BITS
from scriptc.runtime.bridge import PlanSpec


class _Recorded(torch.autograd.Function):
    """Hands the gradients that arrive to the record of a call, which the bridge has made."""

    @staticmethod
    def forward(ctx: Any, record: Any, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.apply = record.backward  # autograd calls this attribute, and torch's own calls three functions of Python
        return record.outputs()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        return ctx.apply(*grads)


# What `Function.apply` does besides concerns transforms of torch.func. Calls under these are not recorded.
_apply = super(torch.autograd.Function, _Recorded).apply


def _apply_in_groups(layout: Layout, record: Any, *sources: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Let autograd see the outputs of a call whose results depend on different inputs."""
    ports, groups = members_of(layout, *record.places())

    def run(ctx: Any, grads: Sequence[torch.Tensor | None], is_last: bool) -> Sequence[torch.Tensor | None]:
        return (record.backward if is_last else record.backward_kept)(*grads)[1:]

    return attach(layout, SharedBackward(run, ports, groups, free=record.free), sources, record.outputs())


def plan_of_calls(
    call: GradientCall, contract: Contract, gradients: Dependencies, differentiable: Sequence[bool], required: frozenset[int],
    count: int, rebuild: Any,
) -> PlanSpec | None:  # fmt: skip
    """Return the plan of the calls in which these inputs, out of `count`, require grad; None if Python runs them."""
    code = call.code
    arguments = list(_arguments(contract))
    if len(arguments) != count or gradients.leaves or gradients.detached or assigned_data(contract):
        return None
    if any(map(replaces_data, contract.write_backs)):
        return None
    inputs = [arguments[i] for i in (*call.inputs, *(i for i in code.kept_inputs if i is not None))]
    if code.fetched or not all(map(_holds_tensors, (*inputs, *code.outputs))) or not all(map(_is_plain, code.kept)):
        return None
    requires = call.requires(differentiable)
    layout = layout_of(code.reaches, requires, code.arrives)
    return PlanSpec(
        required=[i in required for i in range(count)],
        forward=call.forward_spec(returns_kept=True),
        backward=call.backward_spec,
        requires=requires,
        kept_inputs=code.kept_inputs,
        reads=[i in code.reads for i in range(code.params)],
        inputs=call.inputs,
        lists=[isinstance(arguments[i], ListSpec) for i in call.inputs],
        arrives=code.arrives,
        flags=code.flags,
        reaches=[i in found for found in code.reaches for i in range(len(call.inputs))],
        bits=[_bit(code.uncertain.index(i)) if i in code.uncertain else -1 for i in range(len(call.inputs))],
        reads_leaves=gradients.writes,
        apply=_apply if layout is None else partial(_apply_in_groups, layout),
        rebuild=rebuild,
        home=call.backward,
    )


def _arguments(contract: Contract) -> Iterator[Spec]:
    """Yield the specs of the arguments of an entry, late-bound values and tensors outside included."""
    for given in contract.args:
        yield from leaves(given.spec)
    for value in contract.values:
        yield from leaves(value.spec)
    for tensor in contract.tensors:
        yield tensor.spec


def _bit(number: int) -> int:
    """Return the place of a bit by its number, as the bridge counts. There are fewer than 64 in a number."""
    return number // BITS * 64 + number % BITS


def _holds_tensors(spec: Spec) -> bool:
    return isinstance(spec.elem if isinstance(spec, ListSpec) else spec, TensorSpec)


def _is_plain(spec: Spec) -> bool:
    content = spec.elem if isinstance(spec, ListSpec) else spec
    return isinstance(content, TensorSpec) or (isinstance(content, ScalarSpec) and content.kind != "str")
