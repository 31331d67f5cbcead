"""The arguments of calls in the loop IR, and their C.

An argument is an attribute of its call: `none` (NULL), a number, `"%0"`, `"%1"`, ... for an operand, or a list whose
first item says what the other items are:

    ["text", "abc"]                      a C string
    ["char", "i"]                        a C character
    ["enum", "SC_SUM"]                   a constant of the runtime
    ["function", "f"]                    a function of C that the program declares
    ["dtype", "f32"]                     the number of a dtype
    ["sizes", "%0", 4]                   an array of integers; NULL where it is empty
    ["tensors", "%0", "%1"]              an array of tensors
    ["value", "t", "%0"]                 an item of a list or dict, by the member of sc_value that holds it
    ["leaves", ["i", "%0"], ["t", "%1"]] an array of such items, and NULL where it is empty
    ["key", ["i", "%0"]]                 the same array as the key of a dict, which is never NULL
    ["parts", ["l", "%0"], ["i", "%1"]]  a key that is the tuple %0 and the item %1 (sc_in_parts)
    ["loc"]                              the row of the call's location
    ["reuse"]                            true where the kernel may take over the first operand: the attribute `reuse`

The context and the pointers to results are no arguments here: the prototype of the kernel has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scriptc.backend_c.c_types import list_member
from scriptc.backend_c.expressions import Template, read_template
from scriptc.backend_c.literals import c_array, c_const, c_string
from scriptc.ir.core import Attr, Op, Value
from scriptc.ir.dtypes import C_ENUM
from scriptc.ir.opdef import SchemaArg
from scriptc.ir.types import NEVER, Type
from scriptc.runtime.kernels import KERNELS

REUSE = ("reuse",)
LOC = ("loc",)


def text(value: str) -> Attr:
    return ("text", value)


def char(value: str) -> Attr:
    return ("char", value)


def enum(name: str) -> Attr:
    return ("enum", name)


def function(name: str) -> Attr:
    return ("function", name)


def dtype(name: str) -> Attr:
    return ("dtype", name)


class Args:
    """The arguments of a call in their order, and the operands that the arguments name."""

    def __init__(self, *items: Value | Attr):
        self.entries: list[Attr] = []
        self.operands: list[Value] = []
        self.add(*items)

    def add(self, *items: Value | Attr) -> Args:
        self.entries += map(self.entry, items)
        return self

    def entry(self, item: Value | Attr) -> Attr:
        if not isinstance(item, Value):
            return item
        if item not in self.operands:
            self.operands.append(item)
        return f"%{self.operands.index(item)}"

    def sizes(self, items: Sequence[Value | int]) -> Args:
        return self.add(("sizes", *map(self.entry, items)))

    def tensors(self, items: Sequence[Value]) -> Args:
        return self.add(("tensors", *map(self.entry, items)))

    def value(self, member: str, value: Value) -> Args:
        return self.add(("value", _member_for(value, member), self.entry(value)))

    def leaves(self, tag: str, types: Sequence[Type], values: Sequence[Value]) -> Args:
        """Add an array of items; `tag` is "leaves", "key" or "parts"."""
        items = zip(types, values, strict=True)
        return self.add((tag, *((_member_for(v, list_member(t)), self.entry(v)) for t, v in items)))

    def attribute(self, arg: SchemaArg, value: Any) -> Args:
        """Add the value of an attribute of a schema; a list becomes an array and its length."""
        if arg.is_list:
            self.add(("sizes", *value))
            return self if arg.size is not None else self.add(len(value))
        if arg.type == "ScalarType":
            return self.add(dtype(value))
        return self.add(0 if value is None else text(value) if isinstance(value, str) else value)


def operand_of(entry: Attr) -> int | None:
    """Return the number of the operand that an argument is."""
    return int(entry[1:]) if isinstance(entry, str) else None


def operands_of(entry: Attr) -> Iterator[int]:
    """Return the numbers of the operands in an argument, each as often as it stands there."""
    match entry:
        case str():
            yield int(entry[1:])
        case ("sizes" | "tensors", *items):
            for item in items:
                yield from operands_of(item)
        case ("value", _, item):
            yield from operands_of(item)
        case ("leaves" | "key" | "parts", *items):
            for _, item in items:
                yield from operands_of(item)


def spelled(entry: Attr) -> str:
    """Return the template of an argument, whose named fields are {loc} and {reuse}."""
    match entry:
        case None:
            return "NULL"
        case str():
            return f"{{{entry[1:]}}}"
        case ("text", value):
            return c_string(value)
        case ("char", value):
            return f"'{value}'"
        case ("enum" | "function", name):
            return str(name)
        case ("dtype", name):
            return C_ENUM[name]
        case ("sizes", *items):
            return c_array([spelled(i) for i in items])
        case ("tensors", *items):
            return c_array([spelled(i) for i in items], "sc_tensor *")
        case ("value", member, item):
            return f"(sc_value){_item(member, item)}"
        case ("leaves", *items):
            return c_array([_item(*i) for i in items], "const sc_value")
        case ("key", *items):
            return c_array([_item(*i) for i in items] or ["{{0}}"], "const sc_value")
        case ("parts", (_, front), last):
            return c_array([f"{{{{.p = sc_front_of_parts({spelled(front)})}}}}", _item(*last)], "const sc_value")
        case ("loc",):
            return "{loc}"
        case ("reuse",):
            return "{reuse}"
    return c_const(entry).text


def _member_for(value: Value, member: str) -> str:
    """Return the member of sc_value that takes a value: a pointer for an item of an empty list, which no code reaches."""
    return list_member(NEVER) if value.type == NEVER else member


def _item(member: str, entry: Attr) -> str:
    return f"{{{{.{member} = {spelled(entry)}}}}}"


def call_template(op: Op, row: str = "") -> Template:
    """Return the arguments of a call or view, without pointers to results; `row` is that of the call's location."""
    kernel = KERNELS[op.attrs["kernel"]]
    texts = [*(["cx"] if kernel.takes_context else []), *map(spelled, op.attrs["args"])]
    return read_template(", ".join(texts), loc=row, reuse="true" if op.attrs.get("reuse") else "false")
