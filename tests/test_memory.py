"""Resident memory stays flat over many calls and many iterations; errors, failed allocations included, leak nothing."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path

import pytest
import torch
from programs.models import HyTorchRNN, lstm
from settings import OPTIMIZE, without_asan

import scriptc
from scriptc.runtime import bridge

MiB = 1 << 20
CALLS, ITERATIONS = 2_000, 200_000
SLACK = 8 * MiB


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counts(made) -> dict[str, int]:
    return made._dispatcher.callable.counts()


@torch.no_grad()
@without_asan
def test_calls_of_changing_length_stay_flat() -> None:
    model = HyTorchRNN(16, 32)
    made = scriptc.compile(model, optimize=OPTIMIZE)
    inputs = [torch.randn(8, 16) for _ in range(64)]
    for n in range(1, 65):
        made(inputs[:n])
    before = resident()
    for i in range(CALLS):
        made([x[: 1 + i % 8] for x in inputs[: 1 + i % 64]])
    assert resident() - before < SLACK
    assert counts(made)["objects"] == 0


def spin(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        y = torch.tanh(x + i)
        x = y * 0.5
        if i % 2 == 0:
            x = x + y[0:1]
    return x


@without_asan
def test_many_iterations_stay_flat() -> None:
    made = scriptc.compile(spin, optimize=OPTIMIZE)
    made(torch.ones(16, 16), 10)
    before = resident()
    made(torch.ones(16, 16), ITERATIONS)
    assert resident() - before < SLACK


def grows(n: int) -> int:
    total = 0
    for _ in range(n):
        xs = [torch.zeros(100)]
        for _ in range(5):
            xs.append(xs[-1] + 1)
        total += len(xs)
    return total


@without_asan
def test_lists_of_one_iteration_are_freed() -> None:
    made = scriptc.compile(grows, optimize=OPTIMIZE)
    made(10)
    before = resident()
    assert made(ITERATIONS // 10) == ITERATIONS // 10 * 6
    assert resident() - before < SLACK


def keeps_some(x: torch.Tensor, n: int) -> torch.Tensor:
    """The list stays short, though much is stored in it."""
    kept = [x, x]
    for i in range(n):
        kept[i % 2] = kept[(i + 1) % 2] + 1
    return kept[0]


@without_asan
def test_overwritten_items_are_freed() -> None:
    made = scriptc.compile(keeps_some, optimize=OPTIMIZE)
    made(torch.ones(1000), 10)
    before = resident()
    made(torch.ones(1000), ITERATIONS // 10)
    assert resident() - before < SLACK


def in_large_pages(begin: int = 0, end: int = 1 << 64) -> int:
    """Return the bytes of this process's memory, in a range of addresses, that it asked to have in large pages."""
    total = first = last = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            first, last = (int(text, 16) for text in found.groups())
        elif line.startswith("VmFlags:") and " hg" in line:
            total += max(0, min(last, end) - max(first, begin))
    return total


LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(not LARGE_PAGES.exists() or "[never]" in LARGE_PAGES.read_text(), reason="the system has no large pages")
def test_large_blocks_are_in_large_pages() -> None:
    made = scriptc.compile(lambda x: x * 2, optimize=OPTIMIZE)
    before, small = in_large_pages(), made(torch.ones(MiB // 16))
    assert in_large_pages() == before
    large = made(torch.ones(3 * MiB))
    begin = large.data_ptr()
    assert 10 * MiB <= in_large_pages(begin, begin + 12 * MiB) <= 12 * MiB
    assert in_large_pages() - before <= 12 * MiB, "only whole pages are asked for"
    assert small.sum() * 48 == large.sum()


def test_dropped_callables_are_freed() -> None:
    def once(k: int) -> None:
        made = scriptc.compile(lambda x: x + k, optimize=OPTIMIZE)
        made(torch.ones(3))

    once(1)
    before = len(bridge._callables)
    for _ in range(20):
        once(1)
    gc.collect()
    assert len(bridge._callables) - before < 5


def fails_in_the_middle(xs: list[torch.Tensor], limit: float) -> torch.Tensor:
    outs = []
    total = torch.zeros(3)
    for i, x in enumerate(xs):
        y = torch.tanh(x) + total
        nested = [y, y * 2]
        outs.append(nested[0] + nested[1])
        assert y.sum() < limit, "limit"
        if i == 3:
            outs[i + int(limit)]
        total = total + y @ torch.ones(3, 3)
    return torch.stack(outs)


def test_errors_leak_nothing() -> None:
    made = scriptc.compile(fails_in_the_middle, optimize=OPTIMIZE)
    xs = [torch.ones(3)] * 4
    calls = [(xs, 0.0, AssertionError), (xs, 1e6, IndexError), ([*xs[:2], torch.ones(4)], 1e6, RuntimeError)]
    for inputs, limit, error in calls:
        for _ in range(3):
            with pytest.raises(error):
                made(inputs, limit)
            assert counts(made)["objects"] == counts(made)["exported"] == 0


class Odd(ValueError):
    pass


def halved(x: torch.Tensor, i: int) -> torch.Tensor:
    """Raises at the bottom, or for want of an item, with objects alive in each of its calls."""
    y = x * 0.5
    kept = [y, x]
    if i % 2:
        raise Odd(f"odd: {i}")
    return kept[i // 2] + halved(y, i // 2)


def catches(x: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
    caught, last = 0, x
    for i in range(n):
        try:
            made = [x + 1.0]
            last = made[0] * 2.0
            made.append(halved(last, 4 + i % 4))
        except Odd:
            caught += 1
        except LookupError as e:
            try:
                raise RuntimeError(f"no item: {e}") from e
            except RuntimeError:
                caught += 1000
        finally:
            last = last - 1.0
    return last, caught


@without_asan
def test_errors_that_are_caught_leave_nothing() -> None:
    made = scriptc.compile(catches, optimize=OPTIMIZE)
    x = torch.ones(1000)
    torch.testing.assert_close(made(x, 9), catches(x, 9))
    peak = made._dispatcher.callable.peak_bytes
    before = resident()
    made(x, ITERATIONS // 4)
    assert made._dispatcher.callable.peak_bytes == peak
    assert resident() - before < SLACK


def small_lstm() -> tuple[torch.Tensor, ...]:
    return (
        torch.randn(3, 2, 4),
        torch.randn(2, 5),
        torch.randn(2, 5),
        torch.randn(20, 4),
        torch.randn(20, 5),
        torch.randn(20),
    )


def memory_or_catch(x: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
    """As `catches`, but errors for want of memory go on."""
    count = 0
    try:
        for i in range(n):
            try:
                x = halved(x, 4 + i % 4)
            except (Odd, LookupError):
                count += 1
    finally:
        count += 1
    return x, count


@pytest.mark.parametrize("target, given", [(lstm, None), (memory_or_catch, (torch.ones(3), 5))], ids=["lstm", "caught"])
def test_a_failed_allocation_raises_and_leaks_nothing(target, given) -> None:
    torch.manual_seed(0)
    made = scriptc.compile(target, optimize=OPTIMIZE)
    args = given or small_lstm()
    expected = made(*args)
    handle = made._dispatcher.callable
    failures = 0
    for nth in range(1, 2000):
        handle.count_allocations(nth)
        try:
            result = made(*args)
        except (MemoryError, RuntimeError) as e:  # eager has a RuntimeError for tensors
            assert "allocate memory" in str(e) or type(e) is MemoryError
            failures += 1
            assert counts(made)["objects"] == 0
        else:
            torch.testing.assert_close(result, expected)
            del result
            if nth > failures + 20:
                break
    handle.count_allocations(0)
    torch.testing.assert_close(made(*args), expected)
    assert failures > 0
    del expected
    gc.collect()
    assert counts(made)["objects"] == counts(made)["exported"] == 0
