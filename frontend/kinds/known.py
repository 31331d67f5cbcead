"""Python objects that are known at compile time."""

from __future__ import annotations

import ast
import functools
import operator
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NoReturn

import torch

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.host_items import known_items, known_keywords, outside_subscript
from scriptc.frontend.environment.host_objects import dtype_name, is_library
from scriptc.frontend.environment.lookup import guard_children, module_attribute
from scriptc.frontend.environment.results import SetMaker
from scriptc.frontend.environment.specs import ConstantSpec, Spec, TupleSpec
from scriptc.frontend.environment.state import change_outside, item_slot, set_slot, store_outside
from scriptc.frontend.environment.watching import call_in_python, grad_mode, watch_object
from scriptc.frontend.operations.attributes import class_itself, known_attribute
from scriptc.frontend.operations.autocast import within as within_autocast
from scriptc.frontend.operations.comparison import contains, is_among
from scriptc.frontend.operations.construction import construct
from scriptc.frontend.operations.formatting import own_text
from scriptc.frontend.operations.materialize import materialize_complex
from scriptc.frontend.operations.named_tuples import is_tuple_method, named_tuple_of
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.operator_tables import UNARY
from scriptc.frontend.operations.operators import truth_of_object
from scriptc.frontend.operations.strings import text_contains, text_item
from scriptc.frontend.reader.calls import call_known
from scriptc.frontend.reader.constant_demand import is_known_throughout, require_known
from scriptc.frontend.reader.emit import GradModeSet
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.exceptions import may_be_cause
from scriptc.frontend.reader.iteration import iterated_object
from scriptc.frontend.reader.managers import is_manager, managed, run_within
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import own_init
from scriptc.frontend.reader.subscripts import delete_by_method
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, KnownSet, Native, Structure, TupleValue
from scriptc.frontend.values.predicates import is_function, is_known, is_text
from scriptc.frontend.values.structure import complex_structure, tuple_structure
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import class_name_of, describe, is_walked, joined_type, raise_value, structure_of
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import COMPLEX, NONE, STR, Type


@verbs.describe.of(Known)
def known_description(owner: Known) -> str:
    obj = owner.obj
    return f"{obj!r}" if isinstance(obj, (int, float, str, type(None))) else f"{type(obj).__name__}"


@verbs.structure_of.of(Known)
def known_structure(owner: Known) -> Structure | None:
    """Return the structure of a tuple or complex number that is known as a whole."""
    obj = owner.obj
    if isinstance(obj, tuple):
        return tuple_structure(type(obj), [Known(i) for i in obj])
    return complex_structure(Known(obj.real), Known(obj.imag)) if isinstance(obj, complex) else None


@verbs.kind_of.of(Known)
def known_kind(owner: Known) -> Hashable:
    obj, structure = owner.obj, structure_of(owner)
    if structure is not None:
        return structure.key
    if type(obj) in NUMBERS:
        return str(NUMBERS[type(obj)])
    return ("known", type(obj), obj if isinstance(obj, (str, torch.device)) or obj is None else id(obj))


@verbs.type_of.of(Known)
def known_type(owner: Known) -> Type | None:
    if isinstance(owner.obj, complex):
        return COMPLEX
    return next((t for c, t in NUMBERS.items() if isinstance(owner.obj, c)), None)


@verbs.joined_type.of(Known)
def type_at_join(owner: Known) -> Type:
    obj = owner.obj
    if type(obj) in NUMBERS:
        return NUMBERS[type(obj)]
    if isinstance(obj, str):
        return STR
    if obj is None:
        return NONE
    if type(obj) is tuple:
        return joined_type(TupleValue([Known(x) for x in obj]))
    raise Conflict(describe(owner))


@verbs.held_values.of(Known)
def held_by_known(owner: Known) -> Sequence[AbstractValue]:
    return ()


@verbs.result_of.of(Known)
def known_result(owner: Known) -> tuple[Spec, list[AbstractValue]]:
    return ConstantSpec(owner.obj), []


@verbs.result_of.of(KnownSet)
def known_set_result(owner: KnownSet) -> tuple[Spec, list[AbstractValue]]:
    return TupleSpec((), SetMaker(tuple(owner.obj))), []


@verbs.is_walked.of(Known)
def is_known_walked(owner: Known) -> bool:
    return not isinstance(owner.obj, (int, float, type(None))) or hasattr(owner.obj, "__iter__")


