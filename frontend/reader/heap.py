"""The heap of a reading: the present content of objects, dicts, lists of known length and shared variables."""

from __future__ import annotations

from scriptc.frontend.values.abstract import AbstractValue, Ident


class Heap:
    """Hold contents by identity. The value itself holds the content of an object that has not changed."""

    def __init__(self) -> None:
        self.contents: dict[Ident, AbstractValue] = {}
        self.tables: dict[tuple[Ident, str], str] = {}  # of modules made here: the tables that hold their attributes
        self.settling: set[Ident] = set()  # objects whose content is being looked up, so that a cycle ends
