"""Instances of users' classes that compiled code makes or takes as arguments, their content, and `super()`."""

from __future__ import annotations

import ast
import collections
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, NoReturn

import torch

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import DequeMaker, Maker, MappingMaker, is_stand_in, result_tree
from scriptc.frontend.environment.specs import QueueSpec, Spec, TupleSpec
from scriptc.frontend.environment.watching import watch_class_attribute
from scriptc.frontend.library.python.iterators_decomposed import SequenceIterator, is_ahead
from scriptc.frontend.library.python.itertools_decomposed import ENDLESS
from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.containers import container_of
from scriptc.frontend.operations.formatting import message_parts, own_text
from scriptc.frontend.operations.objects import object_attribute, special, store_attribute, super_value
from scriptc.frontend.operations.operators import truth_of_object
from scriptc.frontend.reader.contents import content_items
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.exceptions import classes_of, may_be_cause, raise_made
from scriptc.frontend.reader.iteration import asked_items, iterated, iterated_object, walk_queue, walk_rest
from scriptc.frontend.reader.managers import is_manager, managed, run_within, suppressing
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import is_exception
from scriptc.frontend.reader.statements import unpacked_items
from scriptc.frontend.reader.subscripts import delete_by_method
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    HeapValue,
    Known,
    MaybeUnbound,
    Moved,
    ObjectValue,
    Structure,
    SuperValue,
)
from scriptc.frontend.values.predicates import has_known_keys, is_known, is_of_caller, place_of_caller
from scriptc.frontend.values.structure import keyed_structure, location_key, shared_key
from scriptc.frontend.values.user_classes import CONTENT, container_base, defines
from scriptc.frontend.values.verbs import describe, frozen, is_run_time
from scriptc.frontend.values.walk import Walk


@verbs.describe.of(ObjectValue)
def object_description(owner: ObjectValue) -> str:
    return f"a {owner.cls.__name__}"


@verbs.structure_of.of(ObjectValue)
def object_structure(owner: ObjectValue) -> Structure:
    cls, home = owner.cls, owner.home
    make = lambda held: ObjectValue(cls, held, home=home)  # noqa: E731
    content = owner.items.get(CONTENT)
    if content is not None and has_known_keys(content):
        return structure_with_dict(owner, content)
    return keyed_structure(("object", cls, location_key(home)), owner.items, make)


def structure_with_dict(owner: ObjectValue, content: DictValue) -> Structure:
    """Return the structure of an object that is a dict as well. An item that an attribute holds too is one part."""
    cls, home, sites, made = owner.cls, owner.home, content.sites, content.made
    names, keys, places, parts = parts_with_dict(owner, content)

    def make(given: list[AbstractValue]) -> AbstractValue:
        held = [given[place] for place in places]
        items = DictValue(dict(zip(keys, held[len(names) :], strict=True)), sites=sites, made=made)
        return ObjectValue(cls, {CONTENT: items, **dict(zip(names, held, strict=False))}, home=home)

    return Structure(("object", cls, location_key(home), made, names, keys, places), parts, make)


def parts_with_dict(
    owner: ObjectValue, content: DictValue
) -> tuple[tuple[str, ...], tuple[Any, ...], tuple[int, ...], list[AbstractValue]]:
    """Return the names of attributes, the keys, the place of each attribute and item among the parts, and the parts."""
    names, keys = tuple(name for name in owner.items if name != CONTENT), tuple(content.items)
    held = [*(owner.items[name] for name in names), *content.items.values()]
    parts = {shared_key(av): av for av in held}
    order = {key: place for place, key in enumerate(parts)}
    return names, keys, tuple(order[shared_key(av)] for av in held), list(parts.values())


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
    content = items.get(CONTENT)
    if content is not None and has_known_keys(content):
        if content.made.factory is not None:
            raise Conflict(f"{describe(owner)}, which cannot be returned from compiled code")
        names, keys, places, parts = parts_with_dict(owner, content)
        return result_tree(parts, lambda specs: TupleSpec(specs, MappingMaker(cls, names, keys, places)))
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
    getter = owner.cls.__getattribute__
    if isinstance(getter, FunctionType):
        watch_class_attribute(reader, owner.cls, "__getattribute__")
        return reader.call(Known(getter), [owner, Known(name)], {})
    return object_attribute(reader, owner, name)


