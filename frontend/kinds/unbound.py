"""Names that are not bound on every path, and values of expressions in error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.slots import ABSENT
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, MaybeUnbound, Poison, Unbound
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
    raise AssertionError(owner)  # tested where they are read


@verbs.materialize.of(Poison)
def materialize_poison(reader: Reader, owner: Poison) -> Value:
    raise Poisoned


@verbs.truth.of(Poison)
def poison_truth(reader: Reader, owner: Poison) -> AbstractValue:
    raise Poisoned


@verbs.walk.of(Poison)
def walk_poison(reader: Reader, owner: Poison, site: Any) -> Walk:
    raise Poisoned
