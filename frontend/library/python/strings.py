"""Strings: str(), repr(), format() and their like, and the methods that are ops."""

from __future__ import annotations

import builtins
import os

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import strings_decomposed as strings
from scriptc.frontend.library.python.sequences import as_list
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.formatting import format_field, format_text, joined, text_of
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, logical_and, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.strings import character
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.element_types import is_union
from scriptc.frontend.values.predicates import is_known, is_made_list, is_made_tuple, is_none, is_text
from scriptc.frontend.values.verbs import class_name_of, is_run_time, materialize, text_parts
from scriptc.ir.ops.rules import elem_of
from scriptc.ir.ops.strings import CLASSES, MAPPINGS
from scriptc.ir.types import NEVER, STR, OptionalType

_TO_END = 2**63 - 1


@serves("str.format")
def format(r: Reader, template: AbstractValue, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return format_text(r, require_known(r, template, "a format"), args, kwargs)


@serves("str.join")
def join(r: Reader, separator: AbstractValue, parts: AbstractValue) -> AbstractValue:
    if not is_run_time(r, parts):
        pieces: list[AbstractValue] = []
        for i, part in enumerate(r.iterate(parts)):
            if not is_text(part):
                r.emit.raise_error(
                    "TypeError", f"sequence item {i}: expected str instance, {class_name_of(r, part)} found"
                )
            pieces += [separator, part] if i else [part]
        return joined(r, pieces)
    found = as_list(r, parts)
    assert is_made_list(found)
    if found.is_tuple:
        found = r.call(Known(list), [found], {})
    items = materialize(r, found)
    elem = elem_of(items)
    if elem == OptionalType(STR):
        items = materialize(r, r.call(Known(strings.all_there), [found], {}))
        elem = STR
    if elem == STR:
        return RuntimeValue(r.emit.build("str.join", [materialize(r, separator), items]))
    if is_union(elem):
        r.reject("container_of_several_used", why="join() takes strings")
    if elem != NEVER:
        check_that(r, negated(r, r.truth(found)), "TypeError", "sequence item 0: expected str instance")
    return Known("")


def _text(r: Reader, av: AbstractValue, name: str) -> AbstractValue:
    if not is_text(av):
        r.emit.raise_error("TypeError", f"{name}() argument must be str, not {class_name_of(r, av)}")
    return av


def _bound(r: Reader, av: AbstractValue, default: int) -> AbstractValue:
    return Known(default) if is_none(av) else RuntimeValue(integer(r, av))


def _search(name: str) -> None:
    @serves(f"str.{name}")
    def handler(
        r: Reader,
        text: AbstractValue,
        sub: AbstractValue,
        start: AbstractValue = Known(None),
        end: AbstractValue = Known(None),
    ) -> AbstractValue:
        if is_made_tuple(sub) or (
            is_known(sub) and isinstance(sub.obj, tuple) and name.endswith("swith")
        ):
            each = [handler(r, text, s, start, end) for s in r.iterate(sub)]
            return r.call(Known(any), [TupleValue(each)], {})
        return apply_op(r, f"str.{name}", text, _text(r, sub, name), _bound(r, start, 0), _bound(r, end, _TO_END))


for _name in ("find", "rfind", "count", "startswith", "endswith"):
    _search(_name)


@serves("str.replace")
def replace(
    r: Reader, text: AbstractValue, old: AbstractValue, new: AbstractValue, count: AbstractValue = Known(-1)
) -> AbstractValue:
    return apply_op(
        r, "str.replace", text, _text(r, old, "replace"), _text(r, new, "replace"), RuntimeValue(integer(r, count))
    )


def _plain(name: str) -> None:
    @serves(f"str.{name}")
    def handler(r: Reader, text: AbstractValue) -> AbstractValue:
        return apply_op(r, f"str.{name}", text)


for _name in (*MAPPINGS, *CLASSES, "islower", "isupper", "istitle", "isidentifier", "isascii"):
    _plain(_name)


# ---- functions for decompositions ----
@serves(strings.char)
def char(r: Reader, text: AbstractValue, index: AbstractValue) -> AbstractValue:
    return character(r, materialize(r, text), materialize(r, index))


@serves(strings.code)
def code(r: Reader, text: AbstractValue, index: AbstractValue) -> AbstractValue:
    return apply_op(r, "str.code_at", text, index)


@serves(strings.ends_line)
def ends_line(r: Reader, text: AbstractValue, index: AbstractValue) -> AbstractValue:
    return apply_op(r, "code.islinebreak", apply_op(r, "str.code_at", text, index))


@serves(strings.escaped)
def escaped(r: Reader, text: AbstractValue) -> AbstractValue:
    """Return ascii(x), given repr(x)."""
    return apply_op(r, "str.escaped", text)


@serves("builtins.str")
def str_(r: Reader, value: AbstractValue = Known("")) -> AbstractValue:
    return text_of(r, value)


@serves("os.fspath")
def fspath(r: Reader, path: AbstractValue) -> AbstractValue:
    if is_text(path) and not is_known(path):
        return path
    if is_known(path):
        return call_in_python(r, os.fspath, path.obj)
    r.emit.raise_error("TypeError", f"expected str, bytes or os.PathLike object, not {class_name_of(r, path)}")


@serves("builtins.repr")
def repr_(r: Reader, value: AbstractValue) -> AbstractValue:
    return joined(r, [*text_parts(r, value, quoted=True)])


@serves("builtins.ascii")
def ascii_(r: Reader, value: AbstractValue) -> AbstractValue:
    shown = repr_(r, value)
    return Known(ascii(value.obj)) if is_known(value) else r.call(Known(strings.escaped), [shown], {})


@serves("builtins.format")
def format_(r: Reader, value: AbstractValue, spec: AbstractValue = Known("")) -> AbstractValue:
    return joined(r, [*format_field(r, value, None, spec)])


@serves("builtins.ord")
def ord_(r: Reader, character: AbstractValue) -> AbstractValue:
    if is_known(character):
        return call_in_python(r, ord, character.obj)
    if not is_text(character):
        r.emit.raise_error("TypeError", f"ord() expected string of length 1, but {class_name_of(r, character)} found")
    return r.call(Known(strings.code_of), [character], {})


@serves("builtins.chr")
def chr_(r: Reader, code: AbstractValue) -> AbstractValue:
    if is_known(code):
        return call_in_python(r, chr, code.obj)
    code = RuntimeValue(integer(r, code))
    inside = logical_and(r, r.compare("GtE", code, Known(0)), r.compare("Lt", code, Known(0x110000)))
    check_that(r, inside, "ValueError", "chr() arg not in range(0x110000)")
    return apply_op(r, "str.chr", code)


def _in_base(name: str, spec: str) -> None:
    @serves(f"builtins.{name}")
    def handler(r: Reader, number: AbstractValue) -> AbstractValue:
        if is_known(number):
            return call_in_python(r, getattr(builtins, name), number.obj)
        return RuntimeValue(r.emit.build("format.int", [integer(r, number), r.emit.const(spec)]))


for _name, _spec in (("hex", "#x"), ("oct", "#o"), ("bin", "#b")):
    _in_base(_name, _spec)
