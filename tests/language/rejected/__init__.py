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
    """Return docs/reference/rejections.md."""
    lines = [
        "# Rejections",
        "",
        "After this page you know what to write instead of code that scriptc refuses. Each refusal is a `CompileError` that",
        "shows the place in your source, the reason and the rewrite. `scriptc.explain` lists all places of a function.",
        "",
        "Words in braces stand for names of your program. The page is written by",
        "`PYTHONPATH=tests python -m language.rejected > docs/reference/rejections.md`.",
        "",
        "| reason | write instead |",
        "|---|---|",
    ]
    lines += [f"| {reason} | {rewrite} |" for reason, rewrite in sorted(REJECTIONS.values())]
    return "\n".join(lines) + "\n"
