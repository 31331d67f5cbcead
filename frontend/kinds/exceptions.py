"""Exceptions that were caught, and their classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from scriptc.frontend.environment.specs import Spec
from scriptc.frontend.operations.attributes import class_itself
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.errors import Conflict, Terminated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import caught_attribute, hold_again, is_exception
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Bound, ClassOf, RuntimeValue, Structure
from scriptc.frontend.values.verbs import describe
from scriptc.ir.types import EXC


@verbs.describe.of(EXC)
def exception_description(owner: RuntimeValue) -> str:
    return "an exception"


@verbs.result_of.of(EXC)
def exception_result(owner: RuntimeValue) -> tuple[Spec, list[AbstractValue]]:
    raise Conflict(f"{describe(owner)}, which cannot be returned from compiled code")


@verbs.attribute.of(EXC)
def read_exception_attribute(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    return class_itself(reader, owner) if name == "__class__" else caught_attribute(reader, owner, name)


@verbs.text_parts.of(EXC)
def exception_text(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if quoted:
        reader.reject("text_of_other", what=describe(owner))
    yield owner


@verbs.raise_value.of(EXC)
def raise_again(reader: Reader, owner: RuntimeValue) -> NoReturn:
    if reader.position.leaves_generator:
        check_that(reader, negated(reader, is_exception(reader, owner, [StopIteration])), "StopIteration", "")
    hold_again(reader, owner)
    reader.emit.effect("reraise", [owner.value])
    raise Terminated


# ---- the class of an exception ----


@verbs.structure_of.of(ClassOf)
def class_structure(owner: ClassOf) -> Structure:
    return Structure("class of", [owner.exception], lambda parts: ClassOf(parts[0]))


@verbs.attribute.of(ClassOf)
def read_class_attribute(reader: Reader, owner: ClassOf, name: str) -> AbstractValue:
    if name in ("__name__", "__qualname__"):
        return apply_op(reader, "text", owner.exception, format="%n")
    return Bound(owner, name)