@verbs.store_attribute.of(ObjectValue)
def store_object_attribute(reader: Reader, owner: ObjectValue, name: str, value: AbstractValue) -> None:
    store_attribute(reader, owner, name, value)


@verbs.item.of(ObjectValue)
def object_item(reader: Reader, owner: ObjectValue, index: AbstractValue) -> AbstractValue:
    found = special(reader, owner, "__getitem__", [index])
    if found is not None:
        return found
    held = container_of(reader, owner)
    if held is None:
        reader.reject("subscript_of_other", what=describe(owner))
    if not defines(owner, "__missing__"):
        return reader.subscript(held, index)
    missing = lambda: special(reader, owner, "__missing__", [index]) or Known(None)  # noqa: E731
    return reader.choose(reader.compare("In", index, held), lambda: reader.subscript(held, index), missing)


@verbs.store_item.of(ObjectValue)
def store_object_item(reader: Reader, owner: ObjectValue, index: AbstractValue, value: AbstractValue) -> None:
    held = container_of(reader, owner)
    if special(reader, owner, "__setitem__", [index, value]) is None and held is not None:
        reader.store_item(held, index, value)


@verbs.delete_item.of(ObjectValue)
def delete_object_item(reader: Reader, owner: ObjectValue, index: AbstractValue) -> None:
    held = container_of(reader, owner)
    if held is not None and not defines(owner, "__delitem__"):
        reader.delete_item(held, index)
    else:
        delete_by_method(reader, owner, index)


@verbs.truth.of(ObjectValue)
def object_truth(reader: Reader, owner: ObjectValue) -> AbstractValue:
    held = container_of(reader, owner)
    if held is not None and not defines(owner, "__bool__") and not defines(owner, "__len__"):
        return reader.truth(held)
    return truth_of_object(reader, owner)


@verbs.length.of(ObjectValue)
def object_length(reader: Reader, owner: ObjectValue) -> AbstractValue:
    found = special(reader, owner, "__len__", [])
    if found is None and (held := container_of(reader, owner)) is not None:
        return verbs.length(reader, held)
    if found is None:
        reader.emit.raise_error("TypeError", f"object of type '{owner.cls.__name__}' has no len()")
    return found


@verbs.dict_behind.of(ObjectValue)
def dict_behind_object(reader: Reader, owner: ObjectValue) -> AbstractValue:
    base, held = container_base(owner.cls), container_of(reader, owner)
    read = ("__iter__",) if base is dict else ("__iter__", "__getitem__", "keys")  # what `dict(...)` and `**` call
    return owner if base is list or held is None or any(defines(owner, name) for name in read) else held


@contains.of(ObjectValue)
def object_contains(reader: Reader, owner: ObjectValue, item: AbstractValue) -> AbstractValue:
    held = container_of(reader, owner)
    if held is not None:
        return contains(reader, held, item)
    if owner.cls is SequenceIterator:
        return reader.call(Known(is_ahead), [owner, item], {})
    return contains.default(reader, owner, item)


@unpacked_items.of(ObjectValue)
def unpack_object(reader: Reader, owner: ObjectValue, count: int | None) -> list[AbstractValue]:
    walked = iterated_object(reader, owner) if owner.cls is SequenceIterator else iterated(reader, owner)
    return reader.iterate(owner) if walked is owner else unpacked_items(reader, walked, count)


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
    if (held := container_of(reader, owner)) is not None and not defines(owner, "__iter__"):
        return is_run_time(reader, held)
    return owner.cls in ENDLESS or any(hasattr(owner.cls, name) for name in ("__iter__", "__getitem__"))


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
    if cls is SequenceIterator:
        return walk_rest(reader, owner, site)
    return reader.iteration(iterated(reader, owner), site)


@verbs.text_parts.of(ObjectValue)
def object_text(reader: Reader, owner: ObjectValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if issubclass(owner.cls, BaseException):
        if quoted:
            reader.reject("repr_of_exception")
        yield from message_parts(reader, owner)
        return
    found = own_text(reader, owner, quoted)
    held = container_of(reader, owner)
    if found is None and held is not None and container_base(owner.cls) is not OrderedDict:
        yield from verbs.text_parts(reader, held, quoted=True)
        return
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
