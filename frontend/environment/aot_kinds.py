"""The kinds of values that a slot may hold in a build ahead of time."""

from __future__ import annotations

from typing import Any, NoReturn

from scriptc.frontend.environment.slots import Slot, all_parts, find_target
from scriptc.frontend.environment.specs import (
    ConstantSpec,
    DictSpec,
    ListSpec,
    QueueSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
)
from scriptc.frontend.environment.specs import describe as described
from scriptc.frontend.reader.errors import Conflict, UserError
from scriptc.frontend.reader.paths import settle_leaving
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.rejections import rejection
from scriptc.frontend.values.abstract import AbstractValue, Known, OneOf
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, has_known_keys
from scriptc.frontend.values.verb import Question
from scriptc.frontend.values.verbs import describe, frozen, kind_of, result_of

_SCALARS = {bool: "bool", int: "i64", float: "f64"}


def generalized(spec: Spec) -> Spec:
    """Return a spec in which numbers are not part of the signature."""
    match spec:
        case ConstantSpec(bool() | int() | float() as number) if type(number) in _SCALARS:
            return ScalarSpec(_SCALARS[type(number)])
        case TupleSpec(items, cls):
            return TupleSpec(tuple(map(generalized, items)), cls)
        case DictSpec(keys, items):
            return DictSpec(keys, tuple(map(generalized, items)))
        case TensorSpec(dtype, sizes):
            return TensorSpec(dtype, (None,) * len(sizes))
    return spec


@Question
def kept_kinds(av: AbstractValue) -> list[Any]:
    """Return the specs of all kinds that a value may have. Raise Conflict for a kind that a state cannot keep."""
    try:
        spec = generalized(result_of(av)[0])
    except Conflict as e:
        raise Conflict(describe(av)) from e
    if not is_kept(spec):
        raise Conflict(described(spec))
    return [spec]


def is_kept(spec: Spec) -> bool:
    """Return whether a state can keep values of a spec.

    The leaves of such a spec are tensors, numbers, strings, and lists of one kind of these.
    """
    match spec:
        case ListSpec(elem, cls):
            return cls is list and (elem is None or isinstance(elem, (TensorSpec, ScalarSpec)))
        case TupleSpec(items, cls):
            return cls is not list and all(map(is_kept, items))
        case DictSpec(_, items):
            return all(map(is_kept, items))
        case QueueSpec(content):
            return is_kept(content)
    return isinstance(spec, (TensorSpec, ScalarSpec, ConstantSpec))


def refuse_kept(slot: Slot, key: str, **details: object) -> NoReturn:
    raise UserError(slot.location.loc, *rejection(key, name=slot.name, **details))


def keep_value(reader: Reader, at: Any, slot: Slot, value: AbstractValue) -> None:
    """Set a slot that a build keeps to a value of any kind, by the leaves of the value."""
    held = frozen(settle_leaving(reader, value, reader.heap.contents, reader.position.loc))
    try:
        if more := [k for k in kept_kinds(held) if k not in slot.kinds]:
            reader.speculation.add_kinds(at, slot.name, more)
        else:
            _set_leaves(reader, slot, held)
    except Conflict as e:
        reader.reject("state_of_structure", name=slot.name, what=e)


def _set_leaves(reader: Reader, slot: Slot, held: AbstractValue) -> None:
    if has_alternatives(held) and _has_changed_kind(reader, held):

        def set_alternative(alternative: AbstractValue) -> AbstractValue:
            _set_leaves(reader, slot, alternative)
            return Known(None)

        split(reader, held, set_alternative)
        return
    if any(has_alternatives(part) and _has_changed_kind(reader, part) for part in all_parts(held)):
        raise Conflict(describe(held))
    assert slot.plan is not None
    leaves = list(slot.plan.flatten(reader, held))
    target = find_target(reader, slot.location.owner, slot.location.key, None, slot.name)
    reader.emit.effect("state.set", leaves, name=slot.name, target=target.number, form=0)
    slot.target = target.number


def _has_changed_kind(reader: Reader, held: OneOf) -> bool:
    """Return whether keys were added to an alternative, or removed, after its tag was given."""
    dicts = {tag: part for tag, part in held.alternatives.items() if has_known_keys(part)}
    return any(reader.kinds.tag(kind_of(part)) != tag for tag, part in dicts.items())
