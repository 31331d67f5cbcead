"""Finding the AST of a Python function, with positions that are absolute in its file."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType

from scriptc.frontend.met import meet
from scriptc.frontend.reshaping import mark
from scriptc.ir.loc import Loc

FunctionNode = ast.FunctionDef | ast.Lambda


class SourceError(Exception):
    """The source of a function cannot be read; the message says why."""


@dataclass(frozen=True)
class Source:
    """A parsed function: nodes carry absolute lines and columns."""

    node: FunctionNode
    file: str
    name: str

    def loc(self, node: ast.AST, inlined_at: Loc | None) -> Loc:
        line = getattr(node, "lineno", self.node.lineno)
        col = getattr(node, "col_offset", 0)
        end_line, end_col = getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0
        return Loc(self.file, line, col, end_line, end_col, self.name, inlined_at)


@lru_cache(maxsize=4096)
def _of_code(code: CodeType, name: str, file: str) -> Source:
    """file: told apart, since code objects of the same text are equal wherever they stand."""
    linecache.checkcache(code.co_filename)
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as e:
        raise SourceError(
            f"the source of {name} is not available ({e}); define it in a file rather than in exec() or the -c option"
        ) from e
    except (tokenize.TokenError, SyntaxError):  # a lambda on the last line of a string that begins above
        lines, first = linecache.getlines(code.co_filename), 1
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    removed = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(dedented)
    except SyntaxError as e:
        if code.co_name != "<lambda>":
            raise SourceError(f"the source of {name} could not be parsed: {e}") from e
        tree = _around(code)  # a lambda inside an expression that its first line does not hold whole
        first, removed = 1, 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.stmt, ast.excepthandler, ast.arg, ast.keyword, ast.alias, ast.pattern)):
            assert node.end_lineno is not None and node.end_col_offset is not None
            node.lineno += first - 1
            node.col_offset += removed
            node.end_lineno += first - 1
            node.end_col_offset += removed
    found = _find(tree, code, name)
    mark(found)
    return Source(found, file, name)


def _around(code: CodeType) -> ast.Module:
    return ast.parse("".join(linecache.getlines(code.co_filename)))


def _find(tree: ast.Module, code: CodeType, name: str) -> FunctionNode:
    """The node of a code object: by name and line; lambdas on one line by their argument names and what they compute."""
    if code.co_name != "<lambda>":
        own = code.co_name.rpartition(".")[2]  # copies of code may be called by their class too
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == own:
                return node
            if isinstance(node, ast.AsyncFunctionDef) and node.name == own:
                raise SourceError(f"{name} is an async function, which is not supported")
        raise SourceError(f"the source of {name} was not found where its code says it is")
    found = [
        n for n in ast.walk(tree)
        if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno
        and [a.arg for a in n.args.args] == list(code.co_varnames[: code.co_argcount])
    ]  # fmt: skip
    same = found
    if len(found) > 1:
        around = [n for n in found if _is_around(n.body, code)]
        same = around[-1:] if around else [n for n in found if _compiles_to(n, code)]  # the innermost comes last
    if len(same) != 1 and len({ast.dump(n) for n in same}) != 1:
        raise SourceError(f"{len(found)} lambdas stand on line {code.co_firstlineno}; put each on a line of its own")
    return same[0]


def _is_around(body: ast.expr, code: CodeType) -> bool:
    """Whether all that the code computes stands in this expression. Python tells that from 3.11 on."""
    if sys.version_info < (3, 11):
        return False
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    told = False
    for line, last, col, stop in code.co_positions():
        if line is None or last is None or col is None or not stop:
            continue  # of no expression
        if (line, col) < begin or (last, stop) > end:
            return False
        told = True
    return told


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    compiled = compile(ast.Expression(node), code.co_filename, "eval")
    inner = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    return inner.co_code == code.co_code and inner.co_names == code.co_names


def source_of(func: FunctionType) -> Source:
    """The parsed source of a function, read once; SourceError where it is not available."""
    meet(func)
    code = _on_disk(func.__code__)
    return _of_code(code, func.__qualname__, code.co_filename)


def signature_of(func: FunctionType) -> inspect.Signature:
    """As callers see it: that of what a decorator wraps, where its function only passes on what it is given."""
    return inspect.signature(inspect.unwrap(func, stop=lambda f: not _passes_on(f)), follow_wrapped=False)


def _passes_on(func: Callable[..., object]) -> bool:
    """Whether it gives *args and **kwargs, and what stands before them, to what it wraps, and looks at neither itself: then it
    is the same whether an argument is given by its name, or not given and has a default."""
    inner = getattr(func, "__wrapped__", None)
    if not isinstance(inner, FunctionType) or not isinstance(func, FunctionType):
        return False
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
    names = {n for n, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True) if _holds(cell, inner)}
    whole = ", ".join([*first, f"*{rest}", f"**{named}"])
    calls = [c for c in ast.walk(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name) and c.func.id in names]
    uses = sum(isinstance(n, ast.Name) and n.id in (rest, named) for n in ast.walk(node))
    return uses == 2 * len(calls) > 0 and all(ast.unparse(c) == f"{ast.unparse(c.func)}({whole})" for c in calls)


def _holds(cell: CellType, value: object) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:  # nothing yet
        return False


def _on_disk(code: CodeType) -> CodeType:
    """Code of modules that Python has frozen into itself, as collections.abc, stands in a file too."""
    frozen, _, name = code.co_filename.rstrip(">").partition(" ")
    file = getattr(sys.modules.get(name), "__file__", None) if frozen == "<frozen" else None
    return code.replace(co_filename=file) if file else code


def statements_of(node: FunctionNode) -> list[ast.stmt]:
    """The body; that of a lambda returns its value."""
    return [ast.copy_location(ast.Return(node.body), node.body)] if isinstance(node, ast.Lambda) else node.body
