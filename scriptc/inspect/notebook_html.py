"""Render results for notebooks as HTML tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def print_text(self: Any, printer: Any, cycle: bool) -> None:
    """Print `str(self)`: the `_repr_pretty_` of IPython where it shows no HTML."""
    printer.text(str(self))


def paragraph(text: str) -> str:
    """Return a paragraph that keeps the lines of a text."""
    return f"<p>{'<br>'.join(map(escape, text.splitlines()))}</p>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table in HTML. right: the indices of the columns that are flush right."""
    lines = [_line("th", header, right), *(_line("td", row, right) for row in rows)]
    return f"<table>\n<thead>{lines[0]}</thead>\n<tbody>\n" + "\n".join(lines[1:]) + "\n</tbody>\n</table>"


def _line(tag: str, cells: Sequence[str], right: Sequence[int]) -> str:
    sides = ["right" if column in right else "left" for column in range(len(cells))]
    filled = (f'<{tag} style="text-align: {side}">{escape(c)}</{tag}>' for side, c in zip(sides, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"
