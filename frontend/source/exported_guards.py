"""The source of the functions in which torch.export checks the arguments of a program. torch keeps no text of them."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any

_MESSAGE = "Guard failed: "


def guards_text(code: CodeType, namespace: dict[str, Any]) -> str | None:
    """Return the text of which torch.export may have made a function, given its code; None for other functions.

    Each message of the function is the text of a condition, with the parameters of the program by name. The code has
    them as items of `args`. The front end compares what the text compiles to with the code, as for any text.
    """
    if code.co_filename != "<string>" or code.co_name != "_" or code.co_varnames != ("args",):
        return None
    indices: list[int] = []
    lines = ["def _(*args):"]
    previous = ""
    for step in dis.get_instructions(code):
        if previous.startswith("LOAD_FAST") and isinstance(step.argval, int):
            indices.append(step.argval)
        elif isinstance(step.argval, str) and step.argval.startswith(_MESSAGE):
            condition = step.argval.removeprefix(_MESSAGE)
            try:
                node = _Arguments(iter(indices), namespace).visit(ast.parse(condition, mode="eval"))
            except (SyntaxError, ValueError, StopIteration):
                return None
            lines.append(f"  torch._assert({ast.unparse(node)}, {step.argval!r})")
            indices = []
        previous = step.opname
    return "\n".join([*lines, "  return", ""])


class _Arguments(ast.NodeTransformer):
    """Replaces the arguments in a condition by the items of `args`, in the order in which the code reads them."""

    def __init__(self, indices: Iterator[int], namespace: dict[str, Any]) -> None:
        self.indices = indices
        self.namespace = namespace

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # the name of a method is no part of a path
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(a) for a in node.args]
            return node
        root = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.namespace:
            return ast.Subscript(ast.Name("args", ast.Load()), ast.Constant(next(self.indices)), ast.Load())
        return self.generic_visit(node)
