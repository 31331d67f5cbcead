"""`with`: managers that the compiler knows, those of the user's classes, and generators that are managers."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Sequence
from types import FunctionType

import torch

from scriptc.frontend.exceptions import Exceptions
from scriptc.frontend.lookup import is_library
from scriptc.frontend.scope import assigned
from scriptc.frontend.values import AV, Bound, ClassOf, Dyn, Known, ObjectV, describe, is_tensor


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
            case Known(torch.no_grad() | torch.inference_mode()):
                return self.without_grad(node, lambda: enter(Known(None)))
            case ObjectV(contextlib.nullcontext, items=held):
                return enter(held["enter_result"])
            case ObjectV(contextlib.suppress, items=held):
                classes = self.classes_of(held["classes"])
                return self.suppressing(node, lambda: enter(Known(None)), lambda e: self.is_exception(e, classes))
            case ObjectV(cls) if _is_manager(cls):
                return self.managed(node, manager, enter)
            case Known(obj) if _is_manager(type(obj)) and not is_library(type(obj).__module__):
                return self.managed(node, manager, enter)
        self.fail(
            f"with {describe(manager)} is not supported in compiled code",
            "torch.no_grad(), contextlib.suppress() and objects with __enter__ and __exit__ are",
        )

    def without_grad(self, node: ast.With, body: Callable[[], bool]) -> bool:
        """A body whose tensors have no gradients."""
        falls = body()
        for name in assigned(node.body) & self.frame.live.after[node] if falls else ():
            av = self.frame.locals.get(name)
            if av is not None and is_tensor(av):
                self.frame.locals[name] = self.op("alias", av, hint=name)
        return falls

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


def _is_manager(cls: type) -> bool:
    return all(isinstance(getattr(cls, name, None), FunctionType) for name in ("__enter__", "__exit__"))
