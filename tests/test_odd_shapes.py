"""Tensors of ranks that an op is not made for, without elements, and with strides that are not those of a new one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from statements import agree, module_of, statements
from three_ways import call

NUMBERS = torch.arange(6.0)

# What eager says of tensors of too few or too many dims.
RANKS = """
    y.roll(1, 0) | y.roll(1) | y.diff() | y.unflatten(0, (1, 1)) | y.renorm(2, 0, 1.0) | y.repeat_interleave(2, 0)
    torch.rot90(y, 1, [0, 0]) | torch.rot90(y) | y.tensor_split(2)[0] | y.tile(2) | y.tile(2, 2) | torch.tile(y, (2,))
    y.diag() | y.trace() | torch.outer(y, y) | y.dot(y) | torch.mm(y, y) | y.addmv(y, y) | torch.cdist(y, y) | torch.trapz(y)
    torch.cartesian_prod(y, y) | torch.combinations(y) | torch.meshgrid(y, y, indexing="ij")[0] | torch.nn.functional.glu(y, 0)
    y.flipud() | y.fliplr() | y.hsplit(1)[0] | y.vsplit(1)[0] | y.dsplit(1)[0] | y.take_along_dim(torch.tensor([0]), 0)
    y.median(0)[0] | y.logsumexp(0) | y.kthvalue(1, 0)[0] | y.prod(0) | y[()] | y.movedim(0, 0)
    y.fill_(y) | y[y] | y[y.short()]
"""


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (0, 2)], ids=str)
def test_ranks(shape: tuple[int, ...], lasting_path: Path) -> None:
    lines = ["import torch", "", "", "def ranks(x):", "    found = []"]
    for expression in statements(RANKS):
        lines += ["    y = x.clone()", "    try:", f"        z = {expression}"]
        lines += ["        found.append(float(z.sum()) + z.dim())"]
        lines += ["    except (IndexError, RuntimeError) as e:"]
        lines += ["        found.append(-10.0 if isinstance(e, IndexError) else -20.0)"]
    x = NUMBERS[: torch.Size(shape).numel()].reshape(shape)
    agree(module_of("\n".join([*lines, "    return found\n"]), lasting_path).ranks, [call(x)])


# Eager writes some of these into new tensors, and gives others the strides of their operands.
STRIDES = """
    x.masked_fill(x > 0, 0) | x.masked_fill(x[:1] > 0, 0) | x.tril() | x.triu(1) | x.masked_scatter(x > 0, x)
    x.roll(1, 0) | x.relu() | torch.where(x > 0, x, x) | x + 1 | x * x[:1] | x.clone() | x.t().contiguous()
    x.index_add(0, x.new_zeros(0).long(), x[:0])
    x.masked_fill(x > 0, 0) * 2 | (x.tril() + x).relu() | x.masked_fill(x > 2, 0).sum(1)
"""


@pytest.mark.parametrize("optimize", [0, 3])
def test_strides(optimize: int, lasting_path: Path) -> None:
    shapes = [(0, 1), (0, 3), (1, 0), (3, 0), (0, 0), (2, 3), (1, 6), (6, 1)]
    dense = [NUMBERS[: torch.Size(s).numel()].reshape(s) for s in shapes]
    whole = NUMBERS.reshape(2, 3)
    cut = [whole[:0], whole[:, :0], whole[:1], whole[:, :1], NUMBERS[:1].expand(0, 1), NUMBERS[:1].expand(2, 1)]
    source = f"import torch\n\n\ndef strides(x):\n    return {', '.join(statements(STRIDES))}\n"
    agree(module_of(source, lasting_path).strides, [call(y) for x in (*dense, *cut) for y in (x, x.t())], optimize)
