"""Every op of tests/data/opinfo_passing.txt agrees with eager on PyTorch's first sample of it.

`python -m tests.opinfo` runs more samples of all ops, and with `--passing` writes that list.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from opinfo.programs import listed_ops
from opinfo.run import run_op

PASSING = (Path(__file__).parent / "data" / "opinfo_passing.txt").read_text().split()
GROUPS = 16


@pytest.mark.parametrize("group", range(GROUPS))
def test_ops_that_passed_still_pass(group: int, tmp_path: Path) -> None:
    ops = listed_ops()
    outcomes = [run_op(ops[name], torch.float32, 1, tmp_path, optimize=0) for name in PASSING[group::GROUPS]]
    failed = [f"{o.name}: {reason}\n    {call}" for o in outcomes for reason, call in o.reasons]
    assert not failed, "\n".join(failed)
