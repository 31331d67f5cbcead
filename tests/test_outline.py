"""Functions whose parts were outlined: results, errors at the right line, handlers, profiles, and the C of large nets."""

from __future__ import annotations

import traceback
from itertools import pairwise

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc
from scriptc.backend_c import emit, outline
from scriptc.backend_c.outline import Limits
from scriptc.backend_c.repeats import repeated_windows


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outline short functions, too."""
    monkeypatch.setattr(outline, "DEFAULT", Limits(long=0, size=2, saved=1))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.narrow(torch.relu(self.wide(self.norm(x))).view(x.shape[0], -1))


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(8) for _ in range(12))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Whole(Stack):
    """Computes the same, and is another net for the disk cache."""


def test_layers_of_a_net_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    net, same, x = Stack(), Whole(), torch.randn(5, 8)
    same.load_state_dict(net.state_dict())
    parts = scriptc.compile(net, optimize=OPTIMIZE)
    result, source = parts(x), parts.c_source()
    assert source.count("= sc_layer_norm(") == 2, "the first layer does not own its operand"
    assert source.count("_part(cx, w, ") >= 10
    monkeypatch.setattr(emit, "outline", lambda loops: {})
    whole = scriptc.compile(same, optimize=OPTIMIZE)
    assert torch.equal(whole(x), result)
    assert whole.c_source().count("= sc_layer_norm(") == 12


def steps(x: Tensor, ws: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    x = torch.relu(x @ ws[0]) + 1
    x = torch.relu(x @ ws[1]) + 1
    x = torch.relu(x @ ws[2]) + 1  # third
    x = torch.relu(x @ ws[3]) + 1
    return x


def test_an_error_in_a_part_is_at_the_line_of_its_call(low_limits: None) -> None:
    made, square = scriptc.compile(steps, optimize=OPTIMIZE), torch.rand(3, 3)
    assert torch.allclose(made(square, (square,) * 4), steps(square, (square,) * 4))
    assert "_part(" in made.c_source()
    with pytest.raises(RuntimeError, match="third") as error:
        made(square, (square, square, torch.rand(4, 3), square))
    lines = [frame.line for frame in traceback.extract_tb(error.value.__traceback__)]
    assert lines[-1] == "x = torch.relu(x @ ws[2]) + 1  # third"


def caught(x: Tensor, ws: list[Tensor]) -> tuple[Tensor, int]:
    done = 0
    try:
        x = torch.relu(x @ ws[0]) + 1
        done += 1
        x = torch.relu(x @ ws[1]) + 1
        done += 1
        x = torch.relu(x @ ws[2]) + 1
        done += 1
    except RuntimeError:
        x = x - 1
    return x, done


def test_an_error_in_a_part_is_caught_where_the_part_is_called(low_limits: None) -> None:
    made, square = scriptc.compile(caught, optimize=OPTIMIZE), torch.rand(3, 3)
    for i in range(4):
        ws = [torch.rand(4, 4) if k == i else square for k in range(3)]
        expected, actual = caught(square, ws), made(square, ws)
        assert actual[1] == expected[1]
        assert torch.allclose(actual[0], expected[0])


def test_a_profile_counts_each_line(low_limits: None) -> None:
    square = torch.rand(3, 3)
    profile = scriptc.compile(steps, optimize=OPTIMIZE).profile(square, (square,) * 4)
    products = {row.line: row.visits for row in profile.rows if row.kernel == "matmul"}
    first = steps.__code__.co_firstlineno
    assert products == dict.fromkeys(range(first + 1, first + 5), 1)


def test_windows_are_the_longest_that_repeat() -> None:
    assert [*repeated_windows([1, 2, 3, 9, 1, 2, 3, 8])] == [(3, [0, 4])]
    layers = [*range(5)] * 6 + [7]
    assert (5, [0, 5, 10, 15, 20, 25]) in [*repeated_windows(layers)]
    for length, starts in repeated_windows([1, 1, 2, 1, 1, 2, 1, 1]):
        windows = [[1, 1, 2, 1, 1, 2, 1, 1][start : start + length] for start in starts]
        assert all(a == b for a, b in pairwise(windows))
