"""Joins of paths: one abstract value for the values of several paths, and the SSA values that each path passes to
the join."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from scriptc.frontend.environment.specs import same_known
from scriptc.frontend.operations.materialize import any_length
from scriptc.frontend.reader.errors import Conflict, ItemConflict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    DictValue,
    Ident,
    Kinds,
    Known,
    ListValue,
    MaybeUnbound,
    Moved,
    OneOf,
    Poison,
    RuntimeValue,
    Structure,
    Unbound,
    WalkMark,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.element_types import unite
from scriptc.frontend.values.predicates import (
    has_alternatives,
    home_of,
    is_known,
    is_plain_tuple,
    is_run_time_text,
    is_text,
    made_of,
    of_value,
)
from scriptc.frontend.values.structure import attributes_of, identity_of, with_attributes
from scriptc.frontend.values.union_kinds import NUMBERS, TEXT_KIND, TUPLE_KIND, is_run_time_value, kind_of_tuples
from scriptc.frontend.values.verbs import describe, joined_type, kind_of, materialize, structure_of
from scriptc.ir.core import Value
from scriptc.ir.types import (
    BOOL,
    INT,
    NEVER,
    STR,
    Container,
    DictType,
    JoinError,
    ListType,
    ScalarType,
    Type,
    tuple_of,
)

_MOST = 8  # the most alternatives of one value


@dataclass(frozen=True)
class Plan:
    """A plan that makes one abstract value from the SSA values that paths pass to a join."""

    def key(self) -> str:
        """Return a key that is equal for plans that pass the same values. Equal keys mean that a loop header has
        converged."""
        raise NotImplementedError

    def types(self) -> Iterator[Type]:
        """Yield the types of the passed values."""
        return iter(())

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        """Yield the values that a path with `av` passes, built at the current position."""
        return iter(())

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        raise NotImplementedError


@dataclass(frozen=True)
class Same(Plan):
    """All paths have this value."""

    av: AbstractValue

    def key(self) -> str:
        if isinstance(self.av, (Unbound, Poison, Moved)):  # each lookup of a name makes a new one
            return type(self.av).__name__
        ident = identity_of(self.av)
        if ident is not None:
            return f"same object {ident.serial}"
        return f"same {id(self.av.obj) if is_known(self.av) else id(self.av)}"

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        return self.av


@dataclass(frozen=True)
class Leaf(Plan):
    type: Type

    def key(self) -> str:
        return str(self.type)

    def types(self) -> Iterator[Type]:
        yield self.type

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        if isinstance(av, (Unbound, Poison)):
            yield reader.emit.builder.op("undef", (), reader.position.loc, types=[self.type]).result
        elif isinstance(self.type, ListType) and self.type.is_tuple:
            yield any_length(reader, av, self.type.elem)
        else:
            yield materialize(reader, av)

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        value = next(values)
        value.name = value.name or name
        return of_value(value)


@dataclass(frozen=True)
class PartsPlan(Plan):
    """Values of one structure, such as a tuple, an object or a bound method. Each part is joined separately."""

    structure: Structure
    parts: tuple[Plan, ...]

    def key(self) -> str:
        return f"{self.structure.key}({', '.join(p.key() for p in self.parts)})"

    def types(self) -> Iterator[Type]:
        for part in self.parts:
            yield from part.types()

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        structure = structure_of(av)
        for i, part in enumerate(self.parts):
            yield from part.flatten(reader, av if structure is None else structure.parts[i])

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        return self.structure.make([p.rebuild(values, f"{name}_{i}" if name else "") for i, p in enumerate(self.parts)])


@dataclass(frozen=True)
class MarkPlan(Plan):
    """The marks of iterators that meet, one of which the result is.

    older: the serials of those that existed before the paths parted. Each reading of a loop makes the others anew.
    """

    mark: WalkMark
    older: tuple[int, ...]

    def key(self) -> str:
        return f"iterator {self.older} {self.mark.spent}"

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        return self.mark


@dataclass(frozen=True)
class Attributes(Plan):
    """Objects of a class, or their contents, some of which lack attributes that others have."""

    like: AbstractValue
    parts: tuple[tuple[str, Plan], ...]

    def key(self) -> str:
        return f"attributes({', '.join(f'{name}: {p.key()}' for name, p in self.parts)})"

    def types(self) -> Iterator[Type]:
        for _, part in self.parts:
            yield from part.types()

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        found = attributes_of(av, keys=True)
        for name, part in self.parts:
            yield from part.flatten(reader, av if found is None else found[1].get(name, Unbound()))

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        held = {n: p.rebuild(values, f"{name}_{n}" if name else n) for n, p in self.parts}
        return with_attributes(self.like, held)


@dataclass(frozen=True)
class MaybePlan(Plan):
    item: Plan
    placed: bool = True

    def key(self) -> str:
        return f"maybe {'' if self.placed else 'anywhere '}{self.item.key()}"

    def types(self) -> Iterator[Type]:
        yield BOOL
        yield from self.item.types()

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        match av:
            case MaybeUnbound(flag, inner):
                yield materialize(reader, flag)
                yield from self.item.flatten(reader, inner)
            case _:
                yield reader.emit.const(not isinstance(av, Unbound))
                yield from self.item.flatten(reader, av)

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        flag = next(values)
        flag.name = f"{name}_bound"
        return MaybeUnbound(RuntimeValue(flag), self.item.rebuild(values, name), self.placed)


@dataclass(frozen=True)
class OneOfPlan(Plan):
    """Values of several kinds: a tag, and for each kind the SSA values of that kind."""

    kinds: Kinds
    alternatives: tuple[tuple[int, Plan], ...]

    def key(self) -> str:
        return "one of " + " or ".join(f"{tag}: {p.key()}" for tag, p in self.alternatives)

    def types(self) -> Iterator[Type]:
        yield INT
        for _, plan in self.alternatives:
            yield from plan.types()

    def flatten(self, reader: Reader, av: AbstractValue) -> Iterator[Value]:
        absent = Unbound()
        av = self.gathered(reader, av, TEXT_KIND, is_text, lambda a, plan: RuntimeValue(materialize(reader, a)))
        for kind in self.tuple_kinds():
            belongs = partial(self.is_tuple_of, kind)
            av = self.gathered(
                reader, av, kind, belongs, lambda a, plan: plan.rebuild(iter([*plan.flatten(reader, a)]), "")
            )
        if has_alternatives(av):
            yield av.tag
            held = av.alternatives
        elif isinstance(av, (Unbound, Poison)):
            yield reader.emit.const(0)
            held = {}
        else:
            tag = self.kinds.tag(kind_of(av))
            yield reader.emit.const(tag)
            held = {tag: av}
        for tag, plan in self.alternatives:
            yield from plan.flatten(reader, held.get(tag, absent))

    def tuple_kinds(self) -> list[Hashable]:
        """Return the kinds of tuples of any length among the alternatives."""
        types = [plan.type for _, plan in self.alternatives if isinstance(plan, Leaf)]
        return [kind_of_tuples(t) for t in types if isinstance(t, ListType) and t.is_tuple]

    def is_tuple_of(self, kind: Hashable, av: AbstractValue) -> bool:
        """Return whether the join passes a value as a tuple of this kind. An empty tuple belongs to the first kind."""
        if has_alternatives(av):
            return all(self.is_tuple_of(kind, a) for a in av.alternatives.values())
        if not is_plain_tuple(av) or self.kinds.tag(kind_of(av)) in dict(self.alternatives):
            return isinstance(av, ListValue) and av.is_tuple and kind_of(av) == kind
        own, known = kind_of_tuples(_any_length([av])), self.tuple_kinds()
        return kind == (own if own in known else known[0])

    def gathered(
        self,
        reader: Reader,
        av: AbstractValue,
        kind: Hashable,
        belongs: Callable[[AbstractValue], bool],
        make: Callable[[AbstractValue, Plan], AbstractValue],
    ) -> AbstractValue:
        """Return the value with one kind for all of its alternatives that belong to a kind of the plan."""
        number = self.kinds.tag(kind)
        plan = dict(self.alternatives).get(number)
        if plan is None:
            return av
        if belongs(av):
            return make(av, plan)
        if not has_alternatives(av):
            return av
        held = {tag: a for tag, a in av.alternatives.items() if belongs(a)}
        if not held or list(held) == [number]:
            return av
        one = make(OneOf(av.tag, held), plan)  # the tag excludes all other alternatives
        tag = materialize(
            reader, split(reader, av, lambda a: Known(number if belongs(a) else self.kinds.tag(kind_of(a))))
        )
        return OneOf(tag, {**{t: a for t, a in av.alternatives.items() if t not in held}, number: one})

    def rebuild(self, values: Iterator[Value], name: str) -> AbstractValue:
        tag = next(values)
        tag.name = f"{name}_kind"
        return OneOf(tag, {t: p.rebuild(values, name) for t, p in self.alternatives})


def unify(
    avs: Sequence[AbstractValue], kinds: Kinds, *, force: bool = False, fresh: bool = False, mark: float = math.inf
) -> Plan:
    """Return the plan for the values of several paths. Raise Conflict if there is none.

    force: pass numbers even if all paths agree, since a loop changes them.
    fresh: pass dynamic values even if all paths agree, since their definitions may not dominate the join.
    mark: objects with smaller serials existed before the paths parted.
    """
    sound = [a for a in avs if not isinstance(a, Poison)]  # a path in error does not restrict the other paths
    moved = next((a for a in sound if isinstance(a, Moved)), None)
    if moved is not None:
        return Same(moved)
    if all(isinstance(a, Unbound) for a in sound):
        return Same(Unbound() if len(sound) == len(avs) else Poison())
    avs, first = sound, sound[0]
    if isinstance(first, WalkMark):
        marks = [a for a in avs if isinstance(a, WalkMark)]
        joined = WalkMark(frozenset().union(*(a.idents for a in marks)), any(a.spent for a in marks))
        return MarkPlan(joined, tuple(sorted(i.serial for i in joined.idents if i.serial < mark)))
    if any(isinstance(a, (Unbound, MaybeUnbound)) for a in avs):
        inner = [a.av if isinstance(a, MaybeUnbound) else a for a in avs if not isinstance(a, Unbound)]
        placed = all(a.placed for a in avs if isinstance(a, MaybeUnbound))
        return MaybePlan(unify(inner, kinds, force=force, fresh=True, mark=mark), placed)
    if not all(isinstance(a, RuntimeValue) for a in avs):
        plan = _known_or_of_parts(avs, kinds, force=force, fresh=fresh, mark=mark)
        if plan is not None:
            return plan
    if not (force and is_number(first)):
        is_run_time = isinstance(first, (RuntimeValue, OneOf, *RECORDS)) or (
            isinstance(first, ListValue) and first.value is not None
        )
        if all(a is first for a in avs) and not (fresh and is_run_time):
            return Same(first)
        if all(is_run_time_value(a) and is_run_time_value(first) and a.value is first.value for a in avs) and not (
            force or fresh
        ):
            return Same(first)
    if all(map(is_text, avs)) and (any(map(is_run_time_text, avs)) or len(_kinds(avs, kinds)) > _MOST):
        return Leaf(STR)
    if not any(has_alternatives(a) for a in avs) and len({kind_of(a) for a in avs}) == 1:
        return Leaf(_join_types(avs, kinds))
    return _alternatives(avs, kinds, force=force, mark=mark)


def _known_or_of_parts(
    avs: Sequence[AbstractValue], kinds: Kinds, *, force: bool, fresh: bool, mark: float
) -> Plan | None:
    """Return the plan for one known value, for one object, or for values with the same parts; None for other values."""
    first = avs[0]
    # A loop gives a number that it may change a type at once. A number that its body has left as it was stays known.
    begins = force and len(avs) == 1
    if all(is_known(a) and is_known(first) and _are_same(a.obj, first.obj) for a in avs) and not (
        begins and is_number(first)
    ):
        return Same(first)
    ident = _single_identity(first)
    home = home_of(first)
    before = home is not None and home.place is not None or ident is not None and ident.serial < mark
    if before and all(_single_identity(a) is ident for a in avs):
        return Same(_any_alternative(first))  # all paths have the same object; its content is joined separately
    if (held := _attributes_by_name(avs, keys=kinds.optional_keys)) is not None:
        plans = {n: unify(r, kinds, force=force, fresh=fresh, mark=mark) for n, r in held.items()}
        if not _is_order_of_all(avs, held):
            plans = {n: replace(p, placed=False) if isinstance(p, MaybePlan) else p for n, p in plans.items()}
        return Attributes(first, tuple(plans.items()))
    structures = [structure_of(a) for a in avs]
    if structures[0] is not None and all(s is not None and s.key == structures[0].key for s in structures):
        rows = zip(*(s.parts for s in structures if s is not None), strict=True)
        return PartsPlan(structures[0], tuple(unify(r, kinds, force=force, fresh=fresh, mark=mark) for r in rows))
    return None


def _are_same(a: Any, b: Any) -> bool:
    """Return whether code cannot tell two known objects apart, but for `is` of devices."""
    return a == b if isinstance(a, torch.device) and isinstance(b, torch.device) else same_known(a, b)


def _any_alternative(av: AbstractValue) -> AbstractValue:
    return _any_alternative(next(iter(av.alternatives.values()))) if has_alternatives(av) else av


def _single_identity(av: AbstractValue) -> Ident | None:
    """Return the identity of an object, including one with several possible contents; None for other values."""
    if not has_alternatives(av):
        return identity_of(av)
    first, *others = map(_single_identity, av.alternatives.values())
    return first if all(ident is first for ident in others) else None


def _attributes_by_name(avs: Sequence[AbstractValue], *, keys: bool) -> dict[str, list[AbstractValue]] | None:
    """Return the values of each attribute of objects of one class; None if all have the same attributes."""
    found = [attributes_of(a, keys=keys) for a in avs]
    held = [f[1] for f in found if f is not None]
    if (
        len(held) < len(avs)
        or len({f[0] for f in found if f is not None}) > 1
        or len({frozenset(h) for h in held}) == 1
    ):
        return None
    return {name: [h.get(name, Unbound()) for h in held] for h in held for name in h}


def _is_order_of_all(avs: Sequence[AbstractValue], names: Iterable[str]) -> bool:
    """Return whether the attributes of each of some objects come in the order of `names`."""
    found = [attributes_of(a, keys=True) for a in avs]
    return all([*f[1]] == [n for n in names if n in f[1]] for f in found if f is not None)


def _alternatives(avs: Sequence[AbstractValue], kinds: Kinds, *, force: bool, mark: float) -> Plan:
    groups: dict[int, list[AbstractValue]] = {}
    for av in avs:
        held = av.alternatives.items() if has_alternatives(av) else [(kinds.tag(kind_of(av)), av)]
        for tag, alternative in held:
            groups.setdefault(tag, []).append(alternative)
    kinds.beside_tables += _beside_tables([a for group in groups.values() for a in group])
    tuples = _tuples_gathered(groups, kinds, force)
    if len(tuples) == 1 and not groups:
        return tuples[0][1]
    texts = [tag for tag, group in groups.items() if all(map(is_text, group))]
    if len(groups) > _MOST or any(is_run_time_text(a) for tag in texts for a in groups[tag]):
        groups[kinds.tag(TEXT_KIND)] = [a for tag in texts for a in groups.pop(tag)]
    if len(groups) > _MOST:
        raise Conflict(f"of more than {_MOST} kinds")
    plans = [(tag, unify(groups[tag], kinds, force=force, fresh=True, mark=mark)) for tag in sorted(groups)]
    return OneOfPlan(kinds, (*plans, *tuples))


def _beside_tables(avs: Sequence[AbstractValue]) -> list[DictValue]:
    """Return the dicts with known keys among values that are joined with a run-time dict of their class."""
    tables = {made_of(a.type) for a in avs if isinstance(a, RuntimeValue) and isinstance(a.type, DictType)}
    return [a for a in avs if isinstance(a, DictValue) and not isinstance(a, RECORDS) and a.made in tables]


def _tuples_gathered(groups: dict[int, list[AbstractValue]], kinds: Kinds, force: bool) -> list[tuple[int, Plan]]:
    """Return the plans for tuples that become tuples of any length, and take these tuples out of the groups.

    Tuples of several lengths do so if a loop makes more than two lengths, if they are too many, or if one of them has
    any length already.
    """
    tags = [tag for tag, group in groups.items() if all(map(is_plain_tuple, group))]
    found = any(isinstance(av, ListValue) for tag in tags for av in groups[tag])
    if not found and not (force and len(tags) > 2) and (len(tags) < 2 or len(groups) <= _MOST):
        return []
    joined: dict[Hashable, Type] = {}
    try:
        for t in (_any_length(groups[tag]) for tag in tags):
            kind = kind_of_tuples(t)
            joined[kind] = unite(joined.get(kind, tuple_of(NEVER)), t)
    except (Conflict, JoinError) as e:
        if found:
            raise Conflict("a tuple of one type of items, of any length, and another") from e
        return []
    if len(joined) > 1 and joined.get(TUPLE_KIND) == tuple_of(NEVER):
        del joined[TUPLE_KIND]
    for tag in tags:
        del groups[tag]
    return sorted((kinds.tag(kind), Leaf(t)) for kind, t in joined.items())


def _any_length(avs: Sequence[AbstractValue]) -> Type:
    """Return the type of tuples of any length that fits all of some tuples."""
    joined: Type = tuple_of(NEVER)
    for av in avs:
        joined = unite(joined, joined_type(av))
    return joined


def _kinds(avs: Sequence[AbstractValue], kinds: Kinds) -> set[int]:
    return {t for a in avs for t in (a.alternatives if has_alternatives(a) else [kinds.tag(kind_of(a))])}


def is_number(av: AbstractValue) -> bool:
    return (
        type(av.obj) in NUMBERS
        if is_known(av)
        else isinstance(av, RuntimeValue) and isinstance(av.type, ScalarType)
    )


def _join_types(avs: Sequence[AbstractValue], kinds: Kinds) -> Type:
    try:
        result = joined_type(avs[0])
        for av in avs[1:]:
            t = joined_type(av)
            result = unite(result, t, unions=kinds.in_containers)
    except (Conflict, JoinError) as e:
        error = ItemConflict if isinstance(e, JoinError) and isinstance(result, Container) else Conflict
        words = dict.fromkeys(map(describe, avs))
        if len(words) == 1 and isinstance(e, JoinError):
            words = dict.fromkeys(str(joined_type(av)) for av in avs)
        raise error(" and ".join(words)) from e
    return result
