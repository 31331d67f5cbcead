"""Every op row, compiled: C and the interpreter give the same values, strides and errors over the row's samples."""

from __future__ import annotations

import random
import re
from math import copysign, isclose, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compiled_program import Compiled, Raised, assert_no_warnings
from row_cases import RowCase, row_module
from row_modules import calls_of, interpreted, merged, params_of, row_module_cases

from scriptc.backend_c.emitters import EMITTERS
from scriptc.backend_c.function import PRINTERS
from scriptc.ir.dtypes import COMPLEX
from scriptc.ir.interp import Interpreter
from scriptc.ir.ops import OPS
from scriptc.ir.parser import parse_module
from scriptc.ir.phases import LOOP, OPTIMIZED
from scriptc.ir.types import FLOAT, INT, Type
from scriptc.runtime.kernels import KERNELS

GROUP = 12  # rows to a library
SAMPLED = [row for row in OPS.values() if row.samples is not None]
IN_EXTENSIONS = {"extern.call"}  # needs the library of an extension: tests.test_extension_compiled
GROUPS = [SAMPLED[i : i + GROUP] for i in range(0, len(SAMPLED), GROUP)]


def test_each_row_is_sampled() -> None:
    """A row has samples, or a function in rows-*.test that is named for it."""
    modules = {case.name: parse_module(f'module "m" entries()\n{case.text}') for case in row_module_cases()}
    for name in OPTIMIZED.ops:
        if OPS[name].samples is None and name not in IN_EXTENSIONS:
            assert name in modules and any(op.name == name for op in modules[name].walk()), f"{name} has no samples"


def test_each_row_that_raises_names_its_errors() -> None:
    """Errors are those of the row, or those that the function in rows-*.test that is named for it raises."""
    raised = {case.name for case in row_module_cases() if any(re.match(r"\w+: ", line) for line in case.section("out"))}
    for name in OPTIMIZED.ops:
        row = OPS[name]
        assert not row.errors or row.raises or row.check, f"{name} names errors, but does not raise"
        told = row.errors or name in raised | IN_EXTENSIONS
        assert not (row.raises or row.check) or told, f"{name} raises, but names no error"


def test_each_op_of_the_loop_ir_has_a_golden() -> None:
    texts = [path.read_text() for path in (Path(__file__).parent / "data").glob("lo*-*.test")]
    for name in LOOP.ops - OPTIMIZED.ops:
        assert any(f" {name}(" in text for text in texts), f"no case of lower-*.test or loops-*.test has {name}"


def test_each_row_says_once_how_c_is_made() -> None:
    for name in OPTIMIZED.ops:
        row = OPS[name]
        ways = [way is not None for way in (row.c, row.kernel, row.emit)]
        assert sum(ways) == 1 or all(ways), name


def test_each_emitter_exists_and_is_used() -> None:
    assert set(EMITTERS) == {row.emit for row in OPS.values() if row.emit is not None}


def test_each_kernel_and_check_has_a_row() -> None:
    assert {row.kernel for row in OPS.values() if row.kernel} <= KERNELS.keys()
    assert {f"sc_check_{row.check}" for row in OPS.values() if row.check} <= KERNELS.keys()


def test_each_op_of_the_loop_ir_is_printed() -> None:
    for name in LOOP.ops - {"c.weight"}:
        assert name in PRINTERS or (OPS[name].c is not None) or name in ("c.expr", "c.cast"), name


# PyTorch's addition to the messages of its own assertions.
INTERNAL_ASSERT = "  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
# Products, whose sums eager adds up in another order.
IN_OTHER_ORDER = {
    "arrange_transposed", "arrange_transposed.kept", "conv2d_packed", "linear_activated", "linear_add", "linear_packed",
    "linear_rows", "pack_conv",
}  # fmt: skip
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
    elif isinstance(expected, dict):
        assert got == expected
    elif isinstance(expected, float) and isinstance(got, float):
        near = got == expected or (not exact and isclose(got, expected, rel_tol=1e-14))
        assert (near and copysign(1.0, got) == copysign(1.0, expected)) or (isnan(got) and isnan(expected))
    else:
        assert got == expected and type(got) is type(expected)


