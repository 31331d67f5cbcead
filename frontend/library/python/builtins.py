"""Builtins that act on the process or on the calling frame. Compiled code refuses them."""

from __future__ import annotations

from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue


@serves(
    "builtins.id", "builtins.open", "builtins.input", "builtins.exec", "builtins.eval", "builtins.globals", "builtins.locals",
    "builtins.compile",
)  # fmt: skip
def refused(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    r.reject("builtin_function")


@serves("sys.exit", "builtins.exit", "builtins.quit")
def exit_(r: Reader, *code: AbstractValue) -> AbstractValue:
    r.reject("raise_of_other", name="SystemExit")


@serves("builtins.breakpoint")
def breakpoint_(r: Reader) -> AbstractValue:
    r.emit.raise_error("NotImplementedError", "compiled code cannot stop for a debugger: breakpoint() was reached")
