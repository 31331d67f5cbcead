"""The structure of values that consist of parts: a key, the parts, and a maker."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    CallerLocation,
    ComplexValue,
    Content,
    DictValue,
    Ident,
    Known,
    KnownLengthListValue,
    MaybeUnbound,
    ObjectValue,
    OneOf,
    RecordValue,
    RuntimeValue,
    Structure,
    TupleValue,
)
from scriptc.frontend.values.predicates import has_alternatives, is_complex_number, is_function, is_known, ssa_value
from scriptc.frontend.values.verbs import structure_of

LONG = 128  # longer sequences of numbers and tensors become run-time lists
FEW_PARTS = 16  # up to so many views, `unbind` makes values of their own; more are a run-time tuple
AFTER_ERROR = 2  # the iterations of an unrolled `while` that are still read after an error
UNROLL_LIMIT = 1024  # the largest trip count of a loop that is unrolled because its body needs the counter
_KNOWN_OF_PARTS = (tuple, complex)  # the classes of known objects that have a structure


# ---- structures of families of kinds ----


def tuple_structure(cls: type, items: Sequence[AbstractValue]) -> Structure:
    return Structure(("tuple", cls, len(items)), items, lambda parts: TupleValue(parts, cls))


def complex_structure(real: AbstractValue, imag: AbstractValue) -> Structure:
    return Structure("complex", [real, imag], lambda parts: ComplexValue(*parts))


def keyed_structure(
    key: tuple[Hashable, ...],
    items: dict[Any, AbstractValue],
    make: Callable[[dict[Any, AbstractValue]], AbstractValue],
) -> Structure:
    """Return the structure of a value with named parts."""
    names = list(items)
    return Structure((*key, *names), list(items.values()), lambda parts: make(dict(zip(names, parts, strict=True))))


def location_key(home: CallerLocation | None) -> Hashable:
    """Return a key that is equal for values at one location of the caller; equal, too, for all values without one."""
    return None if home is None else home.key()


# ---- what values consist of ----


def is_atom(av: AbstractValue) -> bool:
    """Return whether a value has no parts: a run-time value, or a known object without a structure."""
    return isinstance(av, RuntimeValue) or isinstance(av, Known) and not isinstance(av.obj, _KNOWN_OF_PARTS)


def parts_of(av: AbstractValue) -> Sequence[AbstractValue]:
    """Return the parts or the alternatives of a value."""
    if is_atom(av):
        return ()
    if has_alternatives(av):
        return list(av.alternatives.values())
    if isinstance(av, MaybeUnbound):
        return [av.av]
    structure = structure_of(av)
    return structure.parts if structure is not None else ()


def holds_function(av: AbstractValue) -> bool:
    """Return whether a value is, or holds, a function or module."""
    return is_function(av) or any(map(holds_function, parts_of(av)))


def attributes_of(av: AbstractValue, *, keys: bool) -> tuple[Hashable, dict[str, AbstractValue]] | None:
    """Return the common part and the attributes of objects that differ only in their attributes; None for other
    values. keys: also of contents of dicts whose keys are strings."""
    if isinstance(av, Content) and (av.cls is not None or keys and all(isinstance(key, str) for key in av.items)):
        return ("content", av.cls), av.items
    if isinstance(av, ObjectValue) and not isinstance(av, RecordValue):
        return ("object", av.cls, location_key(av.home)), av.items
    return None


def with_attributes(av: AbstractValue, items: dict[str, AbstractValue]) -> AbstractValue:
    """Return an object, or the content of one, with other attributes."""
    if isinstance(av, Content):
        return Content(items, av.first, av.cls)
    assert isinstance(av, ObjectValue)
    return ObjectValue(av.cls, items, home=av.home)


def identity_of(av: AbstractValue) -> Ident | None:
    """Return the identity of a value whose content the reader's heap holds."""
    parted = isinstance(av, (DictValue, KnownLengthListValue, ObjectValue)) and not isinstance(av, RECORDS)
    return av.ident if parted else None  # type: ignore[attr-defined]


def shared_key(av: AbstractValue) -> Hashable:
    """Return a key that is equal for values that are one object."""
    ident = identity_of(av)
    return ident if ident is not None else (ssa_value(av) or id(av))


def replaced(av: AbstractValue, swap: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """Return `swap(value)`; if this is the value itself, apply `swap` to the parts."""
    new = swap(av)
    if new is not av or is_atom(av):
        return new
    if has_alternatives(av):
        held = {tag: replaced(a, swap) for tag, a in av.alternatives.items()}
        return OneOf(av.tag, held) if any(held[t] is not a for t, a in av.alternatives.items()) else av
    if isinstance(av, MaybeUnbound):
        inner = replaced(av.av, swap)
        return av if inner is av.av else MaybeUnbound(av.flag, inner, av.placed)
    structure = structure_of(av) if identity_of(av) is None else None
    if structure is None:
        return av
    parts = [replaced(p, swap) for p in structure.parts]
    changed = any(p is not old for p, old in zip(parts, structure.parts, strict=True))
    return structure.make(parts) if changed else av


def slice_parts(av: AbstractValue) -> list[AbstractValue]:
    """Return start, stop and step of a slice."""
    if is_known(av):
        return [Known(getattr(av.obj, n)) for n in ("start", "stop", "step")]
    assert isinstance(av, TupleValue)
    return list(av.items)


def sequence_items(av: AbstractValue) -> list[AbstractValue] | None:
    """Return the items of a tuple; None for all other values."""
    structure = structure_of(av) if isinstance(av, (TupleValue, Known)) and not is_complex_number(av) else None
    if structure is None or isinstance(av, TupleValue) and av.cls in (slice, set):
        return None
    return list(structure.parts)
