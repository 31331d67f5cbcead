"""Products of frozen weights apply the function of one element that follows them, and equal eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc


class Activated(nn.Module):
    """Rows and columns that need whole panels, parts of panels, and chunks of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide, self.far = nn.Linear(33, 7), nn.Linear(33, 700), nn.Linear(600, 777)
        self.other = nn.Linear(600, 20)
        self.product = nn.Parameter(torch.randn(33, 130))

    def forward(self, x: Tensor, y: Tensor) -> list[Tensor]:
        wide = self.wide(x)
        swish = F.silu(x @ self.product)
        deep = F.gelu(self.far(y))
        return [F.gelu(self.narrow(x)), F.gelu(wide, approximate="tanh"), deep, swish, F.relu(self.other(y)) + 1.0]


@torch.no_grad()
@pytest.mark.parametrize("weights", [None, "bfloat16"])
def test_values_and_strides(weights: str | None) -> None:
    torch.manual_seed(0)
    model = Activated().eval()
    for p in model.parameters():
        p.copy_(p.bfloat16())
    made = scriptc.compile(model, freeze=True, weights=weights) if weights else scriptc.compile(model, freeze=True)
    for rows in [(0,), (1,), (2,), (), (5,), (3, 70), (400,)]:
        x, y = torch.randn(*rows, 33), torch.randn(*rows, 600)
        for _ in range(2):  # every second product reads its panels backwards
            for got, expected in zip(made(x, y), model(x, y), strict=True):
                torch.testing.assert_close(got, expected, rtol=1e-5, atol=2e-6 * y.shape[-1] ** 0.5)
                assert got.stride() == expected.stride()
    made(torch.randn(6, 33).t().contiguous().t(), torch.randn(6, 600))
    text = made.ir()
    assert text.count(" = linear_activated(") == 5 and "fuse(" not in text


@torch.no_grad()
def test_special_values_are_those_of_the_function_alone() -> None:
    model = nn.Sequential(nn.Linear(16, 16, bias=False), nn.GELU(), nn.GELU(approximate="tanh")).eval()
    model[0].weight.copy_(torch.eye(16))
    made, alone = scriptc.compile(model, freeze=True), scriptc.compile(model[1:])
    for value in [float("nan"), float("inf"), -float("inf"), -0.0, 1e-40, -1e-40, 3e38, -3e38, -5.5, -13.0]:
        x = torch.zeros(1, 16)
        x[0, 3] = value
        expected = alone(model[0](x))
        assert torch.equal(torch.nan_to_num(made(x), 7.0), torch.nan_to_num(expected, 7.0))
        assert torch.equal(made(x).isnan(), expected.isnan())
        assert torch.equal(torch.signbit(made(x)), torch.signbit(expected)) or expected.isnan().any()


@torch.no_grad()
def test_threads_apply_it_to_their_parts() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 1100), nn.GELU()).eval()
    made, x = scriptc.compile(model, freeze=True), torch.randn(300, 300)
    expected = made(x)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        for _ in range(20):
            assert torch.equal(made(x), expected)
    finally:
        torch.set_num_threads(before)


def test_gelu_keeps_the_sign_of_zero() -> None:
    x = torch.tensor([-0.0, 0.0, -1.0])
    for approximate in ("none", "tanh"):
        made = scriptc.compile(lambda x, a=approximate: F.gelu(x, approximate=a))(x)
        assert made.signbit().tolist() == [True, False, True]
