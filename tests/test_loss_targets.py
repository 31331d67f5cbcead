"""Targets, weights and images of sizes that losses and pools refuse, or that have no elements."""

from __future__ import annotations

from pathlib import Path

import torch
from expressions import agree_on
from statements import statements

CALLS = """
    F.nll_loss(x, t[:1]) | F.nll_loss(x, b) | F.nll_loss(x[0], t) | F.nll_loss(y, torch.zeros(3, 4).long())
    F.nll_loss(y, torch.zeros(3, 5).long()) | F.nll_loss(z, torch.zeros(3, 5, 1).long()) | F.nll_loss(x, t, torch.ones(3))
    F.nll_loss(x, t, torch.ones(4, 1)) | F.nll_loss(x[0, 0], t[0]) | F.nll_loss(x[0], t[0])
    F.cross_entropy(x, t[:1]) | F.cross_entropy(x, x[:, :2]) | F.cross_entropy(x, x[:1]) | F.cross_entropy(x, x, torch.ones(3))
    F.cross_entropy(x, t, label_smoothing=-.1) | F.cross_entropy(x, x, label_smoothing=2.0) | F.cross_entropy(x, b)
    F.cross_entropy(x, t, torch.ones(1), label_smoothing=0.1) | F.cross_entropy(x, t, label_smoothing=2.0)
    F.cross_entropy(x[:, :0], x[:, :0]) | F.cross_entropy(x[:, :0], x[:, :0], reduction="sum")
    F.cross_entropy(x[:, :0], x[:, :0], label_smoothing=.1) | F.cross_entropy(x[:, :0], t) | F.cross_entropy(x[:, :0], t[:0])
    F.nll_loss(x, t[0]) | F.cross_entropy(x, t[0]) | F.cross_entropy(y, t[0]) | F.cross_entropy(x[:0], t[0])
    F.cross_entropy(x[0, 0], t[0]) | F.cross_entropy(x[0, 0], t) | F.cross_entropy(x, b[:1].expand(3, 4).int())
    F.cross_entropy(x[:0], x[:0], label_smoothing=.1) | F.cross_entropy(x[0, :0], x[0, :0]) | F.cross_entropy(x[0], x[0])
    F.adaptive_avg_pool1d(e, 2) | F.adaptive_avg_pool2d(e, 2) | F.adaptive_avg_pool2d(e[None], 2)
    F.adaptive_avg_pool3d(e[None], 2)
    F.adaptive_avg_pool1d(x[:, :0], 2) | F.adaptive_avg_pool2d(z[:0], 2) | F.adaptive_avg_pool2d(z[:, :0], 2)
"""


def test_sizes_of_targets(lasting_path: Path) -> None:
    torch.manual_seed(0)
    given = {
        "x": torch.rand(3, 4), "t": torch.tensor([0, 2, 1]), "b": torch.zeros(3, 2).long(), "y": torch.rand(3, 4, 5),
        "z": torch.rand(3, 4, 5, 2), "e": torch.zeros(1, 0, 3),
    }  # fmt: skip
    agree_on(statements(CALLS), given, lasting_path)
