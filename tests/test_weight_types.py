"""weights="bfloat16" and "float16": linears of frozen weights compute as eager does on rounded weights."""

from __future__ import annotations

import copy

import pytest
import torch
from test_memory_plan import Elman
from torch import nn

import scriptc
from scriptc.ir.printer import print_module

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = Elman(33, 150), nn.Linear(150, 70)

    def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
        return torch.softmax(self.head(self.cell(xs)), -1)


def rounded(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    copied = copy.deepcopy(model)
    for module in copied.modules():
        if isinstance(module, (nn.Linear, nn.RNNBase)):
            for name, weight in module.named_parameters(recurse=False):
                if "weight" in name:
                    weight.data = weight.data.to(dtype).to(weight.dtype)
    return copied


CASES = {
    "net": (Net(), lambda n, b: [torch.randn(b, 33) for _ in range(n)]),
    "lstm": (nn.LSTM(20, 65, 2), lambda n, b: torch.randn(n, b, 20)),
    "one": (nn.Linear(700, 300), lambda n, b: torch.randn(n, 700)),
}


@pytest.mark.parametrize("weights", DTYPES)
@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_like_eager_on_rounded_weights(name: str, weights: str) -> None:
    torch.manual_seed(0)
    model, make = CASES[name]
    reference = rounded(model, DTYPES[weights])
    made = scriptc.compile(model, freeze=True, weights=weights)
    for n, b in ((3, 1), (7, 5), (2, 30), (130, 2)):
        x = make(n, b)
        torch.testing.assert_close(made(x), reference(x), rtol=1e-5, atol=2e-6)
    assert scriptc.compare(made, make(4, 4)).ok
    kept = scriptc.compile(model, freeze=True)
    assert not torch.equal(torch.as_tensor(_first(kept(x))), torch.as_tensor(_first(made(x))))


def _first(value: object) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else _first(value[0])  # type: ignore[index]


def test_compare_reports_the_error_of_rounding() -> None:
    torch.manual_seed(0)
    made = scriptc.compile(nn.Linear(64, 64), freeze=True, weights="bfloat16")
    (row,) = scriptc.compare(made, torch.randn(5, 64)).rows
    assert row.ok and "rounded weights" in row.verdict
    assert 1e-4 < row.max_abs < 1e-1


def test_only_kept_float32_weights_of_linears_are_rounded() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.wide = nn.Linear(8, 8), nn.Linear(8, 8).double()
            self.scale = nn.Parameter(torch.rand(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.wide((self.fc(x) * self.scale).double())

    model, x = Mixed(), torch.randn(3, 8)
    made = scriptc.compile(model, freeze=True, weights="bfloat16")
    expected = copy.deepcopy(model)
    expected.fc.weight.data = model.fc.weight.data.bfloat16().float()
    torch.testing.assert_close(made(x), expected(x))
    stores = [op.attrs["store"] for op in made._variant(-1).translated.entry.module.walk() if "store" in op.attrs]
    assert sorted(stores) == ["", "bf16"]


def test_the_panels_take_half_the_memory() -> None:
    x = torch.randn(1, 600)
    sizes = [
        scriptc.compile(nn.Linear(600, 700), freeze=True, weights=weights).memory(x).measured
        for weights in ("float32", "bfloat16")
    ]
    packing = 600 * 704 * 4  # both are there while the smaller one is made
    assert sizes[0] >= packing
    made = scriptc.compile(nn.Linear(600, 700), freeze=True, weights="bfloat16")
    made(x)
    made(x)
    assert made._dispatcher.callable.asked_bytes < 0.6 * packing


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="needs freeze=True"):
        scriptc.compile(nn.Linear(2, 2), weights="bfloat16")
    with pytest.raises(ValueError, match="weights is one of"):
        scriptc.compile(nn.Linear(2, 2), freeze=True, weights="int4")


def test_the_interpreter_rounds_too() -> None:
    made = scriptc.compile(nn.Linear(16, 16), freeze=True, weights="bfloat16")
    x = torch.randn(3, 16)
    result = made(x)
    variant = made._variant(-1).translated.entry
    assert 'store = "bf16"' in print_module(variant.module)
    from scriptc.ir.interp import Interpreter

    params = {live.name: live.container[live.key].detach() for live in variant.tensors}
    (expected,) = Interpreter(variant.module, params).run(variant.module.entries[0], x)
    torch.testing.assert_close(result, expected)
