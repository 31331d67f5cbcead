"""The form of values that consist of others: what they are made of, and how one is made of other parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from scriptc.frontend.values.abstract import (
    AV,
    RECORDS,
    Bound,
    ClassOf,
    Closure,
    ComplexV,
    Content,
    DictV,
    Home,
    Ident,
    IteratorV,
    Known,
    KnownLengthListV,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    PartialV,
    RangeV,
    RecordDictV,
    RecordV,
    ReversedV,
    Tup,
    ViewV,
    ZipV,
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
    parts: Sequence[AV]
    make: Callable[[list[AV]], AV]


def shape_of(av: AV) -> Shape | None:
    """The shape of a value, a tuple known as a whole included; None for one that has no parts."""
    match av:
        case RecordV() | RecordDictV():
            return None
        case Tup(items, cls):
            return _tuple(cls, items)
        case Known(tuple() as items):
            return _tuple(type(items), [Known(i) for i in items])
        case ComplexV(real, imag):
            return _complex(real, imag)
        case Known(complex() as z):
            return _complex(Known(z.real), Known(z.imag))
        case DictV(items, home=home, sites=sites, made=made):
            return _keyed(
                ("dict", _living(home), made), items, lambda held: DictV(held, home=home, sites=sites, made=made)
            )  # fmt: skip
        case ViewV(table, kind):
            return Shape(("view", kind), [table], lambda parts: ViewV(parts[0], kind))
        case KnownLengthListV(first=items, reader=reader, home=home, site=site):
            make = lambda held: KnownLengthListV(held, reader, home=home, site=site)  # noqa: E731
            return _keyed(("list", _living(home)), items, make)
        case ListV(value=None, items=list() as held, site=site):
            return Shape(("items", len(held)), held, lambda parts: ListV(None, parts, site))
        case ObjectV(cls, items, home=home):
            return _keyed(("object", cls, _living(home)), items, lambda held: ObjectV(cls, held, home=home))
        case Content(items, first, made_of):
            return _keyed(("content",), items, lambda held: Content(held, first, made_of))
        case Bound(owner, name, func):
            return Shape(("bound", name, id(func)), [owner], lambda parts: Bound(parts[0], name, func))
        case PartialV(func, args, kwargs):
            n = 1 + len(args)
            return Shape(
                ("partial", n, *kwargs), [func, *args, *kwargs.values()],
                lambda parts: PartialV(parts[0], parts[1:n], dict(zip(kwargs, parts[n:], strict=True))),
            )  # fmt: skip
        case Closure():
            return Shape(*function_parts(av))
        case ClassOf(exception):
            return Shape("class of", [exception], lambda parts: ClassOf(parts[0]))
        case RangeV(start, stop, step):
            return Shape("range", [start, stop, step], lambda parts: RangeV(*parts))
        case ReversedV(part):
            return Shape("reversed", [part], lambda parts: ReversedV(parts[0], av.ident))
        case IteratorV(part):
            return Shape("iterator", [part], lambda parts: IteratorV(parts[0], av.ident))
        case ZipV(parts, offset, strict, ident):
            held = [*parts, *([] if offset is None else [offset])]
            return Shape(
                ("zip", len(held), offset is None, strict), held,
                lambda made: ZipV(made[: len(parts)], None if offset is None else made[-1], strict, ident),
            )  # fmt: skip
    return None


def parts_of(av: AV) -> Sequence[AV]:
    """What a value consists of, or may be."""
    if isinstance(av, OneOf):
        return list(av.alternatives.values())
    if isinstance(av, Maybe):
        return [av.av]
    shape = shape_of(av)
    return shape.parts if shape is not None else ()


def holds_function(av: AV) -> bool:
    """Whether a value is, or holds, a function or module."""
    return is_function(av) or any(map(holds_function, parts_of(av)))


def attributes_of(av: AV) -> tuple[Hashable, dict[str, AV]] | None:
    """What objects have in common that differ in their attributes alone, and these; None for what has none."""
    if isinstance(av, Content) and av.cls is not None:
        return ("content", av.cls), av.items
    if isinstance(av, ObjectV) and not isinstance(av, RecordV):
        return ("object", av.cls, _living(av.home)), av.items
    return None


def with_attributes(av: AV, items: dict[str, AV]) -> AV:
    """An object, or the content of one, that has other attributes."""
    if isinstance(av, Content):
        return Content(items, av.first, av.cls)
    assert isinstance(av, ObjectV)
    return ObjectV(av.cls, items, home=av.home)


def _living(home: Home | None) -> Hashable:
    """Equal for values that live at one place."""
    return None if home is None else (id(home.owner), home.path)


def _tuple(cls: type, items: Sequence[AV]) -> Shape:
    return Shape(("tuple", cls, len(items)), items, lambda parts: Tup(parts, cls))


def _complex(real: AV, imag: AV) -> Shape:
    return Shape("complex", [real, imag], lambda parts: ComplexV(*parts))


def _keyed(key: tuple[Hashable, ...], items: dict[Any, AV], make: Callable[[dict[Any, AV]], AV]) -> Shape:
    names = list(items)
    return Shape((*key, *names), list(items.values()), lambda parts: make(dict(zip(names, parts, strict=True))))


def identity_of(av: AV) -> Ident | None:
    parted = isinstance(av, (DictV, KnownLengthListV, ObjectV)) and not isinstance(av, RECORDS)
    return av.ident if parted else None  # type: ignore[attr-defined]


def replaced(av: AV, swap: Callable[[AV], AV]) -> AV:
    """The value with `swap` applied to it, or where that changes nothing to its parts."""
    new = swap(av)
    if new is av and isinstance(av, OneOf):
        held = {tag: replaced(a, swap) for tag, a in av.alternatives.items()}
        return OneOf(av.tag, held) if any(held[t] is not a for t, a in av.alternatives.items()) else av
    if new is av and isinstance(av, Maybe):
        inner = replaced(av.av, swap)
        return av if inner is av.av else Maybe(av.flag, inner)
    shape = shape_of(av) if new is av and identity_of(av) is None else None
    if shape is None:
        return new
    parts = [replaced(p, swap) for p in shape.parts]
    changed = any(p is not old for p, old in zip(parts, shape.parts, strict=True))
    return shape.make(parts) if changed else av


def shape_of_slice(av: AV) -> list[AV]:
    """Start, stop and step of a slice."""
    if isinstance(av, Known):
        return [Known(getattr(av.obj, n)) for n in ("start", "stop", "step")]
    assert isinstance(av, Tup)
    return list(av.items)


def sequence_items(av: AV) -> list[AV] | None:
    """The items of a tuple; None for all else."""
    shape = shape_of(av) if isinstance(av, (Tup, Known)) and not is_complex_number(av) else None
    return list(shape.parts) if shape is not None and not (isinstance(av, Tup) and av.cls in (slice, set)) else None
