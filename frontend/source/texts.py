"""The texts that may contain the source of a function. `frontend.source.functions` finds the right one."""

from __future__ import annotations

import itertools
import linecache
import re
import sys
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from scriptc.frontend.source.exported_guards import guards_text
from scriptc.frontend.source.providers import Provider, provider_of


class Text(NamedTuple):
    """Lines of source under the name of a file.

    entry: the entry for linecache under that name, so that errors show these lines; None if linecache has one.
    is_guess: nothing names the text as the function's.
    provider: the function that parses the text; None for Python's text.
    """

    file: str
    lines: list[str]
    entry: tuple[Any, ...] | None = None
    is_guess: bool = False
    provider: Provider | None = None

    def show(self) -> None:
        """Enter these lines into linecache."""
        if self.entry is not None:
            linecache.cache[self.file] = self.entry


def _unfiled(name: str, text: str, is_guess: bool) -> Text:
    """Return a text that is in no file. Linecache keeps it under a name of its own."""
    lines = [line + "\n" for line in text.split("\n")]
    return Text(name, lines, (len(text), None, lines, name), is_guess)


class _Given(NamedTuple):
    """A text that somebody passed for a function or a class."""

    text: Text
    codes: frozenset[CodeType]  # of its functions

    def text_for(self, code: CodeType) -> Text | None:
        """Return the text, a guess for functions beside those that it was passed for; None for code of another file."""
        if all(own.co_filename != code.co_filename for own in self.codes):
            return None
        return self.text if code in self.codes else self.text._replace(is_guess=True)


_given: weakref.WeakKeyDictionary[Any, _Given] = weakref.WeakKeyDictionary()
_numbers = itertools.count(1)


def give(obj: Any, text: str) -> None:
    """Take `text` for the source of a function, a method, a class or the class of a module.

    The text serves all functions with the same file name in their code; each is compared with its code.
    """
    owner = obj.__func__ if isinstance(obj, MethodType) else obj
    if not isinstance(owner, (FunctionType, type)):
        owner = type(owner)
    made = _unfiled(f"<source {next(_numbers)} of {owner.__qualname__}>", text, False)
    _given[owner] = _Given(made, frozenset(f.__code__ for f in _functions(owner)))
    weakref.finalize(owner, linecache.cache.pop, made.file, None)


def _functions(owner: FunctionType | type) -> Iterator[FunctionType]:
    for found in [owner] if isinstance(owner, FunctionType) else [*vars(owner).values()]:
        found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        while found is not None:
            if isinstance(found, FunctionType):
                yield found
            found = getattr(found, "__wrapped__", None)


def texts_of(code: CodeType, namespace: dict[str, Any]) -> Iterator[Text]:
    """Yield the texts that may contain the source of a function's code, the likeliest first.

    namespace: the globals of the function, which tell how its module was loaded.
    """
    file = code.co_filename
    provider = provider_of(file)
    given = [g.text_for(code) for g in [*_given.values()][::-1]]
    yield from (text._replace(provider=provider) for text in given if text is not None)
    before = linecache.cache.get(file)
    linecache.checkcache(file)
    lines = linecache.getlines(file, namespace)
    if lines:
        yield Text(file, lines, provider=provider)
    if before is not None and len(before) > 1 and before[2] != lines:
        yield Text(file, before[2], before, provider=provider)
    yield from (_unfiled(f"<source of {code.co_name}>", text, True) for text in _typed(code))
    if (text := guards_text(code, namespace)) is not None:
        yield _unfiled(f"<guards {next(_numbers)} of torch.export>", text, True)


def _typed(code: CodeType) -> Iterator[str]:
    """Yield the typed texts: those at a prompt of Python 3.13 and later, and that of the option -c."""
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
