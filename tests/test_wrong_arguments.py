"""Arguments of wrong ranks, sizes and dtypes: compiled code raises what eager raises, in its words where they matter."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from compiled_together import run_together
from expressions import agree_on, groups
from statements import statements

GIVEN = {
    "x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "i": torch.tensor([2, 0, 1]), "n": 3,
    "m": torch.tensor([True, False, True]), "b": torch.arange(24.0).reshape(2, 3, 4), "d": torch.arange(3.0).double(),
    "s": torch.tensor(2.0), "k": torch.tensor(1), "e": torch.ones(0, 3),
}  # fmt: skip

# The first line of each message is eager's.
PRODUCTS = """
    torch.addmm(x, x[:2], x) | torch.addmv(x[0], x, x[0, :2]) | torch.addmv(x, x, x[0]) | torch.addmv(x[0], x[0], x[0])
    torch.addmv(x[0, :2], x, x[0]) | torch.baddbmm(x, b, b) | torch.baddbmm(x, x, b) | torch.baddbmm(b, x[0], b)
    torch.addbmm(x, b, b) | torch.addbmm(x, x, b) | torch.addbmm(x, x[0], b) | torch.addbmm(x, b, b[:1].transpose(1, 2))
    torch.addr(x, x, x[0]) | torch.addr(x, x[0], s) | torch.addr(x[:2], x[0], x[0]) | torch.addr(s.double(), x[0], x[0])
    torch.addr(d, x[0], x[0]) | torch.mm(x, x[0]) | torch.mm(b, x) | torch.mm(x, x[:2]) | torch.mv(s, x[0]) | torch.mv(x, x)
    torch.mv(x, x[0, :2]) | torch.mv(b, x[0]) | torch.dot(x, x[0]) | torch.dot(x[0], s) | torch.dot(x[0], x[0, :2])
    torch.bmm(x, b) | torch.bmm(b, x) | torch.bmm(b, b) | torch.bmm(b, b[:1].transpose(1, 2)) | torch.outer(x, x[0])
    torch.outer(x[0], s) | torch.inner(x, b) | torch.inner(x, s) | torch.inner(x[:, :2], x) | torch.tensordot(x, b, 1)
    torch.tensordot(x, b, ([0], [0, 1])) | torch.tensordot(x, b, ([0], [2])) | torch.tensordot(x[:1], b, ([0], [2]))
    torch.cdist(x[0], x) | torch.cdist(x, x[0]) | torch.cdist(x, x[:, :2]) | torch.cdist(b, x) | torch.linalg.multi_dot([x])
    torch.linalg.multi_dot([b, x]) | torch.linalg.multi_dot([x, s]) | torch.linalg.multi_dot([x, x[0], x])
"""
CROSSES = """
    torch.cross(x, x[0]) | torch.cross(x[:2], x[:2], dim=0) | torch.cross(x, x, dim=1) | torch.cross(x[:2], x[:2], dim=1)
    torch.cross(x[0, :2], x[0, :2]) | torch.cross(x[0], x[0]) | torch.linalg.cross(x[:, :2], x[:, :2])
    torch.linalg.cross(x, x[0]) | torch.linalg.cross(x, x[:2], dim=1) | torch.linalg.cross(x, x[:1], dim=1)
    torch.linalg.cross(x, x, dim=2)
"""
BROADCASTS = """
    torch.broadcast_shapes((2, 3), (n, 2)) | torch.broadcast_shapes((2, 3), (1, n), n) | torch.broadcast_tensors(x, x[:2])
    torch.stack(torch.broadcast_tensors(x, x[:, :1], s)) | x.sum_to_size(2, 3) | x.sum_to_size(1, 3) | x.sum_to_size((3, 1))
    s.sum_to_size(1) | x.sum_to_size(1, 1, 1) | x[0].sum_to_size(1, 1) | x.sum_to_size(()) | torch.eye(-1)
    torch.eye(2, -n) | torch.eye(2, n) | torch.linspace(x[0, :1], k, 2) | torch.linspace(s, x[0], 2)
    torch.linspace(x[0], 2, 2) | torch.linspace(1, x[0], 0) | torch.logspace(x[0, :1], k, 2) | torch.linspace(k > 0, k, 3)
    torch.logspace(k, k > 0, 2) | torch.linspace(d[1], s, 3)
