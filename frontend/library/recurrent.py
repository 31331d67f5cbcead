"""What the layers over time ask at compile time."""

from __future__ import annotations

from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known


@serves("scriptc.frontend.decompositions.recurrent.is_one_step")
def is_one_step(r: Reader, x: AV) -> AV:
    size = r.size_av(x, 0)
    return Known(isinstance(size, Known) and size.obj == 1)
