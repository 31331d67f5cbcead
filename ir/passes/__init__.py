"""The passes over the tensor IR. Each is one file with the IR before and after in its docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scriptc.ir.core import Module
from scriptc.ir.passes import (
    batch_loops,
    bounds,
    characters,
    cse,
    dce,
    fold,
    free_strides,
    fuse,
    keep_derived,
    licm,
    prepare_weights,
    siblings,
    simplify,
    stack_lists,
    straighten,
    sum_contractions,
)

Run = Callable[[Module, Mapping[str, int]], bool]

_ALL = (
    fold, simplify, characters, cse, licm, dce, prepare_weights, siblings, batch_loops, sum_contractions, stack_lists,
    free_strides, fuse, straighten, keep_derived, bounds,
)  # fmt: skip
PASSES: dict[str, Run] = {p.NAME: p.run for p in _ALL}
CLEANING = (fold.NAME, simplify.NAME, characters.NAME, cse.NAME, licm.NAME, dce.NAME)
