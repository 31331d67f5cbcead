"""The pass pipeline of each opt level, one pass a line with the reason for its position. All compilations use it."""

from __future__ import annotations

from dataclasses import dataclass

from scriptc.driver.options import WEIGHTS, Options
from scriptc.ir.passes.manager import Step


@dataclass(frozen=True)
class PipelinePass:
    """A pass at its position in the pipeline. options: the options of `passes_of` that the pass takes."""

    name: str
    why: str
    options: tuple[str, ...] = ()


# `clean` is the passes that ir.passes.CLEANING lists, to a fixpoint.
_CLEAN = PipelinePass("clean", "all passes match what it leaves: constants folded, invariants hoisted, dead code gone")
_DROP = PipelinePass("drop_gradient_marks", "the flow of gradients was found, and `clean` matches what is in between")
FULL = (
    _DROP,
    _CLEAN,
    PipelinePass("split_lists", "it needs constant indices; lists that it makes in loops are read by the next pass"),
    PipelinePass("read_lists", "tensors that are joined from known items have known sizes, which prove checks"),
    PipelinePass("take_first", "it needs the loops of `sorted` with constant slices, which no pass has changed"),
    PipelinePass("recompute_items", "take_first has bounded the loops of `sorted`; keep_positions sees reads of dicts"),
    PipelinePass("keep_positions", "cse merged the lookups of a key, and dropped lists hold no keys"),
    PipelinePass("find_or_enter", "keep_positions says which key is entered where its lookup fails"),
    PipelinePass("read_elements", "checks of indices are gone from the loops"),
    PipelinePass("log_sum_exp", "sums of generator expressions are single ops by now"),
    _CLEAN,
    PipelinePass("batch_sums", "it takes sums of products, before others take the products"),
    PipelinePass("forward_writes", "the passes behind it match values that nothing writes", ("frozen",)),
    PipelinePass("bit_products", "it needs values that nothing writes; fold_norms and prepare_weights would take its products"),
    PipelinePass("dce", "the floats of signs that are packed from their source may be dead"),
    PipelinePass("sign_thresholds", "it takes single pointwise ops between products in bits", ("frozen",)),
    PipelinePass("integer_products", "fold_norms and prepare_weights would take its products; bits are faster"),
    PipelinePass("fold_norms", "it matches the ops behind convolutions whose weights are not packed yet", ("folded",)),
    PipelinePass("look_up_products", "prepare_weights would pack its weights", ("frozen", "weight_format")),
    PipelinePass("prepare_weights", "hoisted weights show which products have invariant matrices", ("frozen", "weight_format")),
    PipelinePass("clean", "packing leaves equal packs of one weight"),
    PipelinePass("sink_results", "its products have packed weights, which estimate_products knows", ("frozen",)),
    PipelinePass("estimate_products", "sink_results leaves products to it of which only the largest is used", ("frozen",)),
    PipelinePass("clean", "estimates are made in front of loops, and sunk results are carried no longer"),
    PipelinePass("merge_contractions", "it joins products of packed weights, before they are batched one by one"),
    PipelinePass("clean", "joined products leave slices of slices"),
    PipelinePass("carry_products", "it needs the weights of joined products before the loop; others take products of loops"),
    PipelinePass("batch_loops", "it matches whole products, which sum_contractions would sum up"),
    PipelinePass("sum_contractions", "it matches the products that are left in the loop"),
    PipelinePass("stack_lists", "it needs the products in their final form, which decides what is appended"),
    PipelinePass("clean", "indices and lengths of removed lists are left"),
    PipelinePass("fuse_epilogues", "it matches single pointwise ops behind packed convolutions"),
    PipelinePass("fuse_activations", "what fuse_epilogues takes costs less; fewer images are left to channels_last"),
    PipelinePass("channels_last", "no later pass makes or moves a convolution; fuse needs all pointwise ops that it adds"),
    PipelinePass("fuse_prologues", "channels_last says where strides are free; fuse would join the ops"),
    PipelinePass("join_in_place", "channels_last says which images may be views"),
    PipelinePass("drop_contiguous", "fuse needs tensors whose strides no result depends on"),
    PipelinePass("fuse", "after every pass that matches a single pointwise op"),
    PipelinePass("make_contiguous", "it needs to know what the fused loops read"),
    PipelinePass("cache_frozen", "values computed from frozen weights alone are hoisted by now", ("frozen",)),
    PipelinePass("outline_frozen", "it moves the branches that cache_frozen makes"),
    PipelinePass("drop_bounds_checks", "no later pass moves an index out of the conditions that prove it"),
    PipelinePass("cse", "the last passes build checks and lengths twice"),
    PipelinePass("dce", "their operands may be dead"),
    PipelinePass("make_room", "no later pass removes an append, or asks what changes a list"),
)
OPT_LEVELS: dict[int, tuple[PipelinePass, ...]] = {0: (), 1: (_DROP, _CLEAN), 2: FULL, 3: FULL}


def passes_of(options: Options) -> list[Step]:
    """Return the passes of a compilation, in order."""
    given = {
        "frozen": int(options.freeze),
        "folded": int(options.freeze and options.fold_norms),
        "weight_format": WEIGHTS.index(options.weights),
    }
    return [(each.name, {name: given[name] for name in each.options}) for each in OPT_LEVELS[options.optimize]]
