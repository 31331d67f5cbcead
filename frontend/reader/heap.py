"""The heap of a reading: what objects, dicts, lists of known length and shared variables hold now."""

from __future__ import annotations

from scriptc.frontend.values.abstract import AbstractValue, Ident


class Heap:
    """Hold contents by identity. Something that has not changed since it was made stands in its value alone."""

    def __init__(self) -> None:
        self.contents: dict[Ident, AbstractValue] = {}
        self.settling: set[Ident] = set()  # objects whose content is being looked up, so that a cycle ends
