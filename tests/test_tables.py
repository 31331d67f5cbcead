"""Dicts and sets with run-time keys do what Python's do, in their order, and keep no memory."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tables
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import X
from three_ways import assert_same, call, compile_at, compiled, eager

import scriptc

# Few keys, so that they meet; keys that fall into one slot; and keys of all sizes.
KEYS = st.one_of(
    st.integers(-3, 12), st.integers(0, 40).map(lambda i: i << 20), st.integers(-(2**62), 2**62),
    st.sampled_from([2**61 - 1, 2**61, -(2**61), 1 - 2**61, 2**63 - 1, -(2**63)]),
)  # fmt: skip
FLOATS = st.one_of(st.integers(-4, 4).map(float), st.floats(allow_nan=False), st.sampled_from([-0.0, 0.5, 2.0**61]))
SMALL = st.integers(-3, 12)


def same(target: Any, program: Any, *args: Any) -> None:
    assert_same(eager(program, call(*args)), compiled(target, call(*args)))


@pytest.fixture(scope="module", name="on_a_dict")
def on_a_dict_fixture() -> Any:
    return compile_at(tables.on_a_dict, 1)


@pytest.fixture(scope="module", name="on_sets")
def on_sets_fixture() -> Any:
    return compile_at(tables.on_sets, 1)


@pytest.fixture(scope="module", name="on_other_keys")
def on_other_keys_fixture() -> Any:
    return compile_at(tables.on_other_keys, 1)


@settings(max_examples=200, deadline=None)
@given(ops=st.lists(st.tuples(st.integers(0, 10), KEYS, KEYS), max_size=120))
def test_dicts_equal_pythons(on_a_dict: Any, ops: list[Any]) -> None:
    same(on_a_dict, tables.on_a_dict, ops)


@settings(max_examples=200, deadline=None)
@given(ops=st.lists(st.tuples(st.integers(0, 5), FLOATS, SMALL), max_size=60))
def test_keys_of_other_types(on_other_keys: Any, ops: list[Any]) -> None:
    same(on_other_keys, tables.on_other_keys, ops)


@settings(max_examples=300, deadline=None)
@given(ops=st.lists(st.tuples(st.integers(0, 14), KEYS.map(lambda k: k >> 1)), max_size=150))
def test_sets_have_pythons_order(on_sets: Any, ops: list[Any]) -> None:
    same(on_sets, tables.on_sets, ops)


def test_large_tables(on_a_dict: Any, on_sets: Any) -> None:
    """Beyond the size from which tables grow by less."""
    same(on_a_dict, tables.on_a_dict, [(0, (i * 7919) % 200_003, i) for i in range(60_000)])
    same(on_sets, tables.on_sets, [(0, (i * 7919) % 200_003) for i in range(60_000)])


@pytest.fixture(scope="module", name="walked")
def walked_fixture() -> Any:
    return compile_at(tables.walked, 1)


@settings(max_examples=100, deadline=None)
@given(keys=st.lists(KEYS, max_size=80), gone=st.lists(KEYS, max_size=30))
def test_sets_from_outside_keep_their_order(walked: Any, keys: list[int], gone: list[int]) -> None:
    s = {*keys}
    s -= {*gone}
    s |= {*gone[::2]}
    assert walked(s) == tables.walked(s)


def counts(made: Any) -> dict[str, int]:
    found: dict[str, int] = made._dispatcher.callable.counts()
    return found


def test_nothing_is_kept() -> None:
    made = scriptc.compile(tables.churn, optimize=1)
    first = made(50, X)
    for n in (50, 5000, 50):
        assert made(n, X)[:3] == tables.churn(n, X)[:3]
    torch.testing.assert_close(made(50, X)[3], first[3])
    del first
    gc.collect()
    assert counts(made)["objects"] == counts(made)["exported"] == 0


def test_an_error_leaves_nothing() -> None:
    made = scriptc.compile(tables.churn_and_raise, optimize=1)
    for _ in range(3):
        with pytest.raises(KeyError, match=r"\(9, 9\)"):
            made([1, 2, 3], X)
    assert counts(made)["objects"] == counts(made)["exported"] == 0


def test_failed_allocations() -> None:
    made = scriptc.compile(tables.churn, optimize=1)
    expected = made(30, X)[:3]
    handle, failures = made._dispatcher.callable, 0
    for nth in range(1, 2000):
        handle.count_allocations(nth)
        try:
            assert made(30, X)[:3] == expected
        except (MemoryError, RuntimeError):
            failures += 1
            assert counts(made)["objects"] == 0
        else:
            if nth > failures + 20:
                break
    handle.count_allocations(0)
    assert failures > 0 and made(30, X)[:3] == expected


def summed(xs: Any) -> Any:
    total = 0.0
    for x in xs if isinstance(xs, list) else xs.values():
        total = total + x
    return total


@pytest.mark.parametrize("filled", [[torch.ones(2)], [torch.ones(2, 2)], [torch.ones(2).double()], [1.0], {"a": torch.ones(2)}])
def test_code_for_empty_containers_takes_no_others(filled: Any) -> None:
    compiled = scriptc.compile(summed, optimize=0)
    assert compiled(type(filled)()) == 0.0
    assert torch.equal(torch.as_tensor(compiled(filled)), torch.as_tensor(summed(filled)))
    assert compiled(type(filled)()) == 0.0
