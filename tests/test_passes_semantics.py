"""Every case of the pass data files means the same before and after: results, aliasing, exceptions, bit for bit,
where no pass sums in another order."""

from __future__ import annotations

import functools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from data_suite import Case, parse_cases
from ir_compare import make_inputs, outcome
from ir_kinds import read

from scriptc.ir.cloning import clone_func
from scriptc.ir.core import Module
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.regions import may_run_forever
from scriptc.ir.types import BOOL

DATA = Path(__file__).parent / "data"
CASES = [case for path in sorted(DATA.glob("pass-*.test")) for case in parse_cases(path)]
PIPELINES = ["clean,prepare_weights,clean,fuse", "prepare_weights,licm,fuse,cse,dce,simplify,fold"]
# These sum in another order: results are near, all else is the same.
REASSOCIATING = [
    "clean,prepare_weights,clean,merge_contractions,clean,batch_loops,sum_contractions,clean,fuse", "sum_contractions",
    "merge_contractions", "merge_contractions,clean,carry_products,clean", "batch_sums",
    "clean,batch_sums,clean,prepare_weights,stack_lists,fuse",
]  # fmt: skip
# Strides decide in which order torch's own convolutions add; a factor or a bias is rounded behind sums of bits and of integers.
INEXACT = [*REASSOCIATING, "channels_last", "bit_products", "integer_products"]
RUNS = 6


def _ends(module: Module, name: str, args: list[object]) -> bool:
    """The cases' endless loops are left where a bool argument is true."""
    func = module.funcs[name]
    flags = [value for arg, value in zip(func.body.args, args, strict=True) if arg.type == BOOL]
    return all(flags) or not any(may_run_forever(op) for op in func.body.walk())


def _copy(module: Module) -> Module:
    """Return a module that shares with another what no pass changes. Reading the text again would take longer."""
    funcs = {name: replace(clone_func(func), results=[*func.results]) for name, func in module.funcs.items()}
    return replace(module, funcs=funcs, params={**module.params}, entries=[*module.entries])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}-{case.name}")
def test_passes_keep_the_meaning(case: Case) -> None:
    before = read(case.text)
    inputs = {(name, seed): make_inputs(before, name, random.Random(seed)) for name in before.funcs for seed in range(RUNS)}
    runs = [key for key, given in inputs.items() if _ends(before, key[0], given.args)]

    @functools.cache
    def expected(name: str, seed: int, exact: bool) -> object:
        return outcome(before, name, inputs[name, seed], exact=exact)

    for pipeline in [case.path.stem.removeprefix("pass-"), *PIPELINES, *REASSOCIATING]:
        after, exact = _copy(before), pipeline not in INEXACT
        run_pipeline(after, pipeline, verify=True)
        for name, seed in runs:
            assert expected(name, seed, exact) == outcome(after, name, inputs[name, seed], exact=exact), pipeline
