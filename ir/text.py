"""Texts with values in them: a format and the values of its conversions.

%i is an int, %b a bool, %r a float as repr() writes it, %s a string, %% a percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_CONVERSION = re.compile(r"%([%ibrs])")


def formatted(format: str, values: Sequence[Any]) -> str:
    rest = iter(values)

    return _CONVERSION.sub(lambda m: "%" if m[1] == "%" else str(next(rest)), format)
