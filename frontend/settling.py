"""What turns out wrong about containers while a function is read, so that it is read again."""

from __future__ import annotations

from typing import Any, NoReturn

from scriptc.frontend.assumptions import Reason, TableSite
from scriptc.frontend.cells import fresh, unite
from scriptc.frontend.context import Context, Restart
from scriptc.frontend.values import AV, Content, KnownLengthListV, OneOf
from scriptc.ir.types import Type


class Settling(Context):
    """Mixin: why a function is read again; the element types of lists, and whether their items are known."""

    stale = False  # a slot was found on the way: this reading is of no use, and goes on only to find others

    def read_again(self, why: str) -> NoReturn:
        """End this reading; the next one is based on the assumptions as they are now. why: a clause, for people."""
        self.note_reason(why)
        raise Restart

    def outdate(self, why: str) -> None:
        """Have the function read again once this reading has come to its end."""
        self.note_reason(why)
        self.stale = True

    def note_reason(self, why: str) -> None:
        self.assume.reasons.append(Reason(why, self.loc if self.frames else None))

    def settle_cells(self) -> None:
        """Reads again if ops were typed by what containers held before they were united with others."""
        if not any(cell.find().stale for _, cell in self.cells):
            return
        found: dict[Any, Type] = {}
        for site, cell in self.cells:  # all: what is stale may stand inside what another list was taken to hold
            if cell.find().stale or site in self.assume.elements:
                made = fresh(cell.find().type)  # a body that was read again made its lists again
                found[site] = unite(found[site], made) if site in found else made
        self.assume.elements |= found
        self.read_again("lists, dicts or sets turned out to be one, after their types were used")

    def settle_changes(self) -> None:
        """Reads again if items were taken as known of a list that may have changed by another name: any list whose items
        have their type in common with those of one that changed."""
        changed = {id(cell.find()) for cell in self.changed}
        sites = {s for s, cell in self.cells if id(cell.find()) in changed and not isinstance(s, TableSite)}
        if not sites <= self.assume.mutated:
            self.assume.mutated |= sites
            self.read_again("a list is changed by another name, after its items were taken as known")

    def settle_lengths(self, av: KnownLengthListV, content: AV) -> None:
        """Reads again if a list has several lengths, which was taken to have one because lists in it were: what these hold,
        objects and dicts, exists at run time then."""
        held = content.alternatives.values() if isinstance(content, OneOf) else ()
        items = [item for part in held if isinstance(part, Content) for item in part.items.values()]
        inner = {item.site for item in items if isinstance(item, KnownLengthListV)} & self.assume.known_length
        if inner - {av.site}:
            self.assume.run_time_lists |= inner
            self.assume.known_length -= inner | {av.site}
            self.read_again("lists inside a list have several lengths")
