"""Exception classes that the programs of tests/test_aot_exceptions.py raise."""

from __future__ import annotations


class ShopError(ValueError):
    """Has nothing of its own."""


class Missing(ShopError):
    """Has an __init__, which sets an attribute."""

    def __init__(self, n: int) -> None:
        super().__init__(f"missing {n}")
        self.n = n


class Orders:
    class Late(ShopError, KeyError):
        """A class within a class, with two bases."""
