"""Fake quantization: values and gradients are those of eager to the bit, for values that are no numbers too."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from three_ways import compile_at
from torch import Tensor, nn
from torch.ao.quantization import FakeQuantize, MovingAverageMinMaxObserver

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ODD = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.33, 3.0, 0.0, -0.0])


def per_tensor(x, scale, zero_point, low: int, high: int):
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, low, high)


def per_channel(x, scale, zero_point, axis: int, low: int, high: int):
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, axis, low, high)


def outcome(function: Any, x: Tensor, *args: Any) -> Any:
    x = x.detach().requires_grad_()
    try:
        result = function(x, *args)
    except (RuntimeError, IndexError) as error:
        return str(error).splitlines()[0]
    result.backward(torch.arange(result.numel()).view(result.shape).to(result.dtype))
    return result.detach(), x.grad


def check(function: Any, compiled: Any, x: Tensor, *args: Any) -> None:
    found, wanted = outcome(compiled, x, *args), outcome(function, x, *args)
    assert type(found) is type(wanted), (found, wanted)
    if isinstance(wanted, str):
        assert found == wanted
        return
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(a.signbit(), b.signbit())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_scale(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    compiled = compile_at(per_tensor, 0)
    of_tensors = torch.tensor([0.1]), torch.tensor([30], dtype=torch.int32)
    ranges = ((0.1, 3, -8, 7), (0.0123, 100, 0, 255), (0.0, 0, -8, 7), (-0.1, 0, -8, 7), (0.1, 30, -8, 7), (0.1, 3, 8, 7))
    for x, args in product((ODD, torch.randn(40, 40) * 2), (*ranges, (*of_tensors, -8, 7))):
        check(per_tensor, compiled, x.to(dtype), *args)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_scale_for_each_channel(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    compiled = compile_at(per_channel, 0)
    scale = torch.rand(9) * 0.1 + 0.01
    whole = torch.randint(-8, 8, (9,), dtype=torch.int32)
    for x, axis in (ODD, 0), (torch.randn(4, 9, 3), 1):
        check(per_channel, compiled, x.to(dtype), scale, whole, axis, -8, 7)


def test_zero_points_and_axes() -> None:
    compiled, scale = compile_at(per_channel, 0), torch.rand(9) * 0.1 + 0.01
    whole = torch.zeros(9, dtype=torch.int32)
    for zero_point in torch.rand(9) * 4, (torch.rand(9) * 4).half(), whole.long(), whole + 9:
        check(per_channel, compiled, torch.randn(4, 9), scale, zero_point, 1, -8, 7)
    for x, axis in (torch.randn(4, 3), 1), (torch.randn(3, 9), -1), (torch.randn(3, 9), 2):
        check(per_channel, compiled, x, scale, whole, axis, -8, 7)


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.observed = FakeQuantize(MovingAverageMinMaxObserver, quant_min=0, quant_max=255)
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.observed(x))


def test_an_observer_learns_its_range() -> None:
    torch.manual_seed(0)
    eager, model = Quantized(), Quantized()
    model.load_state_dict(eager.state_dict())
    compiled = compile_at(model, 0)
    for _ in range(3):
        x = torch.randn(5, 4)
        torch.testing.assert_close(compiled(x), eager(x))
    for (name, found), wanted in zip(model.state_dict().items(), eager.state_dict().values(), strict=True):
        torch.testing.assert_close(found, wanted, msg=name)
