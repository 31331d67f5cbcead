"""The names of Python classes, as error messages of Python give them."""

from __future__ import annotations

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AV,
    Bound,
    Closure,
    ComplexV,
    DictV,
    Dyn,
    GeneratorV,
    Known,
    KnownSet,
    ListV,
    ObjectV,
    OneOf,
    PartialV,
    RangeV,
    ReversedV,
    SuperV,
    Tup,
    ViewV,
    ZipV,
    describe,
    python_of,
)
from scriptc.ir.types import DictType, SetType

_CLASSES: dict[type[AV], str] = {
    GeneratorV: "generator", PartialV: "functools.partial", ReversedV: "list_reverseiterator", SuperV: "super",
}  # fmt: skip


def class_name_of(reader: Reader, av: AV) -> str:
    """The name of the Python class, for messages."""
    match av:
        case Known(obj):
            return type(obj).__name__
        case Dyn():
            if isinstance(av.type, (DictType, SetType)):
                return python_of(av.type).__name__
            return {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}.get(str(av.type), "Tensor")
        case Tup():
            return av.cls.__name__
        case ComplexV():
            return "complex"
        case ListV():
            return "tuple" if av.is_tuple else "list"
        case DictV():
            return av.made.cls.__name__
        case ViewV():
            return f"dict_{av.part}"
        case RangeV():
            return "range"
        case ObjectV():
            return av.cls.__name__
        case Closure() | Bound():
            return "function"
        case ZipV(offset=offset):
            return "zip" if offset is None else "enumerate"
        case KnownSet():
            return "set"
        case OneOf():
            reader.reject("one_of_several_used", what=describe(av))
    return _CLASSES.get(type(av), type(av).__name__)
