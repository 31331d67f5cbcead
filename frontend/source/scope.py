"""The names that statements assign, and liveness: a backward pass over the AST of one function.

The front end carries a name through a loop, or joins it after an `if`, only if the statement assigns the name and the
name is live.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from scriptc.frontend.source.nodes import all_nodes, child_nodes

Names = frozenset[str]
_NONE: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_TAKING = frozenset(["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"])
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """Return the names that statements bind, without those that functions and comprehensions inside bind."""
    return _NONE.union(*map(_assigned_by, nodes))


@lru_cache(maxsize=1 << 14)
def _assigned_by(node: ast.AST) -> Names:
    return frozenset(bindings([node]))


def bindings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Return `assigned` without its cache, for callers that change the statements."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Lambda):
            continue
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            name = node.rest if isinstance(node, ast.MatchMapping) else node.name
            if name is not None:
                yield name
            yield from bindings(child_nodes(node))
        elif isinstance(node, ast.ExceptHandler):
            if node.name is not None:
                yield node.name
            yield from bindings(child_nodes(node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((a.asname or a.name.split(".")[0]) for a in node.names)
        elif isinstance(node, _COMPREHENSIONS):
            yield from (n.target.id for n in all_nodes(node) if isinstance(n, ast.NamedExpr))
        else:
            yield from bindings(child_nodes(node))


def used(node: ast.AST | None) -> Names:
    """Return the names that an expression or simple statement reads.

    This includes names that comprehensions and lambdas inside read, except their own variables. `del x` raises if x is
    unbound, so it reads x.
    """
    if node is None:
        return _NONE
    if isinstance(node, ast.Name):
        return _NONE if isinstance(node.ctx, ast.Store) else frozenset((node.id,))
    names = _NONE.union(*map(used, child_nodes(node)))
    if isinstance(node, _COMPREHENSIONS):
        return names - assigned(g.target for g in node.generators) | used(node.generators[0].iter)
    if isinstance(node, ast.Lambda):
        return names - {n.arg for n in all_nodes(node.args) if isinstance(n, ast.arg)} | used(node.args)
    return names


@dataclass
class Liveness:
    """The live names at points of a function.

    after[stmt]: after a statement.
    header[loop]: when an iteration begins.
    caught[stmt]: when a `try` or `with` catches an exception.
    final[stmt]: before the `finally` of a `try`.
    """

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    header: dict[ast.stmt, Names] = field(default_factory=dict)
    caught: dict[ast.stmt, Names] = field(default_factory=dict)
    final: dict[ast.stmt, Names] = field(default_factory=dict)


class _Pass:
    def __init__(self, captured: Names):
        self.result = Liveness()
        self.kept = captured  # always live: inner functions or surrounding handlers read these names

    def block(self, stmts: list[ast.stmt], out: Names, brk: Names, cont: Names) -> Names:
        for stmt in reversed(stmts):
            out = self.stmt(stmt, out | self.kept, brk, cont) | self.kept
        return out

    def protected(self, stmts: list[ast.stmt], caught: Names, out: Names, brk: Names, cont: Names) -> Names:
        """Treat each statement within the context as one that may raise; the names `caught` are live then."""
        saved, self.kept = self.kept, self.kept | caught
        found = self.block(stmts, out, brk, cont)
        self.kept = saved
        return found

    def stmt(self, stmt: ast.stmt, out: Names, brk: Names, cont: Names) -> Names:
        self.result.after[stmt] = self.result.after.get(stmt, _NONE) | out
        match stmt:
            case ast.Return() | ast.Raise():
                return used(stmt)
            case ast.Break():
                return brk
            case ast.Continue():
                return cont
            case ast.If():
                then = self.block(stmt.body, out, brk, cont)
                orelse = self.block(stmt.orelse, out, brk, cont)
                return used(stmt.test) | then | orelse
            case ast.For() | ast.While():
                return self.loop(stmt, out, brk, cont)
            case ast.With():
                self.result.caught[stmt] = self.result.caught.get(stmt, _NONE) | out
                inner = self.protected(stmt.body, out, out, brk, cont)
                for item in stmt.items:
                    inner = (inner - assigned([item])) | used(item.context_expr)
                return inner
            case ast.Try():
                return self.try_(stmt, out, brk, cont)
            case ast.AugAssign():
                return (
                    out | used(stmt.value) | frozenset(n.id for n in all_nodes(stmt.target) if isinstance(n, ast.Name))
                )
            case ast.Match():
                cases = [self.block(c.body, out, brk, cont) | used(c.guard) | used(c.pattern) for c in stmt.cases]
                return used(stmt.subject) | out.union(*cases)
            case _:
                return (out - assigned([stmt])) | used(stmt)

    def try_(self, stmt: ast.Try, out: Names, brk: Names, cont: Names) -> Names:
        final = self.block(stmt.finalbody, out, brk, cont)
        saved = self.kept
        if stmt.finalbody:  # `finally` runs on each way out
            self.kept, brk, cont = self.kept | final, brk | final, cont | final
        handlers = [self.block(h.body, final, brk, cont) | used(h.type) for h in stmt.handlers]
        caught = (final if stmt.finalbody else _NONE).union(*handlers)
        orelse = self.block(stmt.orelse, final, brk, cont)
        body = self.protected(stmt.body, caught, orelse, brk, cont)
        self.kept = saved
        for table, names in ((self.result.caught, caught), (self.result.final, final)):
            table[stmt] = table.get(stmt, _NONE) | names
        return body

    def loop(self, stmt: ast.For | ast.While, out: Names, brk: Names, cont: Names) -> Names:
        after = self.block(stmt.orelse, out, brk, cont) if stmt.orelse else out
        header = after | out
        targets = assigned([stmt.target]) if isinstance(stmt, ast.For) else _NONE
        test = used(stmt.test) if isinstance(stmt, ast.While) else _NONE
        while True:
            body = self.block(stmt.body, header | test, out, header | test)
            new = header | (body - targets) | test
            if new == header:
                break
            header = new
        self.result.header[stmt] = header
        return header | (used(stmt.iter) if isinstance(stmt, ast.For) else _NONE)


@lru_cache(maxsize=4096)
def _functions_inside(node: ast.FunctionDef | ast.Lambda) -> tuple[ast.FunctionDef | ast.Lambda, ...]:
    return tuple(n for n in all_nodes(node) if isinstance(n, _FUNCTIONS) and n is not node)


@lru_cache(maxsize=4096)
def captured_names(node: ast.FunctionDef | ast.Lambda) -> Names:
    """Return the names that functions inside a function read, and its generator expressions, which are walked later."""
    return _NONE.union(*map(used, _functions_inside(node)), *map(_read_later, _kept_generators(node)))


def _kept_generators(node: ast.AST) -> list[ast.GeneratorExp]:
    """Return the generator expressions that are walked behind the expression that they are in."""
    calls = [n for n in all_nodes(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _TAKING]
    taken = {arg for call in calls for arg in call.args}
    return [n for n in all_nodes(node) if isinstance(n, ast.GeneratorExp) and n not in taken]


def _read_later(node: ast.GeneratorExp) -> Names:
    """Return the names that a generator expression reads when it gives its items."""
    parts = [node.elt, *(test for g in node.generators for test in g.ifs), *(g.iter for g in node.generators[1:])]
    return _NONE.union(*map(used, parts)) - assigned(g.target for g in node.generators)


@lru_cache(maxsize=4096)
def liveness(node: ast.FunctionDef | ast.Lambda) -> Liveness:
    """Return the liveness of the statements of a function."""
    if isinstance(node, ast.Lambda):
        return Liveness()
    run = _Pass(captured_names(node))
    run.block(node.body, _NONE, _NONE, _NONE)
    return run.result


@lru_cache(maxsize=4096)
def declared(node: ast.FunctionDef | ast.Lambda) -> dict[str, type[ast.Global] | type[ast.Nonlocal]]:
    """Return the names that a function declares `global` or `nonlocal`."""
    found: dict[str, type[ast.Global] | type[ast.Nonlocal]] = {}
    pending: list[ast.AST] = [] if isinstance(node, ast.Lambda) else [*node.body]
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, (ast.Global, ast.Nonlocal)):
            found |= dict.fromkeys(stmt.names, type(stmt))
        elif not isinstance(stmt, _FUNCTIONS):
            pending += child_nodes(stmt)
    return found


@lru_cache(maxsize=4096)
def local_names(node: ast.FunctionDef | ast.Lambda) -> Names:
    """Return the names that a function's own statements bind, without those that inner functions assign."""
    if isinstance(node, ast.Lambda):
        return frozenset()
    return assigned(node.body) - declared(node).keys() - shared_names(node)


