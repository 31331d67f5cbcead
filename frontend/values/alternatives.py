"""Values of one of several kinds. An operation on such a value runs once for each alternative, on a path of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Kinds, OneOf, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import has_alternatives, has_kinds, is_tensor


def is_of_ranks(av: AbstractValue) -> bool:
    """Return whether a value may be a tensor of one of several ranks. Decompositions need one rank while they are
    read."""
    return has_alternatives(av) and sum(map(is_tensor, av.alternatives.values())) > 1


def is_kind(reader: Reader, av: OneOf, number: int) -> AbstractValue:
    return RuntimeValue(reader.emit.build("int.eq", [av.tag, reader.emit.const(number)]))


def split(reader: Reader, av: AbstractValue, run: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """Return `run(av)`, read once for each alternative."""
    if not has_alternatives(av):
        return run(av)
    number, first = next(iter(av.alternatives.items()))
    if len(av.alternatives) == 1:
        return run(first)
    rest = without(av, number)
    return reader.choose(is_kind(reader, av, number), lambda: run(first), lambda: split(reader, rest, run))


def split_all(
    reader: Reader,
    avs: Sequence[AbstractValue],
    run: Callable[[list[AbstractValue]], AbstractValue],
    *,
    splits: Callable[[AbstractValue], bool] = has_alternatives,
) -> AbstractValue:
    """Return `run(avs)`, read once for each alternative of the values that `splits` accepts."""
    at = next((i for i, av in enumerate(avs) if splits(av)), None)
    if at is None:
        return run(list(avs))
    return split(reader, avs[at], lambda av: split_all(reader, [*avs[:at], av, *avs[at + 1 :]], run, splits=splits))


def split_index(reader: Reader, index: AbstractValue, run: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """Return `run(index)`, read once for each alternative of the index or of a part of the index."""
    if has_alternatives(index):
        return split(reader, index, lambda i: split_index(reader, i, run))
    if not has_kinds(index):
        return run(index)
    assert isinstance(index, TupleValue)
    at = next(i for i, part in enumerate(index.items) if has_kinds(part))
    before, behind = index.items[:at], index.items[at + 1 :]
    made = lambda part: TupleValue([*before, part, *behind], index.cls)  # noqa: E731
    return split_index(reader, index.items[at], lambda part: split_index(reader, made(part), run))


def present(reader: Reader, av: AbstractValue, type: str, message: str) -> AbstractValue:
    """Return the value without the alternative None, for which the given error is raised."""
    if not has_alternatives(av) or Kinds.NONE not in av.alternatives:
        return av

    def fails() -> bool:
        reader.emit.raise_error(type, message)

    reader.branch(is_kind(reader, av, Kinds.NONE), fails, lambda: True, frozenset())
    return without(av, Kinds.NONE)


def without(av: OneOf, number: int) -> AbstractValue:
    """Return the value without one of its kinds, which it is known not to have."""
    rest = {t: a for t, a in av.alternatives.items() if t != number}
    return next(iter(rest.values())) if len(rest) == 1 else OneOf(av.tag, rest)
