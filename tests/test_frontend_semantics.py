"""Small programs do the same in eager, in the IR interpreter and in C, at both ends of the optimisation levels."""

from __future__ import annotations

import pytest
from programs import calling, control, dtypes, numbers, sequences, tensors  # noqa: F401  (they list their programs)
from programs.cases import PROGRAMS
from three_ways import Program, assert_same, compile_at, compiled, eager, interpreted

FEW = 5  # calls at -O3: there are a hundred pairs of dtypes
# Those of dtypes have a variant for each pair. Of the others, each sixth is compiled at -O3.
SLOW = {(dtypes.every_pair, 0), *((p.target, 3) for p in PROGRAMS if p.target.__module__ == dtypes.__name__)}
SLOW |= {(p.target, 3) for k, p in enumerate(PROGRAMS) if k % 6}
IDS = [f"{p.target.__module__.rpartition('.')[2]}-{p.name}" for p in PROGRAMS]


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("program", "optimize"),
    [
        pytest.param(program, level, id=f"{name}-{level}", marks=[pytest.mark.slow] * ((program.target, level) in SLOW))
        for program, name in zip(PROGRAMS, IDS, strict=True)
        for level in (0, 3)
    ],
)
def test_three_ways_agree(program: Program, optimize: int) -> None:
    target = compile_at(program.target, optimize)
    for given in program.calls if optimize == 0 else program.calls[:FEW]:
        assert_same(eager(program.target, given), compiled(target, given))
        assert_same(eager(program.target, given), compiled(target, given))  # and again, without compiling
        if optimize == 0:
            assert_same(eager(program.target, given), interpreted(program.target, given, target))
