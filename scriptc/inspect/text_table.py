"""Aligned tables, as the comparison, the CLI and the benchmarks print them; whole, or cut to the width of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

NARROWEST = 8  # that a column is cut to
Paint = Callable[[int, int, str], str]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, width: int | None = None,
    paint: Paint | None = None,
) -> str:  # fmt: skip
    """Return columns as wide as their widest cell; those named by index in `right` are flush right.

    width: of the terminal. In a table that is wider, the last column is wrapped and the others are cut.
    paint: gives a padded cell its color, by the number of its row and column.
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
    """Return widths that fit, taken from the widest columns first."""
    fitted = list(widths)
    while sum(fitted) + 2 * (len(fitted) - 1) > width and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted
