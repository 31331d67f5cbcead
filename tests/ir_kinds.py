"""Kinds of data files whose cases are IR text: what a pass makes of it, what the verifier or the parser says.

A case holds functions, and `param` lines for the weights they read; the header of the module is added here.
"""

from __future__ import annotations

import re

from data_suite import Case, Kind
from row_modules import calls_of, described, interpreted

from scriptc.ir.core import Module
from scriptc.ir.errors import CompileError
from scriptc.ir.parser import parse_module
from scriptc.ir.passes import PASSES
from scriptc.ir.passes.manager import run_pipeline
from scriptc.ir.phases import OPTIMIZED, READ
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import VerifyError, verify

HEADER = 'module "m" entries()'


def read(text: str) -> Module:
    """The module of a case."""
    return parse_module(f"{HEADER}\n{text}")


def show(module: Module) -> list[str]:
    """A module as a case writes it."""
    return print_module(module).rstrip().splitlines()[1:]


def without_blank_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def read_as_printed(case: Case) -> Module:
    """The module of a case, whose text must be exactly what the printer prints, comments and empty lines aside."""
    module = read(case.text)
    written = [re.sub(r"\s*//.*", "", line) for line in case.source]
    assert without_blank_lines(show(module)) == without_blank_lines(written), "\n".join(show(module))
    return module


def pass_case(case: Case) -> list[str]:
    """IR after the pass that the file is named after; options as `max=4`."""
    name = case.path.stem.removeprefix("pass-")
    module = read_as_printed(case)
    verify(module)
    options = {key: int(value) for key, _, value in (option.partition("=") for option in case.options)}
    steps = name if name not in PASSES else [(name, options)]
    run_pipeline(module, steps, verify=True)
    result = show(module)
    assert show(read("\n".join(result))) == result, "the result does not read back to itself"
    return without_blank_lines(result)


def verify_case(case: Case) -> list[str]:
    """The verifier's text, function and messages; nothing for a module without fault."""
    module = read_as_printed(case)
    try:
        verify(module)
    except VerifyError as error:
        return str(error).rstrip().splitlines()
    return []


def phases_case(case: Case) -> list[str]:
    """The verifier's text for a module in a phase; nothing for one without fault."""
    module = read_as_printed(case)
    try:
        verify(module, READ if "read" in case.options else OPTIMIZED)
    except VerifyError as error:
        return str(error).rstrip().splitlines()
    return []


def parse_case(case: Case) -> list[str]:
    """The errors of text that is not IR, at its lines; the header counts as line 0."""
    try:
        read(case.text)
    except CompileError as error:
        return [f"main:{d.loc.line - 1}:{d.loc.col + 1}: error: {d.message}" for d in error.diagnostics]
    return ["no error"]


def rows_case(case: Case) -> list[str]:
    """Return the results of the interpreter for each call; test_rows_in_c.py compares C with it."""
    module = read_as_printed(case)
    verify(module)
    (name,) = module.funcs
    return [described(interpreted(module, name, call)) for call in calls_of(case)]


IR_KINDS: dict[str, Kind] = {
    "rows-": rows_case, "pass-": pass_case, "verify": verify_case, "phases": phases_case, "parse": parse_case,
}  # fmt: skip
