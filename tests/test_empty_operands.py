"""Operands without elements, classes or repeats: values and errors as in eager."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from expressions import agree_on
from settings import OPTIMIZE
from statements import statements

import scriptc

REPEATED = """
    x.repeat_interleave(-1) | torch.repeat_interleave(x, -2, dim=0) | torch.repeat_interleave(x, -n, dim=1)
    torch.repeat_interleave(x, torch.tensor([1, -1, 2]), dim=0) | torch.repeat_interleave(torch.tensor([1, -1, 2]))
    torch.repeat_interleave(x, torch.tensor([-1]), dim=0) | torch.repeat_interleave(x, torch.tensor([1, 2]), dim=0)
    torch.repeat_interleave(x, torch.tensor([1, 2, 3]), dim=0, output_size=5) | torch.repeat_interleave(i)
    torch.repeat_interleave(x, torch.tensor([1, 2, 3]), dim=0, output_size=6) | torch.repeat_interleave(x, 0, dim=1)
"""
MEDIANS = """
    torch.empty(0).median() | torch.empty(0).nanmedian() | torch.empty(0, 3).median()
    torch.empty(0, dtype=torch.int64).median()
    torch.empty(0, dtype=torch.half).median() | torch.empty(0, dtype=torch.uint8).median() | x[:n - 3].median()
    torch.median(torch.empty(0, 3), 0) | torch.median(torch.empty(0, 3), 1) | x.median()
"""
CLASSES = """
    F.cross_entropy(torch.ones(2, 0), torch.zeros(2, dtype=torch.int64)) | F.cross_entropy(torch.ones(0), torch.tensor(0))
    F.cross_entropy(torch.ones(2, 0), torch.full((2,), -100)) | F.cross_entropy(torch.ones(0, 3), i[:0]) | F.cross_entropy(x, i)
    F.nll_loss(torch.ones(2, 0), torch.zeros(2, dtype=torch.int64)) | F.nll_loss(torch.ones(2, 0), torch.full((2,), -100))
    F.cross_entropy(x, i + 1) | F.cross_entropy(x, i - 1) | F.nll_loss(x, i - 1, ignore_index=-1)
    F.nll_loss(x, i, weight=x[0])
    F.nll_loss(torch.ones(2, 3, 2, 2), torch.full((2, 2, 2), 3)) | F.nll_loss(torch.ones(2, 0, 3, 3), torch.full((2, 3, 3), 0))
"""
POOLS = """
    F.avg_pool1d(torch.ones(1, 0, 3), 2) | F.avg_pool1d(torch.ones(0, 1, 3), 2) | F.avg_pool1d(torch.ones(0, 3), 2)
    F.avg_pool1d(torch.ones(1, 2, 0), 2) | F.avg_pool3d(torch.ones(1, 0, 3, 3, 3), 2)
    F.avg_pool3d(torch.ones(0, 1, 3, 3, 3), 2)
    F.max_pool1d(torch.ones(1, 0, 3), 2) | F.max_pool1d(torch.ones(0, 3), 2) | F.max_pool1d(torch.ones(0, 1, 3), 2)
    F.max_pool3d(torch.ones(1, 0, 3, 3, 3), 2) | F.adaptive_max_pool1d(torch.ones(1, 0, 3), 2)
    F.lp_pool1d(torch.ones(1, 0, 3), 2, 2)
    F.adaptive_max_pool2d(torch.ones(1, 0, 3, 3), 2) | F.adaptive_max_pool2d(torch.ones(0, 1, 3, 3), 2)
"""
ADAPTIVE_POOLS = """
    F.adaptive_avg_pool1d(torch.ones(2, 3, 0), 1) | F.adaptive_avg_pool1d(torch.ones(2, 3, 0), 2)
    F.adaptive_avg_pool2d(torch.ones(2, n, 4, 0), 1) | F.adaptive_avg_pool2d(torch.ones(2, n, 4, 0), (1, 2))
    F.adaptive_avg_pool2d(torch.ones(3, 0, 4), 1) | F.adaptive_avg_pool2d(torch.ones(2, n, 4, 4), (0, 3))
    F.adaptive_avg_pool3d(torch.ones(2, 0, 1, 2, n), 1) | F.adaptive_avg_pool3d(torch.ones(2, 0, 1, 2, n), (1, 2, 1))
    F.adaptive_max_pool1d(torch.ones(2, 3, 0), 1) | F.adaptive_max_pool2d(torch.ones(2, 0, n, 2), 1)
    F.adaptive_max_pool2d(torch.ones(0, 2, n), 2) | F.adaptive_max_pool2d(torch.ones(2, 3, n, 2), 0)
