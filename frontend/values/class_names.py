"""The names of Python classes, as error messages of Python give them."""

from __future__ import annotations

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Closure,
    ComplexValue,
    DictValue,
    GeneratorValue,
    Known,
    KnownSet,
    ListValue,
    ObjectValue,
    OneOf,
    PartialValue,
    RangeValue,
    ReversedValue,
    RuntimeValue,
    SuperValue,
    TupleValue,
    ViewValue,
    ZipValue,
    describe,
    python_of,
)
from scriptc.ir.types import DictType, SetType

_CLASSES: dict[type[AbstractValue], str] = {
    GeneratorValue: "generator", PartialValue: "functools.partial", ReversedValue: "list_reverseiterator", SuperValue: "super",
}  # fmt: skip


def class_name_of(reader: Reader, av: AbstractValue) -> str:
    """The name of the Python class, for messages."""
    match av:
        case Known(obj):
            return type(obj).__name__
        case RuntimeValue():
            if isinstance(av.type, (DictType, SetType)):
                return python_of(av.type).__name__
            return {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}.get(str(av.type), "Tensor")
        case TupleValue():
            return av.cls.__name__
        case ComplexValue():
            return "complex"
        case ListValue():
            return "tuple" if av.is_tuple else "list"
        case DictValue():
            return av.made.cls.__name__
        case ViewValue():
            return f"dict_{av.part}"
        case RangeValue():
            return "range"
        case ObjectValue():
            return av.cls.__name__
        case Closure() | Bound():
            return "function"
        case ZipValue(offset=offset):
            return "zip" if offset is None else "enumerate"
        case KnownSet():
            return "set"
        case OneOf():
            reader.reject("one_of_several_used", what=describe(av))
    return _CLASSES.get(type(av), type(av).__name__)
