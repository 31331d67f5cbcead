"""The entries that run forward, keep values, and run backward, for each set of inputs that require grad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from scriptc.driver.gradient_pipeline import GradientCode, compile_gradients
from scriptc.driver.variant import Variant
from scriptc.frontend.environment.results import Chooser, is_value_of
from scriptc.frontend.environment.specs import ListSpec, Spec, TensorSpec, TupleSpec, is_leaf, leaves, parts
from scriptc.ir.errors import CompileError
from scriptc.runtime import bridge
from scriptc.runtime.bridge import VariantSpec
from scriptc.runtime.tensors import DTYPES


class GradientCalls:
    """The gradient code of one variant: one library for each set of inputs that require grad."""

    def __init__(self, variant: Variant, spec: Callable[[Variant], VariantSpec]):
        self.variant = variant
        self.spec = spec
        self.calls: dict[frozenset[int], GradientCall | str] = {}
        self.plain: bridge.Callable | None = None

    def run_without(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the variant, which the call was found to fit, without gradients.

        Guards would not hold any more: autograd runs functions without grad mode.
        """
        if self.plain is None:
            self.plain = bridge.Callable(_does_not_fit)
            self.plain.add_variant(self.spec(self.variant)._replace(guards=(), grad_call=None))
        return self.plain.run_nograd(*args, **kwargs)

    def get(self, requires: frozenset[int], count: int) -> GradientCall | str:
        """Return the entries for inputs that require grad, by number out of `count`, or why there are none."""
        if requires not in self.calls:
            self.calls[requires] = self._compiled(requires, count)
        return self.calls[requires]

    def _compiled(self, requires: frozenset[int], count: int) -> GradientCall | str:
        arguments = count - len(self.variant.contract.tensors)
        inputs = sorted(requires)
        try:
            code = compile_gradients(
                self.variant, [i for i in inputs if i < arguments], [i - arguments for i in inputs if i >= arguments]
            )
        except CompileError as error:
            return str(error)
        return GradientCall(code, self.spec(self.variant), self.variant.contract.result, inputs)


# The number of the output that a tensor is; its shape, where gradients of other values stand for it; those of a list's items.
Slot = int | tuple[int, ...] | list["Slot"]


@dataclass
class Saved:
    """One call, between forward and backward.

    slots: for each output of the forward entry, where its gradient is found. kept: what the forward entry kept, with the
    number of a saved tensor for each tensor.
    weights: the tensors outside that the forward entry read, with the number of a saved tensor for each that backward reads.
    counts: for each input the number of its tensors, None for one that is a tensor.
    """

    call: GradientCall
    outputs: list[torch.Tensor]
    slots: list[Slot]
    kept: Any
    tensors: list[torch.Tensor]
    weights: list[Any] = field(default_factory=list)
    counts: list[int | None] = field(default_factory=list)


