"""Aligned text tables, whole or fitted to the width of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

NARROWEST = 8  # the least width of a column that is cut
Paint = Callable[[int, int, str], str]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, width: int | None = None,
    paint: Paint | None = None,
) -> str:  # fmt: skip
    """Return a table whose columns are as wide as their widest cell.

    right: the indices of the columns that are flush right.
    width: the width of the terminal. If the table is wider, the last column is wrapped and the others are cut.
    paint: returns a padded cell in its color, from its row, its column and its text.
    """
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    if width is not None:
        widths = _fitted(widths, width)
    last = len(header) - 1

    def lines(cells: Sequence[str], row: int | None) -> list[str]:
        wrapped = textwrap.wrap(cells[last], widths[last]) or [""]
        made = []
        for number, tail in enumerate(wrapped):
            texts = [*(cells[:last] if number == 0 else [""] * last), tail]
            padded = [padded_cell(column, text) for column, text in enumerate(texts)]
            if paint is not None and row is not None:
                padded = [paint(row, column, text) for column, text in enumerate(padded)]
            made.append("  ".join(padded).rstrip())
        return made

    def padded_cell(column: int, text: str) -> str:
        size = widths[column]
        text = text if len(text) <= size else text[: size - 1] + "…"
        return text.rjust(size) if column in right else text.ljust(size)

    made = [*lines(header, None), *lines(["-" * size for size in widths], None)]
    for number, cells in enumerate(rows):
        made += lines(cells, number)
    return "\n".join(made)


def _fitted(widths: Sequence[int], width: int) -> list[int]:
    """Return widths that fit a terminal. The widest columns are narrowed first."""
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > width and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted
