"""torch.jit.fork and wait."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.decompositions import futures
from scriptc.frontend.decompositions.futures import Future
from scriptc.frontend.environment.python_classes import python_class
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AV,
    DictV,
    Dyn,
    Known,
    ListV,
    ObjectV,
    OneOf,
    Tup,
    describe,
    is_dict,
    is_set,
    is_text,
)
from scriptc.frontend.values.alternatives import split


@serves("torch._C.fork")
def fork(r: Reader, func: AV, *args: AV, **kwargs: AV) -> AV:
    made = ObjectV(Future)
    value = handed_over(r, r.call(func, args, kwargs))
    r.call(r.attribute(made, "__init__"), [value], {})
    return as_record(r, made)


@serves("torch._C.wait")
def wait(r: Reader, future: AV) -> AV:
    return r.call(r.attribute(future, "wait"), [], {})


@serves("scriptc.frontend.decompositions.futures.handed_over")
def handed_over(r: Reader, value: AV) -> AV:
    match value:
        case OneOf():
            return split(r, value, lambda a: handed_over(r, a))
        case Tup(items) if issubclass(value.cls, tuple):
            return Tup([handed_over(r, i) for i in items])
        case ListV(items=items):
            _check_kinds(r, value, items or [])
            return r.call(Known(futures.list_handed_over), [value], {})
        case DictV():
            held = r.items_of(value)
            _check_kinds(r, value, map(Known, held))
            _check_kinds(r, value, held.values())
            return r.call(Known(futures.dict_handed_over), [value], {})
        case Dyn() if is_dict(value):
            return r.call(Known(futures.dict_handed_over), [value], {})
        case Known(obj) if obj is None or is_text(value) or type(obj) in (int, float, bool):
            return value
        case Dyn() if not is_set(value):
            return value
    _refuse(r, value)
    return value


def _check_kinds(r: Reader, container: AV, items: Iterable[AV]) -> None:
    if len({python_class(r, i) for i in items} - {type(None)}) > 1:
        _refuse(r, container)


def _refuse(r: Reader, value: AV) -> None:
    r.emit.raise_error("RuntimeError", f"Tracer cannot infer type of {describe(value)}")
