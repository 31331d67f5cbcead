"""Instances of users' classes that compiled code makes or takes as arguments, their content, and `super()`."""

from __future__ import annotations

import ast
import collections
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import DequeMaker, Maker, is_stand_in, result_tree
from scriptc.frontend.environment.specs import QueueSpec, Spec, TupleSpec
from scriptc.frontend.library.python.iterators_decomposed import SequenceIterator
from scriptc.frontend.library.python.itertools_decomposed import ENDLESS
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.operations.formatting import message_parts, own_text
from scriptc.frontend.operations.objects import object_attribute, set_attribute, special, super_value
from scriptc.frontend.operations.operators import truth_of_object
from scriptc.frontend.reader.contents import content_items
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.exceptions import classes_of, may_be_cause, raise_made
from scriptc.frontend.reader.iteration import asked_items, iterated_object, walk_queue
from scriptc.frontend.reader.managers import is_manager, managed, run_within, suppressing
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import is_exception
from scriptc.frontend.reader.subscripts import delete_by_method
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    HeapValue,
    Known,
    MaybeUnbound,
    Moved,
    ObjectValue,
    Structure,
    SuperValue,
)
from scriptc.frontend.values.predicates import is_known, is_of_caller, place_of_caller
from scriptc.frontend.values.structure import keyed_structure, location_key
from scriptc.frontend.values.verbs import describe, frozen, is_run_time
from scriptc.frontend.values.walk import Walk


@verbs.describe.of(ObjectValue)
def object_description(owner: ObjectValue) -> str:
    return f"a {owner.cls.__name__}"


@verbs.structure_of.of(ObjectValue)
def object_structure(owner: ObjectValue) -> Structure:
    cls, home = owner.cls, owner.home
    make = lambda held: ObjectValue(cls, held, home=home)  # noqa: E731
    return keyed_structure(("object", cls, location_key(home)), owner.items, make)


@verbs.structure_of.of(Content)
def content_structure(owner: Content) -> Structure:
    return keyed_structure(("content",), owner.items, lambda held: Content(held, owner.first, owner.cls))


@verbs.held_values.of(ObjectValue, Content)
def held_by_object(owner: ObjectValue | Content) -> Sequence[AbstractValue]:
    return list(owner.items.values())


@verbs.frozen.of(ObjectValue)
def frozen_object(owner: ObjectValue) -> AbstractValue:
    if is_of_caller(owner):
        return owner
    return object_with_content(owner, {k: frozen(v) for k, v in owner.items.items()})


@verbs.with_content.of(ObjectValue)
def object_with_content(owner: ObjectValue, held: dict[Any, AbstractValue]) -> AbstractValue:
    return ObjectValue(owner.cls, held, owner.ident, owner.home)


@verbs.result_of.of(ObjectValue)
def object_result(owner: ObjectValue) -> tuple[Spec, list[AbstractValue]]:
    place, cls, items = place_of_caller(owner), owner.cls, owner.items
    if place is not None:
        return place, []
    if cls is Deque:
        return result_tree([items["maxlen"], items["_items"]], lambda specs: TupleSpec(specs, DequeMaker()))
    some = next((name for name, item in items.items() if isinstance(item, MaybeUnbound)), None)
    if some is not None:
        raise Conflict(f"{describe(owner)}, whose attribute '{some}' only some paths set")
    if issubclass(cls, (BaseException, torch.nn.Module)) or is_stand_in(cls):
        raise Conflict(f"{describe(owner)}, which cannot be returned from compiled code")
    return result_tree([*items.values()], lambda specs: TupleSpec(specs, Maker(cls, tuple(items))))


@kept_kinds.of(ObjectValue)
def kept_kinds_of_object(owner: ObjectValue) -> list[Any]:
    if owner.cls is not Deque:
        raise Conflict(describe(owner))
    longest = owner.items["maxlen"]
    if not is_known(longest):
        raise Conflict("a deque whose maxlen is known only at run time")
    return [QueueSpec(content, longest.obj) for content in kept_kinds(owner.items["_items"])]


@verbs.python_class.of(ObjectValue)
def class_of_object(reader: Reader, owner: ObjectValue) -> type:
    return {Deque: collections.deque, Future: torch._C.Future}.get(owner.cls, owner.cls)


@verbs.class_name_of.of(ObjectValue)
def class_name_of_object(reader: Reader, owner: ObjectValue) -> str:
    return owner.cls.__name__


@verbs.attribute.of(ObjectValue)
def read_object_attribute(reader: Reader, owner: ObjectValue, name: str) -> AbstractValue:
    return object_attribute(reader, owner, name)


@verbs.store_attribute.of(ObjectValue)
def store_object_attribute(reader: Reader, owner: ObjectValue, name: str, value: AbstractValue) -> None:
    set_attribute(reader, owner, name, value)