def outcome(run: Any) -> Any:
    """Return the results of a run, or the error in words. All runs draw the same random numbers."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed also formats the stack, for a GPU that is used later
    random.seed(0)
    np.random.seed(0)
    try:
        return run()
    except Raised as error:
        return f"{error.type}: {error.message}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).removesuffix(INTERNAL_ASSERT)}"


def is_representable(value: Any, t: Type) -> bool:
    """Return whether compiled code can hold a number that Python computed where the row says `t`."""
    if t == INT:
        return isinstance(value, int) and -(2**63) <= value < 2**63
    return t != FLOAT or isinstance(value, float)


def compare_errors(compiled: Compiled, interpreter: Interpreter, case: RowCase) -> None:
    """C raises the error of the row, and so does eager, unless it returns a number that compiled code cannot hold."""
    assert case.raises is not None
    error, func = f"{case.raises.type}: {case.raises.message}", interpreter.module.funcs[case.name]
    for inputs, copies in zip(case.inputs("plain"), case.inputs("plain"), strict=True):
        assert outcome(lambda: compiled.run(case.name, *inputs)) == error, inputs  # noqa: B023
        expected = outcome(lambda: interpreter.run(case.name, *copies))  # noqa: B023
        if isinstance(expected, str) or all(map(is_representable, expected, func.results)):
            assert expected == error, copies


def compare(compiled: Compiled, interpreter: Interpreter, case: RowCase, inputs: list[Any], copies: list[Any]) -> None:
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


def layouts(case: RowCase) -> tuple[str, ...]:
    assert case.row.samples is not None
    if case.raises is not None:
        return ("plain",)
    # A factorization of equal rows is not unique, and only a cast to the same dtype keeps a stride of 0.
    apart = case.row.name == "cast" or case.row.name.startswith("linalg")
    broadcast = () if apart or "tensor" in case.row.writes else ("broadcast",)
    if case.calls:
        return ("plain", *broadcast)
    special = "ELEMENTWISE" in case.row.traits and not case.row.samples.finite
    return ("plain", "transposed", *broadcast, *(("special",) if special else ()))


def test_c_has_no_warnings(tmp_path: Path) -> None:
    module, _ = row_module([row for row in SAMPLED if "ELEMENTWISE" not in row.traits], "quiet")
    assert_no_warnings(module, tmp_path)


def compiled_outcome(compiled: Compiled, name: str, call: tuple[Any, ...]) -> list[Any]:
    """Return what a call of a row module gives in C, as `interpreted` does for the interpreter."""
    compiled.printed, compiled.warnings = "", []
    results = outcome(lambda: compiled.run(name, *call, params=params_of(compiled.module)))
    return [results, compiled.printed, compiled.warnings, compiled.state]


def test_modules_of_rows() -> None:
    cases = list(row_module_cases())
    compiled = Compiled(merged(cases))
    for case in cases:
        for call, again in zip(calls_of(case), calls_of(case), strict=True):
            expected, got = interpreted(compiled.module, case.name, call), compiled_outcome(compiled, case.name, again)
            if isinstance(expected[0], str) or isinstance(got[0], str):
                assert got == expected, case.name
            else:
                same(got, expected, exact=case.name not in IN_OTHER_ORDER)
                assert compiled.live == 0, f"{case.name} leaves objects"


@pytest.mark.compiled_together
@pytest.mark.parametrize("index", range(len(GROUPS)))
def test_rows(index: int) -> None:
    module, cases = row_module(GROUPS[index], f"rows{index}")
    compiled, interpreter = Compiled(module), Interpreter(module)
    failures = []
    for case in cases:
        for layout in layouts(case):
            try:
                if case.raises is not None:
                    compare_errors(compiled, interpreter, case)
                    continue
                for inputs, copies in zip(case.inputs(layout), case.inputs(layout), strict=True):
                    compare(compiled, interpreter, case, inputs, copies)
            except AssertionError as error:
                failures.append(f"{case.name} ({layout}): {str(error)[:400]}")
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures)
