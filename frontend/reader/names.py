"""Names: local variables, variables of enclosing functions, globals and builtins."""

from __future__ import annotations

import builtins
import sys
from typing import NoReturn

from scriptc.frontend.environment.lookup import free_name
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.scope import local_names
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import is_unbound, may_be_unbound
from scriptc.frontend.values.verbs import materialize

_COMPREHENSIONS_ARE_FUNCTIONS = sys.version_info < (3, 12)  # so that names of the enclosing function are free variables


def load(reader: Reader, name: str) -> AbstractValue:
    """Return the value of a name: local, of an enclosing function, captured, global or builtin."""
    own = reader.position.frame
    frame: Frame | None = own
    if name not in own.locals and name not in own.cells and name in local_names(own.source.node):
        unbound(reader, name, free=in_function_of_comprehension(own))  # no path so far assigns the name
    while frame is not None:
        if name in frame.locals or name in frame.cells:
            return bound(reader, frame, name)
        if frame.func is None and frame.outer is None:
            break
        if frame.outer is None:
            assert frame.func is not None
            return free_name(reader, frame, frame.func, name)
        frame = frame.outer
    if hasattr(builtins, name):
        return Known(getattr(builtins, name))
    reader.emit.raise_error("NameError", f"name '{name}' is not defined")


def unbound(reader: Reader, name: str, *, free: bool = False) -> NoReturn:
    if free:
        text = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        reader.emit.raise_error("NameError", text)
    reader.emit.raise_error(
        "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
    )


def in_function_of_comprehension(frame: Frame) -> bool:
    """Return whether the node stands in a function that Python makes of a comprehension or generator expression."""
    return frame.generators > 0 or (frame.comprehensions > 0 and _COMPREHENSIONS_ARE_FUNCTIONS)


def bound(reader: Reader, frame: Frame, name: str) -> AbstractValue:
    cell = frame.cells.get(name)
    if (
        cell is not None and cell not in reader.heap.contents
    ):  # a function made the cell on one of several paths, and has returned
        reader.reject("function_as_value", who=f"the function with the variable '{name}'")
    av = reader.heap.contents[cell] if cell is not None else frame.locals[name]
    free = frame is not reader.position.frame or in_function_of_comprehension(frame)
    if is_unbound(av):
        unbound(reader, name, free=free)
    if may_be_unbound(av):
        reader.emit.effect("check.free" if free else "check.bound", [materialize(reader, av.flag)], name=name)
        if frame is reader.position.frame and cell is None and not reader.position.is_reentered:
            frame.locals[name] = av.av  # the check passed, so the name is bound from here on
        return av.av
    return av
