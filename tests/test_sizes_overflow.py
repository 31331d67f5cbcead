"""Sizes, strides and offsets whose products leave 64 bits: errors as in eager, and no memory that is not the tensor's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from expressions import agree_on, groups
from statements import statements
from three_ways import compile_at

# n is 3, b is 2**62: ints that the compiler does not know.
VIEWS = """
    x[0, 0].expand(2**40, 2**40) | x[0, 0].expand(2**40, 2**40).numel() | x[0, 0].expand(2**31, 2**32).shape
    x[0, 0].expand(2**40, 2**40, 0) | x[:0, 0].expand(2**40, 2**40, 0).shape | x[0, 0].expand(2**32, 2**31, 0).shape
    x[0, 0].expand(b, 2) | x[0, 0].expand(b, 1).numel() | x[0, 0].expand(b, b) * 1 | torch.broadcast_to(x[0, 0], (b, n))
    x[:1, :1].expand(2**31, 2**31).unfold(0, 2, 1).shape | x[:1, :1].expand(2**31, 2**31).unfold(0, 3, 1).shape
    x[:0, :0].view(2**40, 2**40, 0) | x[:0].view(0, 2**40, 2**40).shape | x[:0].view(2**32, 2**31, 0).shape
    x[:0].reshape(2**62, 0, 2**62).shape | x[0, 0].expand(b).view(2**31, 2**31).shape
    x[0, 0].expand(2**31, 2**31).flatten().shape
    x[:1, :1].expand(2**40, 1) + x[:1, :1].expand(1, 2**40) | (x[:1, :1].expand(2**40, 1) + x[:1, :1].expand(1, 2**40)).sum()
    x[:1, :1].expand(2**40, 1) @ x[:1, :1].expand(1, 2**40) | x[0, 0].expand(b).clone() | x[0, 0].expand(b).contiguous()
    torch.broadcast_tensors(x[:1, :1].expand(2**40, 1), x[:1, :1].expand(1, 2**40)) | x.diagonal(2**63 - 1).shape
    x.diagonal(-2**63).shape | x.unfold(0, 2, 2**63 - 1).shape | x[2**63 - 1 :].shape | x.triu(-2**63) | x.tril(2**63 - 1)
    x[:0, :1].expand(0, 2**40).unsqueeze(-1).expand(0, 2**40, 2**40).sum((1, 2)) | x.roll(2**63 - 1, 0)
    x[:0, :1].expand(0, 2**40).unsqueeze(-1).expand(0, 2**40, 2**40).softmax(1).shape
"""
STRIDED = """
    x.as_strided((2**40, 2**40), (1, 1)) | x.as_strided((2**40, 2**40), (0, 0)) | x.as_strided((2**32, 2**31), (0, 0))
    x.as_strided((2**32, 2**31, 0), (0, 0, 0)).shape | x.as_strided((2**62, 1), (2, 0)) | x.as_strided((2**62, 4), (4, 1))
    x.as_strided((2**62 + 1,), (4,)) | x.as_strided((2**33,), (2**31,)) | x.as_strided((2,), (2**62,))
    x.as_strided((5,), (b,))
    x.as_strided((3,), (2**63 - 1,)) | x.as_strided((1,), (2**63 - 1,)) | x.as_strided((2, 0), (2**63 - 1, 2**63 - 1)).shape
    x.as_strided((2, 2), (1, 2), 2**62) | x.as_strided((2, 2), (1, 2), 2**63 - 1) | x.as_strided((2, 2), (1, 2), -1)
    x.as_strided((2, 2), (1, 2), -2) | x.as_strided((0, 2), (1, 2), 2**62).shape | x.as_strided((0, 2), (1, 2), -5)
    x.as_strided((-1, 2), (1, 2)) | x.as_strided((2, 2), (-1, 2)) | x.as_strided((2**62,), (-1,)) | x.as_strided((2, 2), (1,))
    x.as_strided((2, 2), (8, 1)) | x.as_strided((2, 2), (7, 1)) | x.as_strided((2, 2), (7, 1), 1) | x.as_strided((n, b), (b, n))
    x.as_strided((b, n, b), (0, 0, 0)) | x.as_strided((1,), (2**62,))[1:].shape | torch.empty_strided((2**62, 0), (4, 4)).shape
    torch.empty_strided((2**40, 2**40), (0, 0)) | torch.empty_strided((2**40, 2**40), (1, 1)) | torch.empty_strided((2,), (b,))
