"""A case: a published model, small, with calls of two sizes."""

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


def weights_of(build: Callable[[], torch.nn.Module]) -> int:
    """Return how many weights the model has that `build` makes. The weights take no memory, unless `build` reads them."""
    try:
        with torch.device("meta"):
            model = build()
    except (RuntimeError, NotImplementedError):
        model = build()
    return sum(p.numel() for p in model.parameters() if not isinstance(p, torch.nn.UninitializedParameter))


def built(build: Callable[[], torch.nn.Module], most: int) -> torch.nn.Module:
    """Return the model that `build` makes, for inference. Raise a `ValueError` if it has more weights than `most`."""
    if (weights := weights_of(build)) > most:
        raise ValueError(f"the model has {weights:,} weights")
    return build().eval()
