"""Random modules: they verify, their text reads back to itself, and passes keep what they mean."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from ir_compare import make_inputs, outcome
from ir_generator import TENSOR_ROWS, random_module

from scriptc.ir.parser import parse_module
from scriptc.ir.passes import PASSES
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import verify

PIPELINES = ["clean,prepare_weights,clean,fuse", "fuse,cse,licm,dce", *PASSES]
SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, size=st.integers(1, 60))
def test_text_reads_back_to_itself(seed: int, size: int) -> None:
    module = random_module(seed, size)
    verify(module)
    for locs in (False, True):
        text = print_module(module, locs=locs)
        again = parse_module(text)
        verify(again)
        assert print_module(again, locs=locs) == text


@given(seed=SEEDS, size=st.integers(1, 60), pipeline=st.sampled_from(PIPELINES))
def test_passes_keep_what_random_modules_mean(seed: int, size: int, pipeline: str) -> None:
    module = random_module(seed, size)
    before = parse_module(print_module(module))
    run_pipeline(module, pipeline, verify=True)
    text = print_module(module)
    assert print_module(parse_module(text)) == text
    for run in range(2):
        inputs = make_inputs(before, "main", random.Random(seed + run))
        assert outcome(module, "main", inputs) == outcome(before, "main", inputs), text


# Their attributes must fit shapes in ways that the generator does not know; test_rows_in_c.py runs their samples.
NEED_SAMPLES = {
    "arg_scan", "argsort", "conv_transpose2d", "diagonal", "extreme_scan", "leaf", "linalg.eigh", "linalg.householder",
    "linalg.lu_solve", "linalg.svd", "linalg.triangle", "nms", "numpy.fill", "pad", "roi_align", "scatter", "topk", "unfold",
}  # fmt: skip
MADE_BY_PASSES = {
    "fuse", "pack_linear.kept", "concat", "linear_activated", "linear_add", "linear_rows", "rows.new", "stacked.new",
    "stacked.put", "stacked.join", "arrange_transposed", "arrange_transposed.kept", "kept.has", "kept.get", "kept.put",
    "outer_sum.new", "outer_sum.add", "outer_sum.part", "pack_conv", "with_prologue", "conv2d_packed", "activation",
    "suggests_channels_last", "cat.items", "place", "signs.rows", "signs.image", "signs.filters", "signs.linear",
    "signs.conv2d", "signs.order", "signs.sums", "signs.thresholds", "signs.linear_bits", "signs.conv2d_bits", "signs.check",
    "signs.next_order", "integers.columns", "integers.filters", "integers.matmul", "integers.conv2d",
}  # fmt: skip


def test_generator_reaches_every_row() -> None:
    never = {"unreachable", "user_gradient", "extern.call"}  # never reached; name a function
    checkpoints = {"checkpoint", "checkpoint.begin", "checkpoint.end"}  # of code that is differentiated
    missing = TENSOR_ROWS.keys() - (MADE_BY_PASSES | NEED_SAMPLES | never | checkpoints)
    for seed in range(900):
        if not missing:
            break
        missing -= {op.name for op in random_module(seed, 60).walk()}
    assert not missing
