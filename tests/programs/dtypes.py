"""Type promotion: every pair of dtypes, 0-dim tensors and Python numbers."""

from __future__ import annotations

import itertools

import torch

from programs.cases import cases, tensor

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64]  # fmt: skip
PAIRS = list(itertools.product(DTYPES, DTYPES))
SOME = PAIRS[::7]


def of(dtype, *shape, seed=0):
    return tensor(*shape, dtype=dtype, seed=seed)


@cases(*((of(a, 2, 3), of(b, 3, seed=1)) for a, b in SOME))
def custom_add(a, b):
    return a + b + 1


@cases(*((of(a, 2, 3), of(b, 3, seed=1)) for a, b in PAIRS))
def every_pair(a, b):
    return a + b + 1


@cases(*((of(a, 3), of(b, seed=1)) for a, b in SOME))
def zero_dim(a, b):
    return a * b


@cases(*((of(d, 3), s) for d in DTYPES for s in (2, 2.5, True)))
def with_number(a, s):
    return a + s, s * a, a == s


@cases(*((of(d, 4),) for d in DTYPES))
def divisions(a):
    return a / 2, a / 2.5, 1 / (a + 3)


@cases(*((of(d, 4),) for d in DTYPES if d != torch.bool))
def integer_divisions(a):
    return a % 3, -a, a.abs()


@cases(*((of(d, 4),) for d in DTYPES))
def sums(a):
    return a.sum(), a.sum(0, dtype=torch.float64), a.any(), a.all()


@cases(*((of(a, 5), b) for a, b in SOME))
def casts(a, dtype):
    return a.to(dtype)


@cases(*((of(d, 4),) for d in DTYPES if not d.is_floating_point))
def bit_operators(a):
    return a & a, a | 1, a ^ a, ~a


@cases(*((of(d, 4),) for d in DTYPES))
def float_functions(a):
    return torch.sigmoid(a), torch.exp(a)


@cases(*((of(d, 4), of(torch.bool, 4, seed=3)) for d in DTYPES))
def mixed_where(a, c):
    return torch.where(c, a, 1.5)


@cases(*((of(a, 3), of(b, 3, seed=1)) for a, b in SOME))
def in_place_promotion(a, b):
    a += b
    return a


@cases(*((of(a, 3), of(b, 3, seed=1)) for a, b in SOME))
def cat_promotes(a, b):
    return torch.cat([a, b])


@cases(*((of(a, 3), of(b, 3, seed=1)) for a, b in SOME))
def comparison(a, b):
    return a < b, a == b
