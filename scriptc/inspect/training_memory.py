"""Find the memory of a call and of its backward as formulas of the sizes of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from scriptc.dispatch.autograd import inputs_of, plan_of, requires_grad, tensors_by_input
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.dispatch.gradient_calls import GradientCall, GradientCalls
from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import Contract
from scriptc.inspect.memory import Finder, Measured, Memory
from scriptc.inspect.notebook_html import print_text
from scriptc.inspect.snapshots import copied, undo_writes

_TITLES = ("peak memory of forward", "memory that forward keeps for backward", "peak memory of backward")


@dataclass(frozen=True)
class TrainingMemory:
    """The memory of a call that autograd sees, and of its backward, as formulas of the sizes.

    Values that forward keeps are results of forward, so they count there too. Backward takes them from autograd, and they
    do not count there: while backward runs, there are `kept` and up to `backward` bytes.

    forward: the peak of the call.
    kept: the tensors that the call keeps for backward, other than arguments and weights.
    backward: the peak of backward. The gradients that it returns count.
    """

    forward: Memory
    kept: Memory
    backward: Memory

    def __str__(self) -> str:
        return "\n".join(map(str, (self.forward, self.kept, self.backward)))

    def _repr_html_(self) -> str:
        return "".join(part._repr_html_() for part in (self.forward, self.kept, self.backward))

    _repr_pretty_ = print_text


def training_memory(dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TrainingMemory:
    """Find the formulas from a call, and from calls with random arguments in other sizes.

    Writes to the module are undone. Raises what the call raises, ValueError if no gradient would flow from a result to an
    input that requires grad, and NotImplementedError if the gradients are not supported.
    """
    receiver = dispatcher.target.receiver
    with undo_writes(receiver if isinstance(receiver, torch.nn.Module) else None):
        own = Dispatcher(dispatcher.obj, dispatcher.options)
        target = own.target
        example = target.bind(*copied((args, kwargs)))
        with torch.enable_grad():
            variant = own.add(example)
        inputs = inputs_of(variant.contract, target.bind(args, kwargs))
        required = requires_grad(tensors_by_input(inputs))
        plan = plan_of(target, variant.gradients, GradientCalls(variant, own.spec), required, len(inputs))
        if not any(plan.differentiable):
            raise ValueError(f"no gradient flows from a result of {target.name} to an input that requires grad")
        if not isinstance(plan.call, GradientCall):
            raise NotImplementedError(plan.call)
        with torch.no_grad():
            measure = _TrainingCall(target, variant.contract, plan.call, plan.differentiable)
            roots = own.options.cuts_loops
            return TrainingMemory(*Finder(target, variant.contract, measure, args, kwargs, roots=roots).find(_TITLES))


class _TrainingCall:
    """Runs a forward and a backward entry, each in a fresh context, and counts their bytes."""

    def __init__(self, target: Target, contract: Contract, call: GradientCall, differentiable: Sequence[bool]):
        self.target = target
        self.contract = contract
        self.entries = call
        self.differentiable = differentiable

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Measured]:
        call = self.entries
        inputs = inputs_of(self.contract, self.target.bind(args, kwargs))
        tensors = tensors_by_input(inputs)
        given = [t for found in tensors for t in found]
        call.forward.count_allocations()
        _, saved = call.run_forward(args, kwargs, self.differentiable, {id(t) for t in given})
        forward = call.forward.asked_bytes, call.forward.peak_bytes
        call.save_inputs(saved, inputs, tensors)
        own = {t.untyped_storage().data_ptr() for t in given}
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in saved.tensors}
        kept = sum(size for pointer, size in storages.items() if pointer not in own)
        call.backward.count_allocations()
        call.run_backward(saved, saved.tensors, [torch.ones_like(t) for t in saved.outputs])
        return [forward, (kept, kept), (call.backward.asked_bytes, call.backward.peak_bytes)]