@verbs.is_run_time.of(Known)
def is_known_run_time(reader: Reader, owner: Known) -> bool:
    return defines(owner, "__iter__")


@verbs.materialize.of(Known)
def materialize_known(reader: Reader, owner: Known) -> Value:
    obj = owner.obj
    if type(obj) in NUMBERS or obj is None:
        return reader.emit.const(obj)
    if isinstance(obj, str):
        return reader.emit.const(str.__str__(obj))  # the value of a member of a string enum
    if isinstance(obj, int):  # IntEnum and other subclasses
        return reader.emit.const(int(obj))
    if isinstance(obj, complex):
        return materialize_complex(reader, owner)
    if is_function(owner):
        reader.reject("function_as_value", who="this", what=describe(owner))
    reader.reject("no_run_time_value", who="this", what=describe(owner))


@verbs.materialize.of(KnownSet)
def materialize_known_set(reader: Reader, owner: KnownSet) -> Value:
    reader.speculation.promote(owner)
    reader.reject("no_run_time_value", who="this", what=describe(owner))


@verbs.python_class.of(Known)
def class_of_known(reader: Reader, owner: Known) -> type:
    watch_object(reader, owner.obj)
    return type(owner.obj)


@verbs.class_name_of.of(Known)
def class_name_of_known(reader: Reader, owner: Known) -> str:
    return type(owner.obj).__name__


@verbs.attribute.of(Known)
def read_known_attribute(reader: Reader, owner: Known, name: str) -> AbstractValue:
    obj = owner.obj
    if isinstance(obj, torch.nn.Module):
        return module_attribute(reader, obj, name)
    if isinstance(obj, type) and name == "_make" and hasattr(obj, "_fields"):
        return Native(lambda items: named_tuple_of(reader, obj, reader.iterate(items)))
    if is_tuple_method(obj, name):
        return reader.attribute(TupleValue(reader.iterate(owner), type(obj)), name)
    return known_attribute(reader, obj, name)


@verbs.attribute.of(KnownSet)
def read_set_attribute(reader: Reader, owner: KnownSet, name: str) -> AbstractValue:
    return class_itself(reader, owner) if name == "__class__" else Bound(owner, name)


@verbs.store_attribute.of(Known)
def store_known_attribute(reader: Reader, owner: Known, name: str, value: AbstractValue) -> None:
    store_outside(reader, owner.obj, name, value)


@verbs.item.of(Known)
def known_item(reader: Reader, owner: Known, index: AbstractValue) -> AbstractValue:
    if is_text(owner) and not is_known_throughout(index):
        return text_item(reader, owner, index)
    found = special(reader, owner, "__getitem__", [index])
    return outside_subscript(reader, owner, index) if found is None else found


@verbs.store_item.of(Known)
def store_known_item(reader: Reader, owner: Known, index: AbstractValue, value: AbstractValue) -> None:
    if defines(owner, "__setitem__"):
        special(reader, owner, "__setitem__", [index, value])
    elif (slot := item_slot(reader, owner.obj, index)) is not None:
        set_slot(reader, slot, value)
    elif isinstance(owner.obj, (list, dict)):
        change_outside(reader, owner.obj)
    else:
        reader.reject("item_assigned", what=describe(owner))


@verbs.delete_item.of(Known)
def delete_known_item(reader: Reader, owner: Known, index: AbstractValue) -> None:
    if isinstance(owner.obj, (list, dict)):
        change_outside(reader, owner.obj)
    else:
        delete_by_method(reader, owner, index)


@verbs.truth.of(Known)
def known_truth(reader: Reader, owner: Known) -> AbstractValue:
    if defines(owner, "__bool__") or defines(owner, "__len__"):
        return truth_of_object(reader, owner)
    return call_in_python(reader, bool, owner.obj)


@verbs.length.of(Known)
def known_length(reader: Reader, owner: Known) -> AbstractValue:
    found = special(reader, owner, "__len__", [])
    if found is not None:
        return found
    if isinstance(owner.obj, torch.nn.Module):
        guard_children(reader, owner.obj)
    elif isinstance(owner.obj, list):
        reader.environment.guard("LIST_ITEMS_ARE", owner.obj, None, tuple(owner.obj))
        return Known(len(owner.obj))
    return call_in_python(reader, len, owner.obj)


@verbs.unary.of(Known)
def known_unary(reader: Reader, owner: Known, name: str) -> AbstractValue:
    return call_in_python(reader, UNARY[name], owner.obj)


