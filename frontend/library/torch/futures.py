"""torch.jit.fork and wait."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import futures_decomposed as futures
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    Known,
    ListValue,
    ObjectValue,
    OneOf,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import is_dict, is_set, is_text
from scriptc.frontend.values.verbs import describe, python_class


@serves("torch._C.fork")
def fork(r: Reader, func: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    made = ObjectValue(Future)
    value = handed_over(r, r.call(func, args, kwargs))
    r.call(r.attribute(made, "__init__"), [value], {})
    return as_record(r, made)


@serves("torch._C.wait")
def wait(r: Reader, future: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(future, "wait"), [], {})


@serves(futures.handed_over)
def handed_over(r: Reader, value: AbstractValue) -> AbstractValue:
    match value:
        case OneOf():
            return split(r, value, lambda a: handed_over(r, a))
        case TupleValue(items) if issubclass(value.cls, tuple):
            return TupleValue([handed_over(r, i) for i in items])
        case ListValue(items=items):
            _check_kinds(r, value, items or [])
            return r.call(Known(futures.list_handed_over), [value], {})
        case DictValue():
            held = r.items_of(value)
            _check_kinds(r, value, map(Known, held))
            _check_kinds(r, value, held.values())
            return r.call(Known(futures.dict_handed_over), [value], {})
        case RuntimeValue() if is_dict(value):
            return r.call(Known(futures.dict_handed_over), [value], {})
        case Known(obj) if obj is None or is_text(value) or type(obj) in (int, float, bool):
            return value
        case RuntimeValue() if not is_set(value):
            return value
    _refuse(r, value)
    return value


def _check_kinds(r: Reader, container: AbstractValue, items: Iterable[AbstractValue]) -> None:
    if len({python_class(r, i) for i in items} - {type(None)}) > 1:
        _refuse(r, container)


def _refuse(r: Reader, value: AbstractValue) -> None:
    r.emit.raise_error("RuntimeError", f"Tracer cannot infer type of {describe(value)}")
