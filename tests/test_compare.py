"""The comparison finds what differs, and only that. `wrong` stands for compiled code with a bug."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import scriptc
from scriptc.inspect.tensor_difference import difference


def wrong(compiled: Callable[..., Any], eager: Callable[..., Any]) -> Callable[..., Any]:
    """What `scriptc.compile(eager)` would be if it behaved like `compiled`."""
    compiled.__scriptc_original__ = eager  # type: ignore[attr-defined]
    return compiled


# ---- numbers ----


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_ulps_are_steps_between_neighbours(dtype: torch.dtype) -> None:
    one = torch.ones(3, dtype=dtype)
    up = one + torch.finfo(dtype).eps
    found = difference(torch.stack([one, up]), torch.stack([one, one]))
    assert found.max_ulp == 1
    assert found.max_abs == torch.finfo(dtype).eps


def test_ulps_across_zero_and_at_the_extremes() -> None:
    tiny = torch.tensor([5e-324, 0.0, 0.0], dtype=torch.float64)
    assert difference(tiny, torch.tensor([-5e-324, -0.0, 0.0], dtype=torch.float64)).max_ulp == 2
    largest = torch.finfo(torch.float64).max
    far = difference(torch.tensor([largest], dtype=torch.float64), torch.tensor([-largest], dtype=torch.float64))
    assert far.max_ulp == 2 * (0x7FF0000000000000 - 1)


def test_nan_equals_nan_and_nothing_else() -> None:
    nan = torch.tensor([math.nan, 1.0])
    assert difference(nan, nan.clone()).close
    found = difference(torch.tensor([0.0, 1.0]), nan)
    assert not found.close and found.max_ulp is None and found.where == (0,)


def test_infinities_agree_only_with_themselves() -> None:
    inf = torch.tensor([math.inf, -math.inf])
    assert difference(inf, inf.clone()).where is None
    assert not difference(inf, -inf).close
    assert not difference(torch.tensor([3e38, -math.inf]), inf).close


def test_integers_are_exact() -> None:
    a, b = torch.tensor([[2**62, 1]]), torch.tensor([[-(2**62), 1]])
    found = difference(a, b)
    assert (found.max_abs, found.where, found.close) == (2**63, (0, 0), False)
    assert not difference(torch.tensor([True]), torch.tensor([False])).close


def test_where_is_worst_against_the_tolerance() -> None:
    expected = torch.tensor([[1.0, 1e6], [0.0, 3.0]])
    actual = expected + torch.tensor([[0.0, 1.0], [0.0, 0.5]])
    found = difference(actual, expected)
    assert found.max_abs == 1.0 and found.where == (1, 1)


# ---- reports ----


def test_values_that_differ_are_located() -> None:
    def f(x: Tensor) -> list[Any]:
        return [x + 1, {"y": (x * 2, 3)}]

    def compiled(x: Tensor) -> list[Any]:
        y = x * 2
        y[1, 2] += 0.25
        return [x + 1, {"y": (y, 3)}]

    report = scriptc.compare(wrong(compiled, f), torch.ones(2, 3))
    assert [row.path for row in report.rows] == ["out[0]", "out[1]['y'][0]", "out[1]['y'][1]"]
    assert [row.ok for row in report.rows] == [True, False, True]
    assert (report.rows[1].max_abs, report.rows[1].max_rel, report.rows[1].where) == (0.25, 0.125, (1, 2))
    with pytest.raises(AssertionError, match="DIFFERS"):
        report.check()


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (lambda x: (x, x.t()), "STRUCTURE: tuple of 2 instead of list of 2"),
        (lambda x: [x], "STRUCTURE"),
        (lambda x: [x.double() * 1, 2], "DTYPE"),
        (lambda x: [x[:1] * 1, 2], "SHAPE"),
        (lambda x: [(x * 1).t().contiguous().t(), 2], "STRIDES"),
        (lambda x: [nn.Parameter(x * 1), 2], "TYPE Parameter"),
        (lambda x: [x * 1, 2.0], "TYPE float"),
        (lambda x: [x * 1, 3], "DIFFERS: int 3"),
        (lambda x: [x, 2], r"ALIAS: is args\[0\], in eager is new"),
        (lambda x: [x.view(2, 2), 2], "ALIAS: shares memory"),
    ],
)
def test_everything_but_values(result: Callable[[Tensor], Any], word: str) -> None:
    def f(x: Tensor) -> list[Any]:
        return [x * 1, 2]

    report = scriptc.compare(wrong(result, f), torch.rand(2, 2))
    assert not report.ok
    with pytest.raises(AssertionError, match=word):
        report.check()


def test_written_arguments_are_compared_and_kept() -> None:
    def f(x: Tensor, history: list[int], *, out: Tensor) -> None:
        x.mul_(2)
        out.add_(x)
        history.append(1)

    def compiled(x: Tensor, history: list[int], *, out: Tensor) -> None:
        history.append(1)
        out.add_(2 * x)

    x, history, out = torch.ones(2), [0], torch.zeros(2)
    report = scriptc.compare(wrong(compiled, f), x, history, out=out)
    found = {row.path: row.ok for row in report.rows}
    assert found == {"out": True, "args[0]": False, "args[1][1]": True, "kwargs['out']": True}
    assert x.tolist() == [1, 1] and history == [0] and out.tolist() == [0, 0]


def test_exceptions_are_compared_by_type() -> None:
    def f(x: Tensor, i: int) -> Tensor:
        return x[i]

    def compiled(x: Tensor, i: int) -> Tensor:
        raise ValueError("no")

    assert not scriptc.compare(wrong(compiled, f), torch.ones(2), 5).ok
    assert not scriptc.compare(wrong(compiled, f), torch.ones(2), 1).ok
    assert not scriptc.compare(wrong(lambda x, i: x, f), torch.ones(2), 5).ok
    assert scriptc.compare(f, torch.ones(2), 5).rows[0].value.startswith("IndexError: ")


def test_a_comparison_of_no_values_is_no_success() -> None:
    def f(x: Tensor, i: int) -> Tensor:
        return x[i]

    x = torch.ones(2)
    raised = scriptc.compare(wrong(lambda x, i: x[i], f), x, 5)
    assert raised.agrees and raised.raised and not raised.ok
    with pytest.raises(AssertionError, match="both raised IndexError"):
        raised.check()
    assert raised.check(expect_raise=True) is raised
    returned = scriptc.compare(wrong(lambda x, i: x[i], f), x, 1)
    with pytest.raises(AssertionError, match="expected to raise, but it returned"):
        returned.check(expect_raise=True)
    nothing = scriptc.compare(wrong(lambda x: None, lambda x: None), x)
    with pytest.raises(AssertionError, match="returned None and wrote nothing"):
        nothing.check()
    written = scriptc.compare(wrong(lambda x: x.add_(1) and None, lambda x: x.add_(1) and None), x[:1])
    assert written.check().rows[1].path == "args[0]"


def test_twice_eagers_own_error_is_allowed() -> None:
    def f(x: Tensor) -> Tensor:
        return (x + 1e5) - 1e5

    def better(x: Tensor) -> Tensor:
        return x.clone()

    def worse(x: Tensor) -> Tensor:
        return x + 0.5

    x = torch.linspace(0, 1, 50)
    report = scriptc.compare(wrong(better, f), x)
    assert report.ok and "against float64" in report.rows[0].verdict
    assert not scriptc.compare(wrong(worse, f), x).ok


def test_arguments_may_require_grad() -> None:
    weight = torch.ones(2, requires_grad=True)
    assert scriptc.compare(lambda x: x * 2, weight * 3).ok


# ---- what scriptc compiles ----


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        return self.linear(x)


def test_buffers_are_compared_and_put_back() -> None:
    model = Counter()
    report = scriptc.compare(model, torch.ones(4, 3)).check()
    assert [row.path for row in report.rows] == ["out", "self.calls"]
    assert model.calls == 0


def test_everything_that_compiles_can_be_compared() -> None:
    @scriptc.compile
    class Compiled(Counter):
        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x).relu()

        def scaled(self, x: Tensor) -> Tensor:
            return self.linear(x) * 2

    x = torch.ones(4, 3)
    model = Compiled()
    for target in (scriptc.compile(Counter()), model, model.scaled, scriptc.compile(model.scaled)):
        scriptc.compare(target, x).check()
    assert len(model.signatures()) == 1


def test_compile_errors_are_raised() -> None:
    def f(x: Tensor) -> Any:
        yield x

    with pytest.raises(scriptc.CompileError):
        scriptc.compare(f, torch.ones(1))


# ---- locating ----


def looped(x: Tensor, n: int) -> Tensor:
    h = x * 2
    for _ in range(n):
        h = torch.sigmoid(h) + 1
        h = h.tanh()
    return h


def test_the_first_line_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from scriptc.backend_c.emit import CProgram, emit_program
    from scriptc.inspect import divergence
    from scriptc.ir.core import Module
    from scriptc.ir.ops import OPS

    def miscompile(module: Module) -> CProgram:
        for op in module.walk():
            if op.name == "tanh":
                op.defn = OPS["exp"]
                op.name = "exp"
        return emit_program(module)

    x = torch.linspace(0, 1, 4)
    assert "no line" in str(scriptc.compare(looped, x, 3, locate=True).check())
    monkeypatch.setattr(divergence, "emit_program", miscompile)
    located = scriptc.compare(looped, x, 3, locate=True).located
    assert located is not None and "h = h.tanh()" in located and "the 1. time" in located


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.h = None
        self.steps = 0
        self.log: list[torch.Tensor] = []
        self.register_buffer("total", torch.zeros(3))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.h = self.drop(x) if self.h is None else self.h + x
        self.steps += 1
        self.log.append(self.h)
        self.total = self.total + x
        return self.h * self.steps


def test_state_is_compared_and_put_back() -> None:
    model, x = Remembers(), torch.ones(3)
    for _ in range(2):
        report = scriptc.compare(model, x, locate=True)
        report.check()
        assert {"self.h", "self.steps", "self.total", "self.log[0]"} <= {row.path for row in report.rows}
        assert model.h is None and model.steps == 0 and not model.log and not model.total.any()
        assert list(vars(model)["_buffers"]) == ["total"]
