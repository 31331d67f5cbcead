"""Recursion on the stack of the running thread, however small that is: RecursionError, never the end of the process."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest
import torch
from settings import OPTIMIZE

import scriptc

SMALL = 1 << 20  # bytes; a depth of 1000 needs more where frames are large


def make(target: Callable[..., Any]) -> Any:
    return scriptc.compile(target, optimize=OPTIMIZE)


def on_a_stack_of(size: int, function: Callable[[], Any]) -> Any:
    """Return what the function returns, or the exception that it raises, in a thread with such a stack."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return found[0]


def wide(x, n):
    """Have a large frame: each view of a tensor is a variable on the stack."""
    if n == 0:
        return x.sum()
    a, b, c, d = x[1:] * x[:-1], x[2:] + x[:-2], x[3:] - x[:-3], x[4:] * x[:-4]
    return wide(x, n - 1) + a.sum() + b.sum() + c.sum() + d.sum()


def test_deep_recursion_on_a_small_stack_raises() -> None:
    compiled, x = make(wide), torch.randn(8)
    torch.testing.assert_close(compiled(x, 5), wide(x, 5))
    for size in (SMALL, SMALL // 4):
        assert isinstance(on_a_stack_of(size, lambda: compiled(x, 5000)), RecursionError)
        torch.testing.assert_close(on_a_stack_of(size, lambda: compiled(x, 5)), wide(x, 5))


def count_down(n):
    return 0 if n == 0 else 1 + count_down(n - 1)


def test_a_large_stack_is_used() -> None:
    compiled = make(count_down)
    assert compiled(900) == 900
    assert on_a_stack_of(64 << 20, lambda: compiled(900)) == 900


@dataclass
class Link:
    value: int
    rest: Optional[Link] = None  # noqa: UP045


def chain(n):
    last = Link(-1)
    links = []
    for i in range(n):
        last = Link(i, last)
        links.append(last)
    return links[::-1]


def test_a_deep_result_on_a_small_stack_raises() -> None:
    compiled = make(chain)
    assert compiled(3) == chain(3)
    assert isinstance(on_a_stack_of(SMALL // 4, lambda: compiled(3000)), RecursionError)
    assert on_a_stack_of(SMALL // 4, lambda: compiled(20))[0].rest.rest.value == 17


def function_of(text: str, folder: Path) -> Callable[..., Any]:
    """Return the function `f` of a module with this text."""
    file = folder / "made.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("made", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize(("terms", "size"), [(20, SMALL // 4), (400, SMALL // 4), (400, SMALL), (2500, SMALL)])
def test_a_function_that_nests_deeply_is_read_or_refused_on_a_small_stack(
    terms: int, size: int, tmp_path: Path
) -> None:
    f = function_of(f"def f(x):\n    return x{' + 1' * terms}\n", tmp_path)
    found = on_a_stack_of(size, lambda: make(f)(3))
    if found != 3 + terms:
        assert terms > 20
        assert isinstance(found, scriptc.CompileError)
        assert "too deeply for the stack of this thread" in str(found)
