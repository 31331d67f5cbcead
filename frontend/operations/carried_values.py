"""Values that another function of the IR takes: their leaves as arguments, and the values built from these there."""

from __future__ import annotations

from collections.abc import Iterator

from scriptc.frontend.operations.materialize import new_list
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, DictValue, OneOf, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    has_known_length,
    is_complex_number,
    is_known,
    is_made_list,
    is_made_tuple,
)
from scriptc.frontend.values.structure import complex_structure, identity_of, parts_of
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Value
from scriptc.ir.types import ScalarType, TensorType


class NotCarried(Exception):
    """Say that a value cannot be passed to another function of the IR. The message describes the value."""


def carried(reader: Reader, av: AbstractValue, mark: int) -> AbstractValue:
    """Return a value as it is now, whose leaves are tensors, numbers and known objects. Lists become tuples of the class list.

    mark: a list with a smaller serial has other names, by which the program may change it later.

    Raises NotCarried for a value of other parts.
    """
    if is_known(av):
        return av
    if isinstance(av, RuntimeValue) and isinstance(av.type, (TensorType, ScalarType)):
        if isinstance(av.type, TensorType) and av.type.dims is None:
            raise NotCarried("a tensor whose rank is known only at run time")
        return av
    if has_alternatives(av):
        return OneOf(av.tag, {tag: carried(reader, a, mark) for tag, a in av.alternatives.items()})
    if is_complex_number(av):
        real, imag = parts_of(av)
        return complex_structure(real, imag).make([carried(reader, part, mark) for part in (real, imag)])
    if is_made_tuple(av):
        return TupleValue([carried(reader, item, mark) for item in av.items], av.cls)
    ident = identity_of(av)
    if has_known_keys(av) and av.home is None and av.ident.serial >= mark:
        return DictValue({key: carried(reader, item, mark) for key, item in reader.items_of(av).items()}, made=av.made)
    if is_made_list(av) and (has_known_length(av) or av.items is not None) and (ident is None or ident.serial >= mark):
        av.observed = True
        return TupleValue([carried(reader, item, mark) for item in av.items or ()], list)
    raise NotCarried(describe(av))


def leaves_of(av: AbstractValue) -> Iterator[Value]:
    """Yield the SSA values in a carried value."""
    if isinstance(av, RuntimeValue):
        yield av.value
    if has_alternatives(av):
        yield av.tag
    if not is_known(av):
        for part in parts_of(av):
            yield from leaves_of(part)


def rebuilt(reader: Reader, av: AbstractValue, leaves: Iterator[Value]) -> AbstractValue:
    """Return a carried value in another function, made of other SSA values for its leaves."""
    if is_known(av):
        return av
    if isinstance(av, RuntimeValue):
        return RuntimeValue(next(leaves))
    if has_alternatives(av):
        tag = next(leaves)
        return OneOf(tag, {number: rebuilt(reader, a, leaves) for number, a in av.alternatives.items()})
    parts = [rebuilt(reader, part, leaves) for part in parts_of(av)]
    if is_complex_number(av):
        return complex_structure(*parts).make(parts)
    if isinstance(av, DictValue):
        return DictValue(dict(zip(av.items, parts, strict=True)), made=av.made)
    assert isinstance(av, TupleValue)
    return new_list(reader, parts, (reader.position.loc, "carried")) if av.cls is list else TupleValue(parts, av.cls)
