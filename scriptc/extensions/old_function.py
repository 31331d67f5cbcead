"""Functions of autograd in the style of torch 0.3 and before: `forward` and `backward` are methods of an instance."""

from __future__ import annotations

from typing import Any

import torch


class Function:
    """A function whose instance is called once: `MyFunction()(x, y)`.

    A subclass has `forward(self, *inputs)` and `backward(self, *grad_outputs)`, which returns a gradient for each input.
    `self.save_for_backward`, `self.saved_tensors`, `self.needs_input_grad`, `self.mark_dirty` and
    `self.mark_non_differentiable` are those of the `ctx` of torch.autograd.Function. `backward` is called on a copy of
    the instance, with the attributes that `forward` left.
    """

    def __call__(self, *inputs: Any) -> Any:
        return _Applied.apply(self, *inputs)

    def forward(self, *inputs: Any) -> Any:
        raise NotImplementedError

    def backward(self, *grad_outputs: Any) -> Any:
        raise NotImplementedError

    def save_for_backward(self, *tensors: torch.Tensor | None) -> None:
        self._to_save = tensors

    def mark_dirty(self, *tensors: torch.Tensor) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None:
        self._non_differentiable = tensors


class _Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, *inputs: Any) -> Any:
        function._to_save = function._dirty = function._non_differentiable = ()
        result = function.forward(*inputs)
        ctx.save_for_backward(*function._to_save)
        ctx.mark_dirty(*function._dirty)
        ctx.mark_non_differentiable(*function._non_differentiable)
        del function._to_save, function._dirty, function._non_differentiable
        ctx.kind, ctx.attributes = type(function), dict(vars(function))
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        function = object.__new__(ctx.kind)
        for name, value in ctx.attributes.items():
            setattr(function, name, value)
        function.saved_tensors = ctx.saved_tensors
        function.needs_input_grad = ctx.needs_input_grad[1:]
        found = function.backward(*grad_outputs)
        gradients = found if isinstance(found, tuple) else (found,)
        expected = len(function.needs_input_grad)
        if len(gradients) < expected:  # torch names the class of this function, and counts one more
            counts = f"(expected {expected}, got {len(gradients)})"
            raise RuntimeError(f"function {type(function).__name__} returned an incorrect number of gradients {counts}")
        return (None, *gradients)