"""
PATCHES = """
    F.unfold(torch.ones(2, 1, n, 3), (1, 3), dilation=2) | F.unfold(torch.ones(2, 0, 5, 5), 2)
    F.unfold(torch.ones(2, n, 0, 5), 2)
    F.unfold(torch.ones(0, 2, 5, 5), 2) | F.unfold(torch.ones(0, 5, 5), 2) | F.fold(torch.ones(2, 4, n + 5), (4, 4), 2)
    F.fold(torch.ones(2, n, 9), (4, 4), 2) | F.fold(torch.ones(0, 4, 9), (4, 4), 2) | F.fold(torch.ones(2, 0, 9), (4, 4), 2)
    F.fold(torch.ones(4, n - 3), (4, 4), 2) | F.fold(torch.ones(9), (4, 4), 2)
"""
EXTREMES = """
    torch.empty(0, 3).amax() | torch.empty(0).amin() | torch.empty(0, 3).amax(()) | x[:n - 3].amin(()) | x[:n - 3].amax()
    torch.empty(0, 3).amax(0) | torch.empty(0, 3).amin(1) | torch.empty(0, 3).amax((0, 1)) | x[:n - 3].amax(1) | x.amax(())
"""
RESIZED = """
    F.interpolate(torch.ones(2, 3, 0), size=2) | F.interpolate(torch.ones(2, 3, 4), size=n - 3, mode="linear")
    F.interpolate(torch.ones(2, 3, 4, 0), size=(2, 2)) | F.interpolate(torch.ones(2, 3, 0, 4), size=(n, n), mode="bilinear")
    F.interpolate(torch.ones(2, 3, 4, 4), size=(2, n - 3), mode="bicubic") | F.interpolate(x[None, None], scale_factor=0.2)
    F.interpolate(torch.ones(2, 0, 4, 4), size=2, mode="nearest-exact")
    F.interpolate(torch.ones(0, 0, 4), size=2, mode="linear")
    F.interpolate(torch.ones(2, 3, 4, 4, 0), size=2, mode="trilinear") | F.interpolate(torch.ones(0, 3, 4, 4), size=-n)
    F.interpolate(torch.ones(2, 3, 4, 4), size=n - 3, mode="bilinear", antialias=True)
    F.interpolate(torch.ones(0, 3, 4), size=2)
"""
SHUFFLED = """
    F.pixel_shuffle(torch.ones(0, 1, 3, 4), 2) | F.pixel_shuffle(torch.ones(2, 5, 3, 4), 2) | F.pixel_shuffle(x, n)
    F.pixel_shuffle(torch.ones(4, 3, 4), n - 3) | F.pixel_shuffle(torch.ones(2, 0, 3, 4), 2) | F.pixel_unshuffle(x[0], 2)
    F.pixel_unshuffle(torch.ones(0, 1, n, 4), 2) | F.pixel_unshuffle(torch.ones(2, 5, 4, n), 2)
    F.pixel_unshuffle(torch.ones(1, 2, 8, 0, 3), 2) | F.pixel_unshuffle(torch.ones(2, 4, 4), -n)
    F.channel_shuffle(x, n) | F.channel_shuffle(torch.ones(0, 3, 3, 4), 2) | F.channel_shuffle(torch.ones(2, n, 3), 2)
    F.channel_shuffle(torch.ones(2, 4, 3), n - 3) | F.channel_shuffle(torch.ones(2, 6, 0), n) | F.channel_shuffle(x[0], 1)
"""
GIVEN = {"x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "i": torch.tensor([2, 0, 1]), "n": 3}
TABLES = {
    "repeated": REPEATED, "medians": MEDIANS, "classes": CLASSES, "pools": POOLS, "extremes": EXTREMES, "resized": RESIZED,
    "shuffled": SHUFFLED, "adaptive pools": ADAPTIVE_POOLS, "patches": PATCHES,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_empty_operands(table: str, lasting_path: Path) -> None:
    agree_on(statements(table), GIVEN, lasting_path)


def test_pixel_unshuffle_of_nothing_is_refused() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pixel_unshuffle(x, 2)

    compiled = scriptc.compile(f, optimize=OPTIMIZE)
    assert torch.equal(compiled(torch.arange(32.0).view(2, 1, 4, 4)), f(torch.arange(32.0).view(2, 1, 4, 4)))
    with pytest.raises(NotImplementedError, match="pixel_unshuffle of an input without elements"):
        compiled(torch.ones(0, 1, 4, 4))
