"""Names that are not bound on every path, and values of expressions in error."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.host_objects import ABSENT
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import content_items
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.recursion import kinds_of_leaves
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, HeapValue, MaybeUnbound, Poison, Unbound
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value


@verbs.held_values.of(Unbound)
def held_by_unbound(owner: Unbound) -> Sequence[AbstractValue]:
    return ()


@verbs.held_values.of(MaybeUnbound)
def held_by_maybe_unbound(owner: MaybeUnbound) -> Sequence[AbstractValue]:
    return (owner.av,)


@kept_kinds.of(Unbound)
def kept_kinds_of_unbound(owner: Unbound) -> list[Any]:
    return [ABSENT]


@kept_kinds.of(MaybeUnbound)
def kept_kinds_of_maybe_unbound(owner: MaybeUnbound) -> list[Any]:
    return [ABSENT, *kept_kinds(owner.av)]


@verbs.materialize.of(MaybeUnbound, Unbound)
def materialize_unbound(reader: Reader, owner: MaybeUnbound | Unbound) -> Value:
    raise AssertionError(owner)  # a check removes these before each use


@verbs.materialize.of(Poison)
def materialize_poison(reader: Reader, owner: Poison) -> Value:
    raise Poisoned


@verbs.truth.of(Poison)
def poison_truth(reader: Reader, owner: Poison) -> AbstractValue:
    raise Poisoned


@verbs.walk.of(Poison)
def walk_poison(reader: Reader, owner: Poison, site: Any) -> Walk:
    raise Poisoned


@verbs.leaf_kinds.of(MaybeUnbound)
def kinds_of_maybe_unbound(owner: MaybeUnbound) -> Iterator[Hashable]:
    yield "maybe"
    yield from kinds_of_leaves(owner.av)


@verbs.leaf_kinds.of(Unbound)
def kind_of_unbound(owner: Unbound) -> Iterator[Hashable]:
    yield "unbound"


@content_items.of(Poison)
def items_of_poison(reader: Reader, content: Poison, av: HeapValue) -> dict[Any, AbstractValue]:
    reader.speculation.promote(av)
    raise Poisoned


@require_known.of(Poison)
def object_of_poison(reader: Reader, owner: Poison, what: str) -> Any:
    raise Poisoned
