"""Where paths meet: one abstract value that stands for several, and the SSA values each path hands over for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scriptc.frontend.context import NUMBERS, Context
from scriptc.frontend.specs import same_known
from scriptc.frontend.values import AV, Dyn, Known, ListV, Maybe, Poison, Tup, Unbound, describe
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, JoinError, ListType, ScalarType, TensorType, Type, join


class Conflict(Exception):
    """The values have nothing in common; the message says what they are."""


@dataclass(frozen=True)
class Plan:
    """How one abstract value is put together from values that paths hand over."""

    def key(self) -> str:
        """Equal for plans that hand over the same values; decides that a loop header has converged."""
        raise NotImplementedError

    def types(self) -> Iterator[Type]:
        """Types of the values handed over."""
        return iter(())

    def flatten(self, ctx: Context, av: AV) -> Iterator[Value]:
        """The values that a path with `av` hands over, built where ctx builds."""
        return iter(())

    def rebuild(self, values: Iterator[Value], name: str) -> AV:
        raise NotImplementedError


@dataclass(frozen=True)
class Same(Plan):
    """All paths have this very value."""

    av: AV

    def key(self) -> str:
        if isinstance(self.av, (Unbound, Poison)):  # made anew wherever a name is looked up
            return type(self.av).__name__
        return f"same {id(self.av.obj) if isinstance(self.av, Known) else id(self.av)}"

    def rebuild(self, values: Iterator[Value], name: str) -> AV:
        return self.av


@dataclass(frozen=True)
class Leaf(Plan):
    type: Type

    def key(self) -> str:
        return str(self.type)

    def types(self) -> Iterator[Type]:
        yield self.type

    def flatten(self, ctx: Context, av: AV) -> Iterator[Value]:
        if isinstance(av, (Unbound, Poison)):
            yield ctx.builder.op("undef", (), ctx.loc, types=[self.type]).result
        else:
            yield ctx.value(av)

    def rebuild(self, values: Iterator[Value], name: str) -> AV:
        value = next(values)
        value.name = value.name or name
        return ListV(value) if isinstance(value.type, ListType) else Dyn(value)


@dataclass(frozen=True)
class TupPlan(Plan):
    items: tuple[Plan, ...]
    cls: type

    def key(self) -> str:
        return f"{self.cls.__name__}({', '.join(p.key() for p in self.items)})"

    def types(self) -> Iterator[Type]:
        for item in self.items:
            yield from item.types()

    def flatten(self, ctx: Context, av: AV) -> Iterator[Value]:
        parts = tuple_items(av)
        for i, item in enumerate(self.items):
            yield from item.flatten(ctx, av if parts is None else parts[i])

    def rebuild(self, values: Iterator[Value], name: str) -> AV:
        return Tup([p.rebuild(values, f"{name}_{i}" if name else "") for i, p in enumerate(self.items)], self.cls)


@dataclass(frozen=True)
class MaybePlan(Plan):
    item: Plan

    def key(self) -> str:
        return f"maybe {self.item.key()}"

    def types(self) -> Iterator[Type]:
        yield BOOL
        yield from self.item.types()

    def flatten(self, ctx: Context, av: AV) -> Iterator[Value]:
        match av:
            case Maybe(flag, inner):
                yield ctx.value(flag)
                yield from self.item.flatten(ctx, inner)
            case _:
                yield ctx.const(not isinstance(av, Unbound))
                yield from self.item.flatten(ctx, av)

    def rebuild(self, values: Iterator[Value], name: str) -> AV:
        flag = next(values)
        flag.name = f"{name}_bound"
        return Maybe(Dyn(flag), self.item.rebuild(values, name))


def unify(avs: Sequence[AV], *, force: bool = False, fresh: bool = False) -> Plan:
    """The plan for values that meet. `force`: numbers are handed over even where all paths agree (a loop changes them).
    `fresh`: so are dynamic values (they may be defined where they cannot be seen from behind the join)."""
    sound = [a for a in avs if not isinstance(a, Poison)]  # a path in error says nothing about the others
    if all(isinstance(a, Unbound) for a in sound):
        return Same(Unbound() if len(sound) == len(avs) else Poison())
    avs, first = sound, sound[0]
    if any(isinstance(a, (Unbound, Maybe)) for a in avs):
        inner = [a.av if isinstance(a, Maybe) else a for a in avs if not isinstance(a, Unbound)]
        return MaybePlan(unify(inner, force=force, fresh=True))
    if all(isinstance(a, Known) and isinstance(first, Known) and same_known(a.obj, first.obj) for a in avs) and not (
        force and _is_number(first)
    ):
        return Same(first)
    columns = [tuple_items(a) for a in avs]
    shapes = {(_class_of(a), None if c is None else len(c)) for a, c in zip(avs, columns, strict=True)}
    if len(shapes) == 1 and columns[0] is not None:
        rows = zip(*(c for c in columns if c is not None), strict=True)
        return TupPlan(tuple(unify(r, force=force, fresh=fresh) for r in rows), _class_of(first))
    if not (force and _is_number(first)):
        is_run_time = isinstance(first, Dyn) or (isinstance(first, ListV) and first.value is not None)
        if all(a is first for a in avs) and not (fresh and is_run_time):
            return Same(first)
        if all(isinstance(a, Dyn) and isinstance(first, Dyn) and a.value is first.value for a in avs) and not (
            force or fresh
        ):
            return Same(first)
    return Leaf(_join_types(avs))


def tuple_items(av: AV) -> Sequence[AV] | None:
    """The items of a tuple, one that is known as a whole included; None for all else."""
    if isinstance(av, Known) and isinstance(av.obj, tuple):
        return [Known(o) for o in av.obj]
    return av.items if isinstance(av, Tup) else None


def _class_of(av: AV) -> type:
    return av.cls if isinstance(av, Tup) else type(av.obj) if isinstance(av, Known) else object


def _is_number(av: AV) -> bool:
    return type(av.obj) in NUMBERS if isinstance(av, Known) else isinstance(av, Dyn) and isinstance(av.type, ScalarType)


def _type_of(av: AV) -> Type:
    match av:
        case Dyn():
            return av.type
        case Known(obj) if type(obj) in NUMBERS:
            return NUMBERS[type(obj)]
        case ListV(value) if value is not None:
            return value.type
    raise Conflict(describe(av))


def _join_types(avs: Sequence[AV]) -> Type:
    try:
        result = _type_of(avs[0])
        for av in avs[1:]:
            t = _type_of(av)
            joined = join(result, t)
            if isinstance(result, ListType) and isinstance(t, ListType):
                joined = unite(result, t)
            result = joined
    except (Conflict, JoinError) as e:
        raise Conflict(" and ".join(dict.fromkeys(map(describe, avs)))) from e
    if isinstance(result, TensorType) and result.dims is None:
        raise Conflict("a tensor of different ranks")
    return result


def unite(a: ListType, b: ListType) -> ListType:
    """Two lists that may be one: their element types are found together from here on."""
    left, right = a.cell.find(), b.cell.find()
    if left is not right:
        left.type = join(left.type, right.type)
        left.fixed |= right.fixed
        left.observed |= right.observed
        right.link = left
    return a
