"""The implementation of an operator: run the variant that fits, with the weights that the call gives.

A compiled function reads its weights from their modules at each call. An operator takes them as arguments, so that a
graph which holds the operator may be exported, saved and called with other weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from scriptc.dispatch.autograd import plan_of, tensors_by_input
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.dispatch.gradient_calls import GradientCall, GradientCalls, leaves_of_result
from scriptc.driver.variant import Variant
from scriptc.frontend.environment.specs import Contract, leaves, values_of
from scriptc.operators.schema import NotAnOperator, Schema, schema_of
from scriptc.runtime import bridge
from scriptc.runtime.bridge import VariantSpec


class _DoesNotFit(Exception):
    """Say that a variant does not take a call."""


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    return _DoesNotFit()


class LiftedVariant:
    """A variant whose tensors outside are arguments.

    weights: for each tensor outside its number among the weights of the operator.
    """

    def __init__(self, variant: Variant, dispatcher: Dispatcher, weights: Sequence[int]):
        self.variant = variant
        self.dispatcher = dispatcher
        self.weights = weights
        self.callable = bridge.Callable(_refuse)
        self.callable.add_variant(self.spec(variant))
        self.gradients = GradientCalls(variant, self.spec)

    def spec(self, variant: Variant) -> VariantSpec:
        spec = self.dispatcher.spec(variant)
        weights = [bridge.Param(None, live.spec) for live in spec.live]
        params = [bridge.Param(None, param.spec) for param in spec.params]
        return spec._replace(params=(*params, *weights), live=(), grad_call=None, bind=None, positional=None)

    def arguments(self, values: Sequence[Any], weights: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        return (*values, *(weights[i] for i in self.weights))

    @property
    def contract(self) -> Contract:
        return self.variant.contract


class Implementation:
    """Runs the calls of one operator.

    weights: the tensors outside, by container and key, in the order in which the operator takes them.
    """

    def __init__(self, dispatcher: Dispatcher):
        self.dispatcher = dispatcher
        self.target = dispatcher.target
        self.schema: Schema = schema_of(self.target, dispatcher.variants)
        self.weights: list[tuple[Any, Any]] = []
        for variant in dispatcher.variants:
            for late in variant.contract.tensors:
                if self._number(late.container, late.key) is None:
                    self.weights.append((late.container, late.key))
        self.lifted = [self.lift(variant) for variant in dispatcher.variants]

    def _number(self, container: Any, key: Any) -> int | None:
        places = (i for i, (held, name) in enumerate(self.weights) if held is container and name == key)
        return next(places, None)

    def lift(self, variant: Variant) -> LiftedVariant:
        """Return a variant for the operator. Raise NotAnOperator if the calls of the operator could not see all it does."""
        numbers = [self._number(late.container, late.key) for late in variant.contract.tensors]
        if None in numbers:
            name = variant.contract.tensors[numbers.index(None)].name
            raise NotAnOperator(
                f"this call of {self.target.name} reads {name}, which the calls before as_torch_op did not read: give it an "
                "example of each kind of calls"
            )
        return LiftedVariant(variant, self.dispatcher, [n for n in numbers if n is not None])

    def add(self, values: Sequence[Any]) -> None:
        """Add the variants that the dispatcher has got since, one for a call that fits none here among them."""
        call = self.target.signature.bind_partial()
        call.arguments.update(zip(self.target.signature.parameters, values, strict=True))
        self.dispatcher.provide(call.args, call.kwargs)
        schema = schema_of(self.target, self.dispatcher.variants)
        if _types(schema) != _types(self.schema):
            raise NotAnOperator(f"this call of {self.target.name} has other types than the schema of the operator")
        known = {id(lifted.variant) for lifted in self.lifted}
        self.lifted += [self.lift(variant) for variant in self.dispatcher.variants if id(variant) not in known]

    def split(self, flat: Sequence[Any]) -> tuple[Sequence[torch.Tensor], list[Any]]:
        """Return the weights and the values of the arguments, by the arguments of an operator call.

        PyTorch leaves out arguments at the end that have their defaults.
        """
        weights, given = (flat[0], flat[1:]) if self.schema.weights else ((), flat)
        parameters = list(self.target.signature.parameters.values())
        given = [*given, *(parameter.default for parameter in parameters[len(given) :])]
        values = [
            tuple(value) if argument.as_tuple and value is not None else value
            for argument, value in zip(self.schema.arguments, given, strict=True)
        ]
        return weights, values

    def run(self, *flat: Any) -> list[Any]:
        """Run a call; return the leaves of its result. Tensors among them are fresh and contiguous."""
        weights, values = self.split(flat)
        with torch.no_grad():
            lifted, result = self._called(weights, values)
        return _apart([value for _, value in leaves_of_result(lifted.contract.result, result)], [*tensors_in(flat)])

    def _called(self, weights: Sequence[torch.Tensor], values: list[Any]) -> tuple[LiftedVariant, Any]:
        for lifted in self.lifted:
            try:
                return lifted, lifted.callable.run_nograd(*lifted.arguments(values, weights))
            except _DoesNotFit:
                continue
        lifted = self.fitting(weights, values)
        return lifted, lifted.callable.run_nograd(*lifted.arguments(values, weights))

    def fitting(self, weights: Sequence[torch.Tensor], values: list[Any]) -> LiftedVariant:
        """Return the variant that a call takes."""

        def fits(lifted: LiftedVariant) -> bool:
            return bool(lifted.callable.fits(*lifted.arguments(values, weights)))

        lifted = next(filter(fits, self.lifted), None)
        if lifted is None:
            self.add(values)
            lifted = next(filter(fits, self.lifted))
        return lifted

    def reached(self) -> list[bool]:
        """Return for each argument, the list of weights first, whether gradients may reach its tensors."""
        count = len(self.schema.arguments)
        found = [False] * (count + self.schema.weights)
        for lifted in self.lifted:
            numbers = lifted.variant.gradients.inputs()
            first = 0
            for i, arg in enumerate(lifted.contract.args):
                end = first + sum(1 for _ in leaves(arg.spec))
                found[i + self.schema.weights] |= any(n in numbers for n in range(first, end))
                first = end
            if self.schema.weights:
                found[0] |= any(n >= first for n in numbers)
        return found

    def backward(self, grads: Sequence[torch.Tensor | None], needs: Sequence[bool], *flat: Any) -> list[torch.Tensor]:
        """Return the gradients of the tensors of a call that need one, zeros where none flows.

        The forward half runs again: an operator keeps nothing between forward and backward.
        """
        weights, values = self.split(flat)
        lifted = self.fitting(weights, values)
        arguments = dict(zip(self.target.signature.parameters, values, strict=True))
        inputs = [leaf for a in lifted.contract.args for leaf in values_of(a.spec, arguments[a.name])]
        inputs += [weights[i] for i in lifted.weights]
        tensors = tensors_by_input(inputs)
        needed = [t for t, need in zip(tensors_in(flat), needs, strict=True) if need]
        wanted = {id(t) for t in needed}
        required = frozenset(i for i, found in enumerate(tensors) if any(id(t) in wanted for t in found))
        plan = plan_of(self.target, lifted.variant.gradients, lifted.gradients, required, len(inputs))
        found: dict[int, torch.Tensor] = {}
        if isinstance(plan.call, str):
            raise NotImplementedError(plan.call)
        if plan.call is not None:
            found = self._gradients(plan.call, plan.differentiable, lifted, inputs, tensors, values, weights, grads)
        # A tensor that is several arguments gets its gradient once.
        made = [found.pop(id(t)) if id(t) in found else torch.zeros(t.shape, dtype=t.dtype) for t in needed]
        return _apart(made, [])

    def _gradients(
        self, call: GradientCall, differentiable: Sequence[bool], lifted: LiftedVariant, inputs: list[Any],
        tensors: Sequence[tuple[torch.Tensor, ...]], values: list[Any], weights: Sequence[torch.Tensor],
        grads: Sequence[torch.Tensor | None],
    ) -> dict[int, torch.Tensor]:  # fmt: skip
        """Run both halves; return the gradients by the ids of the tensors."""
        given = {id(t) for found in tensors for t in found}
        with torch.no_grad():
            result, saved = call.run_forward(lifted.arguments(values, weights), {}, differentiable, given)
            sources = call.save_inputs(saved, inputs, tensors)
            returned = [*tensors_in([value for _, value in leaves_of_result(lifted.contract.result, result)])]
            of = _summed(zip(returned, grads, strict=True))
            arriving = [of.get(id(t)) for t in saved.outputs]
            made = call.run_backward(saved, saved.tensors, arriving)
            passed = {id(t): (t, of[id(t)]) for t in returned if id(t) in given and id(t) in of}
        return _summed([*zip(sources, made, strict=True), *passed.values()])


def _types(schema: Schema) -> Any:
    """Return what later calls must have in common with the schema: all but whether arguments are optional, and defaults."""
    return schema.results, [(argument.type, argument.written) for argument in schema.arguments]


def tensors_in(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among the arguments or results of an operator, in order."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def _summed(pairs: Iterable[tuple[torch.Tensor, torch.Tensor | None]]) -> dict[int, torch.Tensor]:
    """Return the sum of the gradients of each tensor, by its id."""
    total: dict[int, torch.Tensor] = {}
    for tensor, gradient in pairs:
        if gradient is not None:
            total[id(tensor)] = total[id(tensor)] + gradient if id(tensor) in total else gradient
    return total


def _apart(leaves: list[Any], inputs: Sequence[torch.Tensor]) -> list[Any]:
    """Return results with tensors that are contiguous and share no memory with one another nor with arguments."""
    taken = {t.untyped_storage().data_ptr() for t in inputs}

    def own(value: Any) -> Any:
        if isinstance(value, list):
            return [own(item) for item in value]
        if not isinstance(value, torch.Tensor):
            return value
        made = value.contiguous()
        if made.numel() and made.untyped_storage().data_ptr() in taken:
            made = made.clone()
        taken.add(made.untyped_storage().data_ptr())
        return made

    return [own(value) for value in leaves]
