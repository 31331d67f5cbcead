"""Formats of texts, and the conversion of values for them.

%i is an int, %b a bool, %r a float as repr() writes it, %s a string, %m the message of an exception, %n the name of its
class, %% a percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_CONVERSION = re.compile(r"%([%ibrsmn])")


def formatted(format: str, values: Sequence[Any]) -> str:
    rest = iter(values)

    def one(m: re.Match[str]) -> str:
        if m[1] == "%":
            return "%"
        return type(next(rest)).__name__ if m[1] == "n" else str(next(rest))

    return _CONVERSION.sub(one, format)
