"""Arguments that eager refuses, in tables of calls: compiled code raises the same type of exception, and where eager returns a
value so does it. Calls are interpreted; some are compiled as well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from settings import sweep
from statements import module_of, statements
from three_ways import assert_same, call, eager, interpreted

from scriptc import CompileError

# Numbers of each kind as numbers that ATen converts to the dtype of the tensors: N is the number, T the tensor.
CONVERTED = """
    torch.add(T, T, alpha=N) | torch.sub(T, T, alpha=N) | T.add_(T, alpha=N) | T.sub_(T, alpha=N) | torch.full_like(T, N)
    torch.addmm(T, T, T, beta=N) | torch.addmv(T[0], T, T[0], beta=N) | T.fill_(N)
    torch.baddbmm(T[None], T[None], T[None], alpha=N) | torch.fill(T, N)
    T.masked_fill(m, N) | T.masked_fill_(m, N) | T.index_fill(0, i, N) | T.scatter(0, i[None], N) | T.fill_diagonal_(N)
    torch.index_add(T, 0, i, T, alpha=N) | torch.full((2,), N, dtype=T.dtype) | T.new_full((2,), N) | F.hardtanh(T, N, N)
    torch.scalar_tensor(N, dtype=T.dtype) | F.pad(T, (1, 1), value=N)
    T.masked_fill(m, torch.tensor(N)) | T.index_fill(0, i, torch.tensor(N)) | torch.full_like(T, N, dtype=torch.int16)
"""
# MKL multiplies the product by alpha on some machines, one of its factors on others: not the same where alpha is infinite.
SCALED = "torch.addmm(T, T, T, alpha=N) | torch.addbmm(T, T[None], T[None], alpha=N)"
NUMBERS = ("2", "-2", "300", "2.7", "True", "1e39", "float('inf')", "2j", "2 + 0j", "n", "w", "c")
FINITE = [n for n in NUMBERS if n not in ("float('inf')", "w")]
KINDS = "xkuhm"
# Of tensors of floats alone.
FLOATS = """
    torch.lerp(T, T, N) | T.lerp_(T, N) | torch.addcmul(T, T, T, value=N) | torch.addcdiv(T, T, T, value=N) | F.leaky_relu(T, N)
    F.elu(T, N) | F.celu(T, N) | F.softplus(T, N) | F.hardshrink(T, N) | F.threshold(T, N, N) | torch.rsub(T, T, alpha=N)
    torch.addr(T, T[0], T[0], alpha=N) | torch.rsub(T, N)