"""
NEW = """
    F.conv1d(x[None], x[:, :, None], padding=2**62) | F.conv1d(x[None], x[:, :, None], padding=2**63 - 1)
    F.conv_transpose1d(x[None], x[:, :, None], stride=2**62) | F.conv_transpose1d(x[None], torch.ones(3, 3, 3), padding=b)
    torch.zeros(2**62, 0).shape | torch.zeros(2**62, 0, 4).shape | torch.zeros(2**62, 4, 0) | torch.zeros(2**63 - 1, 0).shape
    torch.zeros(0, 2**63 - 1).shape | torch.zeros(0, 2**62, 2**62) | torch.zeros(1, 2**62, 4, 0) | torch.zeros(2, 2**61, 4, 0)
    torch.zeros(2**32, 2**31, 0, dtype=torch.uint8) | torch.zeros(2**62, 0, 2**62).shape
    torch.empty(b, 0, dtype=torch.double).shape
    torch.zeros(2**40, 2**40) | torch.empty(b, 4) | torch.full((b, 0), 1).shape | torch.full((b, 2), 1) | torch.zeros(2**61)
    torch.zeros(-1) | torch.zeros(-1, 0) | torch.rand(2**62, 0).shape | torch.ones(2**62, 0).sum(0).shape | x.new_zeros(b, n)
    torch.zeros_like(x[0, 0].expand(2**31, 2**31)) | torch.ones(2**62, 0) @ torch.ones(0, 2**62)
    x.repeat(2**62, 2**62) | x[:0].repeat(2**61, 1) | x.repeat(6148914691236517206, 1) | torch.outer(x[0, 0].expand(b), x[0])
    torch.cat([x[0, 0].expand(b), x[0, 0].expand(b)]) | torch.stack([x[0, 0].expand(b), x[0, 0].expand(b)])
    torch.cat([torch.zeros(b, 0), torch.zeros(b, 0)]) | F.interpolate(x[None], size=2**62) | torch.linspace(0, 1, 2**62)
    torch.repeat_interleave(x[0], 2**62) | torch.meshgrid(x[0, 0].expand(2**40), x[0, 0].expand(2**40))
"""
GIVEN = {"x": torch.arange(9.0).reshape(3, 3), "n": 3, "b": 2**62}


@pytest.mark.parametrize("optimize", [0, 2])
def test_views_raise(optimize: int, lasting_path: Path) -> None:
    agree_on(statements(VIEWS), GIVEN, lasting_path, optimize=optimize)


@pytest.mark.parametrize("group", [*groups(statements(STRIDED), 18)], ids=lambda g: g[0])
def test_strides_stay_in_bounds(group: list[str], lasting_path: Path) -> None:
    agree_on(group, GIVEN, lasting_path)


def dilated(x, w):
    return F.conv1d(x, w, dilation=2**63 - 1)


def test_kernels_do_not_wrap() -> None:
    """Eager returns numbers for kernels that are wider than 64 bits."""
    with pytest.raises(RuntimeError, match="is too large"):
        compile_at(dilated, 0)(torch.ones(1, 3, 3), torch.ones(3, 3, 3))


@pytest.mark.parametrize("group", [*groups(statements(NEW), 18)], ids=lambda g: g[0])
@pytest.mark.filterwarnings("ignore:torch.meshgrid")
def test_new_tensors_are_refused(group: list[str], lasting_path: Path) -> None:
    agree_on(group, GIVEN, lasting_path)
