"""Texts of values: f-strings, formats, messages and prints."""

from __future__ import annotations

import ast
import collections
import dataclasses
import itertools
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from string import Formatter
from types import FunctionType
from typing import Any, NoReturn

import torch

from scriptc.frontend.environment.lookup import outside_value
from scriptc.frontend.environment.state import is_parameter
from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.objects import special
from scriptc.frontend.reader.dispatch import reads
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue, RuntimeValue, TupleValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    has_method,
    has_one_class,
    is_known,
    is_made_tuple,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.user_classes import class_of, defines, is_generated
from scriptc.frontend.values.verbs import class_name_of, describe, materialize, python_class, text_parts, type_of
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, STR, Type

_CODES: dict[Type | None, str] = {INT: "%i", FLOAT: "%r", BOOL: "%b", STR: "%s", EXC: "%m"}
_FORMATS: dict[Type | None, str] = {INT: "format.int", FLOAT: "format.float", STR: "format.str"}
_PERCENT = re.compile(r"%(?:\((\w*)\))?([-+ #0]*)(\d*)(?:\.(\d*))?[hlL]?([a-zA-Z%])")
_CONVERSIONS = "diuxXocfFeEgGsra"
_OPTIONS = vars(torch._tensor_str.PRINT_OPTS)
_PRINTED = ("sci_mode", "precision", "threshold", "edgeitems", "linewidth")


@reads(ast.JoinedStr)
def read_joined_str(reader: Reader, node: ast.JoinedStr) -> AbstractValue:
    return joined(reader, [p for v in node.values for p in format_piece(reader, v)])


def joined(reader: Reader, parts: Sequence[AbstractValue]) -> AbstractValue:
    """Return the concatenation of strings and numbers, which is known if all are known."""
    if all(is_known(p) for p in parts):
        return Known("".join(str(p.obj) for p in parts if is_known(p)))
    format, values = "", []
    for part in parts:
        if is_known(part):
            format += str(part.obj).replace("%", "%%")
        else:
            values.append(materialize(reader, part))
            format += _CODES[values[-1].type]
    return RuntimeValue(values[0] if format == "%s" else reader.emit.build("text", values, format=format))


def format_piece(reader: Reader, node: ast.expr) -> Iterator[AbstractValue]:
    if isinstance(node, ast.Constant):
        yield Known(str(node.value))
        return
    assert isinstance(node, ast.FormattedValue)
    value = reader.evaluate(node.value)
    spec = reader.evaluate(node.format_spec) if node.format_spec is not None else Known("")
    yield from format_field(reader, value, {-1: None, 115: "s", 114: "r", 97: "a"}[node.conversion], spec)


def format_field(
    reader: Reader, value: AbstractValue, conversion: str | None, spec: AbstractValue
) -> Iterator[AbstractValue]:
    """Return the text of a replacement field of an f-string or of str.format."""
    if conversion == "a":
        value = reader.call(Known(ascii), [value], {})
    elif conversion is not None:
        value = (
            text_of(reader, value) if conversion == "s" else joined(reader, [*text_parts(reader, value, quoted=True)])
        )
    if is_known(value) and is_known(spec) and not has_own_text(value):
        yield call_in_python(reader, format, value.obj, spec.obj)
    elif is_tensor(value) and not tensor_type(value).rank:
        yield from format_field(reader, reader.call(reader.attribute(value, "item"), [], {}), None, spec)
    elif is_known(spec) and not spec.obj:
        yield from text_parts(reader, value)
    else:
        yield formatted(reader, value, spec)


def formatted(reader: Reader, value: AbstractValue, spec: AbstractValue) -> AbstractValue:
    """Return `format(value, spec)`."""
    if has_alternatives(value) and not is_text(value):
        return split(reader, value, lambda v: formatted(reader, v, spec))
    if (found := special(reader, value, "__format__", [spec])) is not None:
        return found
    value_type = STR if is_text(value) else type_of(value)
    if value_type == BOOL and not is_known(spec):
        as_int = lambda: formatted(reader, RuntimeValue(integer(reader, value)), spec)  # noqa: E731
        return reader.choose(reader.truth(spec), as_int, lambda: text_of(reader, value))
    if value_type == BOOL:
        value, value_type = RuntimeValue(integer(reader, value)), INT
    name = _FORMATS.get(value_type)
    if is_tensor(value) and is_known(spec):
        reader.emit.raise_error("TypeError", "unsupported format string passed to Tensor.__format__")
    if name is None:
        reader.reject("format_of_other", what=describe(value))
    return apply_op(reader, name, value, spec)


