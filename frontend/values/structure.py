"""The form of values that consist of others: what they are made of, and how one is made of other parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    Bound,
    CallerLocation,
    ClassOf,
    Closure,
    ComplexValue,
    Content,
    DictValue,
    Ident,
    IteratorValue,
    Known,
    KnownLengthListValue,
    ListValue,
    MaybeUnbound,
    ObjectValue,
    OneOf,
    PartialValue,
    RangeValue,
    RecordDictValue,
    RecordValue,
    ReversedValue,
    TupleValue,
    ViewValue,
    ZipValue,
    is_complex_number,
    is_function,
)
from scriptc.frontend.values.closures import function_parts

LONG = 128  # items beyond which numbers and tensors of known number are walked and kept as those of any number
UNROLL_LIMIT = 1024  # iterations of a loop that is unrolled because its body needs what it counts


@dataclass(frozen=True)
class Shape:
    """Values with equal keys differ in their parts alone."""

    key: Hashable
    parts: Sequence[AbstractValue]
    make: Callable[[list[AbstractValue]], AbstractValue]


def shape_of(av: AbstractValue) -> Shape | None:
    """The shape of a value, a tuple known as a whole included; None for one that has no parts."""
    match av:
        case RecordValue() | RecordDictValue():
            return None
        case TupleValue(items, cls):
            return _tuple(cls, items)
        case Known(tuple() as items):
            return _tuple(type(items), [Known(i) for i in items])
        case ComplexValue(real, imag):
            return _complex(real, imag)
        case Known(complex() as z):
            return _complex(Known(z.real), Known(z.imag))
        case DictValue(items, home=home, sites=sites, made=made):
            return _keyed(
                ("dict", _living(home), made), items, lambda held: DictValue(held, home=home, sites=sites, made=made)
            )  # fmt: skip
        case ViewValue(table, kind):
            return Shape(("view", kind), [table], lambda parts: ViewValue(parts[0], kind))
        case KnownLengthListValue(first=items, reader=reader, home=home, site=site):
            make = lambda held: KnownLengthListValue(held, reader, home=home, site=site)  # noqa: E731
            return _keyed(("list", _living(home)), items, make)
        case ListValue(value=None, items=list() as held, site=site):
            return Shape(("items", len(held)), held, lambda parts: ListValue(None, parts, site))
        case ObjectValue(cls, items, home=home):
            return _keyed(("object", cls, _living(home)), items, lambda held: ObjectValue(cls, held, home=home))
        case Content(items, first, made_of):
            return _keyed(("content",), items, lambda held: Content(held, first, made_of))
        case Bound(owner, name, func):
            return Shape(("bound", name, id(func)), [owner], lambda parts: Bound(parts[0], name, func))
        case PartialValue(func, args, kwargs):
            n = 1 + len(args)
            return Shape(
                ("partial", n, *kwargs), [func, *args, *kwargs.values()],
                lambda parts: PartialValue(parts[0], parts[1:n], dict(zip(kwargs, parts[n:], strict=True))),
            )  # fmt: skip
        case Closure():
            return Shape(*function_parts(av))
        case ClassOf(exception):
            return Shape("class of", [exception], lambda parts: ClassOf(parts[0]))
        case RangeValue(start, stop, step):
            return Shape("range", [start, stop, step], lambda parts: RangeValue(*parts))
        case ReversedValue(part):
            return Shape("reversed", [part], lambda parts: ReversedValue(parts[0], av.ident))
        case IteratorValue(part):
            return Shape("iterator", [part], lambda parts: IteratorValue(parts[0], av.ident))
        case ZipValue(parts, offset, strict, ident):
            held = [*parts, *([] if offset is None else [offset])]
            return Shape(
                ("zip", len(held), offset is None, strict), held,
                lambda made: ZipValue(made[: len(parts)], None if offset is None else made[-1], strict, ident),
            )  # fmt: skip
    return None


def parts_of(av: AbstractValue) -> Sequence[AbstractValue]:
    """What a value consists of, or may be."""
    if isinstance(av, OneOf):
        return list(av.alternatives.values())
    if isinstance(av, MaybeUnbound):
        return [av.av]
    shape = shape_of(av)
    return shape.parts if shape is not None else ()


def holds_function(av: AbstractValue) -> bool:
    """Whether a value is, or holds, a function or module."""
    return is_function(av) or any(map(holds_function, parts_of(av)))


def attributes_of(av: AbstractValue) -> tuple[Hashable, dict[str, AbstractValue]] | None:
    """What objects have in common that differ in their attributes alone, and these; None for what has none."""
    if isinstance(av, Content) and av.cls is not None:
        return ("content", av.cls), av.items
    if isinstance(av, ObjectValue) and not isinstance(av, RecordValue):
        return ("object", av.cls, _living(av.home)), av.items
    return None


def with_attributes(av: AbstractValue, items: dict[str, AbstractValue]) -> AbstractValue:
    """An object, or the content of one, that has other attributes."""
    if isinstance(av, Content):
        return Content(items, av.first, av.cls)
    assert isinstance(av, ObjectValue)
    return ObjectValue(av.cls, items, home=av.home)


def _living(home: CallerLocation | None) -> Hashable:
    """Equal for values that live at one place."""
    return None if home is None else (id(home.owner), home.path)


def _tuple(cls: type, items: Sequence[AbstractValue]) -> Shape:
    return Shape(("tuple", cls, len(items)), items, lambda parts: TupleValue(parts, cls))


def _complex(real: AbstractValue, imag: AbstractValue) -> Shape:
    return Shape("complex", [real, imag], lambda parts: ComplexValue(*parts))


def _keyed(
    key: tuple[Hashable, ...],
    items: dict[Any, AbstractValue],
    make: Callable[[dict[Any, AbstractValue]], AbstractValue],
) -> Shape:
    names = list(items)
    return Shape((*key, *names), list(items.values()), lambda parts: make(dict(zip(names, parts, strict=True))))


def identity_of(av: AbstractValue) -> Ident | None:
    parted = isinstance(av, (DictValue, KnownLengthListValue, ObjectValue)) and not isinstance(av, RECORDS)
    return av.ident if parted else None  # type: ignore[attr-defined]


def replaced(av: AbstractValue, swap: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """The value with `swap` applied to it, or where that changes nothing to its parts."""
    new = swap(av)
    if new is av and isinstance(av, OneOf):
        held = {tag: replaced(a, swap) for tag, a in av.alternatives.items()}
        return OneOf(av.tag, held) if any(held[t] is not a for t, a in av.alternatives.items()) else av
    if new is av and isinstance(av, MaybeUnbound):
        inner = replaced(av.av, swap)
        return av if inner is av.av else MaybeUnbound(av.flag, inner)
    shape = shape_of(av) if new is av and identity_of(av) is None else None
    if shape is None:
        return new
    parts = [replaced(p, swap) for p in shape.parts]
    changed = any(p is not old for p, old in zip(parts, shape.parts, strict=True))
    return shape.make(parts) if changed else av


def shape_of_slice(av: AbstractValue) -> list[AbstractValue]:
    """Start, stop and step of a slice."""
    if isinstance(av, Known):
        return [Known(getattr(av.obj, n)) for n in ("start", "stop", "step")]
    assert isinstance(av, TupleValue)
    return list(av.items)


def sequence_items(av: AbstractValue) -> list[AbstractValue] | None:
    """The items of a tuple; None for all else."""
    shape = shape_of(av) if isinstance(av, (TupleValue, Known)) and not is_complex_number(av) else None
    return (
        list(shape.parts) if shape is not None and not (isinstance(av, TupleValue) and av.cls in (slice, set)) else None
    )
