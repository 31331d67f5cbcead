"""Print the polynomials and the table of sc_math.h: python minimax.py (needs numpy and mpmath).

Lawson's algorithm: least squares on Chebyshev points, where each point's weight is multiplied by its error until the
errors are level, which gives the minimax polynomial. The lowest coefficient is rounded to float, the rest is fitted
again, and so on, so that rounding costs almost nothing.
"""

from collections.abc import Callable

import numpy as np
from mpmath import cos, erf, erfc, exp, floor, log, mp, mpf, pi, sin, sqrt, tanh  # type: ignore[import-untyped]

mp.prec = 200
Function = Callable[[mpf], mpf]


def fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray, powers: range) -> tuple[np.ndarray, float]:
    """Return the coefficients of x**powers with the least maximum of weight * |error|, and that maximum."""
    basis = x[:, None] ** np.array(list(powers)) * weight[:, None]
    lawson, best, best_error = np.ones_like(x), np.zeros(len(powers)), np.inf
    for _ in range(300):
        root = np.sqrt(lawson)
        c = np.linalg.lstsq(basis * root[:, None], y * weight * root, rcond=None)[0]
        error = np.abs(basis @ c - y * weight)
        if error.max() < best_error:
            best, best_error = c, error.max()
        lawson *= error
        lawson /= lawson.sum()
    return best, best_error


def show(name: str, f: Function, weight: Function, degree: int, low: mpf, high: mpf) -> None:
    """Print the float coefficients of f on [low, high], lowest first, and the largest weighted error."""
    points = [(low + high) / 2 + (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / 400) for i in range(400)]
    x = np.array([float(p) for p in points])
    w = np.array([float(abs(weight(p))) for p in points])
    rest = np.array([float(f(p)) for p in points])
    done: list[np.float32] = []
    while len(done) <= degree:
        c, error = fit(x, rest, w, range(len(done), degree + 1))
        rest = rest - float(np.float32(c[0])) * x ** len(done)
        done.append(np.float32(c[0]))
    print(f"{name}: error 2^{np.log2(max(error, 1e-30)):.1f} then {np.log2(np.abs(rest * w).max()):.1f}")
    print("    " + ", ".join(f"{float(c):.9g}f" for c in done))


def main() -> None:
    """Print all polynomials.

    The weights make the error relative to the function that the polynomial becomes part of.
    """
    show("exp", lambda x: (exp(x) - 1 - x) / x**2, lambda x: x * x / exp(x), 4, -log(2) / 2, log(2) / 2)
    show(
        "log",
        lambda x: (log(1 + x) - x + x * x / 2) / x**3,
        lambda x: x**3 / log(1 + x),
        7,
        sqrt(mpf(0.5)) - 1,
        sqrt(mpf(2)) - 1,
    )
    show("sin", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 2, mpf(0), (pi / 4) ** 2)
    show("cos", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z * z / cos(sqrt(z)), 2, mpf(0), (pi / 4) ** 2)
    show("tanh", lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, lambda z: z, 4, mpf(0), mpf(25) / 64)
    show("-log erfc", lambda x: -log(erfc(x)) / x - 1, lambda x: erfc(x) * x / erf(x), 8, mpf("1e-6"), mpf(4))
    print("2/pi, then 2/pi * 2^(8 i) mod 4, in pieces of 28, 28 and 53 bits:")
    for i in range(14):
        rest = 2 / pi * 2 ** (8 * i) - (floor(2 / pi * 2 ** (8 * i) / 4) * 4 if i else 0)
        pieces = []
        for bits in (26, 54):
            pieces.append(floor(rest * mpf(2) ** bits) / mpf(2) ** bits)
            rest -= pieces[-1]
        print("    {" + ", ".join(float(p).hex() for p in [*pieces, rest]) + "},")


if __name__ == "__main__":
    main()
