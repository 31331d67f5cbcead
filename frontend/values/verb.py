"""Verbs: functions with an implementation for each kind of value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])


class _Answers(Generic[_R]):
    """Keep the answers of all kinds of values to one verb."""

    def __init__(self, default: Callable[..., _R]) -> None:
        self.__doc__ = default.__doc__
        self.default = default
        self._given: dict[object, Callable[..., _R]] = {}
        self._found: dict[object, Callable[..., _R]] = {}  # caches `find`, by category

    def of(self, *kinds: object) -> Callable[[_F], _F]:
        """Register the answer of some kinds: classes of values, scalar types, or classes of other types."""

        def register(answer: _F) -> _F:
            for kind in kinds:
                assert kind not in self._given, f"{self.default.__name__} has two answers for {kind}"
                self._given[kind] = answer
            self._found.clear()
            return answer

        return register

    def answered(self) -> set[object]:
        """Return the kinds with an answer of their own."""
        return set(self._given)

    def find(self, value: AbstractValue) -> Callable[..., _R]:
        """Return the answer of the value's most special kind that has one, else the default."""
        return self._found.get(value.category) or self._search(value)

    def _search(self, value: AbstractValue) -> Callable[..., _R]:
        found = next((self._given[kind] for kind in value.kinds() if kind in self._given), self.default)
        self._found[value.category] = found
        return found


class Verb(_Answers[_R], Generic[_P, _R]):
    """A verb whose answers take the reader and the value. It decorates its default."""

    def __init__(self, default: Callable[Concatenate[Reader, Any, _P], _R]) -> None:
        super().__init__(default)

    def __call__(self, reader: Reader, value: AbstractValue, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            answer = self._found[value.category]
        except KeyError:
            answer = self._search(value)
        return answer(reader, value, *args, **kwargs)


class Question(_Answers[_R], Generic[_P, _R]):
    """A verb whose answers follow from the value alone. It decorates its default."""

    def __init__(self, default: Callable[Concatenate[Any, _P], _R]) -> None:
        super().__init__(default)

    def __call__(self, value: AbstractValue, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            answer = self._found[value.category]
        except KeyError:
            answer = self._search(value)
        return answer(value, *args, **kwargs)
