"""The options of `compile` and `build`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Options:
    """optimize: 0 (no passes, -O0) to 3 (all passes, -O3 for this machine).
    dynamic: False makes the sizes of tensor arguments part of the signature.
    freeze: weights may be taken not to change between calls.
    flush_denormals: denormal numbers count as zero inside compiled calls.
    profile: instrumented code, as `compiled.profile` uses it.
    debug: #line directives and -g, so that a debugger steps through the Python source.
    """

    optimize: int = 3
    dynamic: bool = True
    freeze: bool = False
    debug: bool = False
    flush_denormals: bool = False
    profile: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> Options:
        known = [f.name for f in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"there is no option '{name}'; options: {', '.join(known)}")
        made = cls(**options)
        if made.optimize not in (0, 1, 2, 3):
            raise ValueError(f"optimize is 0, 1, 2 or 3, not {made.optimize!r}")
        return made
