"""The copy module, and dataclasses.replace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.watching import watch_names
from scriptc.frontend.library.python.lists_decomposed import copied_items, copy_values
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.attributes import found_attribute
from scriptc.frontend.operations.materialize import apply_op, new_list
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.operations.runtime_dicts import new_dict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    AttributeDictValue,
    DictValue,
    Kinds,
    Known,
    ListValue,
    MaybeUnbound,
    ObjectValue,
    OneOf,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import split, without
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_object
from scriptc.frontend.values.user_classes import CONTENT, can_be_made, container_base, defines
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import dict_behind, is_run_time
from scriptc.ir.types import BOOL, FLOAT, INT, STR, DictType, SetType, TensorType

_ATOMS = (int, float, complex, bool, str, type(None), torch.dtype, torch.device, torch.Size)


@serves("copy.copy")
def copy_(r: Reader, x: AbstractValue) -> AbstractValue:
    return _copy(r, x)


@Verb
def _copy(r: Reader, x: AbstractValue) -> AbstractValue:
    """Return `copy.copy(x)`."""
    r.reject("copy_of_other")


@_copy.of(ListValue)
def _copy_of_list(r: Reader, x: ListValue) -> AbstractValue:
    return r.subscript(x, Known(slice(None)))


@_copy.of(DictValue, DictType, SetType)
def _copy_by_method(r: Reader, x: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(x, "copy"), [], {})


@_copy.of(AttributeDictValue)
def _copy_of_attributes(r: Reader, x: AttributeDictValue) -> AbstractValue:
    return dict_behind(r, x)


@_copy.of(ObjectValue)
def _copy_of_object(r: Reader, x: ObjectValue) -> AbstractValue:
    if defines(x, "__copy__") or _copies_itself(x):
        return _copy.default(r, x)
    items = {name: _copy(r, item) if name == CONTENT else item for name, item in r.items_of(x).items()}
    return as_record(r, ObjectValue(x.cls, items))


@_copy.of(TupleValue)
def _copy_of_tuple(r: Reader, x: TupleValue) -> AbstractValue:
    return x


@_copy.of(Known)
def _copy_of_known(r: Reader, x: Known) -> AbstractValue:
    if isinstance(x.obj, list):
        return r.call(Known(list), [x], {})
    if isinstance(x.obj, (dict, set)):
        return r.call(r.attribute(x, "copy"), [], {})
    if isinstance(x.obj, (int, float, str, bool, tuple, type(None))):
        return x
    return _copy.default(r, x) if defines(x, "__copy__") else _from_outside(r, x, lambda item: item)


_Memo = dict[Any, AbstractValue | None]  # copies by original; None while the copy is being made


@serves("copy.deepcopy")
def deepcopy(r: Reader, x: AbstractValue) -> AbstractValue:
    return _deep_copy(r, x, {})


@Verb
def _deep_copy(r: Reader, x: AbstractValue, memo: _Memo) -> AbstractValue:
    """Return `copy.deepcopy(x, memo)`. An object in several places has one copy in all of them."""
    key = id(x.obj) if is_known(x) else getattr(x, "ident", None) or getattr(x, "value", None) or x
    if key not in memo:
        memo[key] = None
        memo[key] = _deep_copy_of_object(r, x, memo)
    found = memo[key]
    if found is None:
        r.reject("copy_of_other")
    return found


@_deep_copy.of(OneOf)
def _deep_copy_of_alternatives(r: Reader, x: OneOf, memo: _Memo) -> AbstractValue:
    return split(r, x, lambda one: _deep_copy(r, one, dict(memo)))


@_deep_copy.of(INT, FLOAT, BOOL, STR)
def _deep_copy_of_scalar(r: Reader, x: RuntimeValue, memo: _Memo) -> AbstractValue:
    return x


@_deep_copy.of(Known)
def _deep_copy_of_known(r: Reader, x: Known, memo: _Memo) -> AbstractValue:
    return x if _is_atomic(x.obj) else _deep_copy.default(r, x, memo)


@_deep_copy.of(TupleValue)
def _deep_copy_of_tuple(r: Reader, x: TupleValue, memo: _Memo) -> AbstractValue:
    return TupleValue([_deep_copy(r, item, memo) for item in x.items], x.cls)


@_deep_copy.of(MaybeUnbound)
def _deep_copy_where_bound(r: Reader, x: MaybeUnbound, memo: _Memo) -> AbstractValue:
    there = r.choose(x.flag, lambda: _deep_copy(r, x.av, dict(memo)), lambda: Known(None))
    return MaybeUnbound(x.flag, without(there, Kinds.NONE), x.placed) if has_alternatives(there) else x


def _is_atomic(obj: Any) -> bool:
    """Return whether deepcopy returns the object itself."""
    if type(obj) is tuple:
        return all(map(_is_atomic, obj))
    return type(obj) in _ATOMS or isinstance(obj, (type, FunctionType))


@Verb
def _deep_copy_of_object(r: Reader, x: AbstractValue, memo: _Memo) -> AbstractValue:
    """Return a copy of an object, which `memo` does not hold yet."""
    r.reject("copy_of_other")


@_deep_copy_of_object.of(TensorType)
def _clone(r: Reader, x: RuntimeValue, memo: _Memo) -> AbstractValue:
    return apply_op(r, "clone", x)


@_deep_copy_of_object.of(ListValue)
def _new_list(r: Reader, x: ListValue, memo: _Memo) -> AbstractValue:
    site = (r.position.loc, "deepcopy", len(memo))
    if is_run_time(r, x):
        return r.call(Known(copied_items), [x], {})
    return new_list(r, [_deep_copy(r, item, memo) for item in r.iterate(x)], site)


@_deep_copy_of_object.of(DictType)
def _new_table(r: Reader, x: RuntimeValue, memo: _Memo) -> AbstractValue:
    copied = _copy(r, x)
    r.call(Known(copy_values), [copied], {})
    return copied


@_deep_copy_of_object.of(SetType)
def _new_set(r: Reader, x: RuntimeValue, memo: _Memo) -> AbstractValue:
    return _copy(r, x)


@_deep_copy_of_object.of(AttributeDictValue)
def _new_dict_of_attributes(r: Reader, x: AttributeDictValue, memo: _Memo) -> AbstractValue:
    return _deep_copy(r, dict_behind(r, x), memo)


@_deep_copy_of_object.of(DictValue)
def _new_dict(r: Reader, x: DictValue, memo: _Memo) -> AbstractValue:
    site = (r.position.loc, "deepcopy", len(memo))
    return new_dict(r, [(Known(name), _deep_copy(r, item, memo)) for name, item in r.items_of(x).items()], site, x.made)


@_deep_copy_of_object.of(Known)
def _new_container(r: Reader, x: Known, memo: _Memo) -> AbstractValue:
    if isinstance(x.obj, list):
        site = (r.position.loc, "deepcopy", len(memo))
        return new_list(r, [_deep_copy(r, item, memo) for item in r.iterate(x)], site)
    if isinstance(x.obj, dict):
        return _deep_copy(r, _copy(r, x), memo)
    if isinstance(x.obj, set) and all(map(_is_atomic, x.obj)):
        return _copy(r, x)
    return _from_outside(r, x, lambda item: _deep_copy(r, item, memo))


def _from_outside(r: Reader, x: Known, copied: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """Return an object with the attributes of an object outside."""
    cls = type(x.obj)
    if not can_be_made(cls) or container_base(cls) is not None or not hasattr(x.obj, "__dict__") or _copies_itself(x):
        r.reject("copy_of_other")
    watch_names(r, cls)
    names = list(vars(x.obj))
    r.environment.guard("DICT_KEYS_ARE", vars(x.obj), None, tuple(names))
    return ObjectValue(cls, {name: copied(found_attribute(r, x.obj, name)) for name in names})


def _copies_itself(x: AbstractValue) -> bool:
    """Return whether the class of an object defines how the object is copied."""
    own = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
    return any(defines(x, name) for name in own)


@_deep_copy_of_object.of(ObjectValue)
def _new_object(r: Reader, x: ObjectValue, memo: _Memo) -> AbstractValue:
    if _copies_itself(x):
        return _deep_copy_of_object.default(r, x, memo)
    return as_record(r, ObjectValue(x.cls, {name: _deep_copy(r, item, memo) for name, item in r.items_of(x).items()}))


@serves("dataclasses.replace")
def replace(r: Reader, x: AbstractValue, /, **changes: AbstractValue) -> AbstractValue:
    if not is_object(x):
        r.reject("replace_of_outside")
    if not dataclasses.is_dataclass(x.cls):
        r.emit.raise_error("TypeError", "replace() should be called on dataclass instances")
    given = dict(changes)
    for f in x.cls.__dataclass_fields__.values():
        is_variable = f._field_type is dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]
        if f._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if f.init and f.name not in changes and not (is_variable and f.default is dataclasses.MISSING):
            given[f.name] = r.attribute(x, f.name)
        elif f.init and f.name not in changes:
            r.emit.raise_error("ValueError", f"InitVar {f.name!r} must be specified with replace()")
        elif f.name in changes and not f.init:
            how = "is declared with init=False, it cannot be specified with replace()"
            r.emit.raise_error("ValueError", f"field {f.name} {how}")
    return r.call(Known(x.cls), [], given)
