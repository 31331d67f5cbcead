"""`with`: managers that the compiler knows, those of the user's classes, and generators that are managers."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Sequence
from types import FunctionType

import torch

from scriptc.frontend.context import Terminated
from scriptc.frontend.exceptions import Exceptions
from scriptc.frontend.frame import Frame, Leaving
from scriptc.frontend.lookup import is_library
from scriptc.frontend.scope import assigned, has_leave
from scriptc.frontend.values import (
    AV,
    Bound,
    ClassOf,
    Dyn,
    Ident,
    Known,
    ManagerV,
    ObjectV,
    Unbound,
    describe,
)


class Managers(Exceptions):
    """Mixin: `with`."""

    def s_With(self, node: ast.With) -> bool:
        return self.with_items(node, node.items)

    def with_items(self, node: ast.With, items: Sequence[ast.withitem]) -> bool:
        if not items:
            return self.run(node.body)
        item, *rest = items
        manager = self.eval(item.context_expr)

        def enter(value: AV) -> bool:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
            return self.with_items(node, rest)

        match manager:
            case Known(torch.enable_grad()) if self.frame.func is not None and is_library(self.frame.func.__module__):
                return enter(Known(None))  # what requires grad is found from the arguments
            case Known(torch.no_grad() | torch.inference_mode()):
                return self.without_grad(lambda: enter(Known(None)))
            case Known(torch.autocast() as cast):  # of a decorator
                if cast.device == "cpu" and cast._enabled:
                    self.fail("autocast")
                return enter(manager)
            case ObjectV(contextlib.nullcontext, items=held):
                return enter(held["enter_result"])
            case ObjectV(contextlib.suppress, items=held):
                classes = self.classes_of(held["classes"])
                return self.suppressing(node, lambda: enter(Known(None)), lambda e: self.is_exception(e, classes))
            case ManagerV():
                return self.generated(node, manager, enter)
            case ObjectV(cls) if _is_manager(cls):
                return self.managed(node, manager, enter)
            case Known(obj) if _is_manager(type(obj)) and not is_library(type(obj).__module__):
                return self.managed(node, manager, enter)
        self.fail("with_of_other", what=describe(manager))

    def without_grad(self, body: Callable[[], bool]) -> bool:
        """A body in which names are bound to new tensors without gradients. Those that were there before keep theirs."""
        saved, self.graded = self.graded, {av.value for av in self.frame.locals.values() if isinstance(av, Dyn)}
        try:
            return body()
        finally:
            self.graded = saved

    def suppressing(self, node: ast.With, body: Callable[[], bool], swallows: Callable[[AV], AV]) -> bool:
        live = self.frame.live

        def caught(e: AV) -> bool:
            return self.swallow(e, swallows(e))

        return self.guarded(live.caught[node], assigned([node]) & live.after[node], body, caught)

    def swallow(self, e: AV, answer: AV) -> bool:
        """The exception goes on unless the answer is true."""
        if isinstance(answer, Known):
            return True if answer.obj else self.raise_value(e)
        return self.branch(answer, lambda: True, lambda: self.raise_value(e), frozenset())

    def managed(self, node: ast.With, manager: AV, enter: Callable[[AV], bool]) -> bool:
        """An object with __enter__ and __exit__."""
        leave = self.attribute(manager, "__exit__")
        value = self.call(self.attribute(manager, "__enter__"), [], {})
        live = self.frame.live

        def last() -> bool:
            self.call(leave, [Known(None)] * 3, {})
            return True

        def caught(e: AV) -> bool:
            assert isinstance(e, Dyn)
            return self.swallow(e, self.truth(self.call(leave, [ClassOf(e), e, Bound(e, "__traceback__")], {})))

        written = assigned([node])
        return self.finishing(
            written, live.caught[node], written & live.after[node], lambda: enter(value), last, caught
        )

    # ---- generators ----
    def generated(self, node: ast.With, manager: ManagerV, enter: Callable[[AV], bool]) -> bool:
        """A generator that yields once: it is followed as a call, and the body runs where it yields. What the body assigns
        lives in the heap meanwhile, since it is joined where paths of the generator meet; where the body is left early, the
        rest of the generator runs first."""
        source = self.source_of(manager.func)
        assert isinstance(source.node, ast.FunctionDef)
        generator = source.node.body
        if not _yields_once(generator):
            self.fail("manager_with_other_yields")
        caller, made = self.frame, Frame(source, manager.func, self.loc)
        self.bind_arguments(made, manager.func, manager.args, manager.kwargs)
        shared = {name: Ident(name) for name in assigned([node]) - caller.cells.keys()}
        for name, cell in shared.items():
            caller.cells[name] = cell
            self.heap[cell] = caller.locals.pop(name, Unbound())

        leaving = Leaving()
        self.heap[leaving.way], self.heap[leaving.returned] = Known(0), Unbound()
        leaves = any(has_leave(node.body, kind) for kind in (ast.Break, ast.Continue)) or _returns(node.body)

        def body(value: AV) -> AV:
            self.frames.append(caller)
            saved, self.node = self.node, node
            try:
                if not (self.putting_off(lambda: enter(value), leaving) if leaves else enter(value)):
                    raise Terminated
            finally:
                self.frames.pop()
                self.node = saved
            return Known(None)

        made.on_yield = body
        try:
            self.inline(made, generator)
        finally:
            for name, cell in shared.items():
                del caller.cells[name]
                caller.locals[name] = self.heap.pop(cell, Unbound())
        return self.go_on(leaving)

    def e_Yield(self, node: ast.Yield) -> AV:
        if self.frame.on_yield is None:
            self.fail("yield")
        return self.frame.on_yield(Known(None) if node.value is None else self.eval(node.value))


def _yields_once(stmts: Sequence[ast.stmt]) -> bool:
    """Whether a body yields exactly once, in a place that is always reached."""
    found = [s for s in stmts if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(s))]
    if len(found) != 1:
        return False
    match found[0]:
        case ast.Try(body=body) as inner:
            rest = [s for s in ast.iter_child_nodes(inner) if s not in body]
            return _yields_once(body) and not any(isinstance(n, ast.Yield) for s in rest for n in ast.walk(s))
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
            pending += ast.iter_child_nodes(node)
    return False


def _is_manager(cls: type) -> bool:
    return all(isinstance(getattr(cls, name, None), FunctionType) for name in ("__enter__", "__exit__"))
