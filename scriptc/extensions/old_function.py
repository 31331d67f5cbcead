"""Functions of autograd in the style of torch 0.3 and before: `forward` and `backward` are methods of an instance."""

from __future__ import annotations

from typing import Any

import torch


class Function:
    """A function whose instance is called once: `MyFunction()(x, y)`.

    A subclass has `forward(self, *inputs)` and `backward(self, *grad_outputs)`, which returns a gradient for each input.
    `self.save_for_backward`, `self.saved_tensors`, `self.needs_input_grad`, `self.mark_dirty` and
    `self.mark_non_differentiable` are those of the `ctx` of torch.autograd.Function.
    """

    _ctx: Any = None

    def __call__(self, *inputs: Any) -> Any:
        return _Applied.apply(self, *inputs)

    def forward(self, *inputs: Any) -> Any:
        raise NotImplementedError

    def backward(self, *grad_outputs: Any) -> Any:
        raise NotImplementedError

    def save_for_backward(self, *tensors: torch.Tensor | None) -> None:
        self._ctx.save_for_backward(*tensors)

    def mark_dirty(self, *tensors: torch.Tensor) -> None:
        self._ctx.mark_dirty(*tensors)

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None:
        self._ctx.mark_non_differentiable(*tensors)

    @property
    def saved_tensors(self) -> tuple[torch.Tensor | None, ...]:
        saved: tuple[torch.Tensor | None, ...] = self._ctx.saved_tensors
        return saved

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        needs: tuple[bool, ...] = self._ctx.needs_input_grad
        return needs[1:]


class _Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, *inputs: Any) -> Any:
        function._ctx = ctx
        ctx.function = function
        try:
            return function.forward(*inputs)
        finally:
            function._ctx = None

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        function = ctx.function
        function._ctx = ctx
        try:
            found = function.backward(*grad_outputs)
        finally:
            function._ctx = None
        return (None, *found) if isinstance(found, tuple) else (None, found)
