"""Functions of NumPy on single numbers, as in `scores / np.sqrt(d)`.

They return Python's numbers, not NumPy's scalars. Outside of their domain they return NaN or inf, where `math` raises."""

from __future__ import annotations

import math
from typing import Any

from scriptc.frontend.library.registry import decomposes


@decomposes("numpy.sqrt")
def sqrt(x: float) -> float:
    return math.nan if x < 0 else math.sqrt(x)


@decomposes("numpy.exp")
def exp(x: float) -> float:
    return math.inf if x > 709.782712893384 else math.exp(x)


def _log(x: float, log: Any) -> float:
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else log(x)


@decomposes("numpy.log")
def log(x: float) -> float:
    return _log(x, math.log)


@decomposes("numpy.log2")
def log2(x: float) -> float:
    return _log(x, math.log2)


@decomposes("numpy.log10")
def log10(x: float) -> float:
    return _log(x, math.log10)


@decomposes("numpy.sin")
def sin(x: float) -> float:
    return math.nan if math.isinf(x) else math.sin(x)


@decomposes("numpy.cos")
def cos(x: float) -> float:
    return math.nan if math.isinf(x) else math.cos(x)


@decomposes("numpy.tanh")
def tanh(x: float) -> float:
    return math.tanh(x)


@decomposes("numpy.floor")
def floor(x: float) -> float:
    return x if math.isinf(x) or math.isnan(x) else float(math.floor(x))


@decomposes("numpy.ceil")
def ceil(x: float) -> float:
    return x if math.isinf(x) or math.isnan(x) else float(math.ceil(x))


@decomposes("numpy.abs")
def absolute(x: Any) -> Any:
    return abs(x)


@decomposes("numpy.prod")
def prod(sizes: Any) -> Any:
    return math.prod(sizes)


@decomposes("numpy.float64")
def float64(x: Any) -> float:
    return float(x)


@decomposes("numpy.int64")
def int64(x: Any) -> int:
    return int(x)
