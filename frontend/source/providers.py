"""Providers of syntax trees: which function parses the files of a suffix.

Python's own files have no provider: `frontend.source.search` parses single functions of them, which is faster.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

from scriptc.ir.loc import Loc

Provider = Callable[[str, str, dict[str, Any]], ast.Module]


class ProviderError(Exception):
    """A provider cannot parse a text; the message says why."""


def _hy(text: str, file: str, namespace: dict[str, Any]) -> ast.Module:
    from scriptc.frontend.source.hy_source import parse

    return parse(text, file, namespace)


_providers: dict[str, Provider] = {".hy": _hy}
_parsed: dict[tuple[Provider, str, str], ast.Module] = {}
_MOST_PARSED = 64


def register_source(suffix: str, provider: Provider) -> None:
    """Let `provider` parse the source files whose name ends in `suffix`.

    scriptc finds a function by its code object, which names a file. If the name ends in `suffix`, scriptc calls
    `provider(text, file, namespace)`: the text and the name of the file, and the globals of the function. The provider
    returns the `ast.Module` that the language's own compiler passes to Python's `compile`. The `lineno`, `col_offset`,
    `end_lineno` and `end_col_offset` of its nodes are positions in the text. Errors, profiles and the comments of the
    C show these lines. The provider raises SyntaxError for a text that it cannot parse.

    The tree needs only the functions. scriptc compares the code of each with the code object in use, so a tree of
    another text is refused and not compiled. Variables that the language names by a counter, such as `tmp_7`, may have
    other numbers than in the code object. scriptc parses a text once, and copies what it changes.

    suffix: the end of file names, with its dot, such as ".hy". A later registration replaces an earlier one. ".hy" has
    a provider, which needs the package `hy`.
    provider: the function.

    Raises ValueError if the suffix does not begin with a dot, or is ".py", and TypeError if the provider is not
    callable.
    """
    if not suffix.startswith(".") or len(suffix) < 2:
        raise ValueError(f"a suffix of source files begins with a dot, such as '.hy', which {suffix!r} does not")
    if suffix == ".py":
        raise ValueError("Python parses the files that end in '.py'; they cannot have another provider")
    if not callable(provider):
        raise TypeError(f"the provider of '{suffix}' is a function, not {type(provider).__name__}")
    _providers[suffix] = provider


def provider_of(file: str) -> Provider | None:
    """Return the provider of a file; None for Python's files and for what is in no file."""
    if file.endswith(".py"):
        return None
    return next((p for suffix, p in _providers.items() if file.endswith(suffix)), None)


def is_source_file(file: str) -> bool:
    """Return whether Python or a provider parses a file."""
    return file.endswith(".py") or provider_of(file) is not None


def provided_tree(provider: Provider, text: str, file: str, namespace: dict[str, Any]) -> ast.Module:
    """Return the tree of a text, which is parsed once. Raise ProviderError if the provider cannot parse it."""
    key = provider, text, file
    found = _parsed.get(key)
    if found is None:
        try:
            found = provider(text, file, namespace)
        except ImportError as e:
            raise ProviderError(str(e)) from e
        except SyntaxError as e:
            raise ProviderError(_described(e, file)) from e
        except Exception as e:  # a user's function, or a macro that runs at compile time, may raise anything
            raise ProviderError(f"the provider of {os.path.basename(file)} raised {type(e).__name__}: {e}") from e
        if not isinstance(found, ast.Module):
            raise ProviderError(f"the provider of {os.path.basename(file)} returned no ast.Module")
        ast.fix_missing_locations(found)
        if len(_parsed) >= _MOST_PARSED:
            _parsed.pop(next(iter(_parsed)))
        _parsed[key] = found
    return found


def _described(error: SyntaxError, file: str) -> str:
    """Return the message of a syntax error, with its line and a caret."""
    at = Loc(error.filename or file, error.lineno or 1, max(0, (error.offset or 1) - 1))
    text = (error.text or "").rstrip("\n").split("\n")[0]
    return "\n".join([f"{at}: {error.msg}", *([text, " " * at.col + "^"] if text else [])])