@verbs.item.of(ObjectValue)
def object_item(reader: Reader, owner: ObjectValue, index: AbstractValue) -> AbstractValue:
    found = special(reader, owner, "__getitem__", [index])
    if found is None:
        reader.reject("subscript_of_other", what=describe(owner))
    return found


@verbs.store_item.of(ObjectValue)
def store_object_item(reader: Reader, owner: ObjectValue, index: AbstractValue, value: AbstractValue) -> None:
    special(reader, owner, "__setitem__", [index, value])


@verbs.delete_item.of(ObjectValue)
def delete_object_item(reader: Reader, owner: ObjectValue, index: AbstractValue) -> None:
    delete_by_method(reader, owner, index)


@verbs.truth.of(ObjectValue)
def object_truth(reader: Reader, owner: ObjectValue) -> AbstractValue:
    return truth_of_object(reader, owner)


@verbs.length.of(ObjectValue)
def object_length(reader: Reader, owner: ObjectValue) -> AbstractValue:
    found = special(reader, owner, "__len__", [])
    if found is None:
        reader.emit.raise_error("TypeError", f"object of type '{owner.cls.__name__}' has no len()")
    return found


@verbs.call.of(ObjectValue)
def call_object(
    reader: Reader, func: ObjectValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    return reader.call(reader.attribute(func, "__call__"), args, kwargs)


@verbs.is_run_time.of(ObjectValue)
def is_object_run_time(reader: Reader, owner: ObjectValue) -> bool:
    items = reader.items_of(owner)
    if owner.cls is SequenceIterator:
        return is_run_time(reader, items["sequence"])
    return owner.cls in ENDLESS or hasattr(owner.cls, "__iter__")


@verbs.walk.of(ObjectValue)
def walk_object(reader: Reader, owner: ObjectValue, site: Any) -> Walk:
    cls = owner.cls
    if cls is SequenceIterator and not is_run_time(reader, reader.items_of(owner)["sequence"]):
        return Walk(items=asked_items(reader, owner))
    if cls is Deque:
        return walk_queue(reader, owner, reader.iteration(reader.items_of(owner)["_items"], site))
    if cls in ENDLESS:
        length = reader.call(Known(len), [owner], {})
        return Walk(count=(Known(0), length, Known(1)), item=lambda i: reader.subscript(owner, i))
    return reader.iteration(iterated_object(reader, owner), site)


@verbs.text_parts.of(ObjectValue)
def object_text(reader: Reader, owner: ObjectValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if issubclass(owner.cls, BaseException):
        if quoted:
            reader.reject("repr_of_exception")
        yield from message_parts(reader, owner)
        return
    found = own_text(reader, owner, quoted)
    if found is None:
        reader.reject("text_of_other", what=describe(owner))
    yield found


@verbs.raise_value.of(ObjectValue)
def raise_object(reader: Reader, owner: ObjectValue) -> NoReturn:
    if issubclass(owner.cls, Exception):
        raise_made(reader, owner)
    if issubclass(owner.cls, BaseException):
        reader.reject("raise_of_other", name=owner.cls.__name__)
    reader.emit.raise_error("TypeError", "exceptions must derive from BaseException")


# ---- super() ----


@verbs.class_name_of.of(SuperValue)
def class_name_of_super(reader: Reader, owner: SuperValue) -> str:
    return "super"


@verbs.attribute.of(SuperValue)
def read_super_attribute(reader: Reader, owner: SuperValue, name: str) -> AbstractValue:
    return super_value(reader, owner, name)


# ---- contents of objects and dicts, in the heap ----


@content_items.of(Content)
def items_of_content(reader: Reader, content: Content, av: HeapValue) -> dict[Any, AbstractValue]:
    return content.items


@content_items.of(Moved)
def items_of_moved(reader: Reader, content: Moved, av: HeapValue) -> dict[Any, AbstractValue]:
    reader.speculation.promote(av)
    promote_objects(reader, [content, av])
    reader.reject("same_object_on_a_path", what=describe(av))


# ---- context managers ----


@run_within.of(ObjectValue)
def run_within_object(
    reader: Reader, manager: ObjectValue, node: ast.With, enter: Callable[[AbstractValue], bool]
) -> bool:
    if manager.cls is contextlib.nullcontext:
        return enter(manager.items["enter_result"])
    if manager.cls is contextlib.suppress:
        classes = classes_of(reader, manager.items["classes"])
        return suppressing(reader, node, lambda: enter(Known(None)), lambda e: is_exception(reader, e, classes))
    if is_manager(manager.cls):
        return managed(reader, node, manager, enter)
    reader.reject("with_of_other", what=describe(manager))


@may_be_cause.of(ObjectValue)
def may_object_be_cause(owner: ObjectValue) -> bool:
    return issubclass(owner.cls, BaseException)
