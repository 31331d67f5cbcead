"""Methods of strings: those that are ops. The others are in decompositions/strings.py."""

from __future__ import annotations

from scriptc.frontend.cells import is_union
from scriptc.frontend.decompositions import strings
from scriptc.frontend.library import serves
from scriptc.frontend.library.sequences import as_list
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Dyn, Known, ListV, Tup, is_text
from scriptc.ir.ops.rules import elem_of
from scriptc.ir.ops.strings import CLASSES, MAPPINGS
from scriptc.ir.types import NEVER, STR

_TO_END = 2**63 - 1


@serves("str.format")
def format(r: Reader, template: AV, *args: AV, **kwargs: AV) -> AV:
    return r.format_text(r.known(template, "a format"), args, kwargs)


@serves("str.join")
def join(r: Reader, separator: AV, parts: AV) -> AV:
    if not r.is_run_time(parts):
        pieces: list[AV] = []
        for i, part in enumerate(r.iterate(parts)):
            if not is_text(part):
                r.raises_at_run_time(
                    "TypeError", f"sequence item {i}: expected str instance, {r.type_name(part)} found"
                )
            pieces += [separator, part] if i else [part]
        return r.joined(pieces)
    found = as_list(r, parts)
    assert isinstance(found, ListV)
    if found.is_tuple:
        found = r.call(Known(list), [found], {})
    items = r.value(found)
    elem = elem_of(items)
    if elem == STR:
        return Dyn(r.build("str.join", [r.value(separator), items]))
    if is_union(elem):
        r.fail("container_of_several_used", why="join() takes strings")
    if elem != NEVER:
        r.check_that(r.negate(r.truth(found)), "TypeError", "sequence item 0: expected str instance")
    return Known("")


def _text(r: Reader, av: AV, name: str) -> AV:
    if not is_text(av):
        r.raises_at_run_time("TypeError", f"{name}() argument must be str, not {r.type_name(av)}")
    return av


def _bound(r: Reader, av: AV, default: int) -> AV:
    return Known(default) if isinstance(av, Known) and av.obj is None else Dyn(r.integer(av))


def _search(name: str) -> None:
    @serves(f"str.{name}")
    def handler(r: Reader, text: AV, sub: AV, start: AV = Known(None), end: AV = Known(None)) -> AV:  # noqa: B008
        if isinstance(sub, Tup) or (isinstance(sub, Known) and isinstance(sub.obj, tuple) and name.endswith("swith")):
            each = [handler(r, text, s, start, end) for s in r.iterate(sub)]
            return r.call(Known(any), [Tup(each)], {})
        return r.op(f"str.{name}", text, _text(r, sub, name), _bound(r, start, 0), _bound(r, end, _TO_END))


for _name in ("find", "rfind", "count", "startswith", "endswith"):
    _search(_name)


@serves("str.replace")
def replace(r: Reader, text: AV, old: AV, new: AV, count: AV = Known(-1)) -> AV:  # noqa: B008
    return r.op("str.replace", text, _text(r, old, "replace"), _text(r, new, "replace"), Dyn(r.integer(count)))


def _plain(name: str) -> None:
    @serves(f"str.{name}")
    def handler(r: Reader, text: AV) -> AV:
        return r.op(f"str.{name}", text)


for _name in (*MAPPINGS, *CLASSES, "islower", "isupper", "istitle", "isidentifier", "isascii"):
    _plain(_name)


# ---- what decompositions use ----
@serves(f"{strings.__name__}.char")
def char(r: Reader, text: AV, index: AV) -> AV:
    return r.character(r.value(text), r.value(index))


@serves(f"{strings.__name__}.code")
def code(r: Reader, text: AV, index: AV) -> AV:
    return r.op("str.code_at", text, index)


@serves(f"{strings.__name__}.ends_line")
def ends_line(r: Reader, text: AV, index: AV) -> AV:
    return r.op("code.islinebreak", r.op("str.code_at", text, index))


@serves(f"{strings.__name__}.escaped")
def escaped(r: Reader, text: AV) -> AV:
    """ascii(x) of repr(x)"""
    return r.op("str.escaped", text)

