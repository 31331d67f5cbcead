"""The assumptions that one reading of a function is based on. `Speculation` alone changes them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scriptc.ir.loc import Loc
from scriptc.ir.types import Record, Type

_SHORT = 16  # the largest trip count of a loop that is unrolled because another call unrolls the same source text


def text_of(site: Any) -> tuple[Any, ...]:
    """Return the source position of a loop, for all calls that lead there."""
    loc, kind = site
    return loc.file, loc.line, loc.col, kind


ArgumentPart = int | tuple[str, int]
"""A part of the arguments that compiled code may be specialized on. Ints, floats, strings and lists of strings have their
place, as the signature numbers them; a size has the name of its tensor and the dim."""


@dataclass(frozen=True, eq=False)
class StateLocation:
    """Name an attribute or item outside that compiled code changes, or the list or dict in it."""

    owner: Any
    key: Any
    loc: Loc  # of the first change
    is_item: bool = False
    name: str = ""  # if not that of the attribute
    at: tuple[Any, Any] | None = None  # for the data of a tensor: the container and key of the tensor


class TableSite(NamedTuple):
    """Name the keys, or the items, of the run-time dict or set that is made at a site, or of an argument."""

    table: Any  # the site of the dict or set
    part: str


class Reason(NamedTuple):
    """Say why a function is read again."""

    name: str  # the method of `Speculation` that gave the reason
    text: str  # a clause, such as "a loop is unrolled"
    loc: Loc | None  # the source location of the cause

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class Reading(NamedTuple):
    """The number of a reading, and the reason for it."""

    number: int
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        lines = [f"{reason.loc}: {reason}" if reason.loc else str(reason) for reason in self.reasons]
        return "\n".join(f"reading {self.number}: {line}" for line in lines) or f"reading {self.number}"


@dataclass
class Assumptions:
    """Keep the assumptions of a reading, as earlier readings of the entry have corrected them.

    Each reading that is followed by another moves the assumptions up an order without infinite chains, so the readings
    end. The order is lexicographic, in five parts:

    1. `unions`, `free_keys`, `records`, `run_time_lists` and all fields that only `__init__` and additions write.
       They only grow, except `changing`, which only shrinks. A location in `state` may turn from an item into an
       attribute.
    2. `untabled` grows. It loses sites only when `free_keys` grows.
    3. `known_length` grows. It loses sites only when `unions`, `records`, `free_keys` or `run_time_lists` grow.
    4. `tables` grows. It loses sites only to `untabled`, or when `known_length` grows.
    5. `elements` go up the join of types, which has a bounded height. Some are dropped only when part 1 or 2 grows.

    A site is a position in the program's text, with the calls and unrolled iterations that lead there. A program has
    finitely many sites. `fingerprint` shows whether a reading kept to this order; `reasons` says why each reading was
    needed.
    """

    # Numbers. `varied` holds places of strings.
    unrolled: set[Any] = field(default_factory=set)  # loops whose counter must be known
    unrolled_text: set[Any] = field(default_factory=set)  # the source positions of these loops, for all callers
    known_args: set[ArgumentPart] = field(default_factory=set)  # parts of the arguments that must be known
    varied: set[int] = field(default_factory=set)  # strings that had many values
    changing: set[Any] = field(default_factory=set)  # numbers outside that change, by (id of container, key)

    # Loops and functions.
    growing: set[Any] = field(default_factory=set)  # loops over lists whose length the body changes
    tries: set[Any] = field(default_factory=set)  # tries that stay, though no code of their handlers does
    split: set[Any] = field(default_factory=set)  # calls read for each rank, and `if`s that join at the end of their block
    recursive: set[Any] = field(default_factory=set)  # functions with recursion too deep to follow

    # Lists.
    outgrown: set[Any] = field(default_factory=set)  # lists and dicts that change after code was built for what they had
    key_kinds: dict[Any, frozenset[str]] = field(default_factory=dict)  # of the items of dicts, by the site and the key
    elements: dict[Any, Type] = field(default_factory=dict)  # by site: types of the items, keys and fields made there
    mutated: set[Any] = field(default_factory=set)  # sites whose lists change after a reading took their items as known
    known_length: set[Any] = field(default_factory=set)  # sites whose lists are kept item by item
    why_known_length: dict[Any, str] = field(default_factory=dict)  # by site in `known_length`: the reason
    run_time_lists: set[Any] = field(default_factory=set)  # sites of lists that other containers or objects hold
    keeps_items: bool = False  # lists of names, dicts and objects are kept item by item where that can be
    unions: bool = False  # containers may hold values of several kinds
    parted: bool = False  # short lists of the caller are matched item by item

    # Dicts, sets and objects.
    tables: set[Any] = field(default_factory=set)  # sites of dicts and sets with run-time keys
    tabled_again: set[Any] = field(default_factory=set)  # sites that `tables` has lost once and does not lose again
    untabled: dict[Any, str] = field(default_factory=dict)  # sites of dicts and sets that cannot have them: the reasons
    free_keys: set[Any] = field(default_factory=set)  # sites and records of dicts that gain or lose keys
    tabled: bool = False  # dicts of the caller with string keys have run-time keys, where possible
    records: dict[Any, Record] = field(default_factory=dict)  # classes whose instances exist at run time

    # State: objects and containers outside that compiled code changes, by (id of the container, key).
    state: dict[Any, StateLocation] = field(default_factory=dict)
    changed: dict[int, Any] = field(default_factory=dict)  # by id: the lists and dicts among the changed objects
    kinds: dict[Any, list[Any]] = field(default_factory=dict)  # ahead of time, by slot: specs of its values
    written: set[int] = field(default_factory=set)  # ahead of time: ids of tensors outside that are written

    reasons: list[Reason] = field(default_factory=list)  # why the function was read again, in order

    def fingerprint(self) -> Hashable:
        """Return a value that changes whenever a reading corrects an assumption."""
        sets = (
            self.growing, self.mutated, self.known_length, self.tables, self.free_keys, self.run_time_lists, self.unrolled,
            self.known_args, self.varied, self.recursive, self.tries, self.changing, self.written, self.untabled, self.changed,
            self.outgrown, self.split,
        )  # fmt: skip
        records = frozenset((key, frozenset(r.late), frozenset(r.constants)) for key, r in self.records.items())
        elements = frozenset((site, str(t)) for site, t in self.elements.items())
        state = frozenset((at, location.is_item) for at, location in self.state.items())
        kinds = frozenset((at, len(found)) for at, found in self.kinds.items())
        under = frozenset(self.key_kinds.items())
        flags = (self.unions, self.parted, self.tabled, self.keeps_items)
        return (*map(frozenset, sets), records, elements, state, kinds, under, *flags)

    def unrolls(self, site: Any, count: int) -> bool:
        """Return whether a loop of `count` iterations is unrolled.

        A short loop is also unrolled if another call of its function asked for that, which saves a reading for each
        call.
        """
        return site in self.unrolled or (count <= _SHORT and site is not None and text_of(site) in self.unrolled_text)
