"""Runs `.test` data files: cases of source text and expected text, which --update-data rewrites in place.

    -- a comment
    [case nameOfTheCase]
    source text, in whatever language the kind of case takes
    x = y[0]  # E: what the kind reports at this line (N: a note, H: a hint; `# E:5: ...` gives the column too)
    [options]
    words that the kind understands
    [out]
    expected text

A line of text that would look like a section is written with a backslash before its bracket. What a case means is
decided by its file's prefix (`frontend-`, `pass-`, ...), which names a function in data_kinds.py: it gets the case
and returns lines. A line `main:3: error: words` (or `main:3:5: error: words`) belongs at line 3 of the source, as a
comment; every other line belongs under [out].
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SECTION = re.compile(r"^\[(?P<name>[a-z]+)(?: (?P<argument>[^\]]*))?\]\s*$")
COMMENT = re.compile(r"\s*# (?P<letter>[ENH]):(?:(?P<column>\d+):)? ?(?P<message>.*?)(?=\s*# [ENH]:|$)")
LOCATED = re.compile(r"^main:(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>error|note|hint): (?P<message>.*)$")
SEVERITY = {"E": "error", "N": "note", "H": "hint"}
LETTER = {severity: letter for letter, severity in SEVERITY.items()}


@dataclass
class Section:
    name: str
    argument: str
    header: int  # index of the line `[name argument]` in the file
    lines: list[str] = field(default_factory=list)


@dataclass
class Case:
    """One case. `source` has no expectation comments; line 1 of it is line 1 of `main`."""

    path: Path
    name: str
    header: int
    source: list[str]
    sections: list[Section]
    marks: list[str]  # what the comments expect, in the form of LOCATED

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.source)

    @property
    def options(self) -> list[str]:
        return " ".join(self.section("options")).split()

    def section(self, name: str) -> list[str]:
        """The lines of a section, without the empty ones at its end; [] if it is missing."""
        return next((_trim(section.lines) for section in self.sections if section.name == name), [])

    @property
    def expected(self) -> list[str]:
        return self.marks + self.section("out")


Kind = Callable[[Case], list[str]]


def parse_cases(path: Path) -> list[Case]:
    """The cases of a file. ValueError names the line that does not fit."""
    cases: list[list[Section]] = []
    for index, line in enumerate(path.read_text().splitlines()):
        if line.startswith("--"):
            continue
        header = SECTION.match(line)
        if header:
            section = Section(header["name"], header["argument"] or "", index)
            if section.name == "case":
                cases.append([])
            if not cases:
                raise ValueError(f"{path}:{index + 1}: a section before the first [case]")
            cases[-1].append(section)
        elif cases:
            cases[-1][-1].lines.append(_unescape(line))
        elif line.strip():
            raise ValueError(f"{path}:{index + 1}: text before the first [case]")
    made = [_make_case(path, sections) for sections in cases]
    names = [case.name for case in made]
    for name in names:
        if not name or names.count(name) > 1:
            raise ValueError(f"{path}: the case name {name!r} is missing or not unique")
    return made


def run_case(case: Case, kind: Kind) -> list[str]:
    """What the kind gives, in the order in which expectations are written: located lines first, by line."""
    actual = [line.rstrip() for text in kind(case) for line in text.split("\n")]
    located = [line for line in actual if LOCATED.match(line)]
    return sorted(located, key=_line_of) + _trim([line for line in actual if not LOCATED.match(line)])


def update_file(path: Path, results: dict[str, list[str]]) -> None:
    """Writes actual lines as expectations. From the end, so that the line numbers of earlier cases stay right."""
    lines = path.read_text().splitlines()
    for case in reversed(parse_cases(path)):
        if case.name in results:
            _update_case(lines, case, results[case.name])
    path.write_text("".join(f"{line}\n" for line in lines))


def _make_case(path: Path, sections: list[Section]) -> Case:
    head = sections[0]
    source, marks = [], []
    for number, line in enumerate(head.lines, 1):
        first = COMMENT.search(line)
        for mark in COMMENT.finditer(line):
            column = f"{mark['column']}:" if mark["column"] else ""
            marks.append(f"main:{number}:{column} {SEVERITY[mark['letter']]}: {mark['message']}".rstrip())
        source.append(line[: first.start()] if first else line)
    return Case(path, head.argument, head.header, _trim(source), sections[1:], marks)


def _update_case(lines: list[str], case: Case, actual: list[str]) -> None:
    out = [_escape(line) for line in actual if not LOCATED.match(line)]
    existing = next((section for section in case.sections if section.name == "out"), None)
    if existing:
        stop = existing.header + 1 + _written_length(lines, existing.header + 1)
        lines[existing.header : stop] = ["[out]", *out] if out else []
    elif out:
        start = max([case.header, *(section.header for section in case.sections)]) + 1
        stop = start + _written_length(lines, start)
        lines[stop:stop] = ["[out]", *out]
    marks: dict[int, str] = {}
    for line in actual:
        if located := LOCATED.match(line):
            column = f"{located['column']}:" if located["column"] else ""
            mark = f"  # {LETTER[located['severity']]}:{column} {located['message']}"
            marks[int(located["line"])] = marks.get(int(located["line"]), "") + mark
    number = 0
    for index in range(case.header + 1, len(lines)):
        if SECTION.match(lines[index]):
            break
        if lines[index].startswith("--"):
            continue
        number += 1
        first = COMMENT.search(lines[index])
        bare = lines[index][: first.start()] if first else lines[index]
        lines[index] = bare + marks.get(number, "")


def _written_length(lines: list[str], start: int) -> int:
    """Lines from `start` that a section holds: up to the next section, less empty lines and comments before that."""
    stop = start
    while stop < len(lines) and not SECTION.match(lines[stop]):
        stop += 1
    while stop > start and (not lines[stop - 1].strip() or lines[stop - 1].startswith("--")):
        stop -= 1
    return stop - start


def _line_of(line: str) -> int:
    located = LOCATED.match(line)
    return int(located["line"]) if located else 0


def _trim(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _unescape(line: str) -> str:
    return line[1:] if line.startswith(("\\[", "\\-")) else line


def _escape(line: str) -> str:
    return "\\" + line if SECTION.match(line) or line.startswith(("--", "\\[", "\\-")) else line


class DataMismatch(Exception):
    """Shown by pytest without a traceback: the difference and the command that accepts it are all there is to say."""


class DataFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from data_kinds import KINDS

        prefix = max((prefix for prefix in KINDS if self.path.name.startswith(prefix)), key=len, default=None)
        if prefix is None:
            raise self.CollectError(f"{self.path.name}: a data file's name starts with one of {', '.join(KINDS)}")
        try:
            cases = parse_cases(self.path)
        except ValueError as error:
            raise self.CollectError(str(error)) from error
        for case in cases:
            yield DataItem.from_parent(self, name=case.name, case=case, kind=KINDS[prefix])


class DataItem(pytest.Item):
    def __init__(self, *, case: Case, kind: Kind, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.case = case
        self.kind = kind

    def runtest(self) -> None:
        actual = run_case(self.case, self.kind)
        if actual == self.case.expected:
            return
        if self.config.getoption("--update-data"):
            self.config.stash[UPDATES].setdefault(self.path, {})[self.case.name] = actual
            return
        difference = difflib.unified_diff(self.case.expected, actual, "expected", "actual", lineterm="")
        where = os.path.relpath(self.path)
        raise DataMismatch(
            "\n".join(difference)
            + f"\n\nTo accept what came out:\n  python -m pytest '{where}::{self.case.name}' --update-data"
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:  # type: ignore[override]
        return str(excinfo.value) if isinstance(excinfo.value, DataMismatch) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.header, self.case.name


UPDATES = pytest.StashKey[dict[Path, dict[str, list[str]]]]()


def write_updates(config: pytest.Config) -> list[str]:
    """Rewrites the files whose cases came out differently; a sentence for each."""
    updates = config.stash[UPDATES]
    for path, results in updates.items():
        update_file(path, results)
    return [f"{os.path.relpath(path)}: {len(results)} cases updated" for path, results in updates.items()]