"""
PLACED = """
    torch.take(x, x[0]) | torch.take(e, i) | torch.take(e, i[:0]) | torch.take(x, i.int()) | torch.put(x, x[0], x[0])
    torch.put(x, i, d) | torch.put(x, i, s) | torch.put(e, i, x[0]) | torch.put(x, k, s)
    torch.take_along_dim(x, x.int(), 0) | torch.take_along_dim(x, i, 0) | torch.take_along_dim(x, i.unsqueeze(0), 0)
    torch.scatter(x, 0, i, x[0]) | torch.scatter(x, 1, i[None], x[0]) | torch.scatter(x[0], 0, i, d)
    torch.scatter(x[0], 0, k, s) | torch.scatter(x, 0, i, 1.0) | torch.scatter(x, 0, i[:0], x[0])
    torch.scatter_add(x[0], 1, i[None], x) | torch.scatter_add(x, 0, i[None], s)
    torch.scatter_reduce(x, 0, i[None], x[0], "amin") | torch.scatter_reduce(x, 0, i[None], x[0, :1], "amax")
    torch.scatter_reduce(x[0] + 1j, 0, i, x[0], "amax") | torch.index_put(x, (k,), x[:1]) | torch.index_put(x, (k,), x[0])
    torch.index_put(x, (i,), x[None]) | torch.index_put(x, (i, k), x[:1]) | torch.index_put(x, (k, k), x[0, :1])
    torch.index_put(x, (m,), x[:2]) | torch.index_fill(s, 0, i[1:2], 3.0) | torch.index_fill(s, 0, torch.zeros_like(i), 3.0)
    torch.index_fill(s, 0, i[:0], d[1]) | torch.index_fill(x.t(), 1, i[:1], s)
    torch.index_add(x, 2, i, x) | torch.index_add(x, 0, i[None], x) | torch.index_add(x, 0, d, x) | torch.index_add(x, 0, i, d)
    torch.index_add(x, 1, i, x[0]) | torch.index_add(x, 0, i[:2], x) | torch.index_add(x, 0, i, b)
    torch.index_copy(x, 0, i[None], x)
    torch.index_add(x, 0, i, x[:, :2]) | torch.index_reduce(x, 0, i, x.double(), "amax") | torch.index_copy(x, 0, i, b)
    torch.index_copy(x, 0, i, s) | torch.index_copy(x, 0, d, x) | torch.index_copy(x, 0, i, x.double())
    torch.index_copy(x, 0, i[:2], x) | torch.index_fill(x, 0, i[None], 1.0) | torch.index_fill(x, 0, d, 1.0)
    torch.index_fill(x, 0, i, d) | torch.masked_scatter(x, m, d) | torch.masked_scatter(x, x, x) | torch.masked_fill(x, x, 1.0)
    torch.masked_scatter(x, x > 0, x[0, :1])
"""
SLICES = """
    torch.select_scatter(x, x, 0, 1) | torch.select_scatter(x, x[0, :2], 0, 1) | torch.select_scatter(x, d, 1, 1)
    torch.slice_scatter(x, x[0], 0, 0, 1) | torch.slice_scatter(x, x[:2], 0, 0, n) | torch.slice_scatter(x, x[:2], 0, 1, n)
    torch.slice_scatter(x, x[:, :1], 2, 0, 1) | torch.slice_scatter(s, s) | torch.slice_scatter(x, x[:1], 0, 0, 1, 0)
    torch.slice_scatter(x, x[:, :2], -1, 0, n, 2) | torch.diagonal_scatter(x, x) | torch.diagonal_scatter(x, x[0], 1)
    torch.diagonal_scatter(x, x[0, :2], 1) | torch.as_strided_scatter(x, s, (1,), (1,))
    torch.as_strided_scatter(x, d, (n,), (2,)) | torch.as_strided_scatter(x.t(), x[0], (2,), (1,))
    torch.ops.aten.slice.Tensor(s, 0) | torch.ops.aten.slice.Tensor(x, 2, 0, 1)
    torch.ops.aten.slice.Tensor(x, 1, 0, n, -1) | torch.ops.aten.slice.Tensor(x, -1, 1, n) | torch.narrow(x, 0, i[:1], 1)
    torch.narrow(x, 0, s, 1) | torch.narrow(x, 0, k, 2) | torch.narrow_copy(x, 2, 0, 1) | torch.narrow_copy(x, -1, 1, 2)
    torch.permute(x, (0,)) | torch.permute(x, (0, 1, 2)) | torch.permute(x, (0, 0)) | torch.permute(x, (0, 2))
    torch.permute_copy(x, (1, 2, 0))
    torch.narrow(x, 0, k > 0, 1)
