"""Questions of the recurrent layers at compile time."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import recurrent_decomposed as recurrent
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_known


@serves(recurrent.is_one_step)
def is_one_step(r: Reader, x: AbstractValue) -> AbstractValue:
    size = size_av(r, x, 0)
    return Known(is_known(size) and size.obj == 1)
