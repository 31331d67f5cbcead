"""The Python class of a value."""

from __future__ import annotations

import collections
from types import FunctionType, MethodType

import torch

from scriptc.frontend.decompositions.futures import Future
from scriptc.frontend.decompositions.queues import Deque
from scriptc.frontend.environment.watching import watch_object
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AV,
    Bound,
    Closure,
    ComplexV,
    DictV,
    Dyn,
    Known,
    ListV,
    ObjectV,
    RangeV,
    Tup,
    is_dict,
    is_set,
    is_tensor,
    python_of,
)
from scriptc.ir.types import BOOL, FLOAT, INT, STR


def python_class(r: Reader, x: AV) -> type:
    """type(x)."""
    match x:
        case Known(obj):
            watch_object(r, obj)
            return type(obj)
        case Tup():
            return x.cls
        case ComplexV():
            return complex
        case ListV():
            return tuple if x.is_tuple else list
        case DictV():
            return x.made.cls
        case Dyn() if is_dict(x) or is_set(x):
            return python_of(x.type)
        case Dyn() if is_tensor(x):
            return torch.Tensor
        case Dyn() if x.type in (INT, FLOAT, BOOL, STR):
            return {"i64": int, "f64": float, "bool": bool, "str": str}[str(x.type)]
        case ObjectV(cls):
            return {Deque: collections.deque, Future: torch._C.Future}.get(cls, cls)
        case RangeV():
            return range
        case Closure():
            return FunctionType
        case Bound():
            return MethodType
    r.reject("class_unknown")
