"""The provider of Hy, a Lisp whose compiler makes Python's AST. Loaded when a `.hy` file is met first."""

from __future__ import annotations

import ast
import warnings
from functools import cache
from types import ModuleType
from typing import Any


def parse(text: str, file: str, namespace: dict[str, Any]) -> ast.Module:
    """Return the tree that Hy makes of a text.

    Hy runs macros, and forms such as `eval-when-compile`, while it compiles. They run here in a new module, so that the
    module in use does not change.
    """
    try:
        from hy.errors import HyLanguageError
    except ImportError as e:
        raise ImportError("scriptc reads .hy files with the package hy: pip install 'scriptc[hy]'") from e
    name = str(namespace.get("__name__", "__main__"))
    module = ModuleType(name)
    for copied in ("__package__", "__spec__", "__path__"):  # `require` of a relative name asks for them
        if copied in namespace:
            setattr(module, copied, namespace[copied])
    module.__file__ = file
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import of the module has shown them
            tree = _compiled(text, file, module)
    except HyLanguageError as e:
        if isinstance(e, SyntaxError):
            raise
        message = getattr(e, "msg", None) or str(e)
        found = (getattr(e, "filename", file), getattr(e, "lineno", 1), getattr(e, "offset", 1), getattr(e, "text", ""))
        raise SyntaxError(message, found) from e
    first = _first_column()
    for node in ast.walk(tree) if first else ():
        if hasattr(node, "col_offset"):
            node.col_offset = max(0, node.col_offset - first)
    return tree


def _compiled(text: str, file: str, module: ModuleType) -> ast.Module:
    from hy.compiler import hy_compile
    from hy.reader import HyReader, read_many

    forms = read_many(text, filename=file, skip_shebang=True, reader=HyReader())
    tree: ast.Module = hy_compile(forms, module, filename=file, source=text)
    return tree


@cache
def _first_column() -> int:
    """Return the number that Hy gives to the first column. It is 1 in Hy 1.3, where Python counts from 0."""
    call = next(n for n in ast.walk(_compiled("(f)", "<columns>", ModuleType("columns"))) if isinstance(n, ast.Call))
    return call.col_offset
