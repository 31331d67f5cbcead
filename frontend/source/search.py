"""Search texts for the function that a code object was made of. Loaded when a source is read first: most starts read none."""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from scriptc.frontend.source.code_comparison import (
    classes_around,
    compiled,
    equal_code,
    first_line,
    is_rewritten,
    make_private,
)
from scriptc.frontend.source.counted_names import take_numbers, without_number
from scriptc.frontend.source.nodes import all_nodes
from scriptc.frontend.source.providers import ProviderError, provided_tree
from scriptc.frontend.source.texts import Text

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Match = tuple[AnyFunction, str | None]


def find_function(texts: list[Text], code: CodeType, func: FunctionType) -> tuple[AnyFunction, Text] | None:
    """Return the node of a function and its text; None if no text compiles to the function's code.

    Names in the node that are private to a class have the mangled form of the code. Raises ProviderError if the provider of
    a text cannot parse it, and no other text is the function's.
    """
    failed: ProviderError | None = None
    for search in _in_place, _anywhere, _loaded, _rewritten, _provided:
        for text in texts:
            if (text.provider is not None) != (search is _provided):
                continue
            try:
                node, owner = search(text, code, func) or (None, None)
            except ProviderError as e:
                failed = e
                continue
            if node is not None:
                if not isinstance(node, ast.AsyncFunctionDef):
                    make_private(node, owner)
                return node, text
    if failed is not None:
        raise failed
    return None


# ---- the searches: each returns the function that a code object was made of, with the class around it ----


def _in_place(text: Text, code: CodeType, func: FunctionType) -> Match | None:
    """Search at the line that the code names."""
    return _compiling_to(code, _block(text, code))


def _anywhere(text: Text, code: CodeType, func: FunctionType) -> Match | None:
    """Search the whole text, since lines may have moved, and a lambda may follow the first line of its expression."""
    return _compiling_to(code, _named_alike(_parsed(text.lines, 1), code))


def _loaded(text: Text, code: CodeType, func: FunctionType) -> Match | None:
    """Search the code that the module's loader makes of its text, if the loader compiles in its own way."""
    loader = getattr(func.__globals__.get("__spec__"), "loader", None) or func.__globals__.get("__loader__")
    own = getattr(type(loader), "source_to_code", None)
    if own is None or own is SourceFileLoader.source_to_code:
        return None
    try:
        module = loader.source_to_code("".join(text.lines).encode(), text.file)  # type: ignore[union-attr]
    except Exception:  # a third-party loader may raise anything
        return None
    lines = {c.co_firstlineno for c in _nested(module) if c.co_name == code.co_name and equal_code(c, code)}
    found = _named_alike(_parsed(text.lines, 1), code)
    return next(((n, next(classes_around(n, code))) for n in found if first_line(n) in lines), None)


def _rewritten(text: Text, code: CodeType, func: FunctionType) -> Match | None:
    """Search for a function whose rewritten form may be the code."""
    for nodes in _block(text, code), _named_alike(_parsed(text.lines, 1), code):
        found = [(n, owner) for n in nodes for made, owner in _compiled(n, code) if is_rewritten(made, code, n)]
        if len({ast.dump(n) for n, _ in found}) == 1:
            return found[0]
    return None


def _provided(text: Text, code: CodeType, func: FunctionType) -> Match | None:
    """Search the tree that the provider of the text makes.

    Later searches get the same tree, and callers change what they find. So the result is a copy.
    """
    assert text.provider is not None
    tree = provided_tree(text.provider, "".join(text.lines), text.file, func.__globals__)
    nodes = [copy.deepcopy(n) for n in _named_alike(tree, code, without_number)]
    found = _compiling_to(code, nodes)
    if found is None:
        for node in nodes:
            take_numbers(node, code)
        found = _compiling_to(code, nodes)
    return found


def _compiling_to(code: CodeType, nodes: Iterable[AnyFunction]) -> Match | None:
    found = [(n, made, owner) for n in nodes for made, owner in _compiled(n, code) if equal_code(made, code)]
    if len(found) > 1 and sys.version_info >= (3, 11):  # several equal lambdas
        found = [f for f in found if _ends(f[1]) == _ends(code)] or found
    return (found[0][0], found[0][2]) if found else None


def _ends(code: CodeType) -> list[tuple[int | None, ...]]:
    """Return where the text of each instruction ends. Compilers of other languages count other first columns."""
    return [(end_line, end) for _, end_line, _, end in code.co_positions()]  # type: ignore[attr-defined, unused-ignore]


def _compiled(node: AnyFunction, code: CodeType) -> list[tuple[CodeType, str | None]]:
    try:
        return list(compiled(node, code))
    except (SyntaxError, ValueError):  # the node does not compile on its own
        return []


def _nested(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _nested(const)


# ---- the nodes of a text ----


def _block(text: Text, code: CodeType) -> list[AnyFunction]:
    """Return the functions that begin at the first line of a code object and have its name."""
    first = code.co_firstlineno
    try:
        lines = inspect.getblock(text.lines[first - 1 :])
    except (tokenize.TokenError, SyntaxError, IndexError):  # no statement begins on this line
        return []
    found = _named_alike(_parsed(lines, first), code)
    return [n for n in found if first_line(n) == first]


def _named_alike(tree: ast.Module, code: CodeType, spelled: Callable[[str], str] = str) -> list[AnyFunction]:
    """Return the functions of a tree that have the name of a code object, ordered by their distance from its first
    line. `spelled` maps names to what is compared."""
    own = spelled(code.co_name.rpartition(".")[2])  # the code's name may include the class
    nodes = [n for n in all_nodes(tree) if isinstance(n, AnyFunction) and spelled(getattr(n, "name", "<lambda>")) == own]
    return sorted(nodes, key=lambda n: abs(first_line(n) - code.co_firstlineno))


def _parsed(lines: list[str], first: int) -> ast.Module:
    """Return the tree of lines, the first of which has the number `first`. Return an empty tree for incomplete
    statements."""
    begin = next((line for line in lines if line.strip()), "")
    if not begin:
        return ast.Module([], [])
    if begin[:1].isspace():  # dedenting the lines would change string literals
        lines, first = ["if 1:\n", *lines], first - 1
    try:
        tree = ast.parse("\n" * (first - 1) + "".join(lines))  # the parser counts lines faster than Python moves nodes
    except (SyntaxError, ValueError):
        return ast.Module([], [])
    if first < 1:
        ast.increment_lineno(tree, first - 1)
    return tree
