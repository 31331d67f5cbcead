"""Every op row, compiled: C and the interpreter give the same values, strides and errors over the row's samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from compiled_program import Compiled, Raised, assert_no_warnings
from row_cases import RowCase, row_module

from scriptc.backend_c.emitters import EMITTERS
from scriptc.backend_c.function import PRINTERS
from scriptc.ir.dtypes import COMPLEX
from scriptc.ir.interp import Interpreter
from scriptc.ir.opdef import LOOP, TENSOR, OpDef
from scriptc.ir.ops import OPS
from scriptc.ir.phases import PHASES
from scriptc.runtime.kernels import KERNELS

GROUP = 12  # rows to a library
SAMPLED = [row for row in OPS.values() if row.samples is not None]
GROUPS = [SAMPLED[i : i + GROUP] for i in range(0, len(SAMPLED), GROUP)]


def test_each_row_says_once_how_c_is_made() -> None:
    for name in PHASES[TENSOR]:
        row = OPS[name]
        ways = [way is not None for way in (row.c, row.kernel, row.emit)]
        assert sum(ways) == 1 or all(ways), name


def test_each_emitter_exists_and_is_used() -> None:
    assert set(EMITTERS) == {row.emit for row in OPS.values() if row.emit is not None}


def test_each_kernel_and_check_has_a_row() -> None:
    assert {row.kernel for row in OPS.values() if row.kernel} <= KERNELS.keys()
    assert {f"sc_check_{row.check}" for row in OPS.values() if row.check} <= KERNELS.keys()


def test_each_op_of_the_loop_ir_is_printed() -> None:
    for name in PHASES[LOOP] - {"c.weight"}:
        assert name in PRINTERS or (OPS[name].c is not None) or name in ("c.expr", "c.cast"), name


# torch.pow(number, tensor) is contiguous whatever the tensor's strides, unlike any other op of a number.
FRESH_STRIDES = {"pow"}


def telling_strides(t: torch.Tensor) -> list[int]:
    """Strides of dims that hold more than one element: those of others, eager's own functions choose differently."""
    return [stride for size, stride in zip(t.shape, t.stride(), strict=True) if size != 1]


def same(got: Any, expected: Any, exact: bool, strides: bool = True) -> None:
    if isinstance(expected, torch.Tensor):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        if expected.numel() > 1 and strides:
            assert telling_strides(got) == telling_strides(expected)
        if got.is_complex():  # eager's signs of zeros depend on where in a vector an element falls
            bounds = {"rtol": 0, "atol": 0} if exact else {}
            finite = torch.isfinite(expected)
            torch.testing.assert_close(got[finite], expected[finite], **bounds)
            others = (torch.view_as_real(t[~finite]) for t in (got, expected))
            torch.testing.assert_close(*others, **bounds, equal_nan=True)
        elif exact:
            assert torch.equal(torch.nan_to_num(got, 7.0), torch.nan_to_num(expected, 7.0))
            if got.dtype.is_floating_point:
                assert torch.equal(got.isnan(), expected.isnan())
                numbers = ~expected.isnan()
                assert torch.equal(torch.signbit(got)[numbers], torch.signbit(expected)[numbers])
        else:
            torch.testing.assert_close(got, expected, equal_nan=True)
    elif isinstance(expected, (list, tuple)):
        for a, b in zip(got, expected, strict=True):
            same(a, b, exact, strides)
    else:
        assert got == expected and type(got) is type(expected)


def outcome(run: Any) -> Any:
    try:
        return run()
    except Raised as error:
        return f"{error.type}: {error.message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def compare(compiled: Compiled, interpreter: Interpreter, case: RowCase, layout: str) -> None:
    inputs, copies = case.inputs(layout), case.inputs(layout)
    expected = outcome(lambda: interpreter.run(case.name, *copies))
    got = outcome(lambda: compiled.run(case.name, *inputs))
    if case.with_number and isinstance(expected, str) and expected.startswith("TypeError"):
        return  # eager takes no number there
    if isinstance(expected, str) or isinstance(got, str):
        assert got == expected
        return
    strides = not (case.with_number and case.row.name in FRESH_STRIDES or case.row.name == "angle")
    rounds = case.row.name in ("add", "sub", "mul", "div")  # eager contracts products of complex numbers in some loops
    same(got, expected, case.row.tolerance_ulp == 0 and not (rounds and COMPLEX.intersection(case.dtypes)), strides)
    assert compiled.live == 0, "objects are left"


def layouts(row: OpDef) -> tuple[str, ...]:
    assert row.samples is not None
    special = "ELEMENTWISE" in row.traits and not row.samples.finite
    return ("plain", "transposed", *(("special",) if special else ()))


def test_c_has_no_warnings(tmp_path: Path) -> None:
    module, _ = row_module([row for row in SAMPLED if "ELEMENTWISE" not in row.traits], "quiet")
    assert_no_warnings(module, tmp_path)


@pytest.mark.parametrize("index", range(len(GROUPS)))
def test_rows(index: int) -> None:
    module, cases = row_module(GROUPS[index], f"rows{index}")
    compiled, interpreter = Compiled(module), Interpreter(module)
    failures = []
    for case in cases:
        for layout in layouts(case.row):
            try:
                compare(compiled, interpreter, case, layout)
            except AssertionError as error:
                failures.append(f"{case.name} ({layout}): {str(error)[:400]}")
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures)
