"""Kinds of data files about the C back end: IR text to loop IR text (`lower-`), to the C of its functions (`c-`)."""

from __future__ import annotations

from data_suite import Case, Kind

from scriptc.backend_c.emit import lower_to_loops
from scriptc.backend_c.function import FunctionPrinter
from scriptc.backend_c.locations import LocTable
from scriptc.backend_c.program_names import ProgramNames
from scriptc.ir.core import Module
from scriptc.ir.parser import parse_module
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import verify

HEADER = 'module "m" entries()\n'


def read(case: Case) -> Module:
    module = parse_module(HEADER + case.text)
    verify(module)
    return module


def lower_case(case: Case) -> list[str]:
    """The loop IR, which reads back to itself."""
    text = print_module(lower_to_loops(read(case)))
    assert print_module(parse_module(text)) == text
    return [line for line in text.splitlines()[1:] if line.strip()]


def c_case(case: Case) -> list[str]:
    """The C of the functions, without what stands around them."""
    loops = lower_to_loops(read(case))
    names, locs = ProgramNames(loops), LocTable()
    texts = [FunctionPrinter(loops, f, names, locs, debug="debug" in case.options).text() for f in loops.funcs.values()]
    return "\n".join(texts).rstrip().splitlines()


C_KINDS: dict[str, Kind] = {"lower-": lower_case, "c-": c_case}
