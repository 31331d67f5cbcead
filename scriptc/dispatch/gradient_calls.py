"""The entries that run forward, keep values, and run backward, for each set of inputs that require grad."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple

import torch

from scriptc.dispatch.gradient_groups import Layout, layout_of, numbers_of
from scriptc.driver.gradient_pipeline import GradientCode, compile_gradients
from scriptc.driver.variant import Variant
from scriptc.frontend.environment.results import Chooser, is_value_of
from scriptc.frontend.environment.specs import (
    Contract,
    ListSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    is_leaf,
    leaves,
    parts,
)
from scriptc.ir.errors import CompileError
from scriptc.ir.gradients.reached import BITS
from scriptc.runtime import bridge
from scriptc.runtime.bridge import VariantSpec
from scriptc.runtime.tensors import DTYPES


class Plan(NamedTuple):
    """A plan for the calls in which the same inputs require grad.

    requires: the numbers of those from which a gradient may flow. differentiable: for each leaf of the result whether it
    requires grad. stores, lists: the numbers of the write-backs, and of the inputs that are lists, through which tensors that
    require grad may leave the call.
    call: the entries that compute gradients, or why backward is not supported; None if autograd has nothing to see.
    """

    requires: frozenset[int]
    differentiable: tuple[bool, ...]
    stores: Sequence[int]
    lists: Sequence[int]
    call: GradientCall | str | None


class GradientCalls:
    """The gradient code of one variant: one library for each set of inputs that require grad.

    plans: by the numbers of the inputs that require grad, used or not.
    """

    def __init__(self, variant: Variant, spec: Callable[[Variant], VariantSpec]):
        self.variant = variant
        self.spec = spec
        self.calls: dict[frozenset[int], GradientCall | str] = {}
        self.plans: dict[frozenset[int], Plan] = {}
        self.plain: bridge.Callable | None = None

    def run_without(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the variant, which the call was found to fit, without gradients.

        Guards would not hold any more: autograd runs functions without grad mode.
        """
        if self.plain is None:
            self.plain = bridge.Callable(_does_not_fit)
            self.plain.add_variant(self.spec(self.variant)._replace(guards=(), grad_call=None))
        return self.plain.run_nograd(*args, **kwargs)

    def compile(self, requires: frozenset[int], count: int) -> GradientCall | str:
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
        return GradientCall(code, self.spec(self.variant), self.variant.contract, inputs)


# The number of the output that a tensor is; its shape, where gradients of other values stand for it; those of a list's items.
Slot = int | tuple[int, ...] | list["Slot"]


def assigned_data(contract: Contract) -> list[torch.Tensor]:
    """Return the tensors outside whose `.data` a call assigns to."""
    return [s.owner for s in contract.write_backs if isinstance(s.owner, torch.Tensor) and s.key == "data"]


@dataclass
class Saved:
    """One call, between forward and backward.

    slots: for each output of the forward entry, where its gradient is found. kept: what the forward entry kept, without the
    tensors. tensors: those, and then the tensors outside that backward reads.
    weights: the tensors outside that the forward entry read, without those that backward reads.
    data: the tensors whose `.data` the call assigned to, with their new data. Autograd would compute with later ones.
    counts: for each input the number of its tensors that have gradients, None for one that is a tensor.
    fetched: for each list of tensors that forward took out of containers, the numbers of these tensors behind those of the
    inputs, None for one that does not require grad.
    shapes: of the outputs.
    """

    call: GradientCall
    outputs: list[torch.Tensor]
    slots: list[Slot]
    kept: list[Any]
    tensors: list[torch.Tensor]
    fetched: Sequence[Any]
    weights: list[Any] = field(default_factory=list)
    data: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)
    counts: list[int | None] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    numbers: Sequence[int] = ()


