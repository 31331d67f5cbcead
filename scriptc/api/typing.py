"""What type checkers know of `scriptc.compile`: its options, and what it gives for what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from scriptc.api.compiled import Compiled

C = TypeVar("C")
M = TypeVar("M", bound="ModuleLike")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class CompileOptions(TypedDict, total=False):
    """The options as type checkers see them; `Options` says what each means."""

    optimize: Literal[0, 1, 2, 3]
    dynamic: bool
    freeze: bool
    debug: bool
    flush_denormals: bool
    profile: bool
    weights: Literal["float32", "bfloat16", "float16"]


class ModuleLike(Protocol):
    """What tells an nn.Module from a function, also for type checkers that do not read torch."""

    training: bool

    def train(self, mode: bool = True) -> Any: ...


class Decorator(Protocol):
    """`scriptc.compile` with options: takes what it takes, and gives what it gives."""

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
