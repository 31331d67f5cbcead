"""Find the AST of a Python function: parse a text that compiles to its code object. Positions are absolute in the
file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING

from scriptc.frontend.environment.dependencies import record_dependency
from scriptc.frontend.source.nodes import all_nodes, child_nodes
from scriptc.frontend.source.origins import origin
from scriptc.frontend.source.reshaping import mark
from scriptc.ir.loc import Loc

if TYPE_CHECKING:
    from scriptc.frontend.source.texts import Text

FunctionNode = ast.FunctionDef | ast.Lambda


class SourceError(Exception):
    """The source of a function cannot be read; the message says why."""


@dataclass(frozen=True)
class Source:
    """A parsed function: nodes carry absolute lines and columns."""

    node: FunctionNode
    file: str
    name: str
    text: Text | None = None  # the file's text, in case linecache drops it

    def loc(self, node: ast.AST, inlined_at: Loc | None) -> Loc:
        line = getattr(node, "lineno", self.node.lineno)
        col = getattr(node, "col_offset", 0)
        end_line, end_col = getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0
        return origin(self.file, line, inlined_at) or Loc(self.file, line, col, end_line, end_col, self.name, inlined_at)


_MOST_SOURCES = 4096
_sources: dict[tuple[CodeType, str, str], Source] = {}  # equal texts have equal code objects


def source_of(func: FunctionType) -> Source:
    """Return the parsed source of a function, which is read once. Raise SourceError if no text compiles to its code."""
    record_dependency(func)
    code = _on_disk(func.__code__)
    key = code, func.__qualname__, code.co_filename
    found = _sources.get(key)
    if found is None:
        if len(_sources) >= _MOST_SOURCES:
            _sources.pop([*_sources][0], None)
        found = _sources[key] = _read(code, func)
    if found.text is not None:
        found.text.show()
    return found


def _read(code: CodeType, func: FunctionType) -> Source:
    from scriptc.frontend.source.providers import ProviderError
    from scriptc.frontend.source.search import find_function
    from scriptc.frontend.source.texts import texts_of

    name, file = func.__qualname__, code.co_filename
    texts = list(texts_of(code, func.__globals__))
    try:
        found = find_function(texts, code, func)
    except ProviderError as e:
        raise SourceError(f"{name} cannot be read: {e}") from e
    if found is not None:
        node, text = found
        if isinstance(node, ast.AsyncFunctionDef):
            raise SourceError(f"{name} is an async function, which is not supported")
        mark(node)
        return Source(node, text.file, name, text if text.entry is not None else None)
    if all(text.is_guess for text in texts):
        raise SourceError(
            f"the source of {name} is not available; define it in a file, or pass its text: scriptc.compile(..., source=text)"
        )
    raise SourceError(
        f"{file} does not hold the source of {name}: the file was edited since, or a tool changed the code of {name}; "
        "import the file again, or pass the text: scriptc.compile(..., source=text)"
    )


def passes_on(func: FunctionType, inner: FunctionType) -> bool:
    """Return whether a wrapper passes `*args`, `**kwargs` and its other parameters unchanged to the wrapped function.

    The wrapper reads none of them. A call may therefore name an argument, or leave out one with a default, to the same effect.
    """
    try:
        node = source_of(func).node
    except SourceError:
        return False
    if node.args.vararg is None or node.args.kwarg is None or node.args.kwonlyargs or node.args.defaults:
        return False
    rest, named = node.args.vararg.arg, node.args.kwarg.arg
    first = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if tuple(first) != inner.__code__.co_varnames[: len(first)]:
        return False
    names = {
        n for n, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True) if _holds(cell, inner)
    }
    whole = ", ".join([*first, f"*{rest}", f"**{named}"])
    calls = [
        c for c in all_nodes(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name) and c.func.id in names
    ]
    uses = sum(isinstance(n, ast.Name) and n.id in (rest, named) for n in all_nodes(node))
    return uses == 2 * len(calls) > 0 and all(ast.unparse(c) == f"{ast.unparse(c.func)}({whole})" for c in calls)


def _holds(cell: CellType, value: object) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # the cell is empty
        return False


def _on_disk(code: CodeType) -> CodeType:
    """Return the file of a module that Python has frozen, such as collections.abc."""
    frozen, _, name = code.co_filename.rstrip(">").partition(" ")
    file = getattr(sys.modules.get(name), "__file__", None) if frozen == "<frozen" else None
    return code.replace(co_filename=file) if file else code


@lru_cache(maxsize=4096)
def is_generator_function(node: FunctionNode) -> bool:
    """Return whether a function yields."""
    return any(True for _ in _yields([node.body] if isinstance(node, ast.Lambda) else node.body))


@lru_cache(maxsize=4096)
def yields_within_try(node: FunctionNode) -> bool:
    """Return whether a generator yields inside a `try` or `with`, which would see what the walking loop raises."""
    return any(True for s in all_nodes(node) if isinstance(s, (ast.Try, ast.With)) for _ in _yields(s.body))


def _yields(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Return the `yield` expressions in nodes, without those of the functions inside."""
    for node in nodes:
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield from _yields(child_nodes(node))


def statements_of(node: FunctionNode) -> list[ast.stmt]:
    """Return the statements of a function. A lambda returns its value."""
    return [ast.copy_location(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body
