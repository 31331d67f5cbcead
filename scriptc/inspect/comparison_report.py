"""The report of a comparison: one row for each output."""

from __future__ import annotations

from dataclasses import dataclass

from scriptc.inspect.notebook_html import html_table, paragraph, print_text
from scriptc.inspect.text_table import Paint, table

_HEADER = ("output", "value", "max abs", "max rel", "max ulp", "where", "tolerance", "verdict")
_NUMBERS = (2, 3, 4)  # columns that are flush right
RAISES = "raises"  # the path of the row that compares exceptions
NOTHING = "NoneType None"  # the value of a row where None was returned


@dataclass(frozen=True)
class Row:
    """The comparison of one output, written argument, or exception. Numbers are None where none were compared.

    path: the location of the value, such as `out[0]['key']`; for a value that the call wrote `args[0]`, `kwargs['h']`,
    `self.buffer`.
    """

    path: str
    value: str
    verdict: str
    ok: bool
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: int | None = None
    where: tuple[int, ...] | None = None
    rtol: float = 0.0
    atol: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """Return the row's cells in a table."""

        def number(value: float | None) -> str:
            return "-" if value is None else f"{value:.3g}"

        ulp = "-" if self.max_ulp is None else str(self.max_ulp)
        where = "-" if self.where is None else "[" + ", ".join(map(str, self.where)) + "]"
        allowed = "-" if self.max_abs is None else f"{self.atol:g} + {self.rtol:g}|x|" if self.atol else "exact"
        return self.path, self.value, number(self.max_abs), number(self.max_rel), ulp, where, allowed, self.verdict


@dataclass(frozen=True)
class Report:
    """The comparison of one compiled call with eager. `str(report)` is a table, and notebooks show it as one.

    rows: one row for each output and each in-place write: its path, value, largest differences, tolerance and verdict.
    located: the first source line that differs, as text; None unless `locate=True` was given.
    """

    rows: tuple[Row, ...]
    located: str | None = None
    compared: str = "compiled"  # what was compared with eager

    @property
    def agrees(self) -> bool:
        """Return whether all rows agree. This is also true if both sides raised, or if nothing was compared."""
        return all(row.ok for row in self.rows)

    @property
    def raised(self) -> bool:
        """Return whether both sides raised exceptions of one type."""
        return any(row.path == RAISES and row.ok for row in self.rows)

    @property
    def ok(self) -> bool:
        """Return whether values were compared, and all of them agree."""
        return self.agrees and not self.vacuous

    @property
    def vacuous(self) -> str:
        """Return why no value was compared: both sides raised, or there was no value; empty if values were compared."""
        if self.raised:
            (error,) = (row.value for row in self.rows if row.path == RAISES)
            return f"no value was compared: eager and {self.compared} both raised {error}"
        if all(row.value == NOTHING for row in self.rows):
            return "no value was compared: the call returned None and wrote nothing"
        return ""

    @property
    def max_abs(self) -> float:
        """Return the largest absolute difference of all rows."""
        return max((row.max_abs for row in self.rows if row.max_abs is not None), default=0.0)

    @property
    def max_ulp(self) -> int:
        """Return the largest difference of all rows in units in the last place."""
        return max((row.max_ulp for row in self.rows if row.max_ulp is not None), default=0)

    def failure(self, *, expect_raise: bool = False) -> str:
        """Return why the comparison is no success; empty if it is one.

        expect_raise: success means that both sides raised exceptions of one type.
        """
        if not self.agrees:
            return f"{self.compared} and eager differ"
        if expect_raise:
            return "" if self.raised else "the call was expected to raise, but it returned"
        return self.vacuous

    def check(self, *, expect_raise: bool = False) -> Report:
        """Raise AssertionError with the table unless values were compared and all agree.

        expect_raise: raise AssertionError unless both sides raised exceptions of one type.
        """
        if failure := self.failure(expect_raise=expect_raise):
            raise AssertionError(f"{failure}\n{self}")
        return self

    def text(self, width: int | None = None, paint: Paint | None = None) -> str:
        """Return the table, cut to `width` columns if a width is given."""
        lines = table(_HEADER, [row.cells() for row in self.rows], right=_NUMBERS, width=width, paint=paint)
        return lines if self.located is None else f"{lines}\n{self.located}"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        shown = html_table(_HEADER, [row.cells() for row in self.rows], right=_NUMBERS)
        return shown if self.located is None else shown + paragraph(self.located)

    _repr_pretty_ = print_text
