"""`with` statements: over managers that the compiler knows, over users' objects, and over generators."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType

from scriptc.frontend.reader.dispatch import runs
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.exceptions import finishing, go_on, protected, putting_off
from scriptc.frontend.reader.generators import back_in, variables_in_heap
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import assign, inline
from scriptc.frontend.source.nodes import all_nodes, child_nodes
from scriptc.frontend.source.scope import assigned, has_leave
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Known,
    ManagerValue,
    Unbound,
)
from scriptc.frontend.values.frame import Leaving
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import describe, raise_value


@runs(ast.With)
def run_with(reader: Reader, node: ast.With) -> bool:
    return with_items(reader, node, node.items)


def with_items(reader: Reader, node: ast.With, items: Sequence[ast.withitem]) -> bool:
    if not items:
        return reader.run(node.body)
    item, *rest = items
    manager = reader.evaluate(item.context_expr)

    def enter(value: AbstractValue) -> bool:
        if item.optional_vars is not None:
            assign(reader, item.optional_vars, value)
        return with_items(reader, node, rest)

    return run_within(reader, manager, node, enter)


@Verb
def run_within(reader: Reader, manager: AbstractValue, node: ast.With, enter: Callable[[AbstractValue], bool]) -> bool:
    """Read a `with` statement over a manager; `enter` reads the body for what `__enter__` returns."""
    reader.reject("with_of_other", what=describe(manager))


def suppressing(
    reader: Reader, node: ast.With, body: Callable[[], bool], swallows: Callable[[AbstractValue], AbstractValue]
) -> bool:
    live = reader.position.frame.live

    def caught(e: AbstractValue) -> bool:
        return swallow(reader, e, swallows(e))

    return protected(reader, live.caught[node], assigned([node]) & live.after[node], body, caught)


def swallow(reader: Reader, e: AbstractValue, answer: AbstractValue) -> bool:
    """Propagate the exception unless the answer is true."""
    if is_known(answer):
        return True if answer.obj else raise_value(reader, e)
    return reader.branch(answer, lambda: True, lambda: raise_value(reader, e), frozenset())


def managed(reader: Reader, node: ast.With, manager: AbstractValue, enter: Callable[[AbstractValue], bool]) -> bool:
    """Read a `with` over an object with __enter__ and __exit__."""
    leave = reader.attribute(manager, "__exit__")
    value = reader.call(reader.attribute(manager, "__enter__"), [], {})
    live = reader.position.frame.live

    def last() -> bool:
        reader.call(leave, [Known(None)] * 3, {})
        return True

    def caught(e: AbstractValue) -> bool:
        cls = reader.call(Known(type), [e], {})
        return swallow(reader, e, reader.truth(reader.call(leave, [cls, e, Bound(e, "__traceback__")], {})))

    written = assigned([node])
    return finishing(reader, written, live.caught[node], written & live.after[node], lambda: enter(value), last, caught)


# ---- generators ----


def generated(reader: Reader, node: ast.With, manager: ManagerValue, enter: Callable[[AbstractValue], bool]) -> bool:
    """Read a `with` over a generator that yields once, as a call that runs the body at the yield.

    Meanwhile the heap holds the variables that the body assigns, since paths of the generator join them. If the body is
    left early, the rest of the generator runs first.
    """
    node_of_generator, caller, made = manager.generator.node, reader.position.frame, manager.generator.frame
    assert isinstance(node_of_generator, ast.FunctionDef)
    generator = node_of_generator.body
    if not _yields_once(generator):
        reader.reject("manager_with_other_yields")
    leaving = Leaving()
    reader.heap.contents[leaving.way], reader.heap.contents[leaving.returned] = Known(0), Unbound()
    leaves = any(has_leave(node.body, kind) for kind in (ast.Break, ast.Continue)) or _returns(node.body)

    def body(value: AbstractValue) -> AbstractValue:
        with back_in(reader, caller, node):
            if not (putting_off(reader, lambda: enter(value), leaving) if leaves else enter(value)):
                raise Terminated
        return Known(None)

    made.on_yield = body
    with variables_in_heap(reader, assigned([node])):
        inline(reader, made, generator)
    return go_on(reader, leaving)


def _yields_once(stmts: Sequence[ast.stmt]) -> bool:
    """Return whether a body yields exactly once, at a point that every run reaches."""
    found = [s for s in stmts if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in all_nodes(s))]
    if len(found) != 1:
        return False
    match found[0]:
        case ast.Try(body=body) as inner:
            rest = [s for s in child_nodes(inner) if s not in body]
            return _yields_once(body) and not any(isinstance(n, ast.Yield) for s in rest for n in all_nodes(s))
        case ast.With(body=body):
            return _yields_once(body)
        case ast.Expr(value=ast.Yield()) | ast.Assign(value=ast.Yield()):
            return True
    return False


def _returns(stmts: Sequence[ast.stmt]) -> bool:
    pending: list[ast.AST] = [*stmts]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending += child_nodes(node)
    return False


def is_manager(cls: type) -> bool:
    return all(isinstance(getattr(cls, name, None), FunctionType) for name in ("__enter__", "__exit__"))
