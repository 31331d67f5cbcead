"""Copies: copy.copy, copy.deepcopy, dataclasses.replace."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.decompositions.lists import copied_items, copy_values
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import apply_op, new_list
from scriptc.frontend.operations.objects import refuse_attributes_of_some
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.operations.runtime_dicts import new_dict
from scriptc.frontend.reader.iterables import is_run_time
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AV,
    DictV,
    Dyn,
    Kinds,
    Known,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    Tup,
    is_dict,
    is_set,
    is_tensor,
)
from scriptc.frontend.values.alternatives import split, without
from scriptc.frontend.values.user_classes import defines
from scriptc.ir.types import BOOL, FLOAT, INT, STR

_SCALARS = (INT, FLOAT, BOOL, STR)
_ATOMS = (int, float, complex, bool, str, type(None), torch.dtype, torch.device, torch.Size)


@serves("copy.copy")
def copy_(r: Reader, x: AV) -> AV:
    match x:
        case ListV():
            return r.subscript(x, Known(slice(None)))
        case Known(list()):
            return r.call(Known(list), [x], {})
        case DictV() | Known(dict()):
            return r.call(r.attribute(x, "copy"), [], {})
        case ObjectV():
            return as_record(r, ObjectV(x.cls, dict(r.items_of(x))))
        case Tup():
            return x
        case Dyn() if is_dict(x) or is_set(x):
            return r.call(r.attribute(x, "copy"), [], {})
        case Known(obj) if isinstance(obj, (int, float, str, bool, tuple, type(None))):
            return x
    r.reject("copy_of_other")


@serves("copy.deepcopy")
def deepcopy(r: Reader, x: AV) -> AV:
    return _copied(r, x, {})


def _copied(r: Reader, x: AV, memo: dict[Any, AV | None]) -> AV:
    """memo: the copies of what was met, each of which is made once; None of what is being copied."""
    match x:
        case OneOf():
            return split(r, x, lambda one: _copied(r, one, dict(memo)))
        case Known(obj) if _is_atomic(obj):
            return x
        case Dyn() if x.type in _SCALARS:
            return x
        case Tup(items, cls):
            return Tup([_copied(r, item, memo) for item in items], cls)
        case Maybe(flag, held):
            there = r.choose(flag, lambda: _copied(r, held, dict(memo)), lambda: Known(None))
            return Maybe(flag, without(there, Kinds.NONE)) if isinstance(there, OneOf) else x
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


def _copy_of(r: Reader, x: AV, memo: dict[Any, AV | None]) -> AV:
    site = (r.position.loc, "deepcopy", len(memo))
    match x:
        case Dyn() if is_tensor(x):
            return apply_op(r, "clone", x)
        case ListV() if is_run_time(r, x):
            return r.call(Known(copied_items), [x], {})
        case ListV() | Known(list()):
            return new_list(r, [_copied(r, item, memo) for item in r.iterate(x)], site)
        case Dyn() if is_dict(x):
            copied = copy_(r, x)
            r.call(Known(copy_values), [copied], {})
            return copied
        case Dyn() if is_set(x):
            return copy_(r, x)
        case DictV():
            items = [(Known(name), _copied(r, item, memo)) for name, item in r.items_of(x).items()]
            return new_dict(r, items, site, x.made)
        case Known(dict()):
            return _copied(r, copy_(r, x), memo)
        case ObjectV() if not defines(x, "__deepcopy__"):
            return as_record(r, ObjectV(x.cls, {name: _copied(r, item, memo) for name, item in r.items_of(x).items()}))
    r.reject("copy_of_other")


@serves("dataclasses.replace")
def replace(r: Reader, x: AV, **changes: AV) -> AV:
    if not isinstance(x, ObjectV):
        r.reject("replace_of_outside")
    refuse_attributes_of_some(r, x)
    return r.call(Known(x.cls), [], {**r.items_of(x), **changes})
