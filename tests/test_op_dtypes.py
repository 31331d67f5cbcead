"""Every elementwise op on every dtype: what eager returns, or an error where eager raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from measure.outcome import Program, compare
from measure.source import functions, together
from settings import sweep

import scriptc
from scriptc.frontend.library.registry import resolve
from scriptc.ir.dtypes import COMPLEX, TORCH_NAMES
from scriptc.ir.opdef import OpDef
from scriptc.ir.ops import OPS

NAMES = {r.name: next((n for n in r.torch if n.startswith("torch.") and resolve(n) is not None), "") for r in OPS.values()}
ROWS = [row for row in OPS.values() if "ELEMENTWISE" in row.traits and NAMES[row.name]]
REFUSED = [("nextafter", "f16"), ("nextafter", "bf16"), ("logaddexp", "c64"), ("logaddexp", "c128")]
GROUPS = 12


def values(dtype: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(2, 7, generator=generator) * 3 + (0.2 if seed else 0.1)
    if dtype in COMPLEX:
        x = torch.complex(x, x.flip(1) - 1.5)
    return x > 1.5 if dtype == "bool" else x.to(getattr(torch, TORCH_NAMES[dtype]))


def program(row: OpDef, dtype: str, directory: Path) -> Program:
    args = [values(dtype, i) for i in range(len(row.operand_args))]
    (made,) = functions(f"{row.name}_{dtype}", [lambda w: f"{NAMES[row.name]}({', '.join(map(w.text, args))})"], directory)
    return made


@pytest.mark.parametrize("group", sweep(range(GROUPS), 4))
def test_dtypes(group: int, lasting_path: Path) -> None:
    taken: list[Program] = []
    expected: list[Any] = []
    for row in ROWS[group::GROUPS]:
        for dtype in TORCH_NAMES:
            made = program(row, dtype, lasting_path)
            assert made.function is not None
            try:
                result = made.function(*made.args)
            except RuntimeError as e:
                with pytest.raises((type(e), scriptc.CompileError)):
                    scriptc.compile(made.function, optimize=0)(*made.args)
                continue
            if (row.name, dtype) in REFUSED:
                with pytest.raises(scriptc.CompileError):
                    scriptc.compile(made.function, optimize=0)(*made.args)
                continue
            taken.append(made)
            expected.append(result)
    everything = together("everything", taken, lasting_path)
    assert everything.function is not None
    got = scriptc.compile(everything.function, optimize=0)(*everything.args)
    for made, a, b in zip(taken, expected, got, strict=True):
        half = a.dtype in (torch.float16, torch.bfloat16)
        try:
            compare(a, b, made.function(*(x.double() for x in made.args)) if half and made.function else None)
        except Exception as e:
            raise AssertionError(made.text, a.dtype) from e
