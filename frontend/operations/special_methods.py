"""Operators by the special methods of users' classes."""

from __future__ import annotations

from scriptc.frontend.operations.logic import bad_operands
from scriptc.frontend.operations.objects import special
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.user_classes import class_of

METHODS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor", "LShift": "lshift", "RShift": "rshift",
    "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "USub": "neg", "UAdd": "pos",
    "Invert": "invert",
}  # fmt: skip
REFLECTED = {"Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}  # for a < b, Python also asks b whether b > a


def special_operator(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    name = METHODS[op]
    ways = [(a, f"__{name}__", b)]
    if not same_class(a, b):
        ways.insert(0 if derives(b, a) else 1, (b, f"__r{name}__", a))
    for owner, method, other in ways:
        if (found := answer(reader, owner, method, other)) is not None:
            return found
    bad_operands(reader, op, a, b)


def answer(reader: Reader, owner: AbstractValue, method: str, other: AbstractValue) -> AbstractValue | None:
    """Return the result of a special method; None if the class lacks it or the method returns NotImplemented."""
    found = special(reader, owner, method, [other])
    return None if is_known(found) and found.obj is NotImplemented else found


def same_class(a: AbstractValue, b: AbstractValue) -> bool:
    return class_of(a) is class_of(b) is not None


def derives(a: AbstractValue, b: AbstractValue) -> bool:
    """Return whether the class of `a` derives from the class of `b`, so that Python calls the method of `a` first."""
    below, above = class_of(a), class_of(b)
    return below is not None and above is not None and below is not above and issubclass(below, above)
