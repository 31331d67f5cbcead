"""The loops of NumPy's ufuncs on Python floats, as in `scores / np.sqrt(d)`.

Outside of their domain they return NaN or inf, where `math` raises."""

from __future__ import annotations

import math
from typing import Any

from scriptc.frontend.library.registry import FLOAT_LOOPS, computes

_WHOLE = 2.0**52  # all floats from here on are integers


@computes("divide", table=FLOAT_LOOPS)
def divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


@computes("negative", table=FLOAT_LOOPS)
def negative(x: float) -> float:
    return -x


@computes("sqrt", table=FLOAT_LOOPS)
def sqrt(x: float) -> float:
    return math.nan if x < 0 else math.sqrt(x)


@computes("exp", table=FLOAT_LOOPS)
def exp(x: float) -> float:
    return math.inf if x > 709.782712893384 else math.exp(x)


def _log(x: float, log: Any) -> float:
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else log(x)


@computes("log", table=FLOAT_LOOPS)
def log(x: float) -> float:
    return _log(x, math.log)


@computes("log2", table=FLOAT_LOOPS)
def log2(x: float) -> float:
    return _log(x, math.log2)


@computes("log10", table=FLOAT_LOOPS)
def log10(x: float) -> float:
    return _log(x, math.log10)


@computes("sin", table=FLOAT_LOOPS)
def sin(x: float) -> float:
    return math.nan if math.isinf(x) else math.sin(x)


@computes("cos", table=FLOAT_LOOPS)
def cos(x: float) -> float:
    return math.nan if math.isinf(x) else math.cos(x)


@computes("tanh", table=FLOAT_LOOPS)
def tanh(x: float) -> float:
    return math.tanh(x)


@computes("floor", table=FLOAT_LOOPS)
def floor(x: float) -> float:
    return math.copysign(float(math.floor(x)), x) if abs(x) < _WHOLE else x


@computes("ceil", table=FLOAT_LOOPS)
def ceil(x: float) -> float:
    return math.copysign(float(math.ceil(x)), x) if abs(x) < _WHOLE else x


@computes("absolute", table=FLOAT_LOOPS)
def absolute(x: float) -> float:
    return abs(x)
