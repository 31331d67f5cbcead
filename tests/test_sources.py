"""Which text is a function's: several lambdas may stand on a line."""

from __future__ import annotations

import ast
from pathlib import Path
from types import FunctionType

import torch
import torch.nn.functional as F
from settings import OPTIMIZE

import scriptc
from scriptc.frontend.source import search
from scriptc.frontend.source.nodes import all_nodes, child_nodes

# fmt: off
ALIKE = [lambda x: F.relu(x), lambda x: F.silu(x), lambda x: x + 1, lambda x: x + 2, lambda x: (lambda x: x * 2)(x)]
BRANCHING = [lambda x: 1 if x.size(0) > 1 else 2, lambda x: 1 if x.size(0) > 2 else 3, lambda x: None, lambda x: f"ä{x.dim()}ö"]
MADE = (lambda x: lambda y: (y * 2, x))(1), (lambda x: lambda y: (y * 3, x))(1)
# fmt: on


def test_lambdas_of_a_line_are_told_apart() -> None:
    x = torch.tensor([-1.0, 2.0])
    for function in (*ALIKE, *BRANCHING, *MADE):
        assert repr(scriptc.compile(function, optimize=OPTIMIZE)(x)) == repr(function(x))


def test_copies_of_code_that_are_called_by_their_class() -> None:
    """As libraries make them that want a code object for each class."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    code = forward.__code__.replace(co_name="Layer.forward")
    copied = FunctionType(code, forward.__globals__, "forward")
    assert scriptc.compile(copied, optimize=OPTIMIZE)(torch.ones(2)).tolist() == [2, 2]


def test_nodes_are_those_of_ast() -> None:
    """Contexts and operators are left out, which hold nothing."""
    plain = ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop
    for file in sorted(Path(__file__).parent.glob("language/*.py")):
        tree = ast.parse(file.read_text())
        assert all_nodes(tree) == [n for n in ast.walk(tree) if not isinstance(n, plain)]
        for node in all_nodes(tree):
            assert child_nodes(node) == [n for n in ast.iter_child_nodes(node) if not isinstance(n, plain)]


def test_nodes_have_the_lines_of_the_file() -> None:
    source = Path(search.__file__).read_text()
    for function in (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)):
        for first in (function.lineno, 1):
            lines = source.splitlines(keepends=True)[function.lineno - 1 : function.end_lineno]
            indented = ["    " + line for line in lines]
            expected = ast.increment_lineno(ast.parse("".join(lines)), first - 1).body[0]
            (found,) = search._parsed(lines, first).body
            assert ast.dump(found, include_attributes=True) == ast.dump(expected, include_attributes=True)
            (around,) = search._parsed(indented, first).body
            assert isinstance(around, ast.If) and around.body[0].lineno == expected.lineno
    assert search._parsed([], 2**40).body == []
