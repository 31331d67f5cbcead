"""The passes over the tensor IR. Each is one file with the IR before and after in its docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scriptc.ir.core import Module
from scriptc.ir.passes import cse, dce, fold, fuse, licm, prepare_weights, simplify

Run = Callable[[Module, Mapping[str, int]], bool]

PASSES: dict[str, Run] = {p.NAME: p.run for p in (fold, simplify, cse, licm, dce, prepare_weights, fuse)}
CLEANING = (fold.NAME, simplify.NAME, cse.NAME, licm.NAME, dce.NAME)
