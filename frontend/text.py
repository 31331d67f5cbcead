"""Strings that are put together at run time: messages and prints with numbers in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any, NoReturn

import torch

from scriptc.frontend.context import Context, Terminated
from scriptc.frontend.values import AV, DictV, Dyn, Formatted, Known, ListV, ObjectV, OneOf, Text, Tup, describe
from scriptc.ir.types import BOOL, EXC, FLOAT, INT

_FLOAT_SPEC = re.compile(r"0?\d*(\.\d+)?[fe]$")
_CODES = {"i64": "%i", "f64": "%r", "bool": "%b", "exc": "%m"}
_INT_SPEC = re.compile(r"0?\d*d$")


class Texts(Context):
    """Mixin: f-strings, str() and messages."""

    def e_JoinedStr(self, node: ast.JoinedStr) -> AV:
        return self.joined([p for v in node.values for p in self.piece(v)])

    def joined(self, parts: list[AV]) -> AV:
        """One string of parts; known where all are."""
        if all(isinstance(p, Known) for p in parts):
            return Known("".join(str(p.obj) for p in parts if isinstance(p, Known)))
        return Text(parts)

    def piece(self, node: ast.expr) -> Iterator[AV]:
        if isinstance(node, ast.Constant):
            yield Known(str(node.value))
            return
        assert isinstance(node, ast.FormattedValue)
        value = self.eval(node.value)
        spec = self.known(self.eval(node.format_spec), "a format") if node.format_spec is not None else ""
        yield from self.field(value, {-1: None, 115: "s", 114: "r", 97: "a"}[node.conversion], spec)

    def field(self, value: AV, conversion: str | None, spec: str) -> Iterator[AV]:
        """A replacement field of an f-string or of str.format."""
        convert: Any = {None: None, "s": str, "r": repr, "a": ascii}[conversion]
        if isinstance(value, Known):
            obj = value.obj if convert is None else convert(value.obj)
            yield self.evaluate(format, obj, spec)
        elif spec:
            yield self.formatted(value, spec)
        else:
            yield from self.text_parts(value, quoted=convert in (repr, ascii))

    def format_text(self, template: str, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """template.format(*args, **kwargs); fields are numbers or names."""
        parts: list[AV] = []
        automatic = 0
        for literal, field, spec, conversion in Formatter().parse(template):
            parts.append(Known(literal))
            if field is None:
                continue
            name, automatic = field or str(automatic), automatic + (not field)
            if name.isdigit() and int(name) >= len(args):
                self.raises_at_run_time(
                    "IndexError", f"Replacement index {name} out of range for positional args tuple"
                )
            if not name.isdigit() and name not in kwargs:
                self.fail(f"the field '{name}' of a format is not supported", "use plain names and numbers")
            value = args[int(name)] if name.isdigit() else kwargs[name]
            parts += self.field(value, conversion, spec or "")
        return self.joined(parts)

    def formatted(self, value: AV, spec: str) -> AV:
        if isinstance(value, Dyn) and value.type in (INT, FLOAT) and _FLOAT_SPEC.match(spec):
            return Formatted(Dyn(self.to_float(value.value)), spec)
        if isinstance(value, Dyn) and value.type == INT and _INT_SPEC.match(spec):
            return Formatted(value, spec)
        self.fail(f"the format '{spec}' of {describe(value)} is not supported", "use a format such as .3f or 5d")

    def text_parts(self, value: AV, *, quoted: bool = False) -> Iterator[AV]:
        """What str(value), or repr(value), consists of."""
        match value:
            case Known(obj):
                yield Known(repr(obj) if quoted else str(obj))
            case Text(parts) if not quoted:
                yield from parts
            case Text(parts) if all(repr(p.obj)[1:-1] == p.obj for p in parts if isinstance(p, Known)):
                yield from [Known("'"), *parts, Known("'")]
            case Dyn() if value.type == EXC and not quoted:
                yield value
            case ObjectV(cls) if issubclass(cls, BaseException):
                if quoted:
                    self.fail("the repr of an exception is not supported in compiled code", "use str() of it")
                yield from self.message_parts(value)
            case Dyn() if value.type in (INT, FLOAT, BOOL):
                yield value
            case Tup(items, cls) if cls is torch.Size:
                yield from self.listed("torch.Size([", list(items), "])")
            case Tup(items, cls) if cls is tuple:
                yield from self.listed("(", list(items), ",)" if len(items) == 1 else ")")
            case ListV(items=list() as items):
                self.observe(value)
                yield from self.listed("[", items, "]")
            case DictV():
                yield Known("{")
                for i, (key, item) in enumerate(self.items_of(value).items()):
                    yield Known(f"{', ' if i else ''}{key!r}: ")
                    yield from self.text_parts(item, quoted=True)
                yield Known("}")
            case OneOf():
                text = self.split(value, lambda v: self.joined([*self.text_parts(v, quoted=quoted)]))
                if not isinstance(text, Text):
                    self.fail(f"the text of {describe(value)} is not supported", "test its type first")
                yield from text.parts
            case _:
                self.fail(f"the text of {describe(value)} is not supported in compiled code", "use its numbers")

    def message_parts(self, made: ObjectV) -> list[AV]:
        """What str() of an exception made here consists of."""
        args = made.items["args"]
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

    def format_of(self, text: Text) -> tuple[str, list[AV]]:
        """The text as ir/text.py describes it: a format, and the values of its conversions."""
        format, values = "", []
        for part in text.parts:
            if isinstance(part, Known):
                format += str(part.obj).replace("%", "%%")
            elif isinstance(part, Formatted):
                format += f"%{part.spec}"
                values.append(part.value)
            else:
                format += _CODES[str(self.value(part).type)]
                values.append(part)
        return format, values

    def raise_with(self, type: str, message: AV) -> NoReturn:
        """Raises an exception with a message that may hold run-time numbers."""
        text = self.joined([*self.text_parts(message)])
        if isinstance(text, Known):
            self.raises_at_run_time(type, text.obj)
        assert isinstance(text, Text)
        format, values = self.format_of(text)
        self.effect("raise", [self.value(v) for v in values], type=type, message=format)
        raise Terminated

    def printed(self, parts: list[AV]) -> None:
        text = self.joined(parts)
        format, values = self.format_of(text if isinstance(text, Text) else Text([text]))
        self.effect("print", [self.value(v) for v in values], format=format)
