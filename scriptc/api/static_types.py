"""The static types of `scriptc.compile` as a decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from scriptc.api.compiled import Compiled

C = TypeVar("C")
M = TypeVar("M", bound="ModuleLike")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class ModuleLike(Protocol):
    """An nn.Module, also for type checkers that do not read torch."""

    training: bool

    def train(self, mode: bool = True) -> Any: ...


class Decorator(Protocol):
    """The result of `scriptc.compile(**options)`, which has the overloads of `scriptc.compile`."""

    @overload
    def __call__(self, obj: type[C]) -> type[C]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, obj: M) -> M: ...
    @overload
    def __call__(self, obj: classmethod[S, P, R]) -> classmethod[S, P, R]: ...
    @overload
    def __call__(self, obj: staticmethod[P, R]) -> staticmethod[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, obj: property) -> property: ...
    @overload
    def __call__(self, obj: Callable[P, R]) -> Compiled[P, R]: ...
    def __call__(self, obj: Any) -> Any: ...
