"""The context of torch.autograd.Function in forward and in backward."""

from __future__ import annotations

from typing import Any


class Context:
    """The `ctx` of `forward` and `setup_context`."""

    def __init__(self) -> None:
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        pass

    def mark_dirty(self, *tensors: Any) -> None:
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    @property
    def needs_input_grad(self) -> Any:
        return asks_for_gradients()


class BackwardContext:
    """The `ctx` of `backward`, which has the attributes that forward set."""


def asks_for_gradients() -> Any:
    """Refuse needs_input_grad in forward. A handler serves this function."""
    raise NotImplementedError
