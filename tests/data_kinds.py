"""What the cases of a data file mean, by the prefix of the file's name: a function from case to actual lines."""

from __future__ import annotations

from c_kinds import C_KINDS
from data_suite import Case, Kind
from frontend_kinds import FRONTEND_KINDS
from ir_kinds import IR_KINDS


def suite_upper(case: Case) -> list[str]:
    """Tests the runner itself: upper-cases the source (unless `keep`, nor gives it when `quiet`), and marks `wrong`."""
    wrong = [n for n, line in enumerate(case.source, 1) if "wrong" in line]
    found = [f"main:{n}:{case.source[n - 1].index('wrong') + 1}: error: this is wrong" for n in wrong]
    text = case.source if "keep" in case.options else [line.upper() for line in case.source]
    return found + ([] if "quiet" in case.options else text)


KINDS: dict[str, Kind] = {
    "suite-": suite_upper,
    **IR_KINDS,
    **C_KINDS,
    **FRONTEND_KINDS,
}
