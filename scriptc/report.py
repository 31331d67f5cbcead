"""What a comparison found, one row per output."""

from __future__ import annotations

from dataclasses import dataclass

from scriptc.tables import table

_HEADER = ("output", "value", "max abs", "max rel", "max ulp", "where", "tolerance", "verdict")


@dataclass(frozen=True)
class Row:
    """One output, written argument, or exception. Numbers are None where there was nothing to measure.

    path: `out`, then `[0]['key']` into its structure; `args[0]`, `kwargs['h']`, `self.buffer` where the call wrote.
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
        def number(value: float | None) -> str:
            return "-" if value is None else f"{value:.3g}"

        ulp = "-" if self.max_ulp is None else str(self.max_ulp)
        where = "-" if self.where is None else "[" + ", ".join(map(str, self.where)) + "]"
        allowed = "-" if self.max_abs is None else f"{self.atol:g} + {self.rtol:g}|x|" if self.atol else "exact"
        return self.path, self.value, number(self.max_abs), number(self.max_rel), ulp, where, allowed, self.verdict


@dataclass(frozen=True)
class Report:
    """The rows of one comparison of a compiled call with eager. `located`: where values part, if that was asked."""

    rows: tuple[Row, ...]
    located: str | None = None

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def max_abs(self) -> float:
        return max((row.max_abs for row in self.rows if row.max_abs is not None), default=0.0)

    @property
    def max_ulp(self) -> int:
        return max((row.max_ulp for row in self.rows if row.max_ulp is not None), default=0)

    def check(self) -> Report:
        """Raises AssertionError with the table unless every row agrees."""
        if not self.ok:
            raise AssertionError(f"compiled and eager differ\n{self}")
        return self

    def __str__(self) -> str:
        lines = table(_HEADER, [row.cells() for row in self.rows], right=(2, 3, 4))
        return lines if self.located is None else f"{lines}\n{self.located}"
