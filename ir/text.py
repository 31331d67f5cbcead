"""Texts with numbers in them: a format and the values of its conversions.

%i is an int, %b a bool, %r a float as repr() writes it, %m the message of an exception, %n the name of its
class, %% a percent sign; all else as in C, with a spec in front of f, e (floats) or d (ints).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_CONVERSION = re.compile(r"%(%|[^ibrfedmn%]*[ibrfedmn])")


def formatted(format: str, values: Sequence[Any]) -> str:
    rest = iter(values)

    def one(m: re.Match[str]) -> str:
        if m[1] == "%":
            return "%"
        if m[1] == "n":
            return type(next(rest)).__name__
        return str(next(rest)) if m[1] in ("i", "b", "r", "m") else f"%{m[1]}" % next(rest)

    return _CONVERSION.sub(one, format)
