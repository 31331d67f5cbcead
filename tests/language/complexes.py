"""Complex numbers of Python: literals, operators, comparisons, attributes, and where they meet tensors."""

from __future__ import annotations

import cmath

import torch

from language.cases import cases

Z = torch.tensor([1 + 2j, -0.5j, 3.0])


@cases((1.5 + 2j, -0.5j), (2 - 1j, 3 + 4j), (0j, 1 + 1j))
def complex_arithmetic(a, b):
    return a + b, a - b, a * b, a / b, -a, +a, a + 1, 2.5 * b, a - True, 1 / b


@cases((1 + 2j, 0j), (1 + 2j, 0))
def complex_division_by_zero(a, b):
    return a / b


@cases((1 + 2j, 3), (1 + 2j, -2), (0j, 0), (2 - 1j, 0.5), (1 + 1j, 2 - 3j), (0j, 2), (0j, -1), (0j, 1j), (1e200 + 1j, 5))
def complex_power(a, b):
    return a**b


@cases((3 + 4j,), (complex(1e308, 1e308),), (complex("inf"),), (0j,))
def complex_attributes(z):
    return z.real, z.imag, z.conjugate(), abs(z), bool(z)


@cases((1 + 2j, 1 + 2j), (1 + 2j, 1 - 2j), (3 + 0j, 3.0))
def complex_equality(a, b):
    return a == b, a != b, a == "text", (1.0 if a == 3 else 0.0)


@cases((1 + 2j, 2j))
def complex_order(a, b):
    return a < b


@cases((1.0, 2.0), (3, True), (-0.0, 1.5))
def complex_of_parts(a, b):
    return complex(a, b), complex(a), 0j, complex(a, 1j)


@cases((0.3, 1), (0.0, 4), (-0.8, 20))
def complex_in_a_loop(c, n):
    """A Julia set: a complex number that a loop carries."""
    z = 0j
    steps = 0
    while steps < n and abs(z) < 2.0:
        z = z * z + complex(c, 0.2)
        steps += 1
    return z, steps


@cases((0.5,), (-2.0,))
def complex_or_real(x):
    z = x
    if x < 0:
        z = x * 1j
    return z * 2


@cases((1 + 2j,), (0.5 - 1j,))
def complex_functions(z):
    return cmath.exp(z), cmath.phase(z), cmath.rect(2.0, z.imag)


@cases((Z, 2 - 1j), (Z, 0j))
def complex_beside_tensors(x, z):
    made = torch.full((2,), z), torch.tensor([z, 1.0])
    return x * z, z - x, x / (1 + 1j), x + 2j, made, x == z, torch.where(x.real > 0, x, z)


@cases((Z,))
def complex_items(x):
    first = x[0].item()
    return first, complex(x[1]), first * x


@cases((1 + 2j,))
def complex_to_float(z):
    return float(z)


@cases((1 + 2j,), (2.0,), (3,))
def complex_isinstance(z):
    return isinstance(z, complex), type(z) is complex, isinstance(z, (int, float))
