"""Builds the number of iterations that a counted loop has."""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Value
from scriptc.ir.loc import Loc


def range_length(builder: Builder, start: Value, stop: Value, step: Value, loc: Loc) -> Value:
    """Return the number of values in a range: -((start - stop) // step), or 0."""
    made = step.op
    if made is not None and made.name == "const" and made.attrs["value"] == 1:
        length = builder.build("int.sub", [stop, start], loc)
    else:
        span = builder.build("int.floordiv", [builder.build("int.sub", [start, stop], loc), step], loc)
        length = builder.build("int.neg", [span], loc)
    return builder.build("int.max", [length, builder.const(0, loc)], loc)
