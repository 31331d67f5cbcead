"""What compiled code cannot contain: for each row of `frontend/rejections.py` a program, with what the hint says to write.

The line that is refused bears the comment `# refused`; the rewritten function is run in Python and in C.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from three_ways import Args

from scriptc.frontend.rejections import REJECTIONS

REJECTED: list[Rejected] = []

@dataclass
class Rejected:
    """`refused` gives a CompileError of the row `key` at its marked line; `instead` does what was meant."""

    key: str
    refused: Any  # None where this Python does not have the syntax
    instead: Any
    calls: list[Args]
    ahead: bool = False  # it is a build ahead of time that is refused
    around: Callable[[], AbstractContextManager[Any]] = nullcontext  # what holds while it is refused
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or getattr(self.refused, "__name__", type(self.refused).__name__)


def write(key: str, instead: Any, *calls: tuple[Any, ...], **how: Any) -> Callable[[Any], Any]:
    """Lists what is refused with what to write instead: functions, or modules. `how`: see Rejected."""

    def listed(refused: Any) -> Any:
        REJECTED.append(Rejected(key, refused, instead, [Args(c) for c in calls], **how))
        return refused

    return listed


def from_text(key: str, name: str, text: str, instead: Any, *calls: tuple[Any, ...]) -> None:
    """The same of the function of a name in a text, whose syntax older Pythons do not have."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made: dict[str, Any] = {}
    try:
        exec(compile(text, file, "exec"), made)
    except SyntaxError:
        pass
    write(key, instead, *calls, label=name)(made.get(name))


def page() -> str:
    """docs/reference/rejections.md: the table, with the names of the programs."""
    lines = [
        "# What is refused",
        "",
        "Written from `frontend/rejections.py` by",
        "`PYTHONPATH=tests python -m language.rejected > docs/reference/rejections.md`, and checked by a test. What stands in",
        "braces is filled in. The programs are in [`tests/language/rejected`](../../tests/language/rejected).",
        "",
        "| reason | write instead | program |",
        "|---|---|---|",
    ]
    for key, (reason, rewrite) in sorted(REJECTIONS.items(), key=lambda row: row[1]):
        names = " ".join(f"`{r.name}`" for r in REJECTED if r.key == key)
        lines.append(f"| {reason} | {rewrite} | {names} |".replace("  ", " "))
    return "\n".join(lines) + "\n"
