"""compiled.profile: time by line and kernel, what kernels report, and the trace."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import scriptc
from scriptc.inspect.profile import Profile

ROWS, WIDTH, STEPS = 6, 40, 7


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
        self.calls.add_(1)
        h = torch.zeros(ROWS, WIDTH)
        for x in xs:
            product = self.hidden(h)
            h = torch.tanh(product) + x
        xs.append(h)
        return h.sum()


@pytest.fixture(scope="module")
def found() -> Profile:
    model, xs = Cell(), [torch.randn(ROWS, WIDTH) for _ in range(STEPS)]
    made = scriptc.compile(model)
    profile = made.profile(xs)
    assert len(xs) == STEPS and model.calls == 0, "profiling leaves no trace in arguments or module"
    assert made.signatures() == [], "the instrumented build is another one"
    return profile


def test_lines_are_the_users(found: Profile) -> None:
    assert {row.file for row in found.rows} == {__file__}
    products = [row for row in found.rows if "self.hidden(h)" in row.source and row.flops]
    assert [row.visits for row in products] == [STEPS]
    assert products[0].flops == 2 * ROWS * WIDTH * WIDTH * STEPS
    assert products[0].bytes == 4 * (2 * ROWS * WIDTH + WIDTH * WIDTH) * STEPS


def test_loops_report_elements(found: Profile) -> None:
    (loop,) = [row for row in found.rows if row.kernel == "loop of 2: tanh"]
    assert loop.flops == 2 * ROWS * WIDTH * STEPS
    assert loop.bytes == 3 * 4 * ROWS * WIDTH * STEPS


def test_the_times_are_those_of_the_calls(found: Profile) -> None:
    together = sum(row.seconds for row in found.rows)
    assert 0 < together <= found.seconds
    assert list(found.rows) == sorted(found.rows, key=lambda row: -row.seconds)
    assert found.peaks.flops > 0 and found.peaks.bytes > 0


def test_the_table(found: Profile) -> None:
    text = str(found)
    assert "GFLOP/s" in text and "peaks of" in text and "test_profile.py:" in text


def test_the_trace(found: Profile, tmp_path) -> None:
    found.save_trace(tmp_path / "trace.json")
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert len(events) + found.missed == sum(row.visits for row in found.rows) * found.calls
    assert all(e["dur"] >= 0 and set(e) >= {"name", "ts", "pid", "tid", "args"} for e in events)
    starts = [e["ts"] for e in events]
    assert starts == sorted(starts)


def fails(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x + 1
        if i == 3:
            raise ValueError("four")
    return x


def test_exceptions_are_those_of_the_call() -> None:
    with pytest.raises(ValueError, match="four"):
        scriptc.compile(fails).profile(torch.ones(3), 9)
    assert scriptc.compile(fails).profile(torch.ones(3), 2).calls > 0


def test_kept_calls_are_not_instrumented() -> None:
    made = scriptc.compile(fails)
    made(torch.ones(3), 1)
    made.profile(torch.ones(3), 1)
    assert "sc_profile" not in made.c_source()


def tries(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        try:
            y = torch.tanh(x @ x)
            if i % 2:
                raise ValueError("odd")
            x = y
        except ValueError:
            x = x + 1
    return x


def test_code_that_catches_exceptions() -> None:
    found = scriptc.compile(tries).profile(torch.rand(5, 5), 6)
    assert sum(row.visits for row in found.rows if row.kernel == "matmul" or "linear" in row.kernel) >= 6
