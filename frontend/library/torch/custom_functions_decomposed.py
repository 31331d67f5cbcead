"""The context of torch.autograd.Function in compiled code, which computes no gradients by it."""

from __future__ import annotations

from typing import Any


class Context:
    def __init__(self) -> None:
        self.dirty: tuple[Any, ...] = ()
        self.without_gradient: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        pass

    def mark_dirty(self, *tensors: Any) -> None:
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.without_gradient = tensors

    def set_materialize_grads(self, value: bool) -> None:
        pass

    @property
    def needs_input_grad(self) -> Any:
        return asks_for_gradients()


def asks_for_gradients() -> Any:
    """Refuse needs_input_grad. A handler serves this function."""
    raise NotImplementedError
