"""What products of tensors need to be worked out while the code is compiled."""

from __future__ import annotations

from scriptc.frontend.decompositions import contractions
from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV


@serves(f"{contractions.__name__}._plan")
def plan(r: Reader, equation: AV, ranks: AV) -> AV:
    return r.evaluate(contractions.plan_of, r.known(equation, "the equation"), r.known(ranks, "a number of dims"))