def format_text(
    reader: Reader, template: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return `template.format(*args, **kwargs)`; fields are numbers or names."""
    return format_fields(reader, template, args, kwargs, itertools.count(), [], 2)


def format_fields(
    reader: Reader,
    template: str,
    args: Sequence[AbstractValue],
    kwargs: dict[str, AbstractValue],
    automatic: Iterator[int],
    parts: list[AbstractValue],
    depth: int,
) -> AbstractValue:
    try:
        pieces = list(Formatter().parse(template)) if depth else too_deep()
    except ValueError as e:
        reader.emit.raise_error("ValueError", str(e))
    for literal, field, spec, conversion in pieces:
        parts.append(Known(literal))
        if field is None:
            continue
        name = field or str(next(automatic))
        if name.isdigit() and int(name) >= len(args):
            reader.emit.raise_error("IndexError", f"Replacement index {name} out of range for positional args tuple")
        if not name.isdigit() and name not in kwargs:
            if name.isidentifier():
                reader.emit.raise_error("KeyError", repr(name))
            reader.reject("field_of_format", name=name)
        value = args[int(name)] if name.isdigit() else kwargs[name]
        inner = format_fields(reader, spec, args, kwargs, automatic, [], depth - 1) if spec else Known("")
        parts += format_field(reader, value, conversion, inner)
    return joined(reader, parts)


def too_deep() -> NoReturn:
    raise ValueError("Max string recursion exceeded")


def format_percent(reader: Reader, template: str, given: AbstractValue) -> AbstractValue:
    """Return `template % given`."""
    if is_made_tuple(given) or (is_known(given) and isinstance(given.obj, tuple)):
        rest = reader.iterate(given)
    else:
        rest = [given]
    parts: list[AbstractValue] = []
    at, named = 0, False
    for m in _PERCENT.finditer(template):
        parts.append(percent_literal(reader, template[at : m.start()]))
        at = m.end()
        key, flags, width, precision, conversion = m.groups()
        if conversion == "%":
            parts.append(Known("%"))
            continue
        if key is not None:
            named = True
            value = reader.subscript(given, Known(key))
        elif not rest:
            reader.emit.raise_error("TypeError", "not enough arguments for format string")
        else:
            value = rest.pop(0)
        if conversion not in _CONVERSIONS:
            message = f"unsupported format character '{conversion}' (0x{ord(conversion):x}) at index {at - 1}"
            reader.emit.raise_error("ValueError", message)
        if precision is not None and conversion in "diuxXoc":
            reader.reject("format_unknown")
        parts += percent_field(reader, value, flags, width, precision, conversion)
    parts.append(percent_literal(reader, template[at:]))
    if rest and not named and not has_known_keys(given):
        reader.emit.raise_error("TypeError", "not all arguments converted during string formatting")
    return joined(reader, parts)


def percent_literal(reader: Reader, text: str) -> AbstractValue:
    """Return the literal text between two conversions."""
    if text.endswith("%") and text.count("%") == 1:
        reader.emit.raise_error("ValueError", "incomplete format")
    if "%" in text:
        reader.reject("format_unknown")
    return Known(text)


def percent_field(
    reader: Reader, value: AbstractValue, flags: str, width: str, precision: str | None, conversion: str
) -> Iterator[AbstractValue]:
    """Return the parts of one conversion of the % operator, by format specs."""
    if has_alternatives(value) and not is_text(value):
        field = lambda v: joined(reader, [*percent_field(reader, v, flags, width, precision, conversion)])  # noqa: E731
        yield split(reader, value, field)
        return
    align = "<" if "-" in flags else ">"
    if conversion in "sra":
        cut = "" if precision is None else f".{precision or 0}"
        spec = f"{align}{width}{cut}" if width else cut
        yield from format_field(reader, value, conversion, Known(spec))
        return
    value = percent_number(reader, value, conversion)
    is_char = conversion == "c" and is_text(value)
    number = type_of(value)
    if number not in (INT, FLOAT, BOOL) and not is_char or (number == FLOAT and conversion in "xXoc"):
        what = "an integer" if conversion in "xXo" else "a real number"
        cls_name = class_name_of(reader, value)
        reader.emit.raise_error("TypeError", f"%{conversion} format: {what} is required, not {cls_name}")
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zero = "0" if "0" in flags and align == ">" else ""
    side = align if align == "<" or not zero else ""
    alternate = "#" if "#" in flags else ""
    if is_char:
        check_that(reader, reader.compare("Eq", reader.call(Known(len), [value], {}), Known(1)), "TypeError",
                        "%c requires int or char")  # fmt: skip
        yield from format_field(reader, value, None, Known(f"{align}{width}" if width else ""))
    elif conversion in "fFeEgG":
        value = reader.call(Known(float), [value], {})
        cut = "" if precision is None else f".{precision or 0}"
        yield from format_field(reader, value, None, Known(f"{side}{sign}{alternate}{zero}{width}{cut}{conversion}"))
    else:
        value = reader.call(Known(int), [value], {})
        conversion = "d" if conversion in "diu" else conversion
        yield from format_field(reader, value, None, Known(f"{side}{sign}{alternate}{zero}{width}{conversion}"))


def percent_number(reader: Reader, value: AbstractValue, conversion: str) -> AbstractValue:
    """Return the number of a tensor, or of an object whose class converts to numbers, for a conversion."""
    convert = float if conversion in "fFeEgG" else int if conversion in "diu" else operator.index
    if type_of(value) in (INT, FLOAT, BOOL, STR) or not has_one_class(value):
        return value
    has_one = has_method(python_class(reader, value), f"__{convert.__name__}__")
    return reader.call(Known(convert), [value], {}) if has_one else value


def text_of(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return `str(value)`."""
    return joined(reader, [*text_parts(reader, value)])


def tensor_text(reader: Reader, value: RuntimeValue) -> AbstractValue:
    """Return the text of a tensor that does not require grad, under the current print options."""
    if is_parameter(reader, value):
        reader.reject("text_of_parameter")
    scientific, *options = [outside_value(reader, _OPTIONS[n], _OPTIONS, n, n, guarded=True) for n in _PRINTED]
    assert is_known(scientific)
    mode = -1 if scientific.obj is None else int(scientific.obj)
    return apply_op(reader, "text.tensor", value, *options, default=reader.environment.default_dtype, scientific=mode)


def own_text(reader: Reader, value: AbstractValue, quoted: bool) -> AbstractValue | None:
    """Return the result of a user's __str__ or __repr__; None where the class has none."""
    names: Any = ("__repr__",) if quoted else ("__str__", "__repr__")
    for name in names:
        if name == "__repr__" and is_generated(value, name):
            return dataclass_text(reader, value)
        if (found := special(reader, value, name, [])) is not None:
            return found
    return None


def dataclass_text(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return the result of the __repr__ that `dataclass` generates."""
    cls: Any = class_of(value)
    names = [f.name for f in dataclasses.fields(cls) if f.repr]
    return fields_text(reader, cls.__qualname__, ((name, reader.attribute(value, name)) for name in names))


def named_tuple_text(reader: Reader, value: TupleValue, cls: Any, quoted: bool) -> AbstractValue:
    for name in ("__repr__",) if quoted else ("__str__", "__repr__"):
        method = getattr(cls, name)
        if isinstance(method, FunctionType) and method.__code__.co_filename != collections.__file__:
            return reader.call(Known(method), [value], {})
    return fields_text(reader, cls.__name__, zip(cls._fields, value.items, strict=True))


def fields_text(reader: Reader, name: str, fields: Iterable[tuple[str, AbstractValue]]) -> AbstractValue:
    """Return the text of an object of a class with that name."""
    parts: list[AbstractValue] = [Known(f"{name}(")]
    for i, (field, item) in enumerate(fields):
        parts += [Known(f"{', ' if i else ''}{field}="), *text_parts(reader, item, quoted=True)]
    return joined(reader, [*parts, Known(")")])


def message_parts(reader: Reader, made: ObjectValue) -> list[AbstractValue]:
    """Return the parts of `str()` of an exception made here."""
    args = reader.items_of(made)["args"]
    if is_known(args):
        args = TupleValue([Known(a) for a in args.obj])
    assert isinstance(args, TupleValue)
    if len(args.items) == 1:
        return [*text_parts(reader, args.items[0], quoted=issubclass(made.cls, KeyError))]
    return [*text_parts(reader, args)] if args.items else []


def listed_text(reader: Reader, left: str, items: list[AbstractValue], right: str) -> Iterator[AbstractValue]:
    yield Known(left)
    for i, item in enumerate(items):
        if i:
            yield Known(", ")
        yield from text_parts(reader, item, quoted=True)
    yield Known(right)


def format_of(reader: Reader, text: AbstractValue) -> tuple[str, list[Value]]:
    """Return a format of ir/text_formats.py, and the values of its conversions."""
    if is_known(text):
        return text.obj.replace("%", "%%"), []
    value = materialize(reader, text)
    if value.op is not None and value.op.name == "text":
        return value.op.attrs["format"], list(value.op.operands)
    return "%s", [value]


def raise_with(reader: Reader, type: str, message: AbstractValue) -> NoReturn:
    """Raise an exception with a message at run time."""
    text = text_of(reader, message)
    if is_known(text):
        reader.emit.raise_error(type, text.obj)
    if type == "StopIteration" and reader.position.leaves_generator:
        reader.emit.raise_error(type, "")
    format, values = format_of(reader, text)
    reader.emit.effect("raise", values, type=type, message=format)
    raise Terminated


def printed(reader: Reader, parts: list[AbstractValue]) -> None:
    format, values = format_of(reader, joined(reader, parts))
    reader.emit.effect("print", values, format=format)


def has_own_text(av: AbstractValue) -> bool:
    """Return whether the class of an object defines the object's text."""
    return any(defines(av, name) for name in ("__str__", "__repr__", "__format__"))
