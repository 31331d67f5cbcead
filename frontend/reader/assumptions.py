"""What one reading of a function is based on: assumptions from earlier readings, and the world outside."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scriptc.frontend.values.element_types import mentions
from scriptc.ir.loc import Loc
from scriptc.ir.types import DictType, Record, Type

_SHORT = 16  # iterations of a loop that is unrolled because the same text was elsewhere


def _text_of(site: Any) -> tuple[Any, ...]:
    loc, kind = site
    return loc.file, loc.line, loc.col, kind


@dataclass(frozen=True, eq=False)
class Place:
    """An attribute or item outside that compiled code changes, or the list or dict in it."""

    owner: Any
    key: Any
    loc: Loc  # where the first change was found
    is_item: bool = False


class TableSite(NamedTuple):
    """Where the keys, or items, of a run-time dict or set get their type; the items of an argument list as well."""

    table: Any  # the site that makes it
    part: str


class Reason(NamedTuple):
    """Why a function is read again: a clause such as "a loop is unrolled", and the place that it is about."""

    text: str
    loc: Loc | None


@dataclass
class Assumptions:
    """Keep what earlier readings of the entry found out.

    Readings end because each one that is followed by another moves the assumptions up an order without endless chains.
    The order is lexicographic, in four parts:

    1. `unions`, `free_keys`, `records`, `run_time_lists` and all fields that nothing but `__init__` and additions write.
       They only grow (`changing` only shrinks).
    2. `untabled` grows. It loses sites only when `free_keys` grows.
    3. `tables` and `known_length` grow. `tables` loses sites only to `untabled`, `known_length` loses sites only when
       `unions`, `records`, `free_keys` or `run_time_lists` grow.
    4. `elements` go up the join of types, which has a bounded height. `forget` drops some only when part 1 or 2 grows.

    Sites are places of the program's text, each with the calls and unrolled iterations that lead to it, of which there
    are finitely many. `fingerprint` shows whether a reading kept to this; `reasons` says why each one was needed.
    """

    elements: dict[Any, Type] = field(default_factory=dict)  # element types of lists, by the site that makes them
    growing: set[Any] = field(default_factory=set)  # loops over lists whose length the body changes
    mutated: set[Any] = field(default_factory=set)  # sites whose lists are changed after they are made
    known_length: set[Any] = field(
        default_factory=set
    )  # sites whose lists hold items of several kinds, and are changed
    why_known_length: dict[Any, str] = field(default_factory=dict)  # what stood against lists of any length there
    tables: set[Any] = field(default_factory=set)  # sites of dicts and sets whose keys are known only at run time
    untabled: dict[Any, str] = field(default_factory=dict)  # sites that cannot be such, and why
    free_keys: set[Any] = field(default_factory=set)  # those of tables that cannot be records: sites, classes of dicts
    records: dict[type, Record] = field(default_factory=dict)  # classes whose instances exist at run time
    run_time_lists: set[Any] = field(default_factory=set)  # sites of lists that containers hold, or objects
    unions: bool = False  # containers may hold values of several kinds
    unrolled: set[Any] = field(default_factory=set)  # loops whose counter is needed at compile time
    unrolled_text: set[Any] = field(default_factory=set)  # where these stand, whatever calls led there
    known_args: set[int] = field(default_factory=set)  # places in the signature that are needed at compile time
    parted: bool = False  # short lists of the caller are taken by their items
    tabled: bool = False  # dicts of the caller with strings as keys have run-time keys, where they can
    varied: set[int] = field(default_factory=set)  # places of strings that had many values
    recursive: set[Any] = field(
        default_factory=set
    )  # functions whose calls of themselves do not end while they are read
    changing: set[Any] = field(default_factory=set)  # numbers outside that change between calls: (id of container, key)
    state: dict[Any, Place] = field(default_factory=dict)  # what compiled code changes: by id of the container, and key
    changed: dict[int, Any] = field(default_factory=dict)  # lists and dicts outside that it changes, by id
    kinds: dict[Any, list[Any]] = field(
        default_factory=dict
    )  # ahead of time: specs of what a place may hold, as in state
    written: set[int] = field(default_factory=set)  # ahead of time: ids of tensors outside that it writes to
    reasons: list[Reason] = field(default_factory=list)  # why the function was read again, in order

    def fingerprint(self) -> Hashable:
        """Return a value that differs as soon as a reading has assumed anything new."""
        sets = (
            self.growing, self.mutated, self.known_length, self.tables, self.free_keys, self.run_time_lists, self.unrolled,
            self.known_args, self.varied, self.recursive, self.changing, self.written, self.untabled, self.state, self.changed,
        )  # fmt: skip
        records = frozenset((key, frozenset(r.late), frozenset(r.constants)) for key, r in self.records.items())
        elements = frozenset((site, str(t)) for site, t in self.elements.items())
        kinds = frozenset((at, len(found)) for at, found in self.kinds.items())
        return (*map(frozenset, sets), records, elements, kinds, self.unions, self.parted, self.tabled)

    def unroll(self, site: Any) -> bool:
        """Unroll a loop whose counter is needed at compile time; return whether that is new."""
        is_new = site not in self.unrolled
        self.unrolled.add(site)
        self.unrolled_text.add(_text_of(site))
        return is_new

    def unrolls(self, site: Any, count: int) -> bool:
        """Whether a loop of so many iterations is unrolled: a short one also where another call of its function asked for
        that, which saves a reading for each call."""
        return site in self.unrolled or (count <= _SHORT and site is not None and _text_of(site) in self.unrolled_text)

    def take_tables(self) -> bool:
        """Takes dicts of the caller with strings as keys as tables; returns whether that is something new."""
        is_new, self.tabled = not self.tabled, True
        return is_new

    def refuse_table(self, site: Any, why: str) -> bool:
        """A dict or set cannot hold something: its keys are taken as known, or its items as of several kinds where keys come
        and go. Returns whether that is something new."""
        if site not in self.tables:
            return False
        if site in self.free_keys and not self.unions:
            self.unions = True
            self.known_length.clear()
            return True
        self.tables.discard(site)
        self.untabled[site] = why
        self.forget(DictType)
        return True

    def forget(self, kind: type[Type]) -> None:
        """Drops the types of elements that hold what the next reading makes in another form."""
        self.elements = {site: t for site, t in self.elements.items() if not mentions(t, kind)}
