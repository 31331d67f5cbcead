"""In-place methods that change the shape of a tensor object, such as `x.unsqueeze_(0)`.

The reader reads this call as `x := x.unsqueeze(0)` if only `x` holds the tensor, and as `x.unsqueeze(0)` if no name
does.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator

from scriptc.frontend.source.nodes import all_nodes, child_nodes
from scriptc.frontend.source.scope import bindings, declared

RESHAPES = frozenset("transpose t squeeze unsqueeze swapaxes swapdims".split())


class Reshape(ast.NamedExpr):
    """`target := value`, where the value calls such a method of the target. It is only the call if the target is no
    tensor."""


def mark(function: ast.FunctionDef | ast.Lambda) -> None:
    """Replace reshaping calls on a function's own variables where a statement evaluates the call first."""
    for inner in [n for n in all_nodes(function) if isinstance(n, ast.FunctionDef)]:
        arguments = {n.arg for n in all_nodes(inner.args) if isinstance(n, ast.arg)}
        own = ({*bindings(inner.body)} | arguments) - declared(inner).keys()
        for stmt in _statements(inner.body):
            if isinstance(stmt, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)) and stmt.value is not None:
                stmt.value = _marked(stmt.value, own)


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Yield the statements of a function, without those of functions inside it."""
    for node in nodes:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)) and not isinstance(node, ast.FunctionDef):
            yield from _statements(child_nodes(node))


def _marked(node: ast.expr, own: Container[str]) -> ast.expr:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return node
    owner = node.func.value
    if not isinstance(owner, ast.Name):
        node.func.value = _marked(owner, own)
        return node
    if owner.id not in own or not node.func.attr.endswith("_") or node.func.attr[:-1] not in RESHAPES:
        return node
    return ast.copy_location(Reshape(ast.copy_location(ast.Name(owner.id, ast.Store()), owner), node), node)
