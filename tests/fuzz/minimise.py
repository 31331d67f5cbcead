"""Makes a program that fails smaller while it fails in the same way."""

from __future__ import annotations

import ast
import copy
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

from tests.fuzz.batch import Program, Report
from tests.fuzz.children import run_batches

PROBES = 12  # candidates that are tried in one child


def minimised(report: Report, seconds: float = 60) -> Program:
    """The smallest program found in the time given."""
    best, wanted = report.program, _likeness(report)
    end = time.monotonic() + seconds
    at = 0
    while time.monotonic() < end:
        texts = [t for t in map(ast.unparse, _smaller(ast.parse(best.text))) if len(t) < len(best.text)]
        texts = list(filter(_is_program, dict.fromkeys(texts)))
        texts = texts[at:] + texts[:at]  # what was refused before comes last
        for start in range(0, len(texts), PROBES):
            found = _first([replace(best, text=t + "\n") for t in texts[start : start + PROBES]], wanted, end)
            if found or time.monotonic() > end:
                break
        else:
            return best
        if found is None:
            return best
        best, at = found, 0 if at + start >= len(texts) else at + start
    return best


def _first(candidates: list[Program], wanted: tuple[str, str], end: float) -> Program | None:
    """Return the first candidate that fails as wanted, or None when none does before `end`. Each is a batch of its own, so that
    all may have one name."""
    for reports in run_batches([[c] for c in candidates]):
        if _likeness(reports[0]) == wanted:
            return reports[0].program
        if time.monotonic() > end:  # a candidate that hangs takes minutes
            break
    return None


def _likeness(report: Report) -> tuple[str, str]:
    return report.kind, re.split(r"[\d'\"%\[(]", report.message, maxsplit=1)[0][:60]


def _is_program(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<candidate>", "exec")
    except SyntaxError:
        return False
    return re.search(r"^def f\d+\(", text, re.MULTILINE) is not None


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree without one statement, with one replaced by its body, or with an expression replaced by a part or a constant."""
    count = sum(1 for _ in ast.walk(tree))
    for expressions in (False, True):
        for i in range(count):
            node = _nth(tree, i)
            if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):  # these hold other nodes than expressions do
                continue
            for name, value in ast.iter_fields(node):
                items = value if isinstance(value, list) else [value]
                for j, item in enumerate(items):
                    if isinstance(item, ast.expr) == expressions and isinstance(item, (ast.expr, ast.stmt)):
                        for n in range(_ways(item)):
                            yield _replaced(tree, i, name, j if isinstance(value, list) else None, n)


def _nth(tree: ast.AST, i: int) -> ast.AST:
    return next(node for k, node in enumerate(ast.walk(tree)) if k == i)


_CONSTANTS = (0, 1, True, None)


def _parts(node: ast.AST) -> list[ast.AST]:
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr) and not isinstance(n, ast.Constant)]


def _ways(node: ast.AST) -> int:
    if isinstance(node, ast.stmt):
        return 1 + len([b for b in ("body", "orelse", "finalbody") if getattr(node, b, None)])
    if isinstance(node, ast.Constant) or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return 0
    return len(_CONSTANTS) + len(_parts(node))


def _replaced(tree: ast.Module, i: int, name: str, j: int | None, way: int) -> ast.Module:
    tree = copy.deepcopy(tree)
    parent = _nth(tree, i)
    value = getattr(parent, name)
    old = value if j is None else value[j]
    new: list[ast.AST]
    if isinstance(old, ast.stmt):
        bodies = [[], *(getattr(old, b) for b in ("body", "orelse", "finalbody") if getattr(old, b, None))]
        new = bodies[way] or ([ast.Pass()] if len(value) == 1 else [])
    else:
        parts = _parts(old)
        new = [parts[way] if way < len(parts) else ast.Constant(_CONSTANTS[way - len(parts)])]
    if j is None:
        setattr(parent, name, new[0])
    else:
        value[j : j + 1] = new
    return ast.fix_missing_locations(tree)
