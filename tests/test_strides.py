"""Strides of results of inputs that are not contiguous, in a table of calls. The first are compiled, the others interpreted."""

from __future__ import annotations

from pathlib import Path

import torch
from statements import agree, module_of, statements
from three_ways import assert_same, call, eager, interpreted

TABLE = """
    x.sort(0) | x.sort(-1, descending=True) | x.index_fill(0, i, 1.0) | x.put(g * 0, y) | torch.lerp(x, y, 0.7)
    F.pad(x, (0, 0))
    x.nan_to_num() | x.topk(2, 1) | x.argsort(1) | x.cumsum(0) | x.cumprod(1) | x.cummax(1) | x.logcumsumexp(1)
    torch.where(x > 0, x, 0.0) | torch.where(m, x, y) | x.clamp(-1, 1) | x.clamp(max=y) | x.index_select(1, i) | x.gather(1, g)
    x.scatter(1, g, 1.0) | x.scatter_add(1, g, x) | x.index_add(0, i, x) | x.index_copy(0, i, x) | x.masked_fill(m, 1.0)
    x.flip(0)
    x.masked_scatter(m, x) | x.roll(1) | x.repeat(2, 1, 1) | x.tile(2) | torch.cat([x, x], 1) | torch.stack([x, x], 1)
    x.tril()
    x.clone() | x.double() | x.abs() | x * y | x**2 | x.sum(1) | x.amax((0, 1)) | x.max(1) | x.softmax(1) | x.addcmul(y, y)
    x.eq(y)
    torch.maximum(x, y) | torch.zeros_like(x) | torch.full_like(x, 2) | F.gelu(x) | F.elu(x) | F.softplus(x) | F.leaky_relu(x)
    F.hardtanh(x) | F.normalize(x, dim=1) | F.layer_norm(x, x.shape[-1:]) | F.dropout(x, 0.5, False) | x.diff(dim=1) | x.round()
    x.repeat_interleave(2, 1) | x.take_along_dim(g, 1) | x.take(g) | x.renorm(2, 0, 1.0) | x.mT @ x | x.quantile(0.5, 1)
"""
# Of contiguous tensors: of others, eager's depend on the order of their strides.
INDEXED = """
    x[:, i] | x[:, :, i] | x[i] | x[:, i, i] | x[i, :, i] | x[:, i[:1]] | x[:, i[:0]] | x[:, g[0, :2]] | x[:, i[:, None], i]
    x[..., i] | x[:, None, i] | x[:, i - 1] | x[:, i + 9]
"""
Y = torch.linspace(-2.0, 2.0, 24).reshape(2, 3, 4)
INPUTS = (
    Y, Y.reshape(3, 2, 4).transpose(0, 1), Y.reshape(2, 4, 3).mT, Y.reshape(4, 3, 2).transpose(0, 2),
    Y.reshape(4, 2, 3).permute(1, 2, 0), Y[:1].expand(2, 3, 4), Y[:, :1].expand(2, 3, 4), Y.repeat(1, 1, 2)[:, :, ::2],
)  # fmt: skip
_OTHERS = (Y.flip(0), torch.tensor([1, 0]), torch.arange(24).reshape(2, 3, 4) % 2, torch.arange(24).reshape(2, 3, 4) % 5 > 2)
_COMPILED = 8


def _check(table: str, inputs: tuple[torch.Tensor, ...], directory: Path) -> None:
    bodies = [f"def f{i}(x, y, i, g, m):\n    return {e}\n" for i, e in enumerate(statements(table))]
    module = module_of(f"import torch\nimport torch.nn.functional as F\n{''.join(bodies)}", directory)
    calls = [call(x, *_OTHERS) for x in inputs]
    for number, expression in enumerate(statements(table)):
        function = getattr(module, f"f{number}")
        try:
            if number < _COMPILED:
                agree(function, calls)
            else:
                for given in calls:
                    assert_same(eager(function, given), interpreted(function, given))
        except AssertionError as e:
            raise AssertionError(expression) from e


def test_strides_of_results(lasting_path: Path) -> None:
    _check(TABLE, INPUTS, lasting_path)


def test_strides_of_indexed_tensors(lasting_path: Path) -> None:
    _check(INDEXED, INPUTS[:1], lasting_path)
