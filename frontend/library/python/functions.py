"""Functions as values: functools.partial and wraps, and signatures."""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, Native, PartialValue
from scriptc.frontend.values.verbs import describe


@serves("functools.partial")
def partial(r: Reader, func: AbstractValue, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return PartialValue(func, args, kwargs)


@serves("functools.wraps")
def wraps(r: Reader, wrapped: AbstractValue, *names: AbstractValue, **others: AbstractValue) -> AbstractValue:
    """Return a decorator without effect: compiled code reads no function's name."""
    return Native(lambda function: function)


@serves("inspect.signature")
def signature(r: Reader, callable: AbstractValue) -> AbstractValue:
    match callable:
        case Known(obj):
            return call_in_python(r, inspect.signature, obj)
        case Bound(func=FunctionType() as func):
            return call_in_python(r, inspect.signature, MethodType(func, func))  # any receiver gives the same signature
    r.reject("not_known", what="a function whose signature is asked for", found=describe(callable))
