"""What compiled code cannot contain: for each row of `frontend/rejections.py` a program, with what the hint says to write.

The line that is refused bears the comment `# refused`; the rewritten function is run in Python and in C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from three_ways import Args

from scriptc.frontend.rejections import REJECTIONS

REJECTED: list[Rejected] = []

# Rows that no program here shows. Other tests do (of Python 3.11 and 3.12, of ahead-of-time builds), or the place is one that
# stands behind others and that no program is known to reach.
WITHOUT_PROGRAM = set("""
argument_list_of_other aten_operator attribute_behind_del call_depth complex32 complex_number container_of_lengths
container_of_unstorable content_unknown dict_changed dict_outside_changed except_star
format_unknown hooks_on_all_modules iteration_over_value key_of_other_type list_changes_without_type list_of_complex
list_of_unstorable list_without_type_used loop_does_not_end loop_without_type one_of_several_used operator_on_tensors
other_keys_on_a_path parameter_replaced paths_leave_other_content raised_with_other_attributes record_field_of_kinds
record_loses_key record_stored_in_init recursion_captures same_object_on_a_path
set_outside_changed starred_here state_of_many_kinds state_of_structure state_of_two_kinds super_of_run_time_object
target_of_assignment truth_unknown tuple_of_kinds tuple_of_unstorable tuples_of_kinds two_names_of_an_object
type_statement unbound_used written_tensor_of_no_attribute zip_of_others
""".split())


@dataclass
class Rejected:
    """`refused` gives a CompileError of the row `key` at its marked line; `instead` does what was meant."""

    key: str
    refused: Any
    instead: Any
    calls: list[Args]

    @property
    def name(self) -> str:
        return getattr(self.refused, "__name__", type(self.refused).__name__)


def write(key: str, instead: Any, *calls: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Lists what is refused with what to write instead: functions, or modules."""

    def listed(refused: Any) -> Any:
        REJECTED.append(Rejected(key, refused, instead, [Args(c) for c in calls]))
        return refused

    return listed


def page() -> str:
    """docs/rejections.md: the table, with the names of the programs."""
    lines = [
        "# What is refused",
        "",
        "Written from `frontend/rejections.py` by `PYTHONPATH=tests python -m language.rejected > docs/rejections.md`, and",
        "checked by a test. What stands in braces is filled in. The programs are in",
        "[`tests/language/rejected`](../tests/language/rejected).",
        "",
        "| reason | write instead | program |",
        "|---|---|---|",
    ]
    for key, (reason, rewrite) in sorted(REJECTIONS.items(), key=lambda row: row[1]):
        names = " ".join(f"`{r.name}`" for r in REJECTED if r.key == key)
        lines.append(f"| {reason} | {rewrite} | {names} |".replace("  ", " "))
    return "\n".join(lines) + "\n"
