"""Plain aligned tables, as the comparison, the CLI and the benchmarks print them."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns as wide as their widest cell; those named by index in `right` are flush right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])

    def cell(column: int, text: str) -> str:
        return text.rjust(widths[column]) if column in right else text.ljust(widths[column])

    return "\n".join("  ".join(cell(c, text) for c, text in enumerate(line)).rstrip() for line in lines)
