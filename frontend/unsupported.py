"""Python that compiled code cannot contain: what it is called in a message, and what to write instead."""

from __future__ import annotations

import ast

UNSUPPORTED: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.AsyncFunctionDef: ("async functions are", "compile a plain function"),
    ast.AsyncFor: ("async for loops are", "use a plain for loop"),
    ast.AsyncWith: ("async with blocks are", "use a plain with block"),
    ast.Await: ("await is", "call a plain function"),
    ast.Yield: ("yield is", "append to a list and return it"),
    ast.YieldFrom: ("yield from is", "extend a list and return it"),
    ast.ClassDef: ("class statements inside a function are", "define the class at the top of the file"),
}
if hasattr(ast, "TryStar"):
    UNSUPPORTED[ast.TryStar] = ("except* blocks are", "use if and raise")
if hasattr(ast, "TypeAlias"):
    UNSUPPORTED[ast.TypeAlias] = ("type statements inside a function are", "define the alias at the top of the file")