"""
# What the parser of torch's arguments refuses, and what it takes.
PARSED = """
    torch.triu(x, 2j) | torch.triu(x, 1.5) | torch.triu(x, True) | x.triu(i[0]) | torch.maximum(x, 2.0) | torch.hypot(x, 1.0)
    torch.atan2(x, 1) | torch.heaviside(x, 0.5) | torch.logical_and(x, 1) | torch.sigmoid(2j) | torch.exp(1.0) | torch.exp()
    torch.exp(x, x) | torch.exp(x, foo=1) | F.layer_norm(x, (3,), eps=2j) | torch.nan_to_num(x, 2j) | torch.logit(x, 2j)
    torch.isclose(x, x, 2j) | torch.quantile(x, 2j) | torch.cdist(x, x, 2j) | F.pad(x, (1, 1), value=2j) | F.pad(x, (1.0, 1))
    F.huber_loss(x, x, delta=2j) | torch.topk(x, 2j) | torch.topk(x, 1.0) | torch.kthvalue(x, 2j) | torch.roll(x, 1.5)
    torch.sum(x, 1.5) | torch.sum(x, dim=None) | torch.sum(x, 0, True) | torch.sum(x, axis=0, keepdims=True) | x.view(2j)
    torch.zeros(2.5) | torch.zeros(2j) | torch.eye(2j) | torch.cumsum(x, 1.0) | torch.softmax(x, 0.5) | x.narrow(0, 1.5, 1)
    x.select(0, 2j) | torch.repeat_interleave(x, 2j) | torch.tensor(2j, dtype=x.dtype) | torch.tensor([2j], dtype=i.dtype)
    torch.add(x, "a") | torch.add(x, None) | x.add([1]) | torch.cat(x) | torch.stack([x, 1]) | torch.where(m, x)
    x.repeat(2, 1.5) | torch.norm(x, 2j) | torch.dist(x, x, 2 + 0j) | torch.linalg.vector_norm(x, 2j)
    torch.renorm(x, 2j, 0, 1.0) | torch.renorm(x, -2, 0, 1) | x.expand(3, "3")
    x.transpose(0) | x.transpose(0, 1, 2) | torch.clamp(x, "a") | torch.clamp(x, 0, 1)
    x.to("a") | x.to(2) | x.to("cpu") | x.to([]) | torch.zeros(2, device="a") | torch.zeros(True) | x.size(True) | x.sum(True)
    torch.full((2,), torch.tensor(3)) | torch.full((2,), x.sum()) | torch.full((2,), torch.tensor(True)) | torch.full((2,), x)
    torch.full_like(x, x.sum()) | x.new_full((2,), x.sum()) | torch.zeros(size=(2,)) | x.new_ones(size=(2,)) | x.clamp(None)
    x.view(size=(9,)) | x.reshape(shape=(9,)) | torch.reshape(input=x, shape=(9,)) | x.expand(size=(2, 3, 3)) | x.view(foo=(9,))
    x.unique() | x.unique(return_inverse=True) | x.unique(return_counts=True) | x.unique_consecutive(True, True)
    x[0].unique_consecutive() | torch.unique_consecutive(x, True, False) | torch._unique2(x) | torch._unique2(x, True, True)
    x.unique(dim=0) | torch.unique(k % 2, dim=1, return_inverse=True, return_counts=True) | (k % 2).unique(dim=-1)
    x.unique(dim=2) | torch.unique_consecutive(k % 2, dim=0, return_counts=True) | x[0].unique_consecutive(True, dim=0)
    x[:, :0].unique(dim=0) | x[:0].unique(dim=0, return_counts=True) | torch.unique(x[:0, :0], dim=0)
    torch.unique(torch.stack([k % 2, k % 2]), True, True, dim=0) | 1 in x | 0.5 in x | n not in x | x[0] in x | 2j in x
    "a" in x | None in x | True in m | torch.vander(i) | torch.vander(m[0]) | torch.vander(x[0], 2, increasing=True)
    torch.vander(x[0], N=0) | torch.vander(x[0], 1) | torch.vander(x) | torch.vander(i, -1) | x.new_tensor([1, 2])
    k.new_tensor([[1.5], [2]]) | x.new_tensor(i) | k.new_tensor(x.t()) | u.new_tensor(n) | u.new_tensor([])
    k.new_tensor(2j) | x.new_tensor("a") | k.new_tensor([0.5], dtype=torch.float16) | torch.as_tensor(x)
    torch.as_tensor(x, dtype=k.dtype)
    torch.nonzero(s) | torch.maximum(x, s) | torch.relu(s) | x.add(s) | torch.sum(s) | torch.sort(s) | torch.cat([x, s])
    torch.full((2,), s) | torch.sum(x, dim=s) | torch.nonzero({n: x}) | torch.relu({n}) | torch.nonzero({}) | F.relu([s])
    torch.nonzero(s if n > 5 else None) | x.div(2, rounding_mode=s) | x.to(dtype=s) | torch.nonzero(x).add(s)
    torch.arange(x.sum()) | torch.arange(i[1], i[0]) | torch.arange(0, n // 100, x[0, 0]) | torch.arange(x)
    x.repeat(repeats=(2, 1)) | x.permute(dims=(1, 0)) | torch.permute(input=x, dims=(1, 0)) | x.permute(foo=(1, 0))
"""
BOOLS = """
    m - m | m - 1 | 1 - m | x - m | m - x | torch.sub(m, 1) | torch.rsub(x, m) | -m | +m | ~x | m + m | x - True | True - x
    torch.add(m, m, alpha=2) | torch.add(m, m, alpha=True) | torch.add(x, x, alpha=True) | torch.add(i, i, alpha=2.0)
    x.masked_fill(m, x) | x.masked_fill(m, torch.tensor([2.0])) | m.index_fill(0, i, 2)
"""
# Each of linspace and logspace, of each dtype.
SPACED = """
    0, 2j, 3 | 1 + 1j, 2j, 4 | c, 2, 3 | torch.tensor(1j), 2, 3 | 0, c, 1 | 0, c, 0 | 0.5, 3.7, 3 | 0.5, 3.7, 1 | 5, 1, 3
    0, 1, -1
"""
DTYPES = "None | torch.complex64 | torch.complex128 | torch.int64 | torch.uint8 | torch.float64 | torch.bool"
PADDED = """
    F.pad(x, ()) | F.pad(x, (1,)) | F.pad(x, (1, 1, 1)) | F.pad(x, (1,) * 6) | F.pad(x, (), mode="reflect")
    F.pad(x, (1, 1), "foo")
    F.pad(x[0, 0], (1, 1)) | F.pad(x[0, 0], ()) | F.pad(x[0, 0], (1, 1), mode="reflect") | F.pad(x, (1, 1), "reflect", 3)
    F.pad(x, (-1, -1)) | F.pad(x, (-2, -2)) | F.pad(x.t(), (0, 0)) | F.pad(x.t(), (-1, 0)) | F.pad(x.t(), (1, 0)) | F.pad(x, 1)
    F.pad(x[:0], (1, 1)) | F.pad(x[:, :0], (1, 1, 0, 0), value=2) | F.pad(x, (0, 0)) | torch.constant_pad_nd(x[0, 0], (1, 1))
    torch.constant_pad_nd(x, (1,)) | F.pad(k, (1, 1), value=1.5) | F.pad(k, (1, 1), value=w) | F.pad(x, (1, 1), value="a")
"""
_PARAMETERS = {
    "x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "i": torch.tensor([2, 0, 1]),
    "k": torch.arange(9).reshape(3, 3), "u": torch.arange(9, dtype=torch.uint8).reshape(3, 3), "h": torch.ones(3, 3).half(),
    "m": torch.arange(9).reshape(3, 3) % 2 == 0, "z": torch.full((3, 3), 1 + 2j), "n": 300, "w": float("inf"), "c": 1 + 2j,
    "s": "a",
}  # fmt: skip


def _filled(table: str, tensor: str, number: str) -> list[str]:
    return [re.sub(r"\bN\b", number, re.sub(r"\bT\b", tensor, part)) for part in statements(table)]


TABLES = {
    **{f"converted {t} {n}": _filled(CONVERTED, t, n) for t in KINDS for n in NUMBERS},
    **{f"scaled {t} {n}": _filled(SCALED, t, n) for t in KINDS for n in FINITE},
    **{f"converted z {n}": _filled(CONVERTED, "z", n) for n in ("2", "2.7", "2j", "c")},
    **{f"floats {n}": _filled(FLOATS, "x", n) for n in NUMBERS},
    "parsed": statements(PARSED),
    "bools": statements(BOOLS),
    "padded": statements(PADDED),
    **{
        f"spaced {d}": [f"torch.{f}({ends}, dtype={d})" for f in ("linspace", "logspace") for ends in statements(SPACED)]
        for d in statements(DTYPES)
    },
}


def _functions(expressions: list[str], directory: Path) -> list[object]:
    head = "import torch\nimport torch.nn.functional as F\n"
    names = ", ".join(_PARAMETERS)
    source = "".join(f"def f{i}({names}):\n    return {e}\n" for i, e in enumerate(expressions))
    module = module_of(head + source, directory)
    return [getattr(module, f"f{i}") for i in range(len(expressions))]


@pytest.mark.parametrize("name", sweep(TABLES, *list(TABLES)[::3], "parsed", "bools"))
def test_calls_are_refused_as_in_eager(name: str, lasting_path: Path) -> None:
    given = call(**_PARAMETERS)
    failed = []
    for expression, function in zip(TABLES[name], _functions(TABLES[name], lasting_path), strict=True):
        expected = eager(function, given)
        try:
            assert_same(expected, interpreted(function, given))
        except CompileError:
            assert expected.error is not None, expression
        except AssertionError as e:
            failed.append(f"{expression}: {e}")
    assert not failed, "\n".join(failed)
