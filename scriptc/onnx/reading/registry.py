"""The table of operators. A row is a function that returns the Python of one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Writer = Callable[[Any], Any]


@dataclass(frozen=True)
class Row:
    """An operator from the opset `since` to the opset `until`.

    ints: the inputs that the Python takes as ints, such as a shape. An input of the graph that has no other use is a
    parameter with a tuple of ints.
    write: takes the `Operation`; returns the text of the result, a value of another form, or a tuple of these. It returns
    NotImplemented where the function that `onnx` defines for the operator is to be read instead.
    """

    name: str
    domain: str
    since: int
    until: int
    ints: tuple[int, ...]
    write: Writer


_rows: dict[tuple[str, str], list[Row]] = {}


def operator(
    *names: str, domain: str = "", since: int = 1, until: int = 10**6, ints: tuple[int, ...] = ()
) -> Callable[[Writer], Writer]:
    """Register the decorated function as the row of these operators."""

    def register(write: Writer) -> Writer:
        for name in names:
            _rows.setdefault((domain, name), []).append(Row(name, domain, since, until, ints, write))
        return write

    return register


def row_of(domain: str, name: str, version: int) -> Row | None:
    """Return the row of an operator in a version of its operator set; None if there is none."""
    for row in _rows.get((domain, name), ()):
        if row.since <= max(version, 1) <= row.until:
            return row
    return None


def all_rows() -> list[Row]:
    """Return all rows, sorted by domain and name."""
    return sorted((row for rows in _rows.values() for row in rows), key=lambda row: (row.domain, row.name, row.since))
