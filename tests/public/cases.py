"""The list of public programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from three_ways import Args, call

PUBLIC: list[Case] = []


@dataclass
class Case:
    """A program: what to compile, and its calls. `make` is run under one seed."""

    name: str
    make: Callable[[], tuple[Any, list[Args]]]


def public(make: Callable[[], tuple[Any, list[Args]]]) -> Callable[[], tuple[Any, list[Args]]]:
    """Registers a function that makes a module in evaluation mode (or a function) and its calls."""

    def seeded() -> tuple[Any, list[Args]]:
        torch.manual_seed(0)
        target, calls = make()
        return (target.eval() if isinstance(target, torch.nn.Module) else target), calls

    PUBLIC.append(Case(make.__name__, seeded))
    return make


def lengths(make: Callable[[int], tuple[Any, ...]], *sizes: int) -> list[Args]:
    """One call per length, in an order that is not sorted: the first builds, the others must fit it."""
    return [call(*make(n)) for n in (sizes or (5, 1, 0, 9, 2))]
