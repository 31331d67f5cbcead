"""Kinds of data files about the C back end: IR text to loop IR text (`lower-`), to the C of its functions (`c-`); loop IR
text to the messages of its verifier, or to C (`loops-`), or to loop IR of which parts are functions (`outline-`).
"""

from __future__ import annotations

from data_suite import Case, Kind

from scriptc.backend_c.emit import lower_to_loops
from scriptc.backend_c.function import FunctionPrinter
from scriptc.backend_c.locations import LocTable
from scriptc.backend_c.loop_verifier import verify_loops
from scriptc.backend_c.outline import Limits, outline
from scriptc.backend_c.program_names import ProgramNames
from scriptc.ir.core import Module
from scriptc.ir.parser import parse_module
from scriptc.ir.printer import print_module
from scriptc.ir.verifier import VerifyError, verify

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
    return _functions(lower_to_loops(read(case)), debug="debug" in case.options)


def loops_case(case: Case) -> list[str]:
    """What the verifier of the loop IR says; else the C of the functions."""
    module = parse_module(HEADER + case.text)
    assert [line for line in print_module(module).splitlines()[1:] if line] == [line for line in case.source if line]
    try:
        verify_loops(module)
    except VerifyError as error:
        return str(error).rstrip().splitlines()
    return _functions(module, debug="debug" in case.options)


def outline_case(case: Case) -> list[str]:
    """The loop IR after outlining, as if its functions were long."""
    module = parse_module(HEADER + case.text)
    verify_loops(module)
    outline(module, Limits(long=0, size=2, saved=1))
    verify_loops(module)
    return [line for line in print_module(module).splitlines()[1:] if line.strip()]


def _functions(loops: Module, *, debug: bool) -> list[str]:
    names, locs = ProgramNames(loops), LocTable()
    texts = [FunctionPrinter(loops, f, names, locs, debug=debug).print() for f in loops.funcs.values()]
    return "\n".join(texts).rstrip().splitlines()


C_KINDS: dict[str, Kind] = {"lower-": lower_case, "c-": c_case, "loops-": loops_case, "outline-": outline_case}
