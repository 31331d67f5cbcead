"""Copies: copy.copy, copy.deepcopy, dataclasses.replace."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.library.python.lists_decomposed import copied_items, copy_values
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import apply_op, new_list
from scriptc.frontend.operations.objects import refuse_attributes_of_some
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.operations.runtime_dicts import new_dict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
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
from scriptc.frontend.values.predicates import is_dict, is_set, is_tensor
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import is_run_time
from scriptc.ir.types import BOOL, FLOAT, INT, STR

_SCALARS = (INT, FLOAT, BOOL, STR)
_ATOMS = (int, float, complex, bool, str, type(None), torch.dtype, torch.device, torch.Size)


@serves("copy.copy")
def copy_(r: Reader, x: AbstractValue) -> AbstractValue:
    match x:
        case ListValue():
            return r.subscript(x, Known(slice(None)))
        case Known(list()):
            return r.call(Known(list), [x], {})
        case DictValue() | Known(dict()):
            return r.call(r.attribute(x, "copy"), [], {})
        case ObjectValue():
            return as_record(r, ObjectValue(x.cls, dict(r.items_of(x))))
        case TupleValue():
            return x
        case RuntimeValue() if is_dict(x) or is_set(x):
            return r.call(r.attribute(x, "copy"), [], {})
        case Known(obj) if isinstance(obj, (int, float, str, bool, tuple, type(None))):
            return x
    r.reject("copy_of_other")


@serves("copy.deepcopy")
def deepcopy(r: Reader, x: AbstractValue) -> AbstractValue:
    return _copied(r, x, {})


def _copied(r: Reader, x: AbstractValue, memo: dict[Any, AbstractValue | None]) -> AbstractValue:
    """memo: the copies of what was met, each of which is made once; None of what is being copied."""
    match x:
        case OneOf():
            return split(r, x, lambda one: _copied(r, one, dict(memo)))
        case Known(obj) if _is_atomic(obj):
            return x
        case RuntimeValue() if x.type in _SCALARS:
            return x
        case TupleValue(items, cls):
            return TupleValue([_copied(r, item, memo) for item in items], cls)
        case MaybeUnbound(flag, held):
            there = r.choose(flag, lambda: _copied(r, held, dict(memo)), lambda: Known(None))
            return MaybeUnbound(flag, without(there, Kinds.NONE)) if isinstance(there, OneOf) else x
    key = id(x.obj) if isinstance(x, Known) else getattr(x, "ident", None) or getattr(x, "value", None) or x
    if key not in memo:
        memo[key] = None
        memo[key] = _copy_of(r, x, memo)
    found = memo[key]
    if found is None:
        r.reject("copy_of_other")
    return found


def _is_atomic(obj: Any) -> bool:
    """Whether deepcopy gives the object itself."""
    if type(obj) is tuple:
        return all(map(_is_atomic, obj))
    return type(obj) in _ATOMS or isinstance(obj, (type, FunctionType))


def _copy_of(r: Reader, x: AbstractValue, memo: dict[Any, AbstractValue | None]) -> AbstractValue:
    site = (r.position.loc, "deepcopy", len(memo))
    match x:
        case RuntimeValue() if is_tensor(x):
            return apply_op(r, "clone", x)
        case ListValue() if is_run_time(r, x):
            return r.call(Known(copied_items), [x], {})
        case ListValue() | Known(list()):
            return new_list(r, [_copied(r, item, memo) for item in r.iterate(x)], site)
        case RuntimeValue() if is_dict(x):
            copied = copy_(r, x)
            r.call(Known(copy_values), [copied], {})
            return copied
        case RuntimeValue() if is_set(x):
            return copy_(r, x)
        case DictValue():
            items = [(Known(name), _copied(r, item, memo)) for name, item in r.items_of(x).items()]
            return new_dict(r, items, site, x.made)
        case Known(dict()):
            return _copied(r, copy_(r, x), memo)
        case ObjectValue() if not defines(x, "__deepcopy__"):
            return as_record(
                r, ObjectValue(x.cls, {name: _copied(r, item, memo) for name, item in r.items_of(x).items()})
            )
    r.reject("copy_of_other")


@serves("dataclasses.replace")
def replace(r: Reader, x: AbstractValue, **changes: AbstractValue) -> AbstractValue:
    if not isinstance(x, ObjectValue):
        r.reject("replace_of_outside")
    refuse_attributes_of_some(r, x)
    return r.call(Known(x.cls), [], {**r.items_of(x), **changes})
