"""`compiled.code`: the Python of what was compiled runs, and does what the original does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from python_code_sweep import code_of, compared
from settings import OPTIMIZE
from test_language import IDS, LANGUAGE
from torch import Tensor, nn

import scriptc

PROGRAMS = dict(zip(IDS, LANGUAGE, strict=True))
PRINTED = ("equal", "not compiled", "not compared")


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1, 3))
        self.layers = nn.Sequential(nn.Linear(5, 3), nn.Tanh())

    def forward(self, xs: list[Tensor]) -> Tensor:
        h = self.first.repeat(xs[0].shape[0], 1)
        for x in xs:
            if x.sum() > 100:
                break
            h = torch.sigmoid(self.layers(x) + h)
        return h


def test_the_text_of_a_recurrent_net() -> None:
    net = Recurrent()
    compiled: Any = scriptc.compile(net, optimize=OPTIMIZE)
    with pytest.raises(RuntimeError, match="no specialization yet"):
        _ = compiled.code
    xs = [torch.randn(2, 5) for _ in range(4)]
    with torch.no_grad():
        expected = compiled(xs)
    assert compiled.code.partition("\n\n\n")[2] == (
        "def forward(self, xs: list[Tensor]):\n"
        "    # xs: list[f32[?, ?]]\n"
        "    t = xs[0]\n"
        "    h = self.first.repeat((t.size(0), 1))\n"
        "    for i in range(len(xs)):\n"
        "        x = xs[i]\n"
        "        if x.sum() > 100:\n"
        "            break\n"
        "        h = torch.sigmoid(torch.tanh(F.linear(x, self.layers[0].weight, self.layers[0].bias)) + h)\n"
        "    return h\n"
    )
    with torch.no_grad():
        torch.testing.assert_close(compiled.code.function()(net, xs), expected)


class Counting(nn.Module):
    """A net whose call sets attributes, so that the text reads all tensors first."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4)
        self.calls = 0
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.lstm(x)
        self.calls += 1
        before, self.last = self.last, h[-1, 0]
        return h + before


def test_a_net_that_sets_attributes() -> None:
    net, copied, x = Counting(), Counting(), torch.randn(5, 2, 3)
    copied.load_state_dict(net.state_dict())
    with torch.no_grad():
        code = code_of(net, (x,), {}).function()
        for _ in range(2):
            torch.testing.assert_close(code(copied, x), net(x))
        torch.testing.assert_close(copied.last, net.last)
    assert copied.calls == net.calls == 2


def test_jumps_out_of_several_loops() -> None:
    def search(xs: list[int], wanted: int) -> tuple[int, int]:
        steps = 0
        for i, x in enumerate(xs):
            for k in range(x):
                steps += 1
                if steps > 50:
                    return -1, steps
                if i * k == wanted:
                    break
            else:
                continue
            return i, steps
        return len(xs), steps

    for args in (([1, 4, 2], 3), ([1, 2], 7), ([60], 9), ([], 1)):
        assert compared(search, args, {}) == "equal"
        assert code_of(search, args, {}).function()(*args) == search(*args)


# Every twelfth program stands for the others, which `python -m tests.python_code_sweep` runs too.
@pytest.mark.parametrize("name", IDS[::12])
def test_language_programs_run_as_printed(name: str) -> None:
    for given in PROGRAMS[name].calls[:2]:
        result = compared(PROGRAMS[name].target, given.args, given.kwargs)
        assert result in PRINTED or result.startswith("refused"), result


@pytest.mark.slow
def test_every_language_program_runs_as_printed() -> None:
    wrong, counts = [], {"equal": 0, "refused": 0}
    for name, program in PROGRAMS.items():
        for given in program.calls:
            result = compared(program.target, given.args, given.kwargs)
            kind = result.partition(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            if kind not in (*PRINTED, "refused"):
                wrong.append(f"{name}: {result}")
    assert not wrong
    assert counts["equal"] > 2800 and counts["refused"] < 40, counts


def test_what_has_no_python_is_named() -> None:
    def slope(x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        (grad,) = torch.autograd.grad((x * x).sum(), x)
        return grad

    with pytest.raises(ValueError, match="gradients inside of compiled code cannot be printed as Python"):
        code_of(slope, (torch.ones(3),), {})
