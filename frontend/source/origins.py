"""The user's lines from which the lines of generated functions come, such as those of the graphs of torch.fx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scriptc.ir.loc import Loc

_origins: dict[str, Mapping[int, Loc]] = {}  # by the file name in the code of a generated function


def give_origins(file: str, lines: Mapping[int, Loc]) -> None:
    """Let errors in a generated file name the user's locations of its lines."""
    _origins[file] = lines


def forget_origins(file: str) -> None:
    _origins.pop(file, None)


def origin(file: str, line: int, inlined_at: Loc | None) -> Loc | None:
    """Return the user's location of a line that is read at a call site; None if the line has no origin."""
    lines = _origins.get(file)
    found = lines.get(line) if lines is not None else None
    if found is None or inlined_at is None:
        return found
    outer = inlined_at
    for site in reversed([*found.chain()]):
        outer = replace(site, inlined_at=outer)
    return outer
