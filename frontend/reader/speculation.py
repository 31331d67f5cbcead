"""Speculation: what a reading takes for granted, and every reason to read the function again.

A reading is based on `Assumptions`, which earlier readings left. What contradicts them corrects them, with the reason in words,
and ends the reading (`read_again`) or has it end of no use (`outdate`).
"""

from __future__ import annotations

from typing import Any, NoReturn

from scriptc.frontend.reader.assumptions import Assumptions, Reason, TableSite
from scriptc.frontend.reader.diagnostics import Diagnostics
from scriptc.frontend.reader.errors import Restart, UserError
from scriptc.frontend.reader.position import Position
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    KnownLengthListValue,
    KnownSet,
    ListValue,
    OneOf,
)
from scriptc.frontend.values.element_types import fresh, holds, is_laid_out_anew, is_storable, is_union, spelt, unite
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Value
from scriptc.ir.types import NEVER, NONE, Elem, JoinError, ListType, OptionalType, TensorType, Type, cells, tuple_of


class Speculation:
    """Keep what one reading learns about the assumptions that it is based on."""

    def __init__(self, assumptions: Assumptions, position: Position, diagnostics: Diagnostics) -> None:
        self.assumptions = assumptions
        self.position = position
        self.diagnostics = diagnostics
        self.stale = False  # a slot was found on the way: this reading is of no use, and goes on only to find others
        self.cells: list[tuple[Any, Elem]] = []  # element types of the lists made so far, by site
        self.changed: list[Elem] = []  # element types of lists that changed where nobody knows where they were made
        self.counters: dict[Value, Any] = {}  # counters of loops with known bounds, and the loops' sites
        self.decided: set[Any] = set()  # sites of `while` whose condition is known before the first iteration
        self.number_args: dict[Value, Any] = {}  # parameters that are numbers outside, as in Assumptions.changing
        self.arg_places: dict[Value, int] = {}  # parameters that can be made known, and their places in the signature
        self.places = 0  # ints and floats among the arguments so far, as Signature counts them

    def read_again(self, why: str) -> NoReturn:
        """End this reading; the next one is based on the assumptions as they are now. why: a clause, for people."""
        self.note_reason(why)
        raise Restart

    def outdate(self, why: str) -> None:
        """Have the function read again once this reading has come to its end."""
        self.note_reason(why)
        self.stale = True

    def note_reason(self, why: str) -> None:
        self.assumptions.reasons.append(Reason(why, self.position.loc if self.position.frames else None))

    def settle_cells(self) -> None:
        """Reads again if ops were typed by what containers held before they were united with others."""
        if not any(cell.find().stale for _, cell in self.cells):
            return
        found: dict[Any, Type] = {}
        for site, cell in self.cells:  # all: what is stale may stand inside what another list was taken to hold
            if cell.find().stale or site in self.assumptions.elements:
                made = fresh(cell.find().type)  # a body that was read again made its lists again
                found[site] = unite(found[site], made) if site in found else made
        self.assumptions.elements |= found
        self.read_again("lists, dicts or sets turned out to be one, after their types were used")

    def settle_changes(self) -> None:
        """Reads again if items were taken as known of a list that may have changed by another name: any list whose items
        have their type in common with those of one that changed."""
        changed = {id(cell.find()) for cell in self.changed}
        sites = {s for s, cell in self.cells if id(cell.find()) in changed and not isinstance(s, TableSite)}
        if not sites <= self.assumptions.mutated:
            self.assumptions.mutated |= sites
            self.read_again("a list is changed by another name, after its items were taken as known")

    def settle_lengths(self, av: KnownLengthListValue, content: AbstractValue) -> None:
        """Reads again if a list has several lengths, which was taken to have one because lists in it were: what these hold,
        objects and dicts, exists at run time then."""
        held = content.alternatives.values() if isinstance(content, OneOf) else ()
        items = [item for part in held if isinstance(part, Content) for item in part.items.values()]
        inner = {item.site for item in items if isinstance(item, KnownLengthListValue)} & self.assumptions.known_length
        if inner - {av.site}:
            self.assumptions.run_time_lists |= inner
            self.assumptions.known_length -= inner | {av.site}
            self.read_again("lists inside a list have several lengths")

    def allow_unions(self) -> None:
        """From the next reading on, containers may hold values of several kinds; returns where they may already."""
        if not self.assumptions.unions:
            self.assumptions.unions = True
            self.assumptions.known_length.clear()
            self.read_again("a container holds values of several kinds")

    def promote(self, av: AbstractValue) -> None:
        """From the next reading on, a dict or set has run-time keys; returns where it cannot."""
        if isinstance(av, DictValue) and av.home is not None and self.assumptions.take_tables():
            self.read_again("a dict of the caller has keys that are known only at run time")
        sites = set(av.sites) if isinstance(av, (DictValue, KnownSet)) else set()
        if not sites <= self.assumptions.tables and not sites & self.assumptions.untabled.keys():
            self.assumptions.tables |= sites
            self.read_again(f"{describe(av)} has keys that are known only at run time")

    def observe(self, av: ListValue) -> None:
        """Something is decided by the known items of a list: if the list changes later, this reading was wrong."""
        av.observed = True

    def mutate(self, av: ListValue) -> Value:
        """The run-time list, which is about to change."""
        assert not av.is_tuple
        if av.value is None:
            self.keep_length(av, self.diagnostics.error("list_changes_without_type"))
        if av.items is not None or av.observed:
            if av.site is not None and (av.observed or av.site not in self.assumptions.mutated):
                self.assumptions.mutated.add(av.site)
                if av.observed:
                    self.read_again("a list is changed whose items were taken as known")
            av.items = None
        if av.site is None and isinstance(av.value.type, ListType):
            self.changed.append(av.value.type.cell)
            self.settle_changes()
        return av.value

    def keep_length(self, av: ListValue, error: UserError) -> NoReturn:
        """Another reading takes the list for one whose length is known throughout; an error where that is no help."""
        cell = av.value.type.cell.find() if av.value is not None and isinstance(av.value.type, ListType) else None
        self.keep_sites(self.sites_of(av), cell, error)

    def sites_of(self, av: ListValue) -> set[Any]:
        """The sites of the program at which a list may have been made."""
        cell = av.value.type.cell.find() if av.value is not None and isinstance(av.value.type, ListType) else None
        return {site for site, made in self.cells if cell is not None and made.find() is cell} | {av.site}

    def widen(self, container: Type, part: int, item: Type) -> None:
        """A value of a type goes into a container: among its keys or items, by their place in `cells`."""
        cell = cells(container)[part].find()
        name = str(container).partition("<")[0]
        what, new, is_key = f"a {spelt(container)}", spelt(item), part == 0 and not isinstance(container, ListType)
        if not is_storable(item):
            self.refuse(cell, "container_of_unstorable", container=name, item=new)
        if holds(item, cell):
            self.refuse(cell, "container_in_itself", container=name)
        try:
            unions = self.assumptions.unions and not cell.fixed and not is_key
            joined = unite(cell.type, item, unions=unions)
            if isinstance(joined, TensorType) and joined.dims is None:
                raise JoinError("ranks")
        except JoinError:
            if cell.fixed:
                self.refuse_fixed(container, new)
            self.refuse(cell, "container_of_kinds", what=what, item=new, container=name)
        if joined == cell.type:
            return
        sites = [site for site, made in self.cells if made.find() is cell]
        laid_out_anew = is_laid_out_anew(cell.type, joined)
        fits = cell.type in (NEVER, NONE, tuple_of(NEVER)) or joined == OptionalType(cell.type)
        fits = not is_union(joined) and (fits or laid_out_anew)
        if cell.fixed and sites and fits:
            self.assumptions.elements |= dict.fromkeys(sites, joined)  # what the caller gives fits this as well
            self.read_again(f"{what} of the caller holds {new} as well")
        if cell.fixed:
            self.refuse_fixed(container, new)
        cell.type = joined
        for site in sites:
            self.assumptions.elements[site] = joined
        if laid_out_anew and not sites:
            self.diagnostics.reject("container_of_lengths", what=what, item=new)
        if cell.observed or laid_out_anew:
            self.read_again(f"{what} holds {new} as well, after something was computed from its items")

    def refuse_fixed(self, container: Type, item: str) -> NoReturn:
        """A container of the caller cannot hold something: a short list may do when it is taken by its items."""
        if isinstance(container, ListType) and not self.assumptions.parted:
            self.assumptions.parted = True
            self.read_again(f"{spelt(container)} of the caller holds {item} as well")
        name = str(container).partition("<")[0]
        self.diagnostics.reject("argument_list_of_other", what=spelt(container), item=item, name=name)

    def refuse(self, cell: Elem, key: str, /, **details: object) -> NoReturn:
        """A container cannot hold something: a list may do as one of known length, a dict as one with known keys."""
        error = self.diagnostics.error(key, **details)
        sites = {site for site, made in self.cells if made.find() is cell}
        for site in sites:
            if isinstance(site, TableSite) and self.assumptions.refuse_table(site.table, error.message):
                self.read_again(f"the keys of a dict or set must be known: {error.message}")
        self.keep_sites({site for site in sites if not isinstance(site, TableSite)}, cell, error)

    def keep_sites(self, sites: set[Any], cell: Elem | None, error: UserError) -> NoReturn:
        sites -= {None, *self.assumptions.known_length, *self.assumptions.run_time_lists}
        if not sites or (cell is not None and cell.fixed):
            if cell is None or not cell.fixed:
                self.allow_unions()
            raise error
        self.assumptions.known_length |= sites
        self.assumptions.why_known_length |= dict.fromkeys(sites, error.message)
        self.read_again(f"the length of a list must be known: {error.message}")
