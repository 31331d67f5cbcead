"""Losses and norms of arguments whose shapes or dtypes do not fit, or nearly do not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from expressions import agree_on, groups
from settings import sweep
from statements import statements

LOSSES = """
    F.cosine_similarity(r, x) | F.cosine_similarity(x, r, 0) | F.cosine_similarity(s, x, -1)
    F.cosine_similarity(x[:, :1], x) | F.cosine_similarity(x[:1], x, 0) | F.cosine_similarity(x, y)
    F.cosine_similarity(s, s, 0) | F.cosine_similarity(x, s, 2) | F.cosine_similarity(i, x) | F.cosine_similarity(i, i)
    F.cosine_similarity(b, x) | F.cosine_similarity(x, x.double()) | F.cosine_similarity(x[:0], x[:0])
    F.cosine_similarity(x[:, :0], x[:, :1]) | F.cosine_similarity(x[:, None], x[None], 2)
    F.cosine_embedding_loss(r, x, r) | F.cosine_embedding_loss(x, x, x) | F.cosine_embedding_loss(x, x, s)
    F.cosine_embedding_loss(x, x, x[:, 0], reduction="none") | F.cosine_embedding_loss(r, r, s)
    F.cosine_embedding_loss(r, r, r) | F.cosine_embedding_loss(s, s, s) | F.cosine_embedding_loss(x, x, x[:2, 0])
    F.cosine_embedding_loss(x[:1], x, x[:, 0]) | F.triplet_margin_loss(r, x, x) | F.triplet_margin_loss(x, r, x)
    F.triplet_margin_loss(x, x, s) | F.triplet_margin_loss(r, r, r) | F.triplet_margin_loss(x, x[:1], x)
    F.triplet_margin_loss(x, x, y) | F.soft_margin_loss(x, r) | F.soft_margin_loss(r, x) | F.soft_margin_loss(s, r)
    F.soft_margin_loss(x, i) | F.soft_margin_loss(x, b) | F.soft_margin_loss(x, x.double())
    F.soft_margin_loss(x.double(), x) | F.soft_margin_loss(i, x) | F.soft_margin_loss(i, i)
    F.soft_margin_loss(r, x, reduction="none") | F.soft_margin_loss(x, s, reduction="none")
    F.soft_margin_loss(s, x, reduction="none") | F.soft_margin_loss(b, x) | F.soft_margin_loss(x, b, reduction="sum")
    F.soft_margin_loss(x, y) | F.soft_margin_loss(x, x.half()) | F.soft_margin_loss(x.half(), x)
    F.soft_margin_loss(x.half(), x.half()) | F.soft_margin_loss(x, (200 * x).to(torch.uint8))
    F.huber_loss(x, x.double() + 1) | F.huber_loss(x.double(), x + 1) | F.huber_loss(x, b) | F.huber_loss(b, x)
    F.huber_loss(i, x) | F.huber_loss(x, i) | F.huber_loss(i, i) | F.huber_loss(x, y)
    F.huber_loss(x, r, reduction="none") | F.huber_loss(r, x) | F.huber_loss(x.half(), x)
    F.huber_loss(x, x.half(), reduction="none") | F.huber_loss(b, b) | F.huber_loss(x, x, delta=0.0)
    F.smooth_l1_loss(b, x) | F.smooth_l1_loss(x, b) | F.smooth_l1_loss(i, x) | F.smooth_l1_loss(i, i)
    F.smooth_l1_loss(x, x.double()) | F.smooth_l1_loss(x, y) | F.smooth_l1_loss(x, r, reduction="none")
    F.smooth_l1_loss(b, b) | F.mse_loss(b, x) | F.mse_loss(x, b) | F.mse_loss(i, x) | F.mse_loss(i, i)
    F.mse_loss(x, x.double()) | F.mse_loss(x, y) | F.l1_loss(b, x) | F.l1_loss(x, b) | F.l1_loss(i, x) | F.l1_loss(i, i)
    F.l1_loss(x, y) | F.binary_cross_entropy_with_logits(x.double(), x)
    F.binary_cross_entropy_with_logits(x, x.double()) | F.binary_cross_entropy_with_logits(x, i)
    F.binary_cross_entropy_with_logits(x, b) | F.binary_cross_entropy_with_logits(i, x)
    F.binary_cross_entropy_with_logits(x, x, x.double()) | F.binary_cross_entropy_with_logits(x, x, r)
    F.binary_cross_entropy_with_logits(x, x, pos_weight=r) | F.binary_cross_entropy_with_logits(r, r, x)
    F.binary_cross_entropy_with_logits(r, r, pos_weight=x) | F.binary_cross_entropy_with_logits(r, r, pos_weight=x[:1])
    F.binary_cross_entropy_with_logits(x, x, y) | F.binary_cross_entropy_with_logits(x, x, pos_weight=y)
    F.binary_cross_entropy_with_logits(x, x, pos_weight=r.double()) | F.binary_cross_entropy_with_logits(x, x[:1])
    F.binary_cross_entropy_with_logits(x, x.half()) | F.binary_cross_entropy(x, x)
    F.binary_cross_entropy(x, x.double()) | F.binary_cross_entropy(x, i) | F.binary_cross_entropy(i, x)
    F.binary_cross_entropy(x + 1, x) | F.binary_cross_entropy(x, x - 1) | F.binary_cross_entropy(x, x[:1])
    F.binary_cross_entropy(x, b) | F.binary_cross_entropy(x, x, x) | F.binary_cross_entropy(x, x, r)
    F.binary_cross_entropy(x, x, y) | F.binary_cross_entropy(x, x, x.double()) | F.kl_div(x, r) | F.kl_div(x, i)
    F.kl_div(i, x) | F.kl_div(x, b) | F.kl_div(x, y) | F.poisson_nll_loss(x, b) | F.poisson_nll_loss(x, y)
    F.margin_ranking_loss(x, x, r) | F.margin_ranking_loss(x, r, x) | F.margin_ranking_loss(x, x, b)
    F.margin_ranking_loss(x, b, x) | F.hinge_embedding_loss(x, r) | F.hinge_embedding_loss(x, b)
    F.hinge_embedding_loss(x, y) | F.hinge_embedding_loss(i, x) | F.gaussian_nll_loss(x, x, x)
    F.gaussian_nll_loss(x, y, x) | F.gaussian_nll_loss(x, x, y) | F.gaussian_nll_loss(x, x, -x)
