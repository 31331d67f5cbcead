"""Masks as indices: read, written by, empty, of one element, and of shapes and dtypes that do not fit, as in eager."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from expressions import agree_on, groups
from settings import sweep
from statements import statements

# m is a mask, i places; k, u, h, d are of int64, uint8, float16 and float64.
MASKS = """
    x[m[:2]] | x[m[:, :2]] | x[m[0]] | x[m[0, :2]] | x[torch.tensor(True)] | x[torch.tensor(False)]
    x[torch.tensor(True)].shape | x[torch.tensor(False)] = 5.0; x | x[torch.tensor(True)] = 5.0; x
    x[torch.tensor(True)] = torch.ones(3, 3); x | x[torch.tensor(True)] = torch.ones(2, 3); x | x[m] = torch.ones(5); x
    x[m] = torch.ones(4); x | x[m] = torch.ones(1); x | x[m] = torch.ones(0); x | x[m & False] = torch.ones(0); x
    x[m & False] = torch.ones(3); x | x[m & False] = torch.ones(1); x | x[m[0]] = torch.ones(2, 3); x
    x[m[0]] = torch.ones(3); x | x[m[0]] = torch.ones(2); x | x[m[0]] = torch.ones(2, 1); x | x[m[:, 0], m[0]] = 1.0; x
    x[m[:, 0], :] = 1.0; x | x[:, m[0]] = 1.0; x | x[:, m[0]] = torch.ones(3, 2); x | x[:, m[0]] = torch.ones(2); x
    x[:, m[0]] = torch.ones(3); x | x[m[0], 1] = 7.0; x | x[1, m[0]] = 7.0; x | x[None, m] | x[m, None] | x[..., m[0]]
    x[m[0], ..., 0] | x[m[0], m[0]] | x[m[0], m[:2, 0]] | x[m[0], i] | x[m[0], i[:2]] | x[i, m[0]] | x[m, 0] | x[m, m]
    x[m[:2], 0] | x[m.to(torch.uint8)] | x[:0][m[:0]] | x[:0][m] | x[:, :0][m[:, :0]] | x[m[:0]]
    torch.ones(0)[torch.ones(0, dtype=torch.bool)] | torch.ones(0)[torch.ones(0, dtype=torch.bool)].sum()
    torch.ones(3)[torch.ones(0, dtype=torch.bool)] | torch.ones(0, 3)[torch.ones(0, dtype=torch.bool)].shape
    torch.ones(0, 3)[torch.ones(0, 3, dtype=torch.bool)].shape | torch.ones(3, 0)[torch.ones(3, dtype=torch.bool)].shape
    torch.tensor(5.0)[torch.tensor(True)] | torch.tensor(5.0)[torch.tensor(False)] | torch.tensor(5.0)[m]
    torch.tensor(5.0)[True] | torch.tensor(5.0)[None] | torch.tensor(5.0)[...] | x.masked_fill(m[:2], 1.0)
    x.masked_fill(m[0], 1.0) | x.masked_fill(m[None], 1.0).shape | x.masked_fill_(m[None], 1.0)
    x.masked_fill(m[:, :1], 1.0) | x.masked_fill(torch.tensor(True), 1.0) | x.masked_fill(m, torch.ones(1))
    x.masked_fill(m, torch.ones(())) | x.masked_fill(m, torch.ones(2)) | x.masked_fill(i > 0, 2.0) | x.masked_fill(k, 1.0)
    x.masked_fill(m.to(torch.uint8), 1.0) | x.masked_select(m[0]) | x.masked_select(m[:2]) | x.masked_select(m[None])
    x.masked_select(torch.tensor(True)) | x.masked_select(torch.tensor(False)) | x.masked_select(m & False)
    x.masked_select(k) | torch.masked_select(x[0,0], m) | x.masked_scatter(m, torch.ones(5))
    x.masked_scatter(m, torch.ones(4)) | x.masked_scatter(m, torch.ones(9)) | x.masked_scatter(m[0], torch.arange(9.))
    x.masked_scatter(m[:2], torch.arange(9.)) | x.masked_scatter(m, torch.ones(5, dtype=torch.float64))
    x.masked_scatter(m & False, torch.ones(0)) | x.masked_scatter(k, torch.ones(9)) | torch.where(m[:2], x, 0)
    torch.where(m[0], x, 0) | torch.where(torch.tensor(True), x, 0) | torch.where(k, x, 0) | torch.where(x, x, 0)
    x.index_put((m,), torch.tensor(1.0)) | x.index_put((m,), torch.ones(4))
    x.index_put((m,), torch.ones(5), accumulate=True) | x.index_put_((m[0],), torch.ones(3))
    torch.nonzero(torch.tensor(True)) | torch.nonzero(torch.tensor(True), as_tuple=True)
    torch.nonzero(torch.tensor(False)) | torch.nonzero(m & False) | torch.nonzero(x[:0]) | torch.argwhere(torch.tensor(3.0))
    x[m].view(-1).shape | x[m] += 1; x | x[m[0]] += 1; x | x[m] *= torch.arange(5.); x | x[m] += torch.ones(4); x
    x[x > 100] = 3; x | x[x > 100] = torch.ones(0); x | x[x > 100].mean() | x[x > 100].max() | x[~m] = x[m][:4]; x
    x[~m] = x[m]; x | u[m] = -1; u | u[m] = 256; u | u[m] = 2.5; u | m[m] = False; m | m[m] = 2; m | k[m] = 2.7; k
    k[m] = x[m]; k | u[m] = x[m]; u | x[m] = k[m]; x | x[m] = d[m]; x | h[m] = d[m] * 1e16; h | x[[True, False, True]]
    x[[True, False]] | x[[True, False, True]] = 1; x | x[True] | x[False] | x[True, False] | x[True, 0] | x[None, True, i]
    x[False] = 5; x | x[True] = 5; x | x[(True, i)] | x[m, :] | x[m, ...] | x[..., m] | x[:, m] | x[0][m[0]] | x.t()[m]
    x.t()[m.t()] | x[m.t()] | x[::2][m[::2]] | x[::2, ::2][m[::2, ::2]] = 0; x
