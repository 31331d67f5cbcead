"""Properties that are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """Cache a property as functools does, without its lock before Python 3.12, which a forked child could not
        release."""

        def __init__(self, func: Any):
            self.func = func
            self.__doc__ = func.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.func(instance)
            return value


__all__ = ["cached_property"]
