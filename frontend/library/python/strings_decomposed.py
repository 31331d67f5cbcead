"""Methods of strings in terms of slices, searches and characters."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.library.registry import decomposes

END = 2**63 - 1


def char(s: str, i: int) -> str:
    raise NotImplementedError  # handlers return s[i], ord(s[i]), and whether s[i] ends a line; i is in bounds


def code(s: str, i: int) -> int:
    raise NotImplementedError


def ends_line(s: str, i: int) -> bool:
    raise NotImplementedError


def escaped(s: str) -> str:
    raise NotImplementedError


def code_of(s: str) -> int:
    if len(s) != 1:
        raise TypeError(f"ord() expected a character, but string of length {len(s)} found")
    return code(s, 0)


def list_text(xs: list[Any]) -> str:
    return "[" + ", ".join([repr(x) for x in xs]) + "]"


def tuple_text(xs: Any) -> str:
    return "(" + ", ".join([repr(x) for x in xs]) + (",)" if len(xs) == 1 else ")")


def dict_text(d: Any) -> str:
    return "{" + ", ".join([repr(key) + ": " + repr(value) for key, value in d.items()]) + "}"


def set_text(xs: Any) -> str:
    return "{" + ", ".join([repr(x) for x in xs]) + "}" if xs else "set()"


@decomposes("str.index")
def index(s: str, sub: str, start: int = 0, end: int = END) -> int:
    at = s.find(sub, start, end)
    if at < 0:
        raise ValueError("substring not found")
    return at


@decomposes("str.rindex")
def rindex(s: str, sub: str, start: int = 0, end: int = END) -> int:
    at = s.rfind(sub, start, end)
    if at < 0:
        raise ValueError("substring not found")
    return at


@decomposes("str.center")
def center(s: str, width: int, fillchar: str = " ") -> str:
    if len(fillchar) != 1:
        raise TypeError("The fill character must be exactly one character long")
    pad = max(width - len(s), 0)
    left = pad // 2 + (pad & width & 1)
    return fillchar * left + s + fillchar * (pad - left)


@decomposes("str.ljust")
def ljust(s: str, width: int, fillchar: str = " ") -> str:
    if len(fillchar) != 1:
        raise TypeError("The fill character must be exactly one character long")
    return s + fillchar * (width - len(s))


@decomposes("str.rjust")
def rjust(s: str, width: int, fillchar: str = " ") -> str:
    if len(fillchar) != 1:
        raise TypeError("The fill character must be exactly one character long")
    return fillchar * (width - len(s)) + s


@decomposes("str.zfill")
def zfill(s: str, width: int) -> str:
    zeros = "0" * (width - len(s))
    if s.startswith("+") or s.startswith("-"):
        return s[:1] + zeros + s[1:]
    return zeros + s


@decomposes("str.expandtabs")
def expandtabs(s: str, tabsize: int = 8) -> str:
    out = ""
    column = 0
    for c in s:
        if c == "\t":
            n = tabsize - column % tabsize if tabsize > 0 else 0
            out += " " * n
            column += n
        else:
            out += c
            column = 0 if c == "\n" or c == "\r" else column + 1
    return out


@decomposes("str.removeprefix")
def removeprefix(s: str, prefix: str) -> str:
    return s[len(prefix) :] if s.startswith(prefix) else s


@decomposes("str.removesuffix")
def removesuffix(s: str, suffix: str) -> str:
    return s[: len(s) - len(suffix)] if s.endswith(suffix) else s


@decomposes("str.partition")
def partition(s: str, sep: str) -> tuple[str, str, str]:
    if len(sep) == 0:
        raise ValueError("empty separator")
    at = s.find(sep)
    if at < 0:
        return s, "", ""
    return s[:at], sep, s[at + len(sep) :]


@decomposes("str.rpartition")
def rpartition(s: str, sep: str) -> tuple[str, str, str]:
    if len(sep) == 0:
        raise ValueError("empty separator")
    at = s.rfind(sep)
    if at < 0:
        return "", "", s
    return s[:at], sep, s[at + len(sep) :]


def stripped(s: str, chars: str | None, left: bool, right: bool) -> str:
    start, end = 0, len(s)
    if left:
        while start < end and (char(s, start).isspace() if chars is None else char(s, start) in chars):
            start += 1
    if right:
        while end > start and (char(s, end - 1).isspace() if chars is None else char(s, end - 1) in chars):
            end -= 1
    return s[start:end]


@decomposes("str.strip")
def strip(s: str, chars: str | None = None) -> str:
    return stripped(s, chars, True, True)


@decomposes("str.lstrip")
def lstrip(s: str, chars: str | None = None) -> str:
    return stripped(s, chars, True, False)


@decomposes("str.rstrip")
def rstrip(s: str, chars: str | None = None) -> str:
    return stripped(s, chars, False, True)


def words(s: str, maxsplit: int) -> list[str]:
    found: list[str] = []
    n = len(s)
    end = 0
    while True:
        start = end
        while start < n and char(s, start).isspace():
            start += 1
        if start == n:
            return found
        end = start
        if maxsplit == 0:
            end = n
        while end < n and not char(s, end).isspace():
            end += 1
        found.append(s[start:end])
        maxsplit -= 1


def words_from_right(s: str, maxsplit: int) -> list[str]:
    found: list[str] = []
    start = len(s)
    while True:
        end = start
        while end > 0 and char(s, end - 1).isspace():
            end -= 1
        if end == 0:
            break
        start = end
        if maxsplit == 0:
            start = 0
        while start > 0 and not char(s, start - 1).isspace():
            start -= 1
        found.append(s[start:end])
        maxsplit -= 1
    found.reverse()
    return found


@decomposes("str.split")
def split(s: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    if sep is None:
        return words(s, maxsplit)
    if len(sep) == 0:
        raise ValueError("empty separator")
    found: list[str] = []
    start = 0
    while maxsplit != 0:
        at = s.find(sep, start)
        if at < 0:
            break
        found.append(s[start:at])
        start = at + len(sep)
        maxsplit -= 1
    found.append(s[start:])
    return found


@decomposes("str.rsplit")
def rsplit(s: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    if sep is None:
        return words_from_right(s, maxsplit)
    if len(sep) == 0:
        raise ValueError("empty separator")
    found: list[str] = []
    end = len(s)
    while maxsplit != 0:
        at = s.rfind(sep, 0, end)
        if at < 0:
            break
        found.append(s[at + len(sep) : end])
        end = at
        maxsplit -= 1
    found.append(s[:end])
    found.reverse()
    return found


@decomposes("str.splitlines")
def splitlines(s: str, keepends: bool = False) -> list[str]:
    found: list[str] = []
    n = len(s)
    start = 0
    while start < n:
        end = start
        while end < n and not ends_line(s, end):
            end += 1
        after = end
        if end < n:
            after = end + 2 if char(s, end) == "\r" and end + 1 < n and char(s, end + 1) == "\n" else end + 1
        found.append(s[start:after] if keepends else s[start:end])
        start = after
    return found


def all_there(parts: list[str | None]) -> list[str]:
    """Return the strings of a list for `join`, which takes no None."""
    found: list[str] = []
    for i, part in enumerate(parts):
        if part is None:
            raise TypeError(f"sequence item {i}: expected str instance, NoneType found")
        found.append(part)
    return found
