"""Values of one of several kinds in containers: a number, and a value of each kind, of which the number tells the one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from scriptc.frontend.cells import Union, type_kind, unite
from scriptc.frontend.context import Context
from scriptc.frontend.joins import kind_of
from scriptc.frontend.values import AV, Dyn, Kinds, Known, OneOf, describe
from scriptc.ir.core import Value
from scriptc.ir.types import INT, NEVER, JoinError, TupleType, Type


class Unions(Context):
    """Mixin: unions."""

    def allow_unions(self) -> None:
        """From the next reading on, containers may hold values of several kinds; returns where they may already."""
        if not self.assume.unions:
            self.assume.unions = True
            self.assume.known_length.clear()
            self.read_again("a container holds values of several kinds")

    def union_item(self, av: OneOf) -> Value:
        """The SSA value of one of several kinds."""
        if not self.assume.unions:
            self.refuse_kinds(av)
        held = [self.list_item(a) for a in av.alternatives.values()]
        t: Type = NEVER
        try:
            for v in held:
                t = unite(t, v.type, unions=True)
        except JoinError:
            self.refuse_kinds(av)
        return self.as_union(av, t) if isinstance(t, TupleType) and isinstance(t.cls, Union) else self.value(av)

    def refuse_kinds(self, av: AV) -> NoReturn:
        self.fail("one_of_several_used", what=describe(av))

    def as_union(self, av: AV, wanted: TupleType) -> Value:
        """A value as one of a union that has its kind, or kinds."""
        kinds = [type_kind(t) for t in wanted.items[1:]]
        alternatives = av.alternatives if isinstance(av, OneOf) else {Kinds.NONE: av}
        held: dict[int, Value] = {}
        number_of: dict[int, int] = {}
        for tag, alternative in alternatives.items():
            value = self.list_item(alternative)
            number = number_of[tag] = kinds.index(type_kind(value.type))
            value = self.as_type(value, wanted.items[1 + number])
            if number in held:  # another string
                assert isinstance(av, OneOf)
                is_it = self.value(self.is_kind(av, tag))
                value = self.value(self.choose(Dyn(is_it), partial(Dyn, value), partial(Dyn, held[number])))
            held[number] = value
        parts: list[Value] = []
        for number, t in enumerate(wanted.items[1:]):
            missing = number not in held
            parts.append(self.builder.op("undef", (), self.loc, types=[t]).result if missing else held[number])
        which = self.split_tags(av, number_of) if isinstance(av, OneOf) else self.const(number_of[Kinds.NONE])
        made = TupleType((INT, *(v.type for v in parts)), wanted.cls)
        return self.builder.op("tuple", [which, *parts], self.loc, types=[made]).result

    def split_tags(self, av: OneOf, number_of: dict[int, int]) -> Value:
        (first, number), *rest = number_of.items()
        if not rest:
            return self.const(number)
        more = lambda: Dyn(self.split_tags(av, dict(rest)))  # noqa: E731
        return self.value(self.choose(self.is_kind(av, first), lambda: Known(number), more))

    def from_union(self, parts: Sequence[AV]) -> AV:
        """The value that the parts of a union stand for."""
        number, *alternatives = parts
        tags = [self.kinds.tag(kind_of(a)) for a in alternatives]
        assert isinstance(number, Dyn)

        def tag_from(i: int) -> AV:
            if i == len(tags) - 1:
                return Known(tags[i])
            is_it = Dyn(self.build("int.eq", [number.value, self.const(i)]))
            return self.choose(is_it, lambda: Known(tags[i]), lambda: tag_from(i + 1))

        return OneOf(self.value(tag_from(0)), dict(zip(tags, alternatives, strict=True)))
