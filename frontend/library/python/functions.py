"""Functions as values, printing, operators by name."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
from collections import deque
from types import FunctionType, MethodType

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import strings_decomposed as strings
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.formatting import format_field, joined, printed, text_of
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, logical_and
from scriptc.frontend.operations.materialize import apply_op, list_item
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.operator_tables import BINARY, COMPARE
from scriptc.frontend.operations.runtime_dicts import refuse_unhashable, type_of_key
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Known,
    Native,
    ObjectValue,
    PartialValue,
    RuntimeValue,
    TupleValue,
    is_text,
)
from scriptc.frontend.values.element_types import is_hashable
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.user_classes import is_generated
from scriptc.frontend.values.verbs import class_name_of, describe, python_class, text_parts
from scriptc.ir.ops.dicts import has_hash

_JOINED = (list, tuple, str, deque)  # what has a concatenation of its own
_NODES = {"neg": ast.USub(), "pos": ast.UAdd(), "invert": ast.Invert(), "inv": ast.Invert()}


@serves("functools.partial")
def partial(r: Reader, func: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return PartialValue(func, args, kwargs)


@serves("functools.wraps")
def wraps(r: Reader, wrapped: AbstractValue, *names: AbstractValue, **others: AbstractValue) -> AbstractValue:
    """The name and the text that it gives to a function are not asked for in compiled code."""
    return Native(lambda function: function)


@serves("inspect.signature")
def signature(r: Reader, callable: AbstractValue) -> AbstractValue:
    match callable:
        case Known(obj):
            return call_in_python(r, inspect.signature, obj)
        case Bound(func=FunctionType() as func):
            return call_in_python(r, inspect.signature, MethodType(func, func))  # whatever it is bound to
    r.reject("not_known", what="a function whose signature is asked for", found=describe(callable))


@serves("builtins.print")
def print_(
    r: Reader,
    *values: AbstractValue,
    sep: AbstractValue = Known(" "),
    end: AbstractValue = Known("\n"),
    flush: AbstractValue = Known(False),
) -> AbstractValue:
    parts: list[AbstractValue] = []
    for i, value in enumerate(values):
        parts += [sep] if i else []
        parts.append(text_of(r, value))
    printed(r, [*parts, end])
    return Known(None)


@serves("builtins.str")
def str_(r: Reader, value: AbstractValue = Known("")) -> AbstractValue:
    return text_of(r, value)


@serves("builtins.repr")
def repr_(r: Reader, value: AbstractValue) -> AbstractValue:
    return joined(r, [*text_parts(r, value, quoted=True)])


@serves("builtins.ascii")
def ascii_(r: Reader, value: AbstractValue) -> AbstractValue:
    shown = repr_(r, value)
    return Known(ascii(value.obj)) if isinstance(value, Known) else r.call(Known(strings.escaped), [shown], {})


@serves("builtins.format")
def format_(r: Reader, value: AbstractValue, spec: AbstractValue = Known("")) -> AbstractValue:
    return joined(r, [*format_field(r, value, None, spec)])


@serves("builtins.hash")
def hash_(r: Reader, value: AbstractValue) -> AbstractValue:
    if isinstance(value, ObjectValue) and is_generated(value, "__hash__"):
        hashed = [f.name for f in dataclasses.fields(value.cls) if (f.compare if f.hash is None else f.hash)]
        return hash_(r, TupleValue([r.attribute(value, name) for name in hashed]))
    if (own := special(r, value, "__hash__", [])) is not None:
        return own
    refuse_unhashable(r, value)
    if not _is_of_numbers(r, value):
        r.reject("hash_of_other", what=describe(value))
    return RuntimeValue(r.emit.build("hash", [list_item(r, value)]))


def _is_of_numbers(r: Reader, value: AbstractValue) -> bool:
    items = sequence_items(value)
    if items is not None:
        return all(_is_of_numbers(r, item) for item in items)
    if isinstance(value, Known):  # members of enums have a hash of their own
        return type(value.obj) in NUMBERS
    t = type_of_key(r, value)
    return t is not None and is_hashable(t) and has_hash(t)


@serves("builtins.ord")
def ord_(r: Reader, character: AbstractValue) -> AbstractValue:
    if isinstance(character, Known):
        return call_in_python(r, ord, character.obj)
    if not is_text(character):
        r.emit.raise_error("TypeError", f"ord() expected string of length 1, but {class_name_of(r, character)} found")
    return r.call(Known(strings.code_of), [character], {})


@serves("builtins.chr")
def chr_(r: Reader, code: AbstractValue) -> AbstractValue:
    if isinstance(code, Known):
        return call_in_python(r, chr, code.obj)
    code = RuntimeValue(integer(r, code))
    inside = logical_and(r, r.compare("GtE", code, Known(0)), r.compare("Lt", code, Known(0x110000)))
    check_that(r, inside, "ValueError", "chr() arg not in range(0x110000)")
    return apply_op(r, "str.chr", code)


def _in_base(name: str, spec: str) -> None:
    @serves(f"builtins.{name}")
    def handler(r: Reader, number: AbstractValue) -> AbstractValue:
        if isinstance(number, Known):
            return call_in_python(r, getattr(builtins, name), number.obj)
        return RuntimeValue(r.emit.build("format.int", [integer(r, number), r.emit.const(spec)]))


for _name, _spec in (("hex", "#x"), ("oct", "#o"), ("bin", "#b")):
    _in_base(_name, _spec)


def _register_binary(name: str, op: str) -> None:
    """A function of its own for each, so that no argument of a call can take the place of `op`."""
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
    serves("operator.not_")(lambda r, a: r.negate(r.truth(a)))
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
    """As PySequence_Concat does: what is no sequence of Python's own is added where both say that they are sequences."""
    left, right = python_class(r, a), python_class(r, b)
    added = hasattr(left, "__add__") or hasattr(right, "__radd__")
    if issubclass(left, _JOINED) or (
        added and _says_that_it_is_a_sequence(left) and _says_that_it_is_a_sequence(right)
    ):
        return
    r.emit.raise_error("TypeError", f"'{class_name_of(r, a)}' object can't be concatenated")


def _says_that_it_is_a_sequence(cls: type) -> bool:
    """As PySequence_Check does."""
    own = isinstance(getattr(cls, "__getitem__", None), FunctionType)
    return (own and not issubclass(cls, dict)) or issubclass(cls, (*_JOINED, range))


@serves("operator.countOf")
def count_of(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(r.call(Known(list), [a], {}), "count"), [b], {})


@serves("operator.indexOf")
def index_of(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return r.call(r.attribute(r.call(Known(list), [a], {}), "index"), [b], {})


@serves("operator.call")
def call(r: Reader, function: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return r.call(function, args, kwargs)
