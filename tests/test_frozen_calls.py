"""Frozen weights beside functions that stay functions: what they do not write is kept, what they write is not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import scriptc


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor, n: int) -> list[float]:
        for _ in range(n):
            x = torch.relu(self.layer(x))
        return x.tolist()


def raised(values: Tensor, times: int) -> int:
    if times == 0:
        return 0
    values.add_(1)
    return 1 + raised(values, times - 1)


class Written(nn.Module):
    def __init__(self, copies: bool) -> None:
        super().__init__()
        self.copies = copies
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor, times: int) -> Tensor:
        weight = self.layer.weight * 2 if self.copies else self.layer.weight
        raised(weight, times)
        return nn.functional.linear(x, weight)


@torch.no_grad()
def test_a_call_that_writes_no_weight_lets_weights_be_kept() -> None:
    model, x = Listed(), torch.randn(3, 8)
    compiled = scriptc.compile(model, freeze=True)
    for n in (1, 4, 0):
        torch.testing.assert_close(torch.tensor(compiled(x, n)), torch.tensor(model(x, n)))
    assert "sc_pack_linear_kept(" in compiled.c_source()


@torch.no_grad()
def test_what_a_call_writes_is_computed_in_each_call() -> None:
    for copies in (True, False):
        model, x = Written(copies), torch.randn(3, 8)
        start = model.layer.weight.clone()
        compiled = scriptc.compile(model, freeze=True)
        for times in (1, 2, 0, 3):
            model.layer.weight.copy_(start)
            expected = model(x, times)
            model.layer.weight.copy_(start)
            torch.testing.assert_close(compiled(x, times), expected)


class Wide(nn.Module):
    """A product with an activation, and one that is added to something, of weights that no second cache keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.wider, self.narrower = nn.Linear(576, 640), nn.Linear(640, 576)

    def forward(self, x: Tensor, times: int) -> Tensor:
        for _ in range(times):
            x = x + self.narrower(nn.functional.gelu(self.wider(x)))
        return x


@torch.no_grad()
@pytest.mark.parametrize("rows", [(64, 64, 1, 64), (16, 130, 33), (140, 200), (1, 64)], ids=str)
def test_large_weights_may_be_packed_by_any_call(rows: tuple[int, ...]) -> None:
    model = Wide()
    compiled = scriptc.compile(model, freeze=True)
    for times in (1, 0, 2, 7, 1):
        for n in rows:
            x = torch.randn(n, 576)
            torch.testing.assert_close(compiled(x, times), model(x, times), atol=1e-4, rtol=1e-4)