"""

LOSSES_OF_CLASSES = """
    F.multi_margin_loss(i[0], t[:1], p=2) | F.multi_margin_loss(b[0], t[:1], p=2) | F.multilabel_margin_loss(t[0], t[0])
    F.multilabel_margin_loss(b[0, 0], t[0]) | F.multi_margin_loss(x, t) | F.multi_margin_loss(x, t[0])
    F.multi_margin_loss(x, t[:2]) | F.multi_margin_loss(x, i) | F.multi_margin_loss(r, t[0])
    F.multi_margin_loss(r, t[:1]) | F.multi_margin_loss(r, t) | F.multi_margin_loss(s, t[:1] * 0)
    F.multi_margin_loss(x[:, :0], t) | F.multi_margin_loss(q, t) | F.multi_margin_loss(x, t + 4)
    F.multi_margin_loss(x, t - 4) | F.multi_margin_loss(x, t, weight=r) | F.multi_margin_loss(x, t, weight=r[:2])
    F.multi_margin_loss(x, t, weight=x) | F.multi_margin_loss(i, t) | F.multi_margin_loss(b, t)
    F.multi_margin_loss(x, x[:, 0]) | F.multi_margin_loss(x, t.int()) | F.multi_margin_loss(x, b[:, 0])
    F.multi_margin_loss(x, t, weight=r.double()) | F.multi_margin_loss(x, t, p=3)
    F.multi_margin_loss(r, t[0], reduction="none") | F.multi_margin_loss(r, t[:1], reduction="none")
    F.multi_margin_loss(x, t, reduction="none") | F.multi_margin_loss(x[:0], t[:0], reduction="none")
    F.multi_margin_loss(s, t[0] * 0) | F.multilabel_margin_loss(x, i) | F.multilabel_margin_loss(x, i[0])
    F.multilabel_margin_loss(r, i) | F.multilabel_margin_loss(r, i[0]) | F.multilabel_margin_loss(x[:1], i[0])
    F.multilabel_margin_loss(q, i) | F.multilabel_margin_loss(i, i) | F.multilabel_margin_loss(b, i)
    F.multilabel_margin_loss(x, i + 4) | F.multilabel_margin_loss(x, i - 4) | F.multilabel_margin_loss(x, b)
    F.multilabel_margin_loss(x, x) | F.multilabel_margin_loss(x[:, :0], i[:, :0]) | F.multilabel_margin_loss(s, t[1])
    F.multilabel_margin_loss(s, t[:1]) | F.multilabel_margin_loss(x, i.int()) | F.multilabel_margin_loss(x[:2], i)
    F.multilabel_margin_loss(x, i - 1, reduction="none") | F.multilabel_margin_loss(r, i[0] - 1, reduction="none")
    F.multilabel_margin_loss(x[:0], i[:0], reduction="none") | F.nll_loss(x, t.int()) | F.nll_loss(x, b[:, 0])
    F.nll_loss(x, x[:, 0]) | F.nll_loss(x, t.to(torch.uint8)) | F.nll_loss(i, t) | F.nll_loss(x, t, r.double())
    F.nll_loss(x, t, i[0]) | F.nll_loss(q[:, :, :0], t[:, None][:, :0]) | F.nll_loss(q[:, :0], i) | F.nll_loss(s, t[0])
    F.nll_loss(q, i[:, :2]) | F.nll_loss(q, i[:2]) | F.nll_loss(x, t + 5)
    F.nll_loss(q[:, :0], t[:, None].expand(3, 2)) | F.nll_loss(x, t.short())
    F.nll_loss(q, t[:, None].expand(3, 2).int()) | F.nll_loss(q, t[:, None].expand(3, 2).to(torch.uint8))
    F.nll_loss(q, b[:, :2]) | F.nll_loss(q, i[:, :2], reduction="none")
    F.nll_loss(q[..., None], i[:, :2, None], reduction="none") | F.nll_loss(q[..., None], b[:, :2, None])
    F.nll_loss(r, b[0, 0]) | F.nll_loss(r, t[0].int()) | F.nll_loss(r, x[0, 0]) | F.cross_entropy(x, t.int())
    F.cross_entropy(x, b[:, 0]) | F.cross_entropy(x, i) | F.cross_entropy(x[:, :1], t[:2, None])
    F.cross_entropy(x, i[:2]) | F.cross_entropy(r, t) | F.cross_entropy(r, i[0]) | F.cross_entropy(r, t[:1])
    F.cross_entropy(x, x[:, 0]) | F.cross_entropy(q[:, :0], t[:, None].expand(3, 2))
    F.cross_entropy(x, t.to(torch.uint8)) | F.cross_entropy(x, x.double()) | F.cross_entropy(x, x, ignore_index=1)
    F.cross_entropy(i, t) | F.cross_entropy(s, t[0]) | F.cross_entropy(x, b) | F.cross_entropy(x, t, r.double())
    F.cross_entropy(x, b[:, 0], label_smoothing=0.1) | F.cross_entropy(x, t.int(), label_smoothing=0.1)
    F.cross_entropy(x, x, r[:2]) | F.cross_entropy(x, t, label_smoothing=1.5) | F.cross_entropy(x, x, r.double())
    F.cross_entropy(r, t[:1], reduction="none") | F.cross_entropy(r, t[:1], label_smoothing=0.1)
    F.nll_loss(r, t[:1], reduction="none") | F.cross_entropy(r, t[:1], label_smoothing=0.1, reduction="none")
    F.cross_entropy(r, t[:1], r, label_smoothing=0.1) | F.linear_cross_entropy(r, x, t)
    F.linear_cross_entropy(x, x, t[None]) | F.linear_cross_entropy(x, x, b[:, 0]) | F.linear_cross_entropy(r, x, t[:1])
    F.linear_cross_entropy(x, x, t)
