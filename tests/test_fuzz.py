"""A few programs of the fuzzer at each level: compiled code does what Python does (`python -m tests.fuzz` runs thousands)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.batch import PER_LIBRARY, Tally, run


@pytest.mark.parametrize("optimize", [0, 3])
def test_programs_agree_with_python(optimize: int, tmp_path: Path) -> None:
    tally = Tally()
    run(list(range(100_000, 100_000 + PER_LIBRARY)), tmp_path, optimize, tally)
    assert tally.programs == PER_LIBRARY and tally.calls > 2 * PER_LIBRARY
    assert not tally.findings, "\n".join(f"seed {f.seed}: {f.message}\n{f.source}" for f in tally.findings)
