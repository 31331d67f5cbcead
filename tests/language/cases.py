"""The decorator that lists the programs of this folder, and the constructs of the language that a file shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from three_ways import Args, Program

T = TypeVar("T", bound=Callable[..., object])
LANGUAGE: list[Program] = []


@dataclass(frozen=True)
class Construct:
    """A row of docs/reference/language.md, which `python -m language` writes.

    section: the title above the table.
    programs: the functions or classes that show the construct.
    """

    section: str
    name: str
    notes: str
    programs: tuple[Callable[..., object], ...]

    @property
    def row(self) -> str:
        return f"| {self.name} | {self.notes} |" if self.notes else f"| {self.name} | |"


CONSTRUCTS: list[Construct] = []


def cases(*calls: object) -> Callable[[T], T]:
    """Each call is a tuple of arguments or a single argument."""

    def listed(target: T) -> T:
        LANGUAGE.append(Program(target, [Args(c if type(c) is tuple else (c,)) for c in calls]))
        return target

    return listed


def construct(section: str, name: str, notes: str, *programs: Callable[..., object]) -> None:
    """Declare a construct that programs of one file show. `language.constructs` names those of several files."""
    CONSTRUCTS.append(Construct(section, name, notes, programs))


def with_constructs(page: str) -> str:
    """Return the page of the language with the rows of the constructs; a new row stands last in its section."""
    for declared in CONSTRUCTS:
        head, title, rest = page.partition(f"\n### {declared.section}\n\n")
        table, _, behind = rest.partition("\n\n")
        assert title, declared.section
        rows = table.split("\n")
        cell = f"| {declared.name} |"
        places = [i for i, row in enumerate(rows) if row.startswith(cell)] or [len(rows)]
        rows[places[0] : places[0] + 1] = [declared.row]
        page = head + title + "\n".join(rows) + "\n\n" + behind
    return page
