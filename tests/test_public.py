"""Programs as they are found in public code: one callable each, equal to eager at several lengths, 0 and 1 included."""

from __future__ import annotations

import pytest
from public import cells, decoding, fastrnns, filters, spectra  # noqa: F401  (they list their programs)
from public.cases import PUBLIC, Case
from settings import OPTIMIZE, sweep
from three_ways import assert_same, compile_at, compiled, eager


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", sweep([OPTIMIZE, 3], OPTIMIZE))
@pytest.mark.parametrize("case", PUBLIC, ids=[c.name for c in PUBLIC])
def test_equals_eager(case: Case, optimize: int) -> None:
    target, calls = case.make()
    made = compile_at(target, optimize)
    for given in calls:
        assert_same(eager(target, given), compiled(made, given))