class GradientCall:
    """A forward entry and a backward entry. inputs: the numbers of the inputs whose gradients are computed."""

    def __init__(self, code: GradientCode, spec: VariantSpec, contract: Contract, inputs: Sequence[int]):
        self.code = code
        self.inputs = inputs
        self.contract = contract
        self.spec = spec
        self.forward = bridge.Callable(_does_not_fit)
        self.forward.add_variant(self.forward_spec())
        weights = [late.spec for late in contract.tensors[len(contract.tensors) - code.params :]]
        flags = [ScalarSpec("bool")] * len(code.flags)
        groups = {"kept": code.kept, "gradient": code.cotangents, "given": flags, "weight": weights}
        given = [bridge.Param(f"{group}{i}", s) for group, specs in groups.items() for i, s in enumerate(specs)]
        self.backward_spec = VariantSpec(
            code.library, code.backward, tuple(given), TupleSpec(code.gradients), exceptions=spec.exceptions, random=code.random
        )
        self.backward = bridge.Callable(_does_not_fit)
        self.backward.add_variant(self.backward_spec)
        self._returned = [i for i, number in enumerate(code.kept_inputs) if number is None]
        self._inputs = [(i, number) for i, number in enumerate(code.kept_inputs) if number is not None]
        self._tensors = [i for i, s in enumerate(code.kept) if isinstance(s, TensorSpec)]
        containers = [i for i, s in enumerate(code.kept) if not isinstance(s, (TensorSpec, ScalarSpec))]
        self._containers = [i for i in containers if _may_hold_tensors(code.kept[i])]
        self._others = [i for i in containers if not _may_hold_tensors(code.kept[i])]

    def layout(self, differentiable: Sequence[bool]) -> Layout | None:
        """Return the nodes of a call in autograd's graph, None for a single one. differentiable: see `run_forward`."""
        return layout_of(self.code.reaches, self.requires(differentiable), self.code.arrives)

    def requires(self, differentiable: Sequence[bool]) -> list[bool]:
        """Return for each output of the forward entry whether it requires grad. differentiable: see `run_forward`."""
        flags = [requires for requires, takes in zip(differentiable, self.code.takes, strict=True) if takes]
        return flags + [True] * (len(self.code.outputs) - len(flags))

    def nodes(self, saved: Saved, layout: Layout) -> tuple[list[list[int]], list[list[int]]]:
        """Return the outputs of each port of a call, and the tensors of each group."""
        outputs: list[int | None] = [None] * len(saved.outputs)
        for slot, port in zip(saved.slots, layout.ports, strict=True):
            for number in slot if isinstance(slot, list) else (slot,):
                if isinstance(number, int):
                    outputs[number] = port
        sources: list[int | None] = []
        for count, group in zip(saved.counts, layout.groups, strict=True):
            sources += [group] * (1 if count is None else count)
        return numbers_of(outputs, len(layout.reached)), numbers_of(sources, 1 + max(g for g in layout.groups if g is not None))

    def forward_spec(self, *, returns_kept: bool = False) -> VariantSpec:
        """Return the spec of the forward entry.

        The entry returns the result, the outputs, tensors that it took out of containers, kept values, and numbers with bits.
        returns_kept: there are no tensors from containers.
        """
        code = self.code
        kept = tuple(s for s, i in zip(code.kept, code.kept_inputs, strict=True) if i is None)
        numbers = (ScalarSpec("i64"),) * code.numbers
        parts = (code.outputs, kept, numbers) if returns_kept else (code.outputs, code.fetched, kept, numbers)
        result = TupleSpec((self.contract.result, *map(TupleSpec, parts)))
        cut = self.spec.cut and self.spec.cut.ljust(sum(1 for _ in leaves(result)), b"\0")
        return self.spec._replace(
            library=code.library, entry=code.forward, result=result, guards=(), grad_call=None, cut=cut
        )

    def run_forward(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], differentiable: Sequence[bool], given: Collection[int]
    ) -> tuple[Any, Saved]:
        """Run the forward entry; return its result, and what the backward entry needs.

        differentiable: for each leaf of the result whether it requires grad. given: the ids of the tensors of the inputs; a
        result that is one of them is returned as it is.
        """
        value, found, fetched, made, numbers = self.forward.run_nograd(*args, **kwargs)
        outputs: list[torch.Tensor] = []
        seen = set(given)

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

        flags = self.requires(differentiable)
        slots = [
            slot(spec, each, requires=requires)
            for spec, each, requires in zip(self.code.outputs, found, flags, strict=True)
        ]
        kept: list[Any] = [None] * len(self.code.kept)
        for i, each in zip(self._returned, made, strict=True):
            kept[i] = each
        return value, Saved(self, outputs, slots, kept, [], fetched, shapes=[t.shape for t in outputs], numbers=numbers)

    def save_inputs(
        self, saved: Saved, inputs: Sequence[Any], tensors: Sequence[tuple[torch.Tensor, ...]]
    ) -> list[torch.Tensor]:
        """Keep what backward needs, and return the tensors for which it computes gradients.

        inputs, tensors: the inputs, and the tensors that were in each of them before the call. Autograd tells if a tensor
        outside that backward reads is written before that. Nothing tells if a container is, so those that are kept are copies.
        """
        kept = saved.kept
        for i, number in self._inputs:
            kept[i] = inputs[number]
        saved.tensors = [kept[i] for i in self._tensors]
        for i in self._tensors:
            kept[i] = None
        for i in self._containers:
            kept[i] = _numbered(kept[i], saved.tensors)
        for i in self._others:
            kept[i] = _copied(kept[i])
        weights = list(inputs[len(inputs) - self.code.params :]) if self.code.params else []
        for i in self.code.reads:
            saved.tensors.append(weights[i])
            weights[i] = None
        saved.weights = weights
        sources: list[torch.Tensor] = []
        for number in self.inputs:
            value = inputs[number]
            own = tensors[number] if isinstance(value, torch.Tensor) or is_list_of_tensors(value) else ()
            sources += own
            saved.counts.append(None if isinstance(value, torch.Tensor) else len(own))
        if saved.fetched:
            numbers: dict[int, int] = {}
            for t in (t for found in saved.fetched for t in found):
                if t.requires_grad and id(t) not in numbers:
                    numbers[id(t)] = len(numbers)
                    sources.append(t)
            saved.fetched = [[numbers.get(id(t)) for t in found] for found in saved.fetched]
        return sources

    def reached(self, numbers: Sequence[int]) -> Sequence[frozenset[int]]:
        """Return for each output the inputs that its gradient reaches. numbers: with bits, which the forward entry returned."""
        reaches, uncertain = self.code.reaches, self.code.uncertain
        if not uncertain:
            return reaches
        found = []
        for k, inputs in enumerate(reaches):
            missing = {i for n, i in enumerate(uncertain) if not numbers[n // BITS * len(reaches) + k] >> n % BITS & 1}
            found.append(inputs - missing)
        return found

    def run_backward(
        self, saved: Saved, tensors: Sequence[torch.Tensor], grads: Sequence[torch.Tensor | None]
    ) -> list[torch.Tensor | None]:
        """Return the gradient of each tensor that `save_inputs` returned, None where no gradient reaches it.

        tensors: those of `saved`, as autograd returns them. grads: of the outputs, None for those that are not given.
        """
        given = [_is_given(slot, grads) for slot in saved.slots]
        reached = frozenset[int]().union(*compress(self.reached(saved.numbers), given))
        cotangents = [
            _cotangent(spec, slot, grads, saved.shapes)
            for slot, spec in zip(saved.slots, self.code.cotangents, strict=True)
        ]
        kept, weights = saved.kept[:], saved.weights[:]
        for i, t in zip(self._tensors, tensors, strict=False):
            kept[i] = t
        for i in self._containers:
            kept[i] = _with_tensors(kept[i], tensors)
        for i, t in zip(self.code.reads, tensors[len(tensors) - len(self.code.reads) :], strict=True):
            weights[i] = t
        made = self.backward.run_nograd(*kept, *cotangents, *(given[i] for i in self.code.flags), *weights)
        own = iter(made)
        found: list[Any] = []
        for i, (arrives, n) in enumerate(zip(self.code.arrives, saved.counts, strict=True)):
            gradient = next(own) if arrives else None
            if i not in reached:
                gradient = None
            if n is None:
                found.append(gradient)
            else:
                found += [None] * n if gradient is None else gradient
        return found + _totals(saved.fetched, list(own)) if saved.fetched else found


def _may_hold_tensors(spec: Spec | None) -> bool:
    return _may_hold_tensors(spec.elem) if isinstance(spec, ListSpec) else not isinstance(spec, ScalarSpec)


def is_list_of_tensors(value: Any) -> bool:
    """Return whether a value is a list, tuple or deque that holds only tensors."""
    if type(value) is list and set(map(type, value)) == {torch.Tensor}:
        return True  # found in half the time
    return isinstance(value, (list, tuple, deque)) and all(isinstance(item, torch.Tensor) for item in value)


def _totals(fetched: Sequence[list[int | None]], gradients: Sequence[list[torch.Tensor]]) -> list[torch.Tensor]:
    """Return the gradient of each tensor that was taken out of containers, as often as it was.

    gradients: for each list of tensors those of its items, from the last to the first.
    """
    totals: dict[int, torch.Tensor] = {}
    for numbers, found in zip(fetched, gradients, strict=True):
        for number, gradient in zip(reversed(numbers), found, strict=True):
            if number is not None:
                totals[number] = totals[number] + gradient if number in totals else gradient
    return [totals[number] for number in sorted(totals)]


def _is_given(slot: Slot, grads: Sequence[torch.Tensor | None]) -> bool:
    """Return whether the gradient of an output is given, or of an item of it."""
    if isinstance(slot, list):
        return any(_is_given(each, grads) for each in slot)
    return isinstance(slot, int) and grads[slot] is not None


def _cotangent(
    spec: Spec, slot: Slot, grads: Sequence[torch.Tensor | None], shapes: Sequence[tuple[int, ...]]
) -> Any:
    if isinstance(slot, list):
        assert isinstance(spec, ListSpec)
        return [_cotangent(_item(spec), each, grads, shapes) for each in slot]
    given = grads[slot] if isinstance(slot, int) else None
    if given is not None:
        return given
    return torch.zeros((), dtype=_dtype(spec)).expand(shapes[slot] if isinstance(slot, int) else slot)


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


def _copied(value: Any) -> Any:
    """Return a copy of a container without tensors. Backward code takes lists for deques."""
    if isinstance(value, (list, tuple, deque)):
        copies = map(_copied, value)
        return tuple(copies) if isinstance(value, tuple) else list(copies)
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, dict) else copy.copy(value)


def _numbered(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return a kept value, as `_copied` does, with numbers of tensors in `tensors`, to which they are appended, for tensors."""
    if type(value) in (list, deque) and is_list_of_tensors(value):
        tensors.extend(value)
        return _Range(len(tensors) - len(value), len(tensors))
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Number(len(tensors) - 1)
    if isinstance(value, (list, tuple, deque)):
        numbered = (_numbered(v, tensors) for v in value)
        return tuple(numbered) if isinstance(value, tuple) else list(numbered)
    return {k: _numbered(v, tensors) for k, v in value.items()} if isinstance(value, dict) else value


def _with_tensors(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """Return a value that `_numbered` made, with its tensors."""
    if isinstance(value, _Number):
        return tensors[value.number]
    if isinstance(value, _Range):
        return list(tensors[value.first : value.behind])
    if isinstance(value, (list, tuple)):
        return type(value)(_with_tensors(v, tensors) for v in value)
    return {k: _with_tensors(v, tensors) for k, v in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True)
class _Number:
    number: int


@dataclass(frozen=True)
class _Range:
    """A list of tensors, by the numbers of the first one and of the one behind the last."""

    first: int
    behind: int