"""
SEARCHES = """
    torch.searchsorted(x, x[0]) | torch.searchsorted(b, x) | torch.searchsorted(x, s) | torch.searchsorted(x, 1.0)
    torch.searchsorted(s, x) | torch.searchsorted(x[0], x, side="middle")
    torch.searchsorted(x[0], x, right=True, side="left") | torch.searchsorted(x[0], x, sorter=i[:2])
    torch.searchsorted(x[0], x, sorter=m) | torch.searchsorted(x[0], x, sorter=i + 1)
    torch.searchsorted(x[0], x, sorter=i) | torch.searchsorted(x[:2], x) | torch.searchsorted(x[0], s, side="right")
    torch.bucketize(x, x) | torch.bucketize(x, s) | torch.bucketize(1.0, x[0])
"""
PIECES = """
    torch.tensor_split(s, 2) | torch.tensor_split(x, 0) | torch.tensor_split(x, n - 4) | torch.tensor_split(x, x[0].cpu())
    torch.tensor_split(x, i[None]) | torch.tensor_split(x, k) | torch.tensor_split(x, k - 1) | torch.tensor_split(x, i[2:])
    torch.movedim(x, (0, -2), (0, 1)) | torch.movedim(x, (0, 1), (1, -1)) | torch.movedim(x, (0,), (0, 1))
    torch.movedim(x, 2, 0) | torch.movedim(s, 0, 0) | torch.movedim(s, (0, -1), (0, 0)) | torch.movedim(b, (0, -1), (-1, 0))
    x.repeat_interleave(i[None], 0) | x.repeat_interleave(m, 0) | x.repeat_interleave(x[0], 0) | x.repeat_interleave(k, 0)
    torch.repeat_interleave(i[None]) | torch.repeat_interleave(i.int()) | torch.repeat_interleave(s) | torch.roll(x, ())
    torch.roll(x, (2, 1), 0) | torch.roll(x, (1, 2)) | torch.roll(x, 1, (0, 1)) | torch.roll(x, (1,))
    torch.rot90(x, 1, (0,)) | torch.rot90(x[0]) | torch.rot90(x, 1, (0, -2)) | torch.rot90(x, 1, (0, 3))
    torch.rot90(x, 1, (-3, 0)) | x[0].H | b.H | s.H + 1 | x.H | x[0].mT | x[0].mH | s.mT + 1 | (s + 1j).mH | (s + 1j).H
    torch.arange(n, dtype=torch.bool) | torch.arange(0, 4, 2, dtype=torch.complex64)
    torch.hsplit(s, 2) | torch.vsplit(d, 2) | torch.dsplit(x, [1]) | torch.hsplit(x, 2) | torch.diag(s) | torch.diag(b)
