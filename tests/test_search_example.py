"""The search of examples/search.py: a search that was stopped goes on as if it had not been."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import search as module

    def result_of(genes: Any, epochs: int) -> Any:
        size = sum(genes.widths)
        return module.Result(genes, min(1.0, size / 128), 0.5, 1e-6 * size)

    monkeypatch.setattr(module, "result_of", result_of)
    yield module
    for name in ("search", "binary_digits"):
        sys.modules.pop(name, None)


def test_a_stopped_search_goes_on(search: ModuleType, tmp_path: Path) -> None:
    whole = search.search(tmp_path / "whole.jsonl", 20, 1, 0)
    stopped = tmp_path / "stopped.jsonl"
    search.search(stopped, 11, 1, 0)
    stopped.write_text(stopped.read_text()[:-30])  # in the middle of a line
    assert search.search(stopped, 20, 1, 0) == whole
    assert search.read_results(stopped) == whole
    assert search.search(stopped, 20, 1, 0) == whole, "nothing is left to do"
    assert search.search(tmp_path / "other.jsonl", 20, 1, 1) != whole


def test_mutations_change_one_thing(search: ModuleType) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        genes = search.random_genes(rng)
        made = search.mutated(genes, rng)
        assert made != genes and 1 <= len(made.kinds) <= 4
        assert len(made.kinds) == len(made.widths) == len(made.pools)


def test_the_front(search: ModuleType) -> None:
    genes = search.random_genes(random.Random(0))
    points = ((0.5, 1.0), (0.9, 2.0), (0.8, 3.0), (0.9, 2.5), (0.95, 4.0), (0.4, 1.0))
    results = [search.Result(genes, accuracy, 0.5, latency) for accuracy, latency in points]
    assert [(r.accuracy, r.latency) for r in search.front_of(results)] == [(0.5, 1.0), (0.9, 2.0), (0.95, 4.0)]
