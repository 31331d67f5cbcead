"""Inputs that the programs share, and the decorator that lists their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from three_ways import Args, Program

T = TypeVar("T", bound=Callable[..., object])
PROGRAMS: list[Program] = []


def cases(*calls: object) -> Callable[[T], T]:
    """Each call is a tuple of arguments, an Args, or a single argument."""

    def listed(target: T) -> T:
        PROGRAMS.append(
            Program(target, [c if isinstance(c, Args) else Args(c if type(c) is tuple else (c,)) for c in calls])
        )
        return target

    return listed


def tensor(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Numbers of both signs; small whole numbers for integer dtypes."""
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    if dtype == torch.bool:
        return values > 0
    return (values.abs() if dtype == torch.uint8 else values).to(dtype)
