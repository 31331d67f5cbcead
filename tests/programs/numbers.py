"""Python numbers in and out: their types, operators and errors."""

from __future__ import annotations

import math

from programs.cases import cases

INF, NAN = float("inf"), float("nan")
PAIRS = [
    (7, 2),
    (-7, 2),
    (7, -2),
    (-7, -2),
    (0, 3),
    (7.5, 2),
    (7, 2.5),
    (-7.5, 2.0),
    (True, 2),
    (2, True),
    (True, False),
]


@cases(*PAIRS, (1, 0), (1.0, 0.0), (2, 0.0))
def add_sub_mul(a, b):
    return a + b, a - b, a * b


@cases(*PAIRS, (1, 0), (1.0, 0.0), (2, 0.0), (INF, 2.0), (2.0, INF), (NAN, 1.0), (-0.0, 3.0))
def true_division(a, b):
    return a / b


@cases(
    *PAIRS, (1, 0), (1.0, 0.0), (2, 0.0), (INF, 2.0), (2.0, INF), (-2.0, INF), (NAN, 1.0), (-0.0, 3.0), (-(2**63), -1)
)
def floor_division(a, b):
    return a // b


@cases(*PAIRS, (1, 0), (1.0, 0.0), (2.0, INF), (-2.0, INF), (NAN, 1.0), (-0.0, 3.0), (-(2**63), -1), (6.0, -3.0))
def modulo(a, b):
    return a % b


@cases((2.0, 0.5), (2, 0.5), (0.0, 0.0), (2.5, 2), (-2.0, 3), (0.0, -1.0), (10.0, 400.0))
def power(a, b):
    return a**b


@cases(2, -2, 0, 2**40)
def power_of_ints(a):
    return a**2, a**3, 2**10, a**0


@cases((2**62, 2**62), (-(2**62), -(2**62) - 1), (2**62, -1))
def overflow_add(a, b):
    return a + b


@cases((2**40, 2**40), (2**31, 2**31), (-(2**63), -1), (3, 5))
def overflow_mul(a, b):
    return a * b


@cases(-(2**63), 5, -5)
def overflow_neg(a):
    return -a, abs(a)


@cases((6, 3), (-1, 255), (0, 1), (True, False), (True, 6))
def bits(a, b):
    return a & b, a | b, a ^ b


@cases((1, 3), (-5, 1), (1, 62), (1, -1), (0, 100))
def shifts(a, b):
    return a << b, a >> b


@cases(5, -5, 0, True)
def unary_int(a):
    return -a, +a, ~a, not a


@cases(5.5, -0.0, INF, NAN)
def unary_float(a):
    return -a, +a, not a, abs(a)


@cases(1, 2, 3, 5, 9)
def chained(x):
    return 1 < x <= 5, 0 < x < 3 < 4, x == 2 == x, not 1 < x


@cases((1, 2), (2, 1), (2, 2), (1.5, 2), (NAN, NAN), (True, 1), (INF, 5))
def comparisons(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b


@cases((0, 5), (3, 5), (0, 0), (-1, 0))
def bool_operators_return_operands(a, b):
    return a or b, a and b, not a


@cases((0, 5), (3, 5), (3, 0))
def bool_operators_evaluate_lazily(a, b):
    return a != 0 and b / a > 1, a == 0 or b // a > 1


@cases(0, 1, 7)
def or_with_constant(a):
    return a or 10


@cases(2.7, -2.7, 0.0, 1e18, 1e19, NAN, INF)
def int_of_float(x):
    return int(x)


@cases(3, -3, 2**53 + 1, True)
def float_of_int(n):
    return float(n), int(n), bool(n)


@cases((1, 2, 3), (3, 2, 1), (-5, 0, 5))
def min_max(a, b, c):
    return min(a, b, c), max(a, b), min(a, b), abs(a)


@cases((1.0, 2.0), (NAN, 1.0), (1.0, NAN), (0.0, -0.0))
def min_max_float(a, b):
    return min(a, b), max(a, b)


@cases(4.0, 2.0, 0.0)
def maths(x):
    return math.sqrt(x), math.exp(x), math.sin(x), math.cos(x), math.tanh(x), math.pi * x


@cases(2.5, -2.5, 0.0, 1e300, INF, NAN)
def floor_ceil(x):
    return math.floor(x), math.ceil(x)


@cases(-1.0, 0.0, 1.0)
def math_errors(x):
    return math.log(x)


@cases(0.0, -0.0, -INF, INF, NAN, 710.0, 1.0)
def math_exp_exactly(x):
    return math.exp(x)


@cases(-4.0, 4)
def math_sqrt_error(x):
    return math.sqrt(x)


@cases(5, 6)
def constants(n):
    return n, 1, 2.5, True, None, "text", (1, (2.0, None))


@cases((3, 4), (0, 4))
def augmented(a, b):
    a += b
    a -= 1
    a *= 3
    b //= 2
    b **= 2
    a %= 7
    a |= 8
    a &= 14
    a ^= 5
    a <<= 2
    a >>= 1
    return a, b


@cases(3, 0)
def int_becomes_float_in_loop(n):
    x = 0.0
    for i in range(n):
        x = x + i
    return x


@cases(5, 12)
def ternaries(n):
    kind = 1 if n > 10 else 2 if n > 3 else 3
    return kind


@cases(0, 3)
def number_tuple(n):
    a = b = n + 1
    (c, d), e = (a, b), n
    return a, b, c, d, e


@cases(1, True, 2.0)
def arg_kinds(a):
    return a, a == 1, isinstance(a, int), isinstance(a, float), isinstance(a, bool)


@cases((10, 3), (-10, 3), (10, 0))
def loop_arithmetic(n, k):
    total = 0
    for i in range(n):
        total = (total * 31 + i // k - i % k) % 1000003
    return total


@cases(0.1, 1e-320, -0.0)
def float_identity(x):
    return x, x + 0, x * 1, x - 0.0


@cases((2, 3.0), (2.0, 3))
def mixed_compare(a, b):
    return a < b, max(float(a), float(b)), a * b == 6


@cases(2**53 + 1)
def int_float_comparison_is_exact(n):
    return n == float(2**53), n > 9007199254740992.0, n < 9007199254740992.0
