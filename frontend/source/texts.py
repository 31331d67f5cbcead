"""The texts in which the source of a function may stand. `frontend.source.functions` finds out which is the function's."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple


class Text(NamedTuple):
    """Lines of source under the name of a file.

    entry: what linecache is to have under that name so that errors show these lines, None where it has them.
    is_guess: nothing says that the function stands in them.
    """

    file: str
    lines: list[str]
    entry: tuple[Any, ...] | None = None
    is_guess: bool = False

    def show(self) -> None:
        """Make linecache give these lines."""
        if self.entry is not None:
            linecache.cache[self.file] = self.entry


def _unfiled(name: str, text: str, is_guess: bool) -> Text:
    """Return a text that stands in no file, for linecache to keep under a name of its own."""
    lines = [line + "\n" for line in text.split("\n")]
    return Text(name, lines, (len(text), None, lines, name), is_guess)


class _Given(NamedTuple):
    """A text that somebody passed for a function or a class."""

    text: Text
    files: frozenset[str]  # the file names in the code of its functions


_given: weakref.WeakKeyDictionary[Any, _Given] = weakref.WeakKeyDictionary()
_numbers = itertools.count(1)


def give(obj: Any, text: str) -> None:
    """Take `text` for the source of a function, a method, a class or the class of a module.

    It serves all functions that were compiled under the same file name: each is compared with its code.
    """
    owner = obj.__func__ if isinstance(obj, MethodType) else obj
    if not isinstance(owner, (FunctionType, type)):
        owner = type(owner)
    made = _unfiled(f"<source {next(_numbers)} of {owner.__qualname__}>", text, False)
    _given[owner] = _Given(made, frozenset(f.__code__.co_filename for f in _functions(owner)))
    weakref.finalize(owner, linecache.cache.pop, made.file, None)


def _functions(owner: FunctionType | type) -> Iterator[FunctionType]:
    for found in [owner] if isinstance(owner, FunctionType) else [*vars(owner).values()]:
        found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        while found is not None:
            if isinstance(found, FunctionType):
                yield found
            found = getattr(found, "__wrapped__", None)


def texts_of(code: CodeType, namespace: dict[str, Any]) -> Iterator[Text]:
    """Yield the texts that the source of a function's code may stand in, the likeliest first.

    namespace: the globals of the function, which say how its module was loaded.
    """
    file = code.co_filename
    yield from [given.text for given in [*_given.values()][::-1] if file in given.files]
    before = linecache.cache.get(file)
    linecache.checkcache(file)
    lines = linecache.getlines(file, namespace)
    if lines:
        yield Text(file, lines)
    if before is not None and len(before) > 1 and before[2] != lines:
        yield Text(file, before[2], before)
    yield from (_unfiled(f"<source of {code.co_name}>", text, True) for text in _typed(code))


def _typed(code: CodeType) -> Iterator[str]:
    """Yield what was typed: at a prompt of Python 3.13 and later, and behind the option -c."""
    of_code = getattr(linecache, "_getlines_from_code", None)
    if of_code is not None and (lines := of_code(code)):
        yield "".join(lines)
    if code.co_filename == "<string>":
        yield from _behind_the_option_c()


def _behind_the_option_c() -> Iterator[str]:
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if found := re.fullmatch("-[a-zA-Z]*?c(.*)", argument, re.DOTALL):
            yield found[1] or next(arguments, "")
            return
        if argument in ("-W", "-X", "--check-hash-based-pycs"):
            next(arguments, None)
        elif argument.startswith("-m") or not argument.startswith("-"):
            return
