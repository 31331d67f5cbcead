"""A case: a published model, tiny, with calls of two sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A model and its calls. `make` builds both under one seed."""

    name: str
    make: Callable[[], tuple[torch.nn.Module, Sequence[Call]]]
