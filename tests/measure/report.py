"""Sections of results.md, one for each run of a measure: the entries that do not pass, and why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from .outcome import Outcome

PAGE = Path(__file__).parent / "results.md"


def write_section(title: str, intro: str, outcomes: Sequence[Outcome], page: Path = PAGE) -> None:
    """Puts a section in the place of the one of that title, or at the end. intro: formatted with `passed` and `total`."""
    groups: dict[str, list[str]] = defaultdict(list)
    for o in outcomes:
        if not o.ok:
            groups[o.reasons[0][0] if o.reasons else "eager takes none of its samples"].append(o.name)
    passed = sum(o.ok for o in outcomes)
    lines = [f"## {title}", "", intro.format(passed=passed, total=len(outcomes)), ""]
    if groups:
        lines += ["| reason | not passing |", "|---|---|"]
        for text, names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0])):
            shown = text.replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| {shown} | {_code(names)} |")
        lines.append("")
    other = [o.name for o in outcomes if o.ok and o.strides]
    if other:
        lines += [f"Passing, but with other strides than eager's somewhere: {_code(other)}.", ""]
    head, sections = _sections(page.read_text())
    sections[title] = "\n".join(lines)
    page.write_text("\n".join([head, *sections.values()]))


def reported(page: Path = PAGE) -> list[str]:
    """The titles of the sections."""
    return [*_sections(page.read_text())[1]]


def not_passing(title: str, page: Path = PAGE) -> set[str]:
    """What a section says does not pass."""
    rows = [line for line in _sections(page.read_text())[1][title].splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.rpartition(" | ")[2])}


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    head, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return head.rstrip("\n") + "\n", {p.splitlines()[0].removeprefix("## "): p.rstrip("\n") + "\n" for p in parts}
