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

from scriptc.frontend.context import Context, Terminated
from scriptc.frontend.decompositions import strings
from scriptc.frontend.objects import class_of, defines, is_generated
from scriptc.frontend.values import (
    AV,
    DictV,
    Dyn,
    Known,
    ListV,
    ObjectV,
    OneOf,
    RangeV,
    Tup,
    describe,
    has_method,
    has_one_class,
    is_empty_list,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, EXC, FLOAT, INT, STR, DictType, SetType, Type

_CODES: dict[Type | None, str] = {INT: "%i", FLOAT: "%r", BOOL: "%b", STR: "%s", EXC: "%m"}
_FORMATS: dict[Type | None, str] = {INT: "format.int", FLOAT: "format.float", STR: "format.str"}
_PERCENT = re.compile(r"%(?:\((\w*)\))?([-+ #0]*)(\d*)(?:\.(\d*))?[hlL]?([a-zA-Z%])")
_CONVERSIONS = "diuxXocfFeEgGsra"
_OPTIONS = vars(torch._tensor_str.PRINT_OPTS)
_PRINTED = ("sci_mode", "precision", "threshold", "edgeitems", "linewidth")



class Texts(Context):
    """Mixin: strings made of values."""

    def e_JoinedStr(self, node: ast.JoinedStr) -> AV:
        return self.joined([p for v in node.values for p in self.piece(v)])

    def joined(self, parts: Sequence[AV]) -> AV:
        """One string of strings and numbers; known where all are."""
        if all(isinstance(p, Known) for p in parts):
            return Known("".join(str(p.obj) for p in parts if isinstance(p, Known)))
        format, values = "", []
        for part in parts:
            if isinstance(part, Known):
                format += str(part.obj).replace("%", "%%")
            else:
                values.append(self.value(part))
                format += _CODES[values[-1].type]
        return Dyn(values[0] if format == "%s" else self.build("text", values, format=format))

    def piece(self, node: ast.expr) -> Iterator[AV]:
        if isinstance(node, ast.Constant):
            yield Known(str(node.value))
            return
        assert isinstance(node, ast.FormattedValue)
        value = self.eval(node.value)
        spec = self.eval(node.format_spec) if node.format_spec is not None else Known("")
        yield from self.field(value, {-1: None, 115: "s", 114: "r", 97: "a"}[node.conversion], spec)

    def field(self, value: AV, conversion: str | None, spec: AV) -> Iterator[AV]:
        """A replacement field of an f-string or of str.format."""
        if conversion == "a":
            value = self.call(Known(ascii), [value], {})
        elif conversion is not None:
            value = self.text_of(value) if conversion == "s" else self.joined([*self.text_parts(value, quoted=True)])
        if isinstance(value, Known) and isinstance(spec, Known) and not has_own_text(value):
            yield self.evaluate(format, value.obj, spec.obj)
        elif is_tensor(value) and not tensor_type(value).rank:
            yield from self.field(self.call(self.attribute(value, "item"), [], {}), None, spec)
        elif isinstance(spec, Known) and not spec.obj:
            yield from self.text_parts(value)
        else:
            yield self.formatted(value, spec)

    def formatted(self, value: AV, spec: AV) -> AV:
        """format(value, spec)"""
        if isinstance(value, OneOf) and not is_text(value):
            return self.split(value, lambda v: self.formatted(v, spec))
        if (found := self.special(value, "__format__", [spec])) is not None:
            return found
        kind = STR if is_text(value) else self.type_of(value)
        if kind == BOOL and not isinstance(spec, Known):
            as_int = lambda: self.formatted(Dyn(self.integer(value)), spec)  # noqa: E731
            return self.choose(self.truth(spec), as_int, lambda: self.text_of(value))
        if kind == BOOL:
            value, kind = Dyn(self.integer(value)), INT
        name = _FORMATS.get(kind)
        if is_tensor(value) and isinstance(spec, Known):
            self.raises_at_run_time("TypeError", "unsupported format string passed to Tensor.__format__")
        if name is None:
            self.fail("format_of_other", what=describe(value))
        return self.op(name, value, spec)

    def format_text(self, template: str, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """template.format(*args, **kwargs); fields are numbers or names."""
        return self.fields(template, args, kwargs, itertools.count(), [], 2)

    def fields(
        self,
        template: str,
        args: Sequence[AV],
        kwargs: dict[str, AV],
        automatic: Iterator[int],
        parts: list[AV],
        depth: int,
    ) -> AV:
        try:
            pieces = list(Formatter().parse(template)) if depth else self.too_deep()
        except ValueError as e:
            self.raises_at_run_time("ValueError", str(e))
        for literal, field, spec, conversion in pieces:
            parts.append(Known(literal))
            if field is None:
                continue
            name = field or str(next(automatic))
            if name.isdigit() and int(name) >= len(args):
                self.raises_at_run_time(
                    "IndexError", f"Replacement index {name} out of range for positional args tuple"
                )
            if not name.isdigit() and name not in kwargs:
                if name.isidentifier():
                    self.raises_at_run_time("KeyError", repr(name))
                self.fail("field_of_format", name=name)
            value = args[int(name)] if name.isdigit() else kwargs[name]
            inner = self.fields(spec, args, kwargs, automatic, [], depth - 1) if spec else Known("")
            parts += self.field(value, conversion, inner)
        return self.joined(parts)

    def too_deep(self) -> NoReturn:
        raise ValueError("Max string recursion exceeded")

    def percent(self, template: str, given: AV) -> AV:
        """template % given"""
        if isinstance(given, Tup) or (isinstance(given, Known) and isinstance(given.obj, tuple)):
            rest = self.iterate(given)
        else:
            rest = [given]
        parts: list[AV] = []
        at, named = 0, False
        for m in _PERCENT.finditer(template):
            parts.append(self.percent_literal(template[at : m.start()]))
            at = m.end()
            key, flags, width, precision, kind = m.groups()
            if kind == "%":
                parts.append(Known("%"))
                continue
            if key is not None:
                named = True
                value = self.subscript(given, Known(key))
            elif not rest:
                self.raises_at_run_time("TypeError", "not enough arguments for format string")
            else:
                value = rest.pop(0)
            if kind not in _CONVERSIONS:
                message = f"unsupported format character '{kind}' (0x{ord(kind):x}) at index {at - 1}"
                self.raises_at_run_time("ValueError", message)
            if precision is not None and kind in "diuxXoc":
                self.fail("format_unknown")
            parts += self.percent_field(value, flags, width, precision, kind)
        parts.append(self.percent_literal(template[at:]))
        if rest and not named and not isinstance(given, DictV):
            self.raises_at_run_time("TypeError", "not all arguments converted during string formatting")
        return self.joined(parts)

    def percent_literal(self, text: str) -> AV:
        """What stands between conversions."""
        if text.endswith("%") and text.count("%") == 1:
            self.raises_at_run_time("ValueError", "incomplete format")
        if "%" in text:
            self.fail("format_unknown")
        return Known(text)

    def percent_field(self, value: AV, flags: str, width: str, precision: str | None, kind: str) -> Iterator[AV]:
        """One conversion of the % operator, in terms of format specs."""
        if isinstance(value, OneOf) and not is_text(value):
            yield self.split(value, lambda v: self.joined([*self.percent_field(v, flags, width, precision, kind)]))
            return
        align = "<" if "-" in flags else ">"
        if kind in "sra":
            cut = "" if precision is None else f".{precision or 0}"
            spec = f"{align}{width}{cut}" if width else cut
            yield from self.field(value, kind, Known(spec))
            return
        value = self.percent_number(value, kind)
        is_char = kind == "c" and is_text(value)
        number = self.type_of(value)
        if number not in (INT, FLOAT, BOOL) and not is_char or (number == FLOAT and kind in "xXoc"):
            what = "an integer" if kind in "xXo" else "a real number"
            self.raises_at_run_time("TypeError", f"%{kind} format: {what} is required, not {self.type_name(value)}")
        sign = "+" if "+" in flags else " " if " " in flags else ""
        zero = "0" if "0" in flags and align == ">" else ""
        side = align if align == "<" or not zero else ""
        alternate = "#" if "#" in flags else ""
        if is_char:
            self.check_that(self.compare("Eq", self.call(Known(len), [value], {}), Known(1)), "TypeError",
                            "%c requires int or char")  # fmt: skip
            yield from self.field(value, None, Known(f"{align}{width}" if width else ""))
        elif kind in "fFeEgG":
            value = self.call(Known(float), [value], {})
            cut = "" if precision is None else f".{precision or 0}"
            yield from self.field(value, None, Known(f"{side}{sign}{alternate}{zero}{width}{cut}{kind}"))
        else:
            value = self.call(Known(int), [value], {})
            kind = "d" if kind in "diu" else kind
            yield from self.field(value, None, Known(f"{side}{sign}{alternate}{zero}{width}{kind}"))

    def percent_number(self, value: AV, kind: str) -> AV:
        """The number that a tensor, or an object whose class converts to numbers, is for a conversion."""
        convert = float if kind in "fFeEgG" else int if kind in "diu" else operator.index
        if self.type_of(value) in (INT, FLOAT, BOOL, STR) or not has_one_class(value):
            return value
        has_one = has_method(self.python_class(value), f"__{convert.__name__}__")
        return self.call(Known(convert), [value], {}) if has_one else value

    def text_of(self, value: AV) -> AV:
        """str(value)"""
        return self.joined([*self.text_parts(value)])

    def text_parts(self, value: AV, *, quoted: bool = False) -> Iterator[AV]:
        """What str(value), or repr(value), consists of."""
        match value:
            case Known() if (found := self.own_text(value, quoted)) is not None:
                yield found
            case Known(obj):
                yield self.evaluate(repr if quoted else str, obj)
            case Dyn() if value.type == STR:
                yield self.op("str.repr", value) if quoted else value
            case Dyn() if value.type == EXC and not quoted:
                yield value
            case ObjectV(cls) if issubclass(cls, BaseException):
                if quoted:
                    self.fail("repr_of_exception")
                yield from self.message_parts(value)
            case Dyn() if value.type in (INT, FLOAT, BOOL):
                yield value
            case Tup(items, cls) if cls is torch.Size:
                yield from self.listed("torch.Size([", list(items), "])")
            case Tup(cls=cls) if hasattr(cls, "_fields"):
                yield self.named_tuple_text(value, cls, quoted)
            case Tup(items, cls) if cls is tuple:
                yield from self.listed("(", list(items), ",)" if len(items) == 1 else ")")
            case ListV(items=list() as items):
                self.observe(value)
                yield from self.listed("[", items, "]")
            case ListV() if value.is_tuple:
                yield self.call(Known(strings.tuple_text), [value], {})
            case ListV():
                yield Known("[]") if is_empty_list(value) else self.call(Known(strings.list_text), [value], {})
            case DictV():
                yield Known("{")
                for i, (key, item) in enumerate(self.items_of(value).items()):
                    yield Known(f"{', ' if i else ''}{key!r}: ")
                    yield from self.text_parts(item, quoted=True)
                yield Known("}")
            case OneOf():
                yield self.split(value, lambda v: self.joined([*self.text_parts(v, quoted=quoted)]))
            case ObjectV() if (found := self.own_text(value, quoted)) is not None:
                yield found
            case Dyn() if is_tensor(value):
                yield self.tensor_text(value)
            case Dyn() if isinstance(value.type, (DictType, SetType)):
                write = strings.dict_text if isinstance(value.type, DictType) else strings.set_text
                yield self.call(Known(write), [value], {})
            case RangeV(start, stop, step):
                is_plain = isinstance(step, Known) and step.obj == 1
                yield from self.listed("range(", [start, stop] if is_plain else [start, stop, step], ")")
            case _:
                self.fail("text_of_other", what=describe(value))

    def tensor_text(self, value: Dyn) -> AV:
        """The text of a tensor that does not require grad, under the print options that hold outside."""
        if self.is_parameter(value):
            self.fail("text_of_parameter")
        scientific, *options = [self.outside_value(_OPTIONS[n], _OPTIONS, n, n, guarded=True) for n in _PRINTED]
        assert isinstance(scientific, Known)
        mode = -1 if scientific.obj is None else int(scientific.obj)
        return self.op("text.tensor", value, *options, default=self.default_dtype, scientific=mode)

    def own_text(self, value: AV, quoted: bool) -> AV | None:
        """What the __str__ or __repr__ of a user's class gives."""
        names: Any = ("__repr__",) if quoted else ("__str__", "__repr__")
        for name in names:
            if name == "__repr__" and is_generated(value, name):
                return self.dataclass_text(value)
            if (found := self.special(value, name, [])) is not None:
                return found
        return None

    def dataclass_text(self, value: AV) -> AV:
        """What the __repr__ that `dataclass` writes gives."""
        cls: Any = class_of(value)
        names = [f.name for f in dataclasses.fields(cls) if f.repr]
        return self.fields_text(cls.__qualname__, ((name, self.attribute(value, name)) for name in names))

    def named_tuple_text(self, value: Tup, cls: Any, quoted: bool) -> AV:
        for name in ("__repr__",) if quoted else ("__str__", "__repr__"):
            method = getattr(cls, name)
            if isinstance(method, FunctionType) and method.__code__.co_filename != collections.__file__:
                return self.call(Known(method), [value], {})
        return self.fields_text(cls.__name__, zip(cls._fields, value.items, strict=True))

    def fields_text(self, name: str, fields: Iterable[tuple[str, AV]]) -> AV:
        """The text of an object of a class with that name."""
        parts: list[AV] = [Known(f"{name}(")]
        for i, (field, item) in enumerate(fields):
            parts += [Known(f"{', ' if i else ''}{field}="), *self.text_parts(item, quoted=True)]
        return self.joined([*parts, Known(")")])

    def message_parts(self, made: ObjectV) -> list[AV]:
        """What str() of an exception made here consists of."""
        args = self.items_of(made)["args"]
        if isinstance(args, Known):
            args = Tup([Known(a) for a in args.obj])
        assert isinstance(args, Tup)
        if len(args.items) == 1:
            return [*self.text_parts(args.items[0], quoted=issubclass(made.cls, KeyError))]
        return [*self.text_parts(args)] if args.items else []

    def listed(self, left: str, items: list[AV], right: str) -> Iterator[AV]:
        yield Known(left)
        for i, item in enumerate(items):
            if i:
                yield Known(", ")
            yield from self.text_parts(item, quoted=True)
        yield Known(right)

    def format_of(self, text: AV) -> tuple[str, list[Value]]:
        """A text as ir/text.py describes it: a format, and the values of its conversions."""
        if isinstance(text, Known):
            return text.obj.replace("%", "%%"), []
        value = self.value(text)
        if value.op is not None and value.op.name == "text":
            return value.op.attrs["format"], list(value.op.operands)
        return "%s", [value]

    def raise_with(self, type: str, message: AV) -> NoReturn:
        """Raises an exception with a message."""
        text = self.text_of(message)
        if isinstance(text, Known):
            self.raises_at_run_time(type, text.obj)
        if type == "StopIteration" and self.leaves_generator:
            self.raises_at_run_time(type, "")
        format, values = self.format_of(text)
        self.effect("raise", values, type=type, message=format)
        raise Terminated

    def printed(self, parts: list[AV]) -> None:
        format, values = self.format_of(self.joined(parts))
        self.effect("print", values, format=format)


def has_own_text(av: AV) -> bool:
    """Whether a user's class says what the text of an object is."""
    return any(defines(av, name) for name in ("__str__", "__repr__", "__format__"))
