"""The decorator that lists the programs of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from three_ways import Args, Program

T = TypeVar("T", bound=Callable[..., object])
LANGUAGE: list[Program] = []


def cases(*calls: object) -> Callable[[T], T]:
    """Each call is a tuple of arguments or a single argument."""

    def listed(target: T) -> T:
        LANGUAGE.append(Program(target, [Args(c if type(c) is tuple else (c,)) for c in calls]))
        return target

    return listed