"""

NORMS = """
    F.batch_norm(x, r, r + 1) | F.batch_norm(x, x[:, 0], r) | F.batch_norm(x, r, x[:, 0])
    F.batch_norm(x, r, r, x[:, 0]) | F.batch_norm(x, r, r, r, x[:, 0]) | F.batch_norm(x[:0], r, r, r, r)
    F.batch_norm(x, None, r) | F.batch_norm(x, r, None) | F.batch_norm(x, None, None)
    F.batch_norm(x, None, r, training=True) | F.batch_norm(x, r, None, training=True)
    F.batch_norm(q[:, :0], r, r, training=True).shape | F.batch_norm(q[:, :0], None, None, training=True).shape
    F.batch_norm(x[:1], r, r, training=True) | F.batch_norm(x, r.double(), r.double())
    F.batch_norm(x, r, r, r.double()) | F.batch_norm(x, r, r, r, r.double()) | F.batch_norm(x, r.double(), r)
    F.batch_norm(x.double(), r, r) | F.batch_norm(i, r, r) | F.batch_norm(x, i[0], i[0]) | F.batch_norm(x, r[None], r)
    F.batch_norm(x, r, r[None]) | F.batch_norm(x, r, r, r[None]) | F.batch_norm(x, r, r, r, r[None])
    F.batch_norm(x, r[None], r, training=True) | F.batch_norm(x, r, r, s) | F.batch_norm(x[:, :1], s, s, training=True)
    F.batch_norm(x.half(), r, r, r, r) | F.batch_norm(x.half(), r.half(), r.half(), r, r)
    F.batch_norm(x.half(), r.half(), r.half(), r.half(), r) | F.batch_norm(x, r.half(), r.half())
    F.batch_norm(x, b[0], b[0]) | F.batch_norm(b, r, r) | F.batch_norm(x, r[:2], r[:2], training=True)
    F.batch_norm(q[..., :0], r, r, training=True).shape | F.batch_norm(q[..., :0], r, r, r, r)
    F.batch_norm(q[..., :0], r, r).shape | torch.native_batch_norm(x, r, r, r, r, True, 0.1, 1e-5)
    F.instance_norm(q, r, r + 1) | F.instance_norm(q, r[:3], r) | F.instance_norm(q, r, r[:3])
    F.instance_norm(q, r, r, r[:3]) | F.instance_norm(q, r, r, r, r[:3]) | F.instance_norm(q, r[None], r)
    F.instance_norm(q, r, r[None]) | F.instance_norm(q, s, s) | F.instance_norm(q, r, r, r[None])
    F.instance_norm(q, r, r, s) | F.instance_norm(q[:0], r.clone(), r.clone(), r)
    F.instance_norm(q[:0], r.clone(), r.clone()) | F.instance_norm(q[..., :0], r, r, r, r)
    F.instance_norm(q, None, None, use_input_stats=False) | F.instance_norm(q, r, None)
    F.instance_norm(q, r, r, use_input_stats=False) | F.instance_norm(q, r[:3], r, use_input_stats=False)
    F.instance_norm(q[..., :1], r, r) | F.instance_norm(x, r, r) | F.instance_norm(r)
    F.instance_norm(q, r.double(), r) | F.instance_norm(q, r, r, r.double()) | F.instance_norm(q[:, :0])
    F.instance_norm(i[..., None] + q.long()) | F.instance_norm(q, r, r, b[0])
    F.instance_norm(q[:0], r.clone(), r.clone(), use_input_stats=False)
    F.instance_norm(q[:0], r.clone(), r.clone(), None, r) | F.rms_norm(x, (4,)) | F.rms_norm(x, (3,))
    F.rms_norm(x, (3, 4), x) | F.rms_norm(x, (4,), x) | F.rms_norm(x, (4,), r[:3]) | F.rms_norm(r, (3, 4), x)
    F.rms_norm(s, (4,), r) | F.rms_norm(x, ()) | F.rms_norm(i, (4,)) | F.rms_norm(b, (4,))
    F.rms_norm(x, (4,), r.double()) | F.rms_norm(x, (4,), i[0]) | F.rms_norm(x.double(), (4,), r)
    F.rms_norm(x, (4,), s) | F.rms_norm(x, (1,)) | F.rms_norm(x[:, :1], (1,)) | F.rms_norm(x[:0], (4,))
    F.rms_norm(x[:, :0], (0,)) | F.rms_norm(x, (4,), b[0]) | F.rms_norm(x.half(), (4,), r) | F.rms_norm(i, (4,), r, 0.5)
    torch.native_layer_norm(x, (4,), r, r, 0.5) | torch.native_layer_norm(r, (3, 4), x, x, 0.5)
    torch.native_layer_norm(x, (3,), r, r, 0.5) | torch.native_layer_norm(i, (4,), None, None, 0.5)
    torch.native_layer_norm(x, (4,), x, r, 0.5) | torch.native_layer_norm(x, (4,), r, x, 0.5)
    torch.native_layer_norm(i, (4,), r, r, 0.5) | F.layer_norm(i, (4,), r, r) | F.layer_norm(x, (4,), r.double())
    F.layer_norm(x, (4,), i[0]) | F.layer_norm(i, (4,)) | F.layer_norm(x.half(), (4,), r)
    F.layer_norm(x.half(), (4,), r, r.half()) | F.layer_norm(x, (4,), r, r.double())
    F.layer_norm(x.double(), (4,), r, r) | F.layer_norm(x, ()) | F.layer_norm(b, (4,), b[0], b[0])
    F.layer_norm(i, (4,), i[0], i[0]) | torch.native_group_norm(q, r, r, 3, 4, 2, 2, 0.5)
    torch.native_group_norm(q[0], r, r, 1, 4, 2, 2, 0.5) | torch.native_group_norm(q, r, r, 3, 4, 3, 2, 0.5)
    torch.native_group_norm(q, r, r, 3, 4, 2, 3, 0.5) | torch.native_group_norm(q, r, r, 3, 4, 2, 0, 0.5)
    torch.native_group_norm(q, r[:3], r, 3, 4, 2, 2, 0.5) | torch.native_group_norm(q[None], r, r, 3, 4, 2, 2, 0.5)
    torch.native_group_norm(s, r, r, 3, 4, 2, 2, 0.5) | torch.native_group_norm(q.long(), r, r, 3, 4, 2, 2, 0.5)
    torch.native_group_norm(q, r[None], r, 3, 4, 2, 2, 0.5) | torch.native_group_norm(q, r.double(), r, 3, 4, 2, 2, 0.5)
    F.group_norm(q, 2, r.double(), r) | F.group_norm(q, 3) | F.group_norm(r, 2) | F.group_norm(s, 1)
    F.group_norm(q, 2, r[None]) | F.group_norm(q.long(), 2) | F.group_norm(q[:0], 2, r) | F.group_norm(q[..., :0], 2)
    F.group_norm(q[:, :0], 2) | F.group_norm(q, 0) | F.group_norm(q, -1) | F.group_norm(q.half(), 2, r)
"""


def given() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    i = torch.tensor([[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, -1, 1]])
    return {
        "x": torch.rand(3, 4), "y": torch.rand(2, 5), "r": torch.rand(4), "s": torch.tensor(0.7), "i": i, "b": i > 1,
        "t": torch.tensor([0, 2, 1]), "q": torch.rand(3, 4, 2), "z": torch.rand(2, 3, 4, 5), "c": torch.rand(3, 4, 2),
        "w": torch.rand(2, 3, 2, 2), "v": torch.rand(3, 2, 2, 2, 2), "m": torch.rand(2, 4, 4),
        "g": torch.rand(2, 3, 3, 2), "g3": torch.rand(2, 2, 2, 2, 3),
    }  # fmt: skip


@pytest.mark.parametrize("part", sweep(range(3), 0))
@pytest.mark.parametrize("table", ["LOSSES", "LOSSES_OF_CLASSES", "NORMS"])
def test_errors(table: str, part: int, lasting_path: Path) -> None:
    for expressions in groups(statements(globals()[table])[part::3], 16):
        agree_on(expressions, given(), lasting_path, messages=True)
