"""`scriptc.compare(against="onnx")` over lengths and branches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import scriptc

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def parts(x: Tensor, n: int) -> tuple[list[Tensor], int, dict[str, Tensor]]:
    if n > 3:
        raise ValueError("too many")
    out = []
    for i in range(n):
        out.append(x * i)
    return out, n + 1, {"total": x.sum()}


def test_compares_all_calls_in_both_runtimes() -> None:
    report = scriptc.compare(parts, torch.randn(2), 2, against="onnx", calls=[(torch.randn(3), 0), (torch.randn(3), 4)])
    report.check()
    assert [row.path for row in report.rows if row.path.startswith("ONNX Runtime")] == [
        "ONNX Runtime, call 0: out[0]", "ONNX Runtime, call 0: out[1]", "ONNX Runtime, call 0: output_1",
        "ONNX Runtime, call 0: output_2_total", "ONNX Runtime, call 1: output_1", "ONNX Runtime, call 1: output_2_total",
        "ONNX Runtime, call 2 raises",
    ]  # fmt: skip
    assert {row.path.partition(",")[0] for row in report.rows} == {"ONNX Runtime", "onnx.reference"}


def test_modules_are_compared_with_float64() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4)).eval()
    scriptc.compare(net, torch.randn(1, 3, 8, 8), against="onnx", calls=[(torch.randn(4, 3, 8, 8) * 1e3,)]).check()


def test_differences_and_errors_are_found(monkeypatch: Any) -> None:
    from scriptc.onnx.writing.operators import ROWS

    monkeypatch.setitem(ROWS, "tanh", lambda c: c("Sin", c[0]))

    def f(x: Tensor) -> Tensor:
        return x.tanh()

    report = scriptc.compare(f, torch.ones(2), against="onnx")
    assert not report.agrees
    with pytest.raises(AssertionError, match="ONNX and eager differ"):
        report.check()
    only_errors = scriptc.compare(parts, torch.randn(2), 9, against="onnx")
    assert only_errors.raised and not only_errors.ok
    only_errors.check(expect_raise=True)


def test_options_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="calls"):
        scriptc.compare(parts, torch.randn(2), 1, calls=[(torch.randn(2), 1)])
    with pytest.raises(ValueError, match="locate"):
        scriptc.compare(parts, torch.randn(2), 1, against="onnx", locate=True)
