"""`ops`: the operations of scriptc's IR as Python functions, for those that PyTorch has under no name.

The Python that `compiled.code` prints calls `ops.name(...)` where no function of PyTorch does the same.
"""

from __future__ import annotations

import builtins
from types import SimpleNamespace
from typing import Any

from scriptc.frontend.environment.specs import ListSpec, MapSpec, OptionalSpec, SetSpec, Spec, TupleSpec
from scriptc.ir.core import Module
from scriptc.ir.interp import RUNS, Interpreter
from scriptc.ir.ops import OPS
from scriptc.ir.text_formats import formatted


class Operation:
    """The ops of a name, such as `ops.linalg.lu`. Attributes of the op are keyword arguments."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("__"):
            raise AttributeError(name)
        return Operation(f"{self._name}.{name}" if self._name else name)

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        if self._name not in OPS:
            raise AttributeError(f"scriptc has no operation {self._name!r}")
        interpreter = Interpreter(Module("ops"))
        run = RUNS.get(self._name)
        if run is None:
            return interpreter.apply(self._name, list(operands), attributes)
        found = run(interpreter, SimpleNamespace(attrs=attributes, results=()), list(operands), {})
        return found[0] if len(found) == 1 else tuple(found) or None

    def __repr__(self) -> str:
        return f"ops.{self._name}" if self._name else "ops"


def text(format: str, *values: Any) -> str:
    """Return a text whose format is one of ir/text_formats.py."""
    return formatted(format, list(values))


def exception(cls: type[BaseException], message: str, *values: Any) -> BaseException:
    """Return the exception that a `raise` of the IR makes."""
    interpreter = Interpreter(Module("ops"))
    if cls.__name__ not in vars(builtins):
        interpreter.exceptions[cls.__name__] = cls
    return interpreter.exception(SimpleNamespace(attrs={"type": cls.__name__, "message": message}), list(values))  # type: ignore[arg-type]


ops = Operation("")


def instance(cls: type | None, attributes: dict[str, Any]) -> Any:
    """Return an object with attributes, whose class runs no code."""
    made: Any = SimpleNamespace() if cls is None else object.__new__(cls)
    made.__dict__.update(attributes)
    return made


def made(spec: Spec | None, value: Any) -> Any:
    """Return a value of a spec, given what the IR has in its place, such as a tuple in place of a named tuple."""
    if value is None or not differs(spec):  # a union has None in the place of its other kinds
        return value
    match spec:
        case OptionalSpec(item):
            return None if value is None else made(item, value)
        case ListSpec(elem, cls):
            return cls([made(elem, item) for item in value])
        case SetSpec(key, cls):
            return cls([made(key, item) for item in value])
        case MapSpec(key, item, make):
            table = {made(key, k): made(item, v) for k, v in value.items()}
            return table if make is None else make(table)
        case TupleSpec(items, cls):
            parts = [made(item, part) for item, part in zip(items, value, strict=True)]
            return complex(*parts) if cls is complex else cls(*parts) if hasattr(cls, "_fields") else cls(parts)
    raise AssertionError(spec)


def differs(spec: Spec | None) -> bool:
    """Return whether the IR has another value in the place of one of a spec."""
    match spec:
        case OptionalSpec(item):
            return differs(item)
        case ListSpec(elem, cls):
            return cls not in (list, tuple) or differs(elem)
        case SetSpec(key, cls):
            return cls is not set or differs(key)
        case MapSpec(key, item, make):
            return make is not None or differs(key) or differs(item)
        case TupleSpec(items, cls):
            return cls is not tuple or any(map(differs, items))
    return False
