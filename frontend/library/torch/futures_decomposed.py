"""The torch.jit.Future of compiled code. As in eager, `fork` calls at once, and lists and dicts are copied."""

from __future__ import annotations

from typing import Any


class Future:
    def __init__(self, value: Any) -> None:
        self.held = value

    def wait(self) -> Any:
        return handed_over(self.held)

    def value(self) -> Any:
        return handed_over(self.held)

    def done(self) -> bool:
        return True


def handed_over(value: Any) -> Any:
    """Return a value as TorchScript hands it over. A handler serves this function."""
    raise NotImplementedError


def list_handed_over(xs: list[Any]) -> list[Any]:
    if len(xs) == 0:
        raise RuntimeError("Tracer cannot infer type of []\n:List trace inputs must have elements")
    return [handed_over(x) for x in xs]


def dict_handed_over(xs: dict[Any, Any]) -> dict[Any, Any]:
    if len(xs) == 0:
        raise RuntimeError("Tracer cannot infer type of {}\n:Dictionary inputs must have entries")
    return {k: handed_over(v) for k, v in xs.items()}