@lru_cache(maxsize=4096)
def shared_names(node: ast.FunctionDef | ast.Lambda) -> Names:
    """Return the variables of a function that inner functions or generator expressions assign."""
    if isinstance(node, ast.Lambda):
        return _NONE
    inner = [n for n in _functions_inside(node) if isinstance(n, ast.FunctionDef)]
    wanted = {name for n in inner for name, kind in declared(n).items() if kind is ast.Nonlocal}
    wanted |= {name for stmt in node.body for name in _bound_by_generators(stmt)}
    arguments = {n.arg for n in all_nodes(node.args) if isinstance(n, ast.arg)}
    own = assigned(node.body) | arguments
    return frozenset((wanted & own) - set(declared(node)))


@lru_cache(maxsize=4096)
def read_inside(node: ast.FunctionDef | ast.Lambda) -> Names:
    """Return the names that the functions inside a function read."""
    return frozenset(name.id for n in _functions_inside(node) for name in all_nodes(n) if isinstance(name, ast.Name))


def _bound_by_generators(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _FUNCTIONS):
        return
    if isinstance(node, ast.GeneratorExp):
        yield from assigned([node])
    for child in child_nodes(node):
        yield from _bound_by_generators(child)


def has_leave(stmts: list[ast.stmt], kind: type[ast.Break] | type[ast.Continue]) -> bool:
    """Return whether the statements of a loop's body contain a `break` or `continue` of that loop."""
    for stmt in stmts:
        if isinstance(stmt, kind):
            return True
        if isinstance(stmt, (ast.For, ast.While)):
            if has_leave(stmt.orelse, kind):
                return True
            continue
        if isinstance(stmt, _FUNCTIONS):
            continue
        for name in ("body", "orelse", "finalbody"):
            if has_leave(getattr(stmt, name, []), kind):
                return True
        for handler in getattr(stmt, "handlers", []) or getattr(stmt, "cases", []):
            if has_leave(handler.body, kind):
                return True
    return False


def listed(names: list[str]) -> str:
    """Return names of arguments in the form of Python's messages."""
    quoted = [repr(n) for n in names]
    if len(quoted) > 2:
        quoted = [", ".join(quoted[:-1]) + ",", quoted[-1]]
    return f"argument{'s' if len(names) > 1 else ''}: {' and '.join(quoted)}"
