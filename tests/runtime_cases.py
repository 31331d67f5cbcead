"""Calls of runtime operations with what eager PyTorch is asked to do: results and errors must agree.

A case is the operation's name in tests/runtime/driver.c, its tensors, its integers, and the same thing in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]
SUM, PROD, MEAN, AMAX, AMIN, ALL, ANY = range(7)
Z = torch.zeros

CASES: list[tuple[str, Sequence[Any], Sequence[int], Callable[..., Any]]] = [
    *(
        ("select", [t], [d, i], lambda t=t, d=d, i=i: t[(slice(None),) * d + (i,)] if d else t[i])
        for t, d, i in [(Z(5), 0, 7), (Z(5), 0, -6), (Z(5), 0, -5), (Z(5, 3), 1, 4), (Z(()), 0, 0), (Z(2, 3, 4), 1, 2)]
    ),
    *(
        ("slice", [t], [0, a, b, s], lambda t=t, a=a, b=b, s=s: t[a:b:s])
        for t, a, b, s in [
            (Z(5, 2), 1, 4, 1),
            (Z(5), -100, 100, 3),
            (Z(5), 4, 2, 1),
            (Z(5), 3, 2**62, 2**62),
            (Z(5), 0, 5, -1),
            (Z(()), 0, 1, 1),
            (Z(5), -1, 2**62, 1),
        ]
    ),
    *(
        ("narrow", [t], [d, a, n], lambda t=t, d=d, a=a, n=n: t.narrow(d, a, n))
        for t, d, a, n in [
            (Z(5), 0, 3, 4),
            (Z(5), 0, -1, 4),
            (Z(5), 0, 6, 0),
            (Z(5), 0, -7, 1),
            (Z(5), 0, 5, 0),
            (Z(5), 0, 1, -1),
            (Z(()), 0, 0, 1),
            (Z(5), 3, 0, 1),
            (Z(3, 4), -1, -3, 2),
        ]
    ),
    *(
        ("transpose", [t], [a, b], lambda t=t, a=a, b=b: t.transpose(a, b))
        for t, a, b in [(Z(5), 0, 1), (Z(()), 0, -1), (Z(()), 0, 1), (Z(2, 3, 4), -1, 0), (Z(2, 3), -3, 0)]
    ),
    *(
        ("permute", [t], p, lambda t=t, p=p: t.permute(p))
        for t, p in [(Z(2, 3), [0]), (Z(2, 3), [0, 0]), (Z(2, 3), [0, 2]), (Z(2, 3, 4), [-1, 0, 1]), (Z(()), [0])]
    ),
    *(
        ("unsqueeze", [t], [d], lambda t=t, d=d: t.unsqueeze(d))
        for t, d in [(Z(2, 3), 3), (Z(2, 3), -4), (Z(2, 3), -1), (Z(3, 4).t(), 1), (Z(()), 0), (Z(3, 4).t(), 0)]
    ),
    *(
        ("squeeze", [t], [d], lambda t=t, d=d: t.squeeze(d))
        for t, d in [(Z(2, 1, 3), -2), (Z(2, 3), 3), (Z(()), 1), (Z(()), 0)]
    ),
    *(
        (op, [t], s, lambda t=t, s=s, op=op: getattr(t, op)(s))
        for op in ("view", "reshape")
        for t, s in [
            (Z(12), [3, 5]),
            (Z(12), [-1, 5]),
            (Z(12), [-1, -1]),
            (Z(12), [-2, 6]),
            (Z(0), [-1, 0]),
            (Z(0, 3), [-1, 3]),
            (Z(3, 4).t(), [12]),
            (Z(3, 4).t(), [5]),
            (Z(12), [-1, 0]),
            (Z(6, 4), [2, 3, 4]),
            (Z(6, 1), [6, 1, 1]),
            (Z(3, 4).t(), [4, 1, 3]),
            (Z(3, 4).t(), [1, 4, 3]),
            (Z(0, 4).t(), [4, 0]),
            (Z(0, 4), [0, 5]),
            (Z(1), []),
            (Z(()), [1, 1]),
            (Z(2, 3), [2**40, 2**40]),
            (Z(0, 3), [2**40, 2**40]),
            (Z(2, 3), []),
        ]
    ),
    *(
        ("expand", [t], s, lambda t=t, s=s: t.expand(s))
        for t, s in [
            (Z(3, 4), [2, 3, 5]),
            (Z(3, 4), [4]),
            (Z(3, 4), [-1, 4]),
            (Z(3, 4), [-1, 3, 4]),
            (Z(3, 4), [3, -2]),
            (Z(1, 4), [-2, 4]),
            (Z(1, 4), [0, 4]),
            (Z(()), [3]),
            (Z(4), [1, 4]),
            (Z(4), [1, 1, 4]),
            (Z(4, 1), [3, 4, 1]),
            (Z(()), []),
            (Z(()), [-1]),
            (Z(4, 1).int(), [4]),
        ]
    ),
    *(
        (op, [t], [n, 0], lambda t=t, n=n, op=op: getattr(t, op)(n))
        for op in ("split", "chunk")
        for t, n in [
            (Z(5), 0),
            (Z(0), 0),
            (Z(5), -1),
            (Z(()), 1),
            (Z(7), 3),
            (Z(5), 4),
            (Z(3), 2**62),
            (Z(0, 2), 3),
            (Z(9), 1),
        ]
    ),
    *(
        ("unbind", [t], [d], lambda t=t, d=d: t.unbind(d))
        for t, d in [(Z(()), 0), (Z(2), 1), (Z(2, 3).t(), -1), (Z(0, 3), 0)]
    ),
    *(
        (op, ts, [d, 8], lambda ts=ts, d=d, op=op: getattr(torch, op)(ts, d))
        for op in ("cat", "stack")
        for ts, d in [
            ([], 0),
            ([Z(2, 3), Z(3, 4)], 0),
            ([Z(2, 3), Z(2)], 0),
            ([Z(2, 3), Z(())], 0),
            ([Z(()), Z(())], 0),
            ([Z(2, 3), Z(0)], 0),
            ([Z(0), Z(2, 3)], 1),
            ([Z(0), Z(2, 3)], 2),
            ([Z(0), Z(0)], 1),
            ([Z(2, 3), Z(2, 3)], 2),
            ([Z(2, 3), Z(3, 3)], -1),
            ([Z(2, 3, 4), Z(2, 3, 4), Z(2, 5, 4)], -1),
            ([Z(0), Z(4, 2), Z(0, 3)], 0),
            ([Z(2, 3), Z(2, 3)], -4),
            ([Z(2), Z(0)], 4),
            ([Z(0), Z(0, 3)], 1),
            ([Z(0), Z(0)], 3),
        ]
    ),
    *(
        ("repeat", [t], r, lambda t=t, r=r: t.repeat(r))
        for t, r in [(Z(2, 3), [2]), (Z(2, 3), [2, -1]), (Z(2, 3), [2, 0]), (Z(2, 3), [4, 2, 0]), (Z(()), [3])]
    ),
    *(("flip", [t], d, lambda t=t, d=d: t.flip(d)) for t, d in [(Z(2, 3), [0, -2]), (Z(2, 3), [2]), (Z(()), [0])]),
    *(
        ("index_select", [t, i], [d], lambda t=t, i=i, d=d: t.index_select(d, i))
        for t, d, i in [
            (Z(2, 3), 0, torch.tensor([3])),
            (Z(2, 3), 1, torch.tensor([-1])),
            (Z(2, 3), 2, torch.tensor([0])),
            (Z(2, 3), 0, torch.tensor([[0]])),
            (Z(2, 3), 0, torch.tensor(1)),
            (Z(()), 0, torch.tensor(0)),
            (Z(()), 0, torch.tensor([0, 0])),
            (Z(()), 0, torch.tensor([1])),
            (Z(2, 3), 0, torch.tensor([0.0])),
            (Z(2, 3), 0, torch.tensor([1]).int()),
            (Z(0, 3), 0, torch.tensor([0])),
            (Z(3, 0), 0, torch.tensor([7])),
            (Z(3, 2, 3), 1, torch.tensor([5])),
            (Z(3, 2), 0, torch.tensor([], dtype=torch.int64)),
        ]
    ),
    *(
        ("reduce", [t], [op, 0, DTYPES.index(t.dtype), *d], lambda t=t, f=f, d=d: f(t, d))
        for op, f in [(AMAX, torch.amax), (AMIN, torch.amin), (SUM, torch.sum), (MEAN, torch.mean)]
        for t, d in [
            (Z(0), []),
            (Z(0, 3), [0]),
            (Z(0, 3), [1]),
            (Z(0, 3), [0, 1]),
            (Z(0, 2), [-2]),
            (Z(2, 3), [0, -2]),
            (Z(2, 3), [2]),
            (Z(()), [0]),
            (Z(()), [1]),
            (Z(2, 3), []),
        ]
    ),
    ("reduce", [Z(2).long()], [MEAN, 0, 5], lambda: Z(2).long().mean()),
    ("reduce", [Z(0).long()], [PROD, 0, 5], lambda: Z(0).long().prod()),
    *(
        ("arg", [t], [0, d, 0], lambda t=t, d=d: t.argmax(d))
        for t, d in [(Z(0, 3), 0), (Z(0, 3), 1), (Z(2, 3), 3), (Z(()), 0), (Z(2, 3).bool(), 0)]
    ),
    *(
        ("arg_all", [t], [1], lambda t=t: t.argmin())
        for t in [Z(0), Z(2).bool(), torch.tensor([1, float("nan"), 0, float("nan")])]
    ),
    *(("item_i64", [t], [], lambda t=t: t.item() and None) for t in [Z(2, 2), Z(0)]),
    *(("item_i64", [t], [], lambda t=t: int(t)) for t in [torch.tensor(float("nan")), torch.tensor(-float("inf"))]),
    *(("item_bool", [t], [], lambda t=t: bool(t)) for t in [Z(2), Z(0)]),
    ("int", [Z(2)], [], lambda: int(Z(2))),
    *(
        ("arange_int", [], [5, a, b, s], lambda a=a, b=b, s=s: torch.arange(a, b, s))
        for a, b, s in [(0, 5, 0), (0, 5, -1), (5, 0, 1), (0, 10, 3), (10, 0, -3), (0, 0, 1), (-(2**62), 2**62, 1)]
    ),
    *(
        (
            "arange",
            [torch.tensor([a, b], dtype=torch.float64)],
            [DTYPES.index(d)],
            (lambda a=a, b=b, d=d: torch.arange(a, b, 0.25, dtype=d)),
        )
        for a, b, d in [
            (0.0, 3.3, torch.float32),
            (3.0, 1.0, torch.float64),
            (0.0, float("inf"), torch.float32),
            (0.0, float("nan"), torch.float32),
            (1.0, 400.0, torch.float16),
            (0.0, 1e30, torch.float32),
        ]
    ),
    *(
        ("full", [], [DTYPES.index(d), v, 2, n], (lambda v=v, n=n, d=d: torch.full((2, n), v, dtype=d)))
        for v, n, d in [
            (2**40, 1, torch.int32),
            (300, 1, torch.uint8),
            (-255, 1, torch.uint8),
            (-256, 1, torch.uint8),
            (5, 3, torch.bool),
            (7, 2, torch.int64),
            (1, -3, torch.int64),
            (-200, 1, torch.int8),
        ]
    ),
    *(
        ("copy_", [a, b], [], lambda a=a, b=b: a.copy_(b))
        for a, b in [
            (Z(2, 3), Z(5, 2, 3)),
            (Z(2, 3), Z(2, 4)),
            (Z(1, 3), Z(2, 3)),
            (Z(3).expand(2, 3), Z(2, 3)),
            (Z(4, 3).t(), Z(4)),
        ]
    ),
    *(("copy_", [x[1:], x[:-1]], [], lambda x=x: x[1:].copy_(x[:-1])) for x in [Z(5), Z(5, 2)]),
    *(
        (op, [a, b], [], lambda a=a, b=b, f=f: f(a, b) is None or [])
        for op, f in [("check_broadcast", torch.add), ("check_broadcast_to", lambda a, b: a.clone().add_(b))]
        for a, b in [
            (Z(2, 3), Z(2, 4)),
            (Z(2, 3), Z(3, 2, 1, 5, 4)),
            (Z(5), Z(2, 4)),
            (Z(1, 3), Z(2, 3)),
            (Z(2, 4), Z(3, 1, 4)),
            (Z(0), Z(2)),
        ]
    ),
]

MATRICES = [
    Z(()),
    Z(3),
    Z(4),
    Z(2, 3),
    Z(3, 2),
    Z(4, 5),
    Z(0, 3),
    Z(2, 2, 3),
    Z(2, 3, 2),
    Z(3, 2, 3),
    Z(2, 7, 2).mT,
    Z(5, 2, 3).transpose(0, 1),
    Z(4, 5, 2, 3),
    Z(3, 5, 3, 2),
    Z(0, 2, 3),
    Z(2, 3).double(),
    Z(3, 2).double(),
    Z(2, 2, 3).int(),
    Z(3, 2).half(),
]
