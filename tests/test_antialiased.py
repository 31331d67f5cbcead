"""Antialiased resizing, and products of groups of rows, beside eager at sizes around the bounds of their formulas."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from settings import OPTIMIZE
from torch import Tensor

import scriptc


def resized(x: Tensor, height: int, width: int, mode: str, align_corners: bool) -> Tensor:
    return F.interpolate(x, size=(height, width), mode=mode, align_corners=align_corners, antialias=True)


def scaled(x: Tensor, mode: str) -> Tensor:
    return F.interpolate(x, scale_factor=(0.4, 1.7), mode=mode, antialias=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_resized(mode: str, dtype: torch.dtype) -> None:
    by_size, by_scale = scriptc.compile(resized, optimize=OPTIMIZE), scriptc.compile(scaled, optimize=OPTIMIZE)
    for height, width in ((17, 23), (1, 5), (40, 9)):
        x = torch.randn(2, 3, height, width, dtype=dtype)
        for out in ((5, 7), (31, 50), (1, 1)):
            for align_corners in (False, True):
                args = (x, *out, mode, align_corners)
                torch.testing.assert_close(by_size(*args), resized(*args))
        if height > 2:
            torch.testing.assert_close(by_scale(x, mode), scaled(x, mode))


def grouped(a: Tensor, b: Tensor, ends: Tensor | None) -> Tensor:
    return torch._grouped_mm(a, b, offs=ends)


ENDS = torch.tensor([2, 2, 6], dtype=torch.int32)


@pytest.mark.parametrize(
    ("a", "b", "ends"),
    [
        (torch.randn(6, 8), torch.randn(3, 8, 12), ENDS),
        (torch.randn(6, 8), torch.randn(3, 12, 8).mT, ENDS),
        (torch.randn(8, 6).mT, torch.randn(3, 8, 12), ENDS),
        (torch.randn(8, 8), torch.randn(8, 12), torch.tensor([2, 2, 8], dtype=torch.int32)),
        (torch.randn(3, 4, 8), torch.randn(8, 8), torch.tensor([2, 2, 8], dtype=torch.int32)),
        (torch.randn(3, 4, 8), torch.randn(3, 8, 12), None),
        (torch.randn(6, 6), torch.randn(3, 6, 12), ENDS),
        (torch.randn(6, 8), torch.randn(2, 8, 12), ENDS),
        (torch.randn(6, 8), torch.randn(3, 4, 12), ENDS),
        (torch.randn(6, 8), torch.randn(3, 8, 12), None),
        (torch.randn(6, 8), torch.randn(3, 8, 12), ENDS.long()),
    ],
)
def test_grouped(a: Tensor, b: Tensor, ends: Tensor | None) -> None:
    made = scriptc.compile(grouped, optimize=OPTIMIZE)
    try:
        expected = grouped(a, b, ends)
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=str(error).split("\n")[0].split(",")[0]):
            made(a, b, ends)
    else:
        torch.testing.assert_close(made(a, b, ends), expected)
