"""Values of one of several kinds: what is done to one is done to each alternative, on a path of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scriptc.frontend.context import Context
from scriptc.frontend.flow import without
from scriptc.frontend.values import AV, Dyn, Kinds, Known, OneOf, Tup, has_kinds, is_tensor


def has_alternatives(av: AV) -> bool:
    return isinstance(av, OneOf)


def is_of_ranks(av: AV) -> bool:
    """Return whether a value may be one of several kinds of tensors, whose ranks decompositions ask for as they are read."""
    return isinstance(av, OneOf) and sum(map(is_tensor, av.alternatives.values())) > 1


class Alternatives(Context):
    """Mixin: `OneOf`."""

    def is_kind(self, av: OneOf, number: int) -> AV:
        return Dyn(self.build("int.eq", [av.tag, self.const(number)]))

    def is_one_of(self, av: OneOf, numbers: Sequence[int]) -> AV:
        """Whether a value is of one of some of its kinds, so that what follows from either answer is known."""
        others = [n for n in av.alternatives if n not in numbers]
        if not numbers or not others:
            return Known(bool(numbers))
        if len(others) < len(numbers):
            return self.negate(self.is_one_of(av, others))
        found = [self.value(self.is_kind(av, n)) for n in numbers]
        while len(found) > 1:
            found[:2] = [self.build("bool.or_", found[:2])]
        return Dyn(found[0])

    def split(self, av: AV, run: Callable[[AV], AV]) -> AV:
        """run(av), each alternative for itself."""
        if not isinstance(av, OneOf):
            return run(av)
        number, first = next(iter(av.alternatives.items()))
        if len(av.alternatives) == 1:
            return run(first)
        rest = without(av, number)
        return self.choose(self.is_kind(av, number), lambda: run(first), lambda: self.split(rest, run))

    def split_all(
        self, avs: Sequence[AV], run: Callable[[list[AV]], AV], *, splits: Callable[[AV], bool] = has_alternatives
    ) -> AV:
        """run(avs), for each alternative of those that `splits` names."""
        at = next((i for i, av in enumerate(avs) if splits(av)), None)
        if at is None:
            return run(list(avs))
        return self.split(avs[at], lambda av: self.split_all([*avs[:at], av, *avs[at + 1 :]], run, splits=splits))

    def split_index(self, index: AV, run: Callable[[AV], AV]) -> AV:
        """run(index), for each alternative of the index, or of a part of it."""
        if isinstance(index, OneOf):
            return self.split(index, lambda i: self.split_index(i, run))
        if not has_kinds(index):
            return run(index)
        assert isinstance(index, Tup)
        at = next(i for i, part in enumerate(index.items) if has_kinds(part))
        before, behind = index.items[:at], index.items[at + 1 :]
        made = lambda part: Tup([*before, part, *behind], index.cls)  # noqa: E731
        return self.split_index(index.items[at], lambda part: self.split_index(made(part), run))

    def present(self, av: AV, type: str, message: str) -> AV:
        """The value where it is not None; where it is, Python raises."""
        if not isinstance(av, OneOf) or Kinds.NONE not in av.alternatives:
            return av

        def fails() -> bool:
            self.raises_at_run_time(type, message)

        self.branch(self.is_kind(av, Kinds.NONE), fails, lambda: True, frozenset())
        return without(av, Kinds.NONE)
