"""The state that the entries of a package share: what one of them changes is state of all of them.

Each entry is read on its own, and begins with the locations and kinds that the readings of all entries have found. So all
entries get the same slots, in the same order and layout. The entries are read again until none finds anything new.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from scriptc.frontend.reader.assumptions import StateLocation
from scriptc.frontend.reader.protocol import Reader


@dataclass
class SharedState:
    """The facts about state that the entries of a package share.

    names: by the id of a module, tensor or dict: its name in the package.
    locations, changed, kinds, written: see `Assumptions`. assigned: those of the locations that an entry assigns.
    tags: the numbers of the kinds that tags tell apart, which the layouts of slots contain.
    """

    names: dict[int, str] = field(default_factory=dict)
    locations: dict[Any, StateLocation] = field(default_factory=dict)
    changed: dict[int, Any] = field(default_factory=dict)
    kinds: dict[Any, list[Any]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    assigned: set[Any] = field(default_factory=set)
    tags: dict[Hashable, int] = field(default_factory=dict)

    def version(self) -> Hashable:
        """Return a value that changes whenever a reading adds a fact that concerns other entries."""
        attributes = sum(not location.is_item for location in self.locations.values())
        kinds = sum(map(len, self.kinds.values()))
        return len(self.locations), attributes, len(self.changed), kinds, len(self.written), len(self.assigned)

    def first_assumptions(self) -> dict[str, Any]:
        """Return the fields of the assumptions that the first reading of an entry begins with."""
        kinds = {at: list(kinds) for at, kinds in self.kinds.items()}
        return {
            "state": dict(self.locations), "changed": dict(self.changed), "kinds": kinds, "written": set(self.written),
        }  # fmt: skip

    def prepare(self, reader: Reader) -> None:
        """Let a reader use the shared names, and number kinds as the readers of the other entries do."""
        reader.environment.names = self.names
        reader.state.assigned = set(self.assigned)
        if not self.tags:
            self.tags = reader.kinds.tags
        reader.kinds.tags = self.tags

    def add(self, reader: Reader) -> None:
        """Add what the last reading of an entry has found. Slots keep the names that they got first."""
        found = reader.assumptions
        for at, location in found.state.items():
            named = replace(location, name=reader.state.slots[at].name)
            if at not in self.locations or self.locations[at].is_item and not location.is_item:
                self.locations[at] = named
        self.changed |= found.changed
        self.kinds |= {at: list(kinds) for at, kinds in found.kinds.items()}
        self.written |= found.written
        self.assigned |= {at for at, slot in reader.state.slots.items() if slot.target is not None}
