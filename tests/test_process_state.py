"""What compiled code asks of the process, not of its arguments."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE

import scriptc

X = torch.arange(6.0).view(2, 3) / 6


def make(target):
    return scriptc.compile(target, optimize=OPTIMIZE)


def by_grad_mode(x):
    before = torch.is_grad_enabled()
    with torch.no_grad():
        within = torch.is_grad_enabled()
    return x + 1 if before else x + 2, before, within, torch.is_grad_enabled()


def test_grad_mode_is_that_of_the_call() -> None:
    compiled = make(by_grad_mode)
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            assert compiled(X)[1:] == by_grad_mode(X)[1:]
            torch.testing.assert_close(compiled(X)[0], by_grad_mode(X)[0])


def stops_for_a_debugger(x):
    if x.isnan().any():
        breakpoint()  # noqa: T100
    return x + 1


def test_a_breakpoint_raises_where_it_is_reached() -> None:
    compiled = make(stops_for_a_debugger)
    torch.testing.assert_close(compiled(X), X + 1)
    with pytest.raises(NotImplementedError, match="breakpoint"):
        compiled(X * float("nan"))