class GradientCall:
    """A forward entry and a backward entry. inputs: the numbers of the inputs whose gradients are computed."""

    def __init__(self, code: GradientCode, spec: VariantSpec, result: Spec, inputs: Sequence[int]):
        self.code = code
        self.result = result
        self.inputs = inputs
        both = TupleSpec((result, TupleSpec(code.outputs), TupleSpec(code.kept)))
        self.forward = bridge.Callable(_does_not_fit)
        self.forward.add_variant(
            spec._replace(library=code.library, entry=code.forward, result=both, guards=(), grad_call=None)
        )
        weights = [live.spec for live in spec.live[len(spec.live) - code.params :]]
        groups = {"kept": code.kept, "gradient": code.cotangents, "weight": weights}
        given = [bridge.Param(f"{group}{i}", s) for group, specs in groups.items() for i, s in enumerate(specs)]
        self.backward = bridge.Callable(_does_not_fit)
        self.backward.add_variant(
            VariantSpec(code.library, code.backward, tuple(given), TupleSpec(code.gradients), exceptions=spec.exceptions,
                        random=code.random)  # fmt: skip
        )

    def run_forward(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], differentiable: Sequence[bool], given: Sequence[torch.Tensor]
    ) -> tuple[Any, Saved]:
        """Run the forward entry; return its result, and what the backward entry needs.

        differentiable: for each leaf of the result whether it requires grad. given: the tensors of the inputs; a result that
        is one of them is returned as it is.
        """
        value, found, kept = self.forward.run_nograd(*args, **kwargs)
        outputs: list[torch.Tensor] = []
        seen = {id(t) for t in given}

        def slot(spec: Spec, leaf: Any, *, requires: bool) -> Slot:
            if isinstance(spec, ListSpec):
                return [slot(_item(spec), item, requires=requires) for item in leaf or ()]
            assert isinstance(spec, TensorSpec)
            if leaf is None:
                return (0,) * len(spec.sizes)
            if not requires or id(leaf) in seen:
                return tuple(leaf.shape)
            seen.add(id(leaf))
            outputs.append(leaf)
            return len(outputs) - 1

        flags = [requires for requires, takes in zip(differentiable, self.code.takes, strict=True) if takes]
        flags += [True] * (len(found) - len(flags))
        slots = [
            slot(spec, each, requires=requires)
            for spec, each, requires in zip(self.code.outputs, found, flags, strict=True)
        ]
        tensors: list[torch.Tensor] = []
        return value, Saved(self, outputs, slots, _numbered(kept, tensors), tensors)

    def save_weights(self, saved: Saved, inputs: Sequence[Any]) -> None:
        """Keep the tensors outside that forward read. Autograd tells if one that backward reads is written before that."""
        weights = inputs[len(inputs) - self.code.params :] if self.code.params else []
        saved.weights = [
            _numbered(weight, saved.tensors) if i in self.code.reads else weight for i, weight in enumerate(weights)
        ]

    def run_backward(self, saved: Saved, tensors: Sequence[torch.Tensor], grads: Sequence[torch.Tensor]) -> list[Any]:
        """Return the gradient of each of `inputs`, None where no gradient reaches it."""
        cotangents = [
            _cotangent(spec, slot, grads) for slot, spec in zip(saved.slots, self.code.cotangents, strict=True)
        ]
        weights = [_with_tensors(weight, tensors) for weight in saved.weights]
        found = iter(self.backward.run_nograd(*_with_tensors(saved.kept, tensors), *cotangents, *weights))
        made = [next(found) if arrives else None for arrives in self.code.arrives]
        return [g for gradient, n in zip(made, saved.counts, strict=True) for g in _spread(gradient, n)]


def _spread(gradient: Any, count: int | None) -> list[Any]:
    """Return the gradients of the tensors of an input. count: the number of items of a list, None for a tensor."""
    if count is None:
        return [gradient]
    return [None] * count if gradient is None else list(gradient)


def _cotangent(spec: Spec, slot: Slot, grads: Sequence[torch.Tensor]) -> Any:
    if isinstance(spec, ListSpec):
        assert isinstance(slot, list)
        return [_cotangent(_item(spec), each, grads) for each in slot]
    return grads[slot] if isinstance(slot, int) else torch.zeros((), dtype=_dtype(spec)).expand(slot)


def _item(spec: ListSpec) -> Spec:
    assert spec.elem is not None
    return spec.elem


def _dtype(spec: Spec) -> torch.dtype:
    assert isinstance(spec, TensorSpec)
    return DTYPES[spec.dtype]


def _does_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise AssertionError("the arguments of a gradient entry do not fit it")


def leaves_of_result(spec: Spec, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the leaves of a result with their specs; None for those of alternatives that the result is not."""
    if is_leaf(spec):
        yield spec, value
    elif isinstance(getattr(spec, "cls", None), Chooser):
        assert isinstance(spec, TupleSpec)
        tag, *alternatives = spec.items
        yield tag, None
        taken = next((a for a in alternatives if is_value_of(a, value)), None)
        for alternative in alternatives:
            assert alternative is not None
            if alternative is taken:
                yield from leaves_of_result(alternative, value)
            else:
                yield from ((leaf, None) for leaf in leaves(alternative))
    else:
        for item, part in parts(spec, value):
            yield from leaves_of_result(item, part)


def _numbered(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return a kept value with tensors replaced by their numbers in `tensors`, to which they are appended."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Number(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return type(value)(_numbered(v, tensors) for v in value)
    return value


def _with_tensors(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """Return a value that `_numbered` made, with its tensors."""
    if isinstance(value, _Number):
        return tensors[value.number]
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tensors(v, tensors) for v in value)
    return value


@dataclass(frozen=True)
class _Number:
    number: int
