"""The passes over the tensor IR. Each is one file with the IR before and after in its docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scriptc.ir.core import Module
from scriptc.ir.passes import (
    batch_loops,
    cache_frozen,
    character_codes,
    cse,
    dce,
    drop_bounds_checks,
    drop_contiguous,
    fold,
    fuse,
    licm,
    make_contiguous,
    merge_contractions,
    prepare_weights,
    simplify,
    stack_lists,
    sum_contractions,
)

Run = Callable[[Module, Mapping[str, int]], bool]

_ALL = (
    fold, simplify, character_codes, cse, licm, dce, prepare_weights, merge_contractions, batch_loops, sum_contractions,
    stack_lists, drop_contiguous, fuse, make_contiguous, cache_frozen, drop_bounds_checks,
)  # fmt: skip
PASSES: dict[str, Run] = {p.NAME: p.run for p in _ALL}
CLEANING = (fold.NAME, simplify.NAME, character_codes.NAME, cse.NAME, licm.NAME, dce.NAME)
