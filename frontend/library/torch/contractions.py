"""The plan of einsum, which is made at compile time."""

from __future__ import annotations

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import contractions_decomposed as contractions
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue


@serves(contractions._plan)
def plan(r: Reader, equation: AbstractValue, ranks: AbstractValue) -> AbstractValue:
    return call_in_python(
        r, contractions.plan_of, require_known(r, equation, "the equation"), require_known(r, ranks, "a number of dims")
    )
