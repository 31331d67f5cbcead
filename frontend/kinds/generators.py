"""Generators: calls of functions with `yield`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from types import GeneratorType
from typing import Any

from scriptc.frontend.library.python import iterators_decomposed as iterators
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.generators import collected
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import unpacked_items
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, Structure, YieldsValue
from scriptc.frontend.values.walk import Walk, mark_of


@verbs.describe.of(YieldsValue)
def generator_description(owner: YieldsValue) -> str:
    return "a generator"


@verbs.structure_of.of(YieldsValue)
def generator_structure(owner: YieldsValue) -> Structure:
    frame, names = owner.frame, [*owner.frame.locals]

    def make(parts: list[AbstractValue]) -> AbstractValue:
        made = replace(frame, locals=dict(zip(names, parts[:-1], strict=True)))
        return YieldsValue(made, owner.node, mark_of(parts))

    key = ("generator", id(owner.node), id(frame.func), id(frame.outer), *names)
    return Structure(key, [*frame.locals.values(), owner.mark], make)


@verbs.kind_of.of(YieldsValue)
def kind_of_generator(owner: YieldsValue) -> Hashable:
    raise Conflict(verbs.describe(owner))  # the code behind the paths is read for each of them


@verbs.held_values.of(YieldsValue)
def held_by_generator(owner: YieldsValue) -> Sequence[AbstractValue]:
    return list(owner.frame.locals.values())


@verbs.python_class.of(YieldsValue)
def class_of_generator(reader: Reader, owner: YieldsValue) -> type:
    return GeneratorType


@verbs.class_name_of.of(YieldsValue)
def class_name_of_generator(reader: Reader, owner: YieldsValue) -> str:
    return "generator"


@verbs.is_run_time.of(YieldsValue)
def is_generator_run_time(reader: Reader, owner: YieldsValue) -> bool:
    return True


@verbs.taken.of(YieldsValue)
def take_all(reader: Reader, owner: YieldsValue) -> AbstractValue:
    return collected(reader, owner)


@unpacked_items.of(YieldsValue)
def unpack_generator(reader: Reader, owner: YieldsValue, count: int | None) -> list[AbstractValue]:
    return unpacked_items(reader, reader.call(Known(iterators.taken_for), [owner, Known(count)], {}), count)


@verbs.walk.of(YieldsValue)
def walk_generator(reader: Reader, owner: YieldsValue, site: Any) -> Walk:
    reader.reject("generator_beside", name=owner.frame.qualified_name)