"""
STATISTICS = """
    torch.cov(b) | torch.corrcoef(b) | torch.cov(x, fweights=i[None]) | torch.cov(x, fweights=x[0])
    torch.cov(x, fweights=i[:2]) | torch.cov(x, fweights=i - 1) | torch.cov(x, fweights=i) | torch.cov(x, aweights=i)
    torch.cov(x, aweights=x) | torch.cov(x, aweights=x[0]) | torch.cov(x, aweights=x[0].abs()) | torch.cov(x, aweights=s)
    torch.cov(x, fweights=i * 0) | torch.cov(x[0], aweights=x[0, :2]) | torch.linalg.vander(s) | torch.linalg.vander(x, N=1)
    torch.linalg.vander(x, N=n) | torch.norm(e, math.inf) | torch.norm(e, -math.inf)
    torch.linalg.vector_norm(e, -1, dim=0) | torch.norm(e, math.inf, 1) | torch.linalg.vector_norm(e, -math.inf, dim=(0, 1))
    torch.norm(e, 2) | torch.norm(e, math.inf, 0) | torch.trapezoid(x, x[0, :2]) | torch.trapezoid(x, m)
    torch.trapezoid(x > 0) | torch.trapezoid(e, x[0, :2], dim=0) | torch.trapezoid(b, x[:2, :1], dim=1)
    torch.trapezoid(b, b[0]) | torch.trapezoid(b, x[0, :2]) | torch.trapezoid(e, dim=0)
    torch.trapezoid(torch.tensor([1.0, math.inf, 2.0])) | torch.trapezoid(torch.tensor([math.inf, 1.0]))
    torch.trapezoid(s) | torch.cumulative_trapezoid(b, b[0]) | torch.cumulative_trapezoid(x, x[0, :2])
    torch.cumulative_trapezoid(x, m) | torch.diff(x, -1) | torch.diff(x, prepend=x[0]) | torch.diff(x, append=x[:, :1])
    torch.diff(s) | torch.gradient(x, edge_order=3) | torch.gradient(x, spacing=0.1, dim=(1, 1))
    torch.gradient(x, spacing=[0.1], dim=(1, 0)) | torch.gradient(x, dim=2) | torch.gradient(x[:1], dim=0)
    torch.gradient(x, spacing=[1.0]) | torch.gradient(x, spacing=[x[0], d]) | torch.gradient(x, spacing=[x, d])
    torch.gradient(x, edge_order=2) | torch.gradient(x[:2], edge_order=2)
    torch.trapezoid(x.half(), x[0].half()) | torch.trapezoid(e.half(), x[0].half(), dim=1) | torch.trapezoid(x.long(), i)
"""
HISTOGRAMS = """
    torch.histogram(x, d) | torch.histogram(x, s) | torch.histogram(x, x) | torch.histogram(x, x[0, :0])
    torch.histogram(x, 2, weight=d) | torch.histogram(x, 2, weight=x[0]) | torch.histogram(x, 2, weight=x.t())
    torch.histogramdd(s, [1]) | torch.histogramdd(x[0], [1]) | torch.histogramdd(x, [1, 1])
    torch.histogramdd(x, [x[0], x[1]]) | torch.histogramdd(x[:, :1], [d]) | torch.histogramdd(x[:, :1], [x])
    torch.histogramdd(x[:, :1], [x[0, :0]]) | torch.histogramdd(x, [1, 1, 1], weight=d)
    torch.histogramdd(x, [1, 1, 1], weight=x) | torch.histogramdd(x, [1, 1, 1])
    torch.histogramdd(x, [1, 2, 1], weight=x[0])
"""
MASKED = """
    torch.masked.sum(x[0], mask=x > 0) | torch.masked.sum(x, mask=m[:2]) | torch.masked.sum(x, mask=x)
    torch.masked.sum(x, mask=s) | torch.masked.sum(x > 0, mask=m) | torch.masked.sum(x, (0, 0)) | torch.masked.sum(x, 2)
    torch.masked.prod(i, mask=m) | torch.masked.prod(x > 0, 0, mask=m) | torch.masked.amax(m) | torch.masked.amax(m, mask=m)
    torch.masked.amin(x + 1j, mask=m) | torch.masked.amax(i, mask=m, dtype=torch.float64) | torch.masked.amin(i, mask=~m)
    torch.masked.argmax(m, mask=m) | torch.masked.argmax(x[0], mask=x > 0) | torch.masked.argmin(i, mask=m)
    torch.masked.mean(i, mask=m) | torch.masked.mean(x, dtype=i.dtype) | torch.masked.mean(i, mask=m, dtype=x.dtype)
    torch.masked.mean(x[0], mask=x > 0) | torch.masked.var(i, mask=m) | torch.masked.std(x, mask=m[:2])
    torch.masked.var(x, 1, False, mask=x > 0) | torch.masked.median(i, mask=m) | torch.masked.median(i, mask=m & ~m)
    torch.masked.norm(x[0], mask=x > 0) | torch.masked.logsumexp(m, mask=m) | torch.masked.logsumexp(x, 1, mask=m)
    torch.masked.logaddexp(x, x, input_mask=b > 0) | torch.masked.cumsum(x[0], 0, mask=x > 0)
    torch.masked.cumsum(i, 0, mask=m) | torch.masked.cumprod(x, 0, mask=m[:2]) | torch.masked.softmax(x[0], 0, mask=x > 0)
    torch.masked.softmax(i, 0, mask=m) | torch.masked.softmin(x, 2) | torch.masked.log_softmax(x, 1, mask=x)
    torch.masked.normalize(x, 2.0, 0, mask=m[:2])
