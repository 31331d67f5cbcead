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
    AbstractValue,
    Bound,
    Closure,
    ComplexValue,
    DictValue,
    Known,
    ListValue,
    ObjectValue,
    RangeValue,
    RuntimeValue,
    TupleValue,
    is_dict,
    is_set,
    is_tensor,
    python_of,
)
from scriptc.ir.types import BOOL, FLOAT, INT, STR


def python_class(r: Reader, x: AbstractValue) -> type:
    """type(x)."""
    match x:
        case Known(obj):
            watch_object(r, obj)
            return type(obj)
        case TupleValue():
            return x.cls
        case ComplexValue():
            return complex
        case ListValue():
            return tuple if x.is_tuple else list
        case DictValue():
            return x.made.cls
        case RuntimeValue() if is_dict(x) or is_set(x):
            return python_of(x.type)
        case RuntimeValue() if is_tensor(x):
            return torch.Tensor
        case RuntimeValue() if x.type in (INT, FLOAT, BOOL, STR):
            return {"i64": int, "f64": float, "bool": bool, "str": str}[str(x.type)]
        case ObjectValue(cls):
            return {Deque: collections.deque, Future: torch._C.Future}.get(cls, cls)
        case RangeValue():
            return range
        case Closure():
            return FunctionType
        case Bound():
            return MethodType
    r.reject("class_unknown")
