"""The operator module."""

from __future__ import annotations

import ast
from collections import deque
from types import FunctionType

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.logic import negated
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.operations.operator_tables import BINARY, COMPARE
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, Native
from scriptc.frontend.values.verbs import class_name_of, python_class

_JOINED = (list, tuple, str, deque)  # the classes with a concatenation of their own
_NODES = {"neg": ast.USub(), "pos": ast.UAdd(), "invert": ast.Invert(), "inv": ast.Invert()}


def _register_binary(name: str, op: str) -> None:
    """Register handlers that take the operands alone: no argument of a call can replace `op`."""
    serves(f"operator.{name}")(lambda r, a, b: r.binary(op, a, b))
    serves(f"operator.i{name.rstrip('_')}")(lambda r, a, b: r.inplace(op, a, b))


def _register_comparison(name: str, op: str) -> None:
    serves(f"operator.{name}")(lambda r, a, b: r.compare(op, a, b))


def _register_unary(name: str) -> None:
    serves(f"operator.{name}")(lambda r, a: r.unary(_NODES[name], a))


def _register() -> None:
    for op, (function, *_) in BINARY.items():
        _register_binary(function.__name__, op)
    for op, (function, _) in COMPARE.items():
        _register_comparison(function.__name__, op)
    serves("operator.is_")(lambda r, a, b: r.compare("Is", a, b))
    serves("operator.is_not")(lambda r, a, b: r.compare("IsNot", a, b))
    contains = [f"{kind}.__contains__" for kind in ("list", "tuple", "dict", "set", "str", "range")]
    serves("operator.contains", *contains)(lambda r, a, b: r.compare("In", b, a))
    items = [f"{kind}.__getitem__" for kind in ("list", "tuple", "dict", "str", "range")]
    serves("operator.getitem", *items)(lambda r, a, b: r.subscript(a, b))
    serves("operator.truth")(lambda r, a: r.truth(a))
    serves("operator.not_")(lambda r, a: negated(r, r.truth(a)))
    serves("operator.abs")(lambda r, a: r.call(Known(abs), [a], {}))
    for name in ("neg", "pos", "invert", "inv"):
        _register_unary(name)


_register()


@serves("operator.setitem")
def setitem(r: Reader, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> AbstractValue:
    r.store_item(owner, index, value)
    return Known(None)


@serves("operator.delitem")
def delitem(r: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    r.delete_item(owner, index)
    return Known(None)


@serves("operator.concat")
def concat(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    _check_concatenation(r, a, b)
    return r.binary("Add", a, b)


@serves("operator.iconcat")
def iconcat(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    _check_concatenation(r, a, b)
    return r.inplace("Add", a, b)


def _check_concatenation(r: Reader, a: AbstractValue, b: AbstractValue) -> None:
    """Raise TypeError where PySequence_Concat does: other operands must claim to be sequences."""
    left, right = python_class(r, a), python_class(r, b)
    added = hasattr(left, "__add__") or hasattr(right, "__radd__")
    if issubclass(left, _JOINED) or (
        added and _says_that_it_is_a_sequence(left) and _says_that_it_is_a_sequence(right)
    ):
        return
    r.emit.raise_error("TypeError", f"'{class_name_of(r, a)}' object can't be concatenated")


def _says_that_it_is_a_sequence(cls: type) -> bool:
    """Return what PySequence_Check does."""
    own = isinstance(getattr(cls, "__getitem__", None), FunctionType)
    return (own and not issubclass(cls, dict)) or issubclass(cls, (*_JOINED, range))


@serves("operator.countOf")
def count_of(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(r.call(Known(list), [a], {}), "count"), [b], {})


@serves("operator.indexOf")
def index_of(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(r.call(Known(list), [a], {}), "index"), [b], {})


@serves("operator.call")
def call(r: Reader, function: AbstractValue, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return r.call(function, args, kwargs)


@serves("operator.itemgetter")
def itemgetter(r: Reader, *keys: AbstractValue) -> AbstractValue:
    def get(x: AbstractValue) -> AbstractValue:
        found = [r.subscript(x, key) for key in keys]
        return found[0] if len(found) == 1 else make_tuple(found)

    return Native(get)


@serves("operator.attrgetter")
def attrgetter(r: Reader, *names: AbstractValue) -> AbstractValue:
    def get(x: AbstractValue) -> AbstractValue:
        found = []
        for name in names:
            part = x
            for step in require_known(r, name, "the name of attrgetter()").split("."):
                part = r.attribute(part, step)
            found.append(part)
        return found[0] if len(found) == 1 else make_tuple(found)

    return Native(get)
