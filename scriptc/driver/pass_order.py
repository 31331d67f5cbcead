"""The order in which passes run at each level, with the reason for each place. All that compiles goes by this list."""

from __future__ import annotations

from dataclasses import dataclass

from scriptc.driver.options import WEIGHTS, Options
from scriptc.ir.passes.manager import Step


@dataclass(frozen=True)
class Place:
    """A pass in the order. options: those that the pass takes, of the ones that `passes_of` knows."""

    name: str
    why: str
    options: tuple[str, ...] = ()


# `clean` is fold, simplify, character_codes, cse, licm and dce, to a fixpoint.
_CLEAN = Place("clean", "all passes match what it leaves: constants folded, invariant code hoisted, dead code gone")
FULL = (
    _CLEAN,
    Place("prepare_weights", "hoisted weights show which products are by invariant matrices", ("frozen", "store")),
    Place("clean", "packing leaves equal packs of one weight"),
    Place("merge_contractions", "it joins products of packed weights, before they are batched one by one"),
    Place("clean", "joined products leave slices of slices"),
    Place("batch_loops", "it takes whole products, which sum_contractions would have summed up"),
    Place("sum_contractions", "it takes the products that are left in the loop"),
    Place("stack_lists", "it needs the products in their final form, which decides what is appended"),
    Place("clean", "indices and lengths of lists that are gone"),
    Place("drop_contiguous", "fuse takes tensors whose strides no result shows"),
    Place("fuse", "behind every pass that matches a single pointwise op"),
    Place("make_contiguous", "it looks at what the fused loops read"),
    Place("cache_frozen", "all that is made of frozen weights alone stands in front of the loops by now", ("frozen",)),
    Place("drop_bounds_checks", "no pass behind it moves an index out of the conditions that prove it"),
    Place("cse", "checks and lengths that the last passes built twice"),
    Place("dce", "what they no longer use"),
)
LEVELS: dict[int, tuple[Place, ...]] = {0: (), 1: (_CLEAN,), 2: FULL, 3: FULL}


def passes_of(options: Options) -> list[Step]:
    """Return the passes of a compilation, in order."""
    given = {"frozen": int(options.freeze), "store": WEIGHTS.index(options.weights)}
    return [(place.name, {name: given[name] for name in place.options}) for place in LEVELS[options.optimize]]
