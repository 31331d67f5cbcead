"""The tables of the op library: handlers and decompositions by the functions and methods that they serve."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from scriptc.frontend.environment.genuine import BUILTINS, original

# Handlers by the callable itself.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


# Handlers by the class of the owner and the name, such as ("Tensor", "tanh"). An operator of `torch.ops` has its namespace
# in place of a class, such as "aten".
METHODS: dict[tuple[str, str], Callable[..., Any]] = {}


# Handlers by the name of functions in modules that torch imports late, and that scriptc does not import.
NAMED: dict[str, Callable[..., Any]] = {}
_LATE = ("torch._dynamo.", "torch.export._", "torch.nn.attention.flex_attention.")


# Decompositions by the callable itself, or by "Tensor.name", or the namespace and name of an
# operator with or without its overload, such as "aten.name".
DECOMPOSITIONS: dict[Any, Any] = {}


# Decompositions whose half-type operands are cast to float32, and whose results are rounded, as in eager's kernels.
WIDENING: set[Any] = set()


# Decompositions whose tensors are cast to their common dtype first, as in eager's kernels of several operands.
PROMOTING: set[Any] = set()


# By ufunc of NumPy: a function of tensors of the dtypes of one loop, and one of Python floats.
LOOPS: dict[Any, Any] = {}
FLOAT_LOOPS: dict[Any, Any] = {}


# Derivatives by op and operand: ("mul", "self").
DERIVATIVES: dict[tuple[str, str], Any] = {}


_CLASSES = frozenset(
    (
        "Tensor ndarray aten list tuple dict set frozenset Counter OrderedDict str int float bool complex Size range "
        "ContextVar"
    ).split()
)

_OPERATORS = "torch.ops."
_FOLDER = os.path.join(os.path.dirname(__file__), "")


def is_decomposition(file: str) -> bool:
    """Return whether code that the reader reads from `file` is scriptc's own.

    All such code lies in the library.
    """
    return file.startswith(_FOLDER)


def resolve(name: str) -> Any:
    """Return the object of a dotted name; None if this Python or torch lacks it."""
    module_name, _, attr = name.rpartition(".")
    if module_name == "builtins" or not module_name:
        return BUILTINS.get(attr or name)  # exit() is missing without `site` and in cells of IPython
    parts = module_name.split(".")
    obj = importlib.import_module(parts[0])
    for part in (*parts[1:], attr):
        obj = getattr(obj, part, None)  # type: ignore[assignment]
    return original(name, obj)


def handler_of(obj: Any) -> Callable[..., Any] | None:
    """Return the handler of a callable; None if it has none. Raise TypeError for what Python does not hash."""
    found = FUNCTIONS.get(obj)
    module = getattr(obj, "__module__", None)
    if found is None and isinstance(module, str) and f"{module}.".startswith(_LATE):
        return NAMED.get(f"{module}.{getattr(obj, '__qualname__', '')}")
    return found


def _method(name: str) -> tuple[str, str] | None:
    """Return the class of the owner and the name of a method, given its dotted name; else None.

    The owner of an operator of another package's library, which may not be loaded, is its namespace.
    """
    cls_name, _, method = name.removeprefix(_OPERATORS).partition(".")
    return (cls_name, method) if (cls_name in _CLASSES or name.startswith(_OPERATORS)) and method else None


def serves(*targets: str | Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a handler `f(reader, *args, **kwargs)` of functions and methods.

    targets: dotted names, of which "Tensor.x" and "list.x" are methods and "torch.ops.space.x" operators, or functions, such
    as those that decompositions declare. Names that this Python or torch lacks are passed over.
    """

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets:
            if isinstance(target, str) and target.startswith(_LATE):
                NAMED[target] = handler
            elif isinstance(target, str) and (method := _method(target)) is not None:
                METHODS[method] = handler
            elif (function := resolve(target) if isinstance(target, str) else target) is not None:
                FUNCTIONS[function] = handler
        return handler

    return register


def decomposes(*names: str, widens: bool = False, promotes: bool = False) -> Callable[[Any], Any]:
    """Register a Python function that the reader reads in place of those named.

    widens: see WIDENING. promotes: see PROMOTING.
    """

    def register(func: Any) -> Any:
        if widens:
            WIDENING.add(func)
        if promotes:
            PROMOTING.add(func)
        for name in names:
            if _method(name) is not None:
                DECOMPOSITIONS[name.removeprefix(_OPERATORS)] = func
            elif (target := resolve(name)) is not None:
                DECOMPOSITIONS[target] = func
        return func

    return register


def computes(*names: str, table: dict[Any, Any] = LOOPS) -> Callable[[Any], Any]:
    """Register a Python function that computes ufuncs of NumPy. The reader reads it.

    table: LOOPS, or FLOAT_LOOPS for a function of Python floats.
    """

    def register(func: Any) -> Any:
        table.update({ufunc: func for name in names if (ufunc := resolve(f"numpy.{name}")) is not None})
        return func

    return register


def derives(op: str, *operands: str) -> Callable[[Any], Any]:
    """Register the Python function that gives the gradient of operands of an op (ir/gradients/rules.py).

    The function's parameters are named after operands and attributes of the op's schema, and `result` and `grad`, or
    `result0`, `grad0`, ... if the op has several results.
    """

    def register(func: Any) -> Any:
        DERIVATIVES.update({(op, operand): func for operand in operands})
        return func

    return register


def library_name(obj: Any) -> str:
    """Return the name of a callable for messages."""
    module = getattr(obj, "__module__", None) or ""
    short = getattr(obj, "__name__", "")
    name = getattr(obj, "__qualname__", None) or short or repr(obj)
    for home in ("torch.nn.functional", "torch"):
        if short and vars(sys.modules[home]).get(short) is obj:
            return f"{home}.{short}"
    return f"{module}.{name}" if module and module != "builtins" else str(name)