"""
# Values of other dtypes than what is written.
DTYPES = """
    x[i] = d; x | x[i] = d[0]; x | x[i] = torch.tensor(1.0, dtype=torch.float64); x
    x[i] = torch.tensor([1.0], dtype=torch.float64); x | x[i] = k; x | x[i, 0] = k[0]; x | x[:, i] = k; x
    x[m] = torch.tensor(1.0, dtype=torch.float64); x | x[m] = torch.tensor([1.0], dtype=torch.float64); x
    x[m] = torch.tensor([[1]]); x | x[m[0]] = d[0]; x | x[m[0]] = d[:2]; x
    x[m[0]] = torch.tensor(1, dtype=torch.float64); x | x[m[0], 0] = torch.tensor(1, dtype=torch.float64); x
    x[m[0], m[0]] = torch.tensor(1, dtype=torch.float64); x | x[:, m[0]] = torch.tensor(1, dtype=torch.float64); x
    x[m & False] = d[:0, 0]; x | x[m & False] = d[0]; x | x[torch.tensor(True)] = d; x
    x[torch.tensor(True)] = torch.tensor(1, dtype=torch.float64); x | x[torch.tensor(1)] = d[0]; x | x[[0, 1]] = d[:2]; x
    x[[True, False, True]] = d[:2]; x | x[True] = d; x | x.index_put((i,), d)
    x.index_put((m,), torch.tensor(1.0, dtype=torch.float64)) | x.index_put_((i,), k) | x[m] = m[m]; x | m[m] = x[m]; m
    x[i[:0]] = d[:0]; x | x[m] += d[m]; x | x[m] = x[m].double() * 2; x
"""
GIVEN = {
    "x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "i": torch.tensor([2, 0, 1]),
    "k": torch.arange(9).reshape(3, 3), "u": torch.arange(9, dtype=torch.uint8).reshape(3, 3), "h": torch.ones(3, 3).half(),
    "d": torch.ones(3, 3).double(), "m": torch.arange(9).reshape(3, 3) % 2 == 0,
}  # fmt: skip


GROUPS = [*groups(statements(MASKS), 35), *groups(statements(DTYPES), 35)]


@pytest.mark.parametrize("group", sweep(GROUPS, *GROUPS[::3]), ids=lambda g: g[0])
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_masks(group: list[str], lasting_path: Path) -> None:
    expressions = []
    for expression in group:  # each on values of its own
        *before, value = expression.split(";")
        copies = "x, k, u, h, m = x.clone(), k.clone(), u.clone(), h.clone(), m.clone()"
        expressions.append("; ".join([copies, *before, value]))
    agree_on(expressions, GIVEN, lasting_path)
