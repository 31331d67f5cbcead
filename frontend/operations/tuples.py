"""Tuples whose length is known only at run time. They are immutable values with one type of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.materialize import any_length, make_tuple, wrap
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, ListValue
from scriptc.frontend.values.element_types import spelt, unite
from scriptc.frontend.values.predicates import (
    is_any_length_tuple,
    is_known,
    is_made_list,
    is_plain_tuple,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.structure import LONG, UNROLL_LIMIT, sequence_items
from scriptc.frontend.values.verbs import class_name_of, materialize, type_of
from scriptc.ir.types import STR, JoinError, ListType, ScalarType


def tuple_of_items(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return `tuple(av)` for a sequence of unknown length."""
    if is_any_length_tuple(av):
        return av
    listed = av if is_made_list(av) else reader.call(Known(list), [av], {})
    if is_made_list(listed) and listed.items is not None:  # a generator whose conditions are known
        return make_tuple(listed.items)
    return wrap(reader, reader.emit.build("tuple.of", [materialize(reader, listed)]))


def any_length_method(reader: Reader, owner: ListValue, name: str) -> AbstractValue:
    if name in ("index", "count"):
        return Bound(owner, name, getattr(lists, name))
    reader.emit.raise_error("AttributeError", f"'tuple' object has no attribute '{name}'")


# ---- operators ----


def tuple_operator(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return `a + b` or `a * b` if an operand or the result is a tuple of any length; else None."""
    if op == "Mult" and is_plain_tuple(b):
        a, b = b, a
    if not is_plain_tuple(a):
        return None
    if op == "Add" and is_plain_tuple(b) and any(is_made_list(av) for av in (a, b)):
        return joined_tuples(reader, a, b)
    items = sequence_items(a)
    if op == "Mult" and (items is None or not is_repeated_by_hand(b, items)):
        return wrap(reader, reader.emit.build("list.repeat", [any_length(reader, a), integer(reader, b)]))
    return None


def is_repeated_by_hand(times: AbstractValue, items: Sequence[AbstractValue]) -> TypeGuard[Known]:
    """Return whether the compiler repeats the items. It repeats numbers and tensors only while they stay few."""
    if not is_known(times):
        return False
    return not isinstance(times.obj, int) or len(items) * times.obj <= LONG or not are_alike(items)


def are_alike(items: Sequence[AbstractValue]) -> bool:
    """Return whether items are numbers, strings or tensors of one type, or all None."""
    kinds = {
        (tensor_type(i).dtype, tensor_type(i).rank) if is_tensor(i) else STR if is_text(i) else type_of(i)
        for i in items
    }
    return len(kinds) == 1 and None not in kinds and all(isinstance(k, (tuple, ScalarType)) for k in kinds)


def repeated(reader: Reader, items: Sequence[AbstractValue], times: Known) -> list[AbstractValue]:
    """Return `items * times`, repeated in the compiler."""
    if not isinstance(times.obj, int):
        reader.emit.raise_error(
            "TypeError", f"can't multiply sequence by non-int of type '{class_name_of(reader, times)}'"
        )
    if len(items) * times.obj > UNROLL_LIMIT:
        reader.reject("repeated_too_often", count=len(items) * times.obj)
    return [*items] * times.obj


def joined_tuples(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    left, right = any_length(reader, a), any_length(reader, b)
    try:
        joined = unite(left.type, right.type)
    except JoinError:
        reader.reject("tuples_of_kinds", left=spelt(left.type), right=spelt(right.type))
    assert isinstance(joined, ListType)
    left, right = any_length(reader, a, joined.elem), any_length(reader, b, joined.elem)
    return ListValue(reader.emit.builder.op("tuple.join", [left, right], reader.position.loc, types=[joined]).result)
