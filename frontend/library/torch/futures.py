"""The functions torch.jit.fork and wait."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

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
from scriptc.frontend.values.predicates import is_text
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import describe, python_class
from scriptc.ir.types import DictType, SetType


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
    return _handed_over(r, value)


@Verb
def _handed_over(r: Reader, value: AbstractValue) -> AbstractValue:
    """Return a copy of a value as a future hands it over. Objects and sets are refused."""
    _refuse(r, value)


@_handed_over.of(OneOf)
def _alternatives_handed_over(r: Reader, value: OneOf) -> AbstractValue:
    return split(r, value, lambda a: _handed_over(r, a))


@_handed_over.of(TupleValue)
def _tuple_handed_over(r: Reader, value: TupleValue) -> AbstractValue:
    if not issubclass(value.cls, tuple):
        _refuse(r, value)
    return TupleValue([_handed_over(r, i) for i in value.items])


@_handed_over.of(ListValue)
def _list_handed_over(r: Reader, value: ListValue) -> AbstractValue:
    _check_kinds(r, value, value.items or [])
    return r.call(Known(futures.list_handed_over), [value], {})


@_handed_over.of(DictValue)
def _dict_handed_over(r: Reader, value: DictValue) -> AbstractValue:
    held = r.items_of(value)
    _check_kinds(r, value, map(Known, held))
    _check_kinds(r, value, held.values())
    return r.call(Known(futures.dict_handed_over), [value], {})


@_handed_over.of(DictType)
def _table_handed_over(r: Reader, value: RuntimeValue) -> AbstractValue:
    return r.call(Known(futures.dict_handed_over), [value], {})


@_handed_over.of(Known)
def _known_handed_over(r: Reader, value: Known) -> AbstractValue:
    if value.obj is not None and not is_text(value) and type(value.obj) not in (int, float, bool):
        _refuse(r, value)
    return value


@_handed_over.of(RuntimeValue)
def _value_handed_over(r: Reader, value: RuntimeValue) -> AbstractValue:
    return value


@_handed_over.of(SetType)
def _set_handed_over(r: Reader, value: RuntimeValue) -> AbstractValue:
    _refuse(r, value)


def _check_kinds(r: Reader, container: AbstractValue, items: Iterable[AbstractValue]) -> None:
    if len({python_class(r, i) for i in items} - {type(None)}) > 1:
        _refuse(r, container)


def _refuse(r: Reader, value: AbstractValue) -> NoReturn:
    r.emit.raise_error("RuntimeError", f"Tracer cannot infer type of {describe(value)}")
