"""Compute in Python what the graphs of torch.export call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor


def cond(pred: bool | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    return true_fn(*operands) if pred else false_fn(*operands)


def has_length(items: list[Tensor], length: int, messages: tuple[str, ...]) -> None:
    """Raise ValueError if a list has another length. The message is that for its length, or the last one."""
    if len(items) != length:
        raise ValueError(messages[min(len(items), len(messages) - 1)])