@contains.of(Known)
def known_contains(reader: Reader, owner: Known, item: AbstractValue) -> AbstractValue:
    if is_known(item) and not defines(owner, "__iter__"):
        return call_in_python(reader, operator.contains, owner.obj, item.obj)
    return text_contains(reader, item, owner) if is_text(owner) else is_among(reader, item, reader.iterate(owner))


@verbs.call.of(Known)
def call_known_object(
    reader: Reader, func: Known, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if not isinstance(func.obj, functools.partial):
        return call_known(reader, func.obj, args, kwargs)
    inner, first = reader.attribute(func, "func"), reader.iterate(reader.attribute(func, "args"))
    return reader.call(inner, [*first, *args], {**known_keywords(reader, func.obj.keywords), **kwargs})


@verbs.walk.of(Known)
def walk_known(reader: Reader, owner: Known, site: Any) -> Walk:
    if defines(owner, "__iter__"):
        return reader.iteration(iterated_object(reader, owner), site)
    if is_walked(owner):
        return Walk(items=known_items(reader, owner))
    reader.emit.raise_error("TypeError", f"'{class_name_of(reader, owner)}' object is not iterable")


@verbs.text_parts.of(Known)
def known_text(reader: Reader, owner: Known, *, quoted: bool = False) -> Iterator[AbstractValue]:
    found = own_text(reader, owner, quoted)
    yield call_in_python(reader, repr if quoted else str, owner.obj) if found is None else found


@verbs.raise_value.of(Known)
def raise_known(reader: Reader, owner: Known) -> NoReturn:
    obj = owner.obj
    if isinstance(obj, type) and issubclass(obj, BaseException):
        raise_value(reader, construct(reader, obj, [], {}))
    if not isinstance(obj, BaseException):
        reader.emit.raise_error("TypeError", "exceptions must derive from BaseException")
    if own_init(type(obj)) is not None:
        reader.reject("raised_from_outside", name=type(obj).__name__)
    raise_value(reader, construct(reader, type(obj), [Known(a) for a in obj.args], {}))


@kept_kinds.of(Known)
def kept_kinds_of_known(owner: Known) -> list[Any]:
    if not isinstance(owner.obj, (bool, int, float, str, type(None), tuple)):
        raise Conflict(describe(owner))
    return kept_kinds.default(owner)


@verbs.leaf_kinds.of(Known)
def kind_of_known(owner: Known) -> Iterator[Hashable]:
    by_value = type(owner.obj) in NUMBERS or isinstance(owner.obj, str)
    yield "known", type(owner.obj), owner.obj if by_value else id(owner.obj)


_LOCKS = (type(threading.Lock()), type(threading.RLock()))


@run_within.of(Known)
def run_within_known(reader: Reader, manager: Known, node: ast.With, enter: Callable[[AbstractValue], bool]) -> bool:
    obj, function = manager.obj, reader.position.frame.func
    if isinstance(obj, (torch.no_grad, torch.inference_mode, torch.enable_grad)):
        enabled = isinstance(obj, torch.enable_grad)
        in_library = function is not None and is_library(function.__module__)
        if enabled and not in_library and not grad_mode(reader):
            reader.reject("gradients_on")
        with reader.emit.grad_mode(enabled):
            return enter(Known(None))
    if isinstance(obj, (GradModeSet, torch.set_grad_enabled)):
        before = obj.before if isinstance(obj, GradModeSet) else not reader.emit.builder.no_grad
        try:
            reader.emit.set_grad_mode(obj.enabled if isinstance(obj, GradModeSet) else obj.mode)
            return enter(Known(None))
        finally:
            reader.emit.set_grad_mode(before)
    if isinstance(obj, torch.autocast):
        if obj.device != "cpu":  # other devices have no tensors here
            return enter(manager)
        with within_autocast(reader, dtype_name(obj.fast_dtype) if obj._enabled else None):
            return enter(manager)
    if isinstance(obj, _LOCKS):  # what it protects outside is read before the call, and written after it
        return enter(Known(True))
    if is_manager(type(obj)) and not is_library(type(obj).__module__):
        return managed(reader, node, manager, enter)
    reader.reject("with_of_other", what=describe(manager))


@may_be_cause.of(Known)
def may_known_be_cause(owner: Known) -> bool:
    obj = owner.obj
    return issubclass(obj, BaseException) if isinstance(obj, type) else obj is None or isinstance(obj, BaseException)


@require_known.of(Known)
def object_of_known(reader: Reader, owner: Known, what: str) -> Any:
    return owner.obj