"""
UNFLATTENED = """
    torch.unflatten(b, 2, (2, 3)) | b[:, :, :0].unflatten(1, (2, 2)) | b.unflatten(1, (2, -1)) | b.unflatten(3, (2, 2))
    b.unflatten(2, ()) | b.unflatten(-1, (2, -1)) | b.unflatten(2, (n - 1, 2)) | b.unflatten(2, (n, 2))
    torch.diff(x, 0, prepend=x) | torch.diff(x, 0, 0, x[:1], x) | torch.diff(x, n - 3)
    torch.diff(x, 0, prepend=x[0]) | torch.diff(x, 0, append=x[:, :2]) | torch.diff(x, 1, 0, x[:, :2]) | torch.diff(x, 1, 2)
"""
BAGS = """
    torch.nn.functional.embedding(i, x[0]) | torch.nn.functional.embedding(i, b) | torch.nn.functional.embedding(d, x)
    torch.nn.functional.embedding(i.short(), x) | torch.nn.functional.embedding(i.int(), x)
    torch.nn.functional.gelu(x, approximate="other")
    torch.embedding_bag(x, i, d.long())[0] | torch.embedding_bag(x, i[None, None], k[None] * 0)
    torch.embedding_bag(x, i, k * 0) | torch.embedding_bag(b, i, k[None] * 0) | torch.embedding_bag(i[None], i, k[None] * 0)
    torch.embedding_bag(x, d, k[None] * 0) | torch.embedding_bag(x, i, k[None] * 0, padding_idx=n)
    torch.embedding_bag(x, i, torch.tensor([0, 4])) | torch.embedding_bag(x, i, i[1:2], per_sample_weights=d)
    torch.embedding_bag(x, i, i[:0], include_last_offset=True) | torch.embedding_bag(x, i.int(), i[1:2])[0]
"""
# The type alone is eager's: compiled code has one text for several errors, or one without sizes.
TYPES = """
    torch.embedding_bag(x, i, i) | torch.embedding_bag(x, i + 1, i[1:2]) | torch.embedding_bag(x, i, i[1:2], mode=1)[0]
    torch.embedding_bag(x, i, i[1:2], per_sample_weights=x[0, :2]) | torch.embedding_bag(x, i, i[1:2], mode=2)[0]
    torch.embedding_bag(x, i, i[1:2], mode=1, per_sample_weights=x[0]) | torch.embedding_bag(x, i, i[1:2], padding_idx=2)[0]
    torch.take(x, i + 9) | torch.put(x, i + 9, x[0]) | torch.gather(x, 0, i) | torch.gather(x, 0, x)
    torch.linalg.vander(m) | torch.addmm(b, x, x) | torch.addbmm(b, b, b.transpose(1, 2)) | torch.addr(b, x[0], x[0])
    torch.select_scatter(x, x[0], 1, n)
"""
TABLES = {
    "products": PRODUCTS, "crosses": CROSSES, "broadcasts": BROADCASTS, "placed": PLACED, "slices": SLICES,
    "searches": SEARCHES, "pieces": PIECES, "statistics": STATISTICS, "histograms": HISTOGRAMS, "masked": MASKED, "bags": BAGS,
    "unflattened": UNFLATTENED,
    "types": TYPES,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_are_refused_as_in_eager(name: str, lasting_path: Path) -> None:
    parts = list(groups(statements(TABLES[name])))
    checks = [partial(agree_on, part, GIVEN, lasting_path, messages=name != "types") for part in parts]
    assert run_together(checks) == [None] * len(parts)
