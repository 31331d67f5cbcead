"""Functions on dtypes that PyTorch's own tests say they do not take: what eager raises, or what it returns all the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from measure.opinfo import OPS, listed, programs
from measure.outcome import Program
from settings import sweep
from three_ways import Outcome, assert_same, call, eager, interpreted

from scriptc import CompileError

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool", "uint8", "int16", "complex64")
GROUPS = 8
# By their sizes or values these are taken or not, or fail by another error: docs/reference/limits.md.
EXCEPTED = {
    "histogramdd", "index_reduce.amax", "index_reduce.amin", "index_reduce.prod", "linalg.multi_dot", "masked.amax",
    "masked.amin", "masked.median", "native_group_norm", "native_layer_norm", "nn.functional.ctc_loss",
    "nn.functional.embedding_bag", "nn.functional.hardtanh", "nn.functional.multilabel_margin_loss", "nn.functional.rms_norm",
    "tensordot",
}  # fmt: skip
NAMES = sorted({name for dtype in DTYPES for name in listed(dtype)} - EXCEPTED)
EVERY = int(os.environ.get("SCRIPTC_TEST_EVERY", "3"))  # of the pairs of a function and a dtype; 1: all of them


def calls(group: int, directory: Path) -> Iterator[Program]:
    for at, name in enumerate(NAMES[group::GROUPS]):
        for dtype in DTYPES[at % EVERY :: EVERY]:
            if not OPS[name].supports_dtype(getattr(torch, dtype), "cpu"):
                try:
                    yield from programs(name, dtype, 1, directory)
                except Exception:  # there are no samples of the dtype
                    continue


def is_empty(outcome: Outcome) -> bool:
    return isinstance(outcome.result, torch.Tensor) and not outcome.result.numel()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", sweep(range(GROUPS), 1))
def test_refused_as_in_eager(group: int, lasting_path: Path) -> None:
    failed = []
    for program in calls(group, lasting_path):
        if program.function is None:
            continue
        given = call(*program.args)
        expected = eager(program.function, given)
        try:
            found = interpreted(program.function, given)
        except CompileError:
            continue
        try:
            assert_same(expected, found)
        except AssertionError as e:
            if not (is_empty(expected) and isinstance(found.error, NotImplementedError)):
                failed.append(f"{program.text} of {given.args[0].dtype}: {e}")
    assert not failed, "\n".join(failed)
