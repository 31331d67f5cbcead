"""Bool tensors whose bytes are neither 0 nor 1, as other libraries make them: every byte but 0 is True."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from expressions import trying
from settings import sweep
from statements import module_of, statements
from three_ways import Args, assert_same, compile_at, compiled, eager

# m and k are masks, x floats.
READ = """
    torch.where(m, x, 0.0) | x[m] | x[m[0]] | x.masked_fill(m, 2.0) | torch.masked_select(x, m) | x * m
    m + m | m.sum() | m.sum(0)
    m.float() | m.long() | m.to(torch.uint8) | m.half() | ~m | m & k | m.logical_or(k) | m ^ k | m == k
    m != k | m < k | torch.logical_and(m, k)
    torch.logical_xor(m, k) | torch.logical_not(m) | torch.nonzero(m) | torch.count_nonzero(m) | m.any()
    m.all() | m.any(1) | m.all(0)
    torch.any(m, 0) | m.amax(0).long() | m.amin(0).long() | m.max().long() | torch.sort(m[0])[0].long()
    torch.argsort(m[0], stable=True)
    torch.cumsum(m, 0) | m.prod() | m.tolist() | m[0, 1].item() | bool(m[0, 1]) | int(m[0, 1])
    float(m[0, 1]) | torch.maximum(m, k)
    str(m) | m.sum().item() | torch.unique(m).long() | m.float().mean() | m.t().sum(1) | m[:, ::2].any()
    torch.equal(m, k) | 1 in m | m.clone().long() | torch.cat([m, k]).long() | torch.bitwise_or(m, k).long()
    torch.max(m, 1)[0].long()
    y = x.clone(); y[m] = 5; y | y = x.clone(); y[m] = x[m] * 2; y | y = x.clone(); y.masked_fill_(m, 1.0); y
    m.index_select(0, i).sum(1)
    torch.einsum("ij,ij->i", m.float(), x) | torch.cummax(m[0].long(), 0)[0]
    m.view(-1).nonzero(as_tuple=True)[0] | x[m, None]
"""
MASK = [[0, 2, 255], [1, 0, 128], [2, 2, 0]]
OTHER = [[1, 1, 3], [0, 0, 1], [4, 0, 0]]


def foreign(bytes: list[list[int]]) -> torch.Tensor:
    return torch.tensor(bytes, dtype=torch.uint8).view(torch.bool)


def plain(bytes: list[list[int]]) -> torch.Tensor:
    return torch.tensor(bytes) != 0


@pytest.mark.parametrize("optimize", sweep([0, 2], 0))
def test_every_byte_but_zero_is_true(optimize: int, lasting_path: Path) -> None:
    x, i = torch.arange(9.0).reshape(3, 3) + 1, torch.tensor([2, 0])
    function = module_of(trying(statements(READ), ("x", "i", "m", "k"), False), lasting_path).tried
    expected = eager(function, Args((x, i, plain(MASK), plain(OTHER))))
    found = compiled(compile_at(function, optimize), Args((x, i, foreign(MASK), foreign(OTHER))))
    found.args = expected.args
    for expression, one, other in zip(statements(READ), expected.result, found.result, strict=True):
        assert repr(one) == repr(other), expression
    assert_same(expected, found)
