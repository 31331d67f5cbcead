"""Products in loops, compiled: windows of rows, sums and siblings give what eager gives, and raise what it raises."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import scriptc

IN, H = 3, 5


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(IN, H), nn.Linear(H, H)
        self.m = nn.Parameter(torch.randn(H, H))


class OverList(Cell):
    def forward(self, xs: list[Tensor], h: Tensor) -> Tensor:
        for x in xs:
            h = torch.tanh(self.x(x) + self.h(h))
        return h


class OverDim(Cell):
    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.size(1)):
            h = torch.tanh(self.h(h) + self.x(x[:, t]))
        return h


class Backward(Cell):
    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.size(0) - 1, -1, -1):
            h = torch.tanh(self.x(x[t]) + self.h(h))
        return h


class LeftEarly(Cell):
    def forward(self, x: Tensor, h: Tensor, last: int) -> Tensor:
        for t in range(x.size(0)):
            h = torch.tanh(self.x(x[t]) + self.h(h))
            if t == last:
                break
        return h


class Kept(Cell):
    """Rows that outlive their window."""

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        rows = []
        for t in range(x.size(0)):
            row = self.x(x[t])
            rows.append(row)
            h = h + row
        return torch.stack(rows) + h


class Matrices(Cell):
    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.size(0)):
            h = torch.tanh(self.x(x[t]) + h @ self.m)
        return h


class Siblings(Cell):
    def __init__(self) -> None:
        super().__init__()
        self.x2, self.h2, self.n = nn.Linear(IN, H), nn.Linear(H, H), nn.Linear(H, H, bias=False)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.size(0)):
            a = torch.sigmoid(self.x(x[t]) + self.h(h))
            b = torch.sigmoid(self.h2(h) + self.x2(x[t]))
            h = a * h + b * torch.tanh(self.n(h))
        return h


class Changed(Cell):
    """The input changes in the loop: no window may be older than that."""

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for t in range(x.size(0)):
            h = torch.tanh(self.x(x[t]) + self.h(h))
            x[-1] = x[-1] + 1
        return h


LONG = torch.randn(130, 2, IN)
START = torch.randn(2, H)
CASES: list[tuple[type[Cell], tuple[Any, ...]]] = [
    (OverList, ([torch.randn(2, IN) for _ in range(70)], START)),
    (OverList, ([torch.randn(n, IN) for n in (2, 2, 1, 2, 2)], START)),
    (OverList, ([torch.randn(IN, 2).t(), torch.randn(2, IN)], START)),
    (OverList, ([], START)),
    (OverDim, (LONG.transpose(0, 1), START)),
    (OverDim, (torch.randn(2, 60, IN), START)),
    (OverDim, (torch.randn(2, 4, IN), torch.randn(1, H))),
    (Backward, (LONG, START)),
    (LeftEarly, (LONG, START, 0)),
    (LeftEarly, (LONG, START, 77)),
    (Kept, (LONG, START)),
    (Matrices, (LONG, START)),
    (Siblings, (LONG, START)),
    (Siblings, (LONG[:, 0], START[0])),
    (Changed, (LONG, START)),
]
FAILING: list[tuple[type[Cell], tuple[Any, ...]]] = [
    (OverList, ([torch.randn(2, IN), torch.randn(2, IN + 1)], START)),
    (OverList, ([torch.randn(2, IN), torch.randn(3, IN)], START)),
    (OverDim, (torch.randn(2, 4, IN + 1), START)),
    (OverDim, (torch.randn(3, 4, IN), START)),
    (Siblings, (LONG, torch.randn(3, H))),
    (Matrices, (LONG, torch.randn(2, H + 1))),
]


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    def copy(v: Any) -> Any:
        if isinstance(v, list):
            return [copy(item) for item in v]
        return v.clone() if isinstance(v, Tensor) else v

    return tuple(map(copy, args))


@pytest.mark.parametrize(("cell", "args"), CASES)
def test_same_as_eager(cell: type[Cell], args: tuple[Any, ...]) -> None:
    torch.manual_seed(0)
    model = cell()
    compiled: Any = scriptc.compile(model)
    with torch.no_grad():
        expected = model(*copied(args))
        torch.testing.assert_close(compiled(*copied(args)), expected)


@pytest.mark.parametrize(("cell", "args"), FAILING)
def test_raises_as_eager(cell: type[Cell], args: tuple[Any, ...]) -> None:
    model = cell()
    compiled: Any = scriptc.compile(model)
    with torch.no_grad():
        with pytest.raises(RuntimeError) as expected:
            model(*args)
        with pytest.raises(RuntimeError) as found:
            compiled(*args)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


class Matrices(nn.Module):
    """Products by weights that are no nn.Linear, in a loop and outside."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(IN, H)), nn.Parameter(torch.randn(H, H))

    def forward(self, x: Tensor) -> Tensor:
        h = x[0] @ self.a
        for t in range(x.size(0)):
            h = torch.tanh(x[t] @ self.a + h @ self.b.t())
        return torch.matmul(h, self.b)


def test_frozen_matrices_are_packed_once() -> None:
    model = Matrices()
    compiled: Any = scriptc.compile(model, freeze=True)
    with torch.no_grad():
        for shape in ((3, 2, IN), (1, 4, IN), (2, IN)):
            x = torch.randn(shape)
            torch.testing.assert_close(compiled(x), model(x))
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            compiled(torch.randn(2, 3, IN + 1))
    assert "pack_linear(" not in compiled.ir()
    slots = {line.split("slot = ")[1].split("}")[0] for line in compiled.ir().splitlines() if "pack_linear.kept" in line}
    assert len(slots) == 3  # a, b and the transpose of b


class Derived(nn.Module):
    """What is made of weights alone: normed weights, a table, sums of biases."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(H, H))
        self.table, self.scale = nn.Parameter(torch.randn(4, H)), nn.Parameter(torch.randn(H))

    def forward(self, x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        rows = torch.softmax(self.table * 2, -1)
        for i in range(n):
            x = torch.tanh(self.linear(x) + rows[i % 4])
        given = self.scale.exp()
        return x * self.scale.sigmoid(), given


def test_what_is_made_of_frozen_weights_is_made_once() -> None:
    model = Derived()
    compiled: Any = scriptc.compile(model, freeze=True)
    with torch.no_grad():
        for n in (0, 3, 1, 6):
            x = torch.randn(2, H)
            result, given = compiled(x, n)
            expected = model(x, n)
            torch.testing.assert_close((result, given), expected)
            given.add_(1)  # it is the caller's
    assert compiled.ir().count("kept.put") >= 3


class Written(nn.Module):
    """What is made of weights, and then written with what the call brings."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.randn(H, H))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, w = self.p.exp(), self.p * 2
        a.add_(x.mean())
        w[0] = x[0]
        return x + torch.tanh(a), nn.functional.linear(x, w)


def test_what_the_call_writes_is_not_kept() -> None:
    model = Written()
    compiled: Any = scriptc.compile(model, freeze=True)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(H, H)
            torch.testing.assert_close(compiled(x), model(x))


def test_live_weights_are_read_in_each_call() -> None:
    model = Derived()
    compiled: Any = scriptc.compile(model)
    x = torch.randn(2, H)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x, 2), model(x, 2))
            model.scale.add_(1)
            model.table.data.mul_(2)
    assert "kept." not in compiled.ir()
