"""Cut the compiler's frames from tracebacks of errors in the user's program."""

from __future__ import annotations

import logging
import os
from typing import TypeVar

from scriptc.backend_c.toolchain import ToolchainError
from scriptc.ir.errors import CompileError
from scriptc.runtime.errors import raised_at

E = TypeVar("E", bound=BaseException)


def full_tracebacks() -> bool:
    """Return whether tracebacks keep the compiler's frames.

    They do if SCRIPTC_DEBUG=1 is set, or the log is at DEBUG.
    """
    asked = os.environ.get("SCRIPTC_DEBUG", "") not in ("", "0")
    return asked or logging.getLogger("scriptc").isEnabledFor(logging.DEBUG)


def is_the_users(error: BaseException) -> bool:
    """Return whether an error is about the user's program or machine, and not a bug in scriptc."""
    return isinstance(error, (CompileError, ToolchainError))


def shortened(error: E) -> E:
    """Return the error with a traceback of user frames alone.

    The frames of a CompileError are those of its first diagnostic.
    """
    if full_tracebacks():
        return error
    error.__traceback__ = error.__cause__ = error.__context__ = None
    error.__suppress_context__ = True
    if isinstance(error, CompileError) and error.diagnostics:
        loc = error.diagnostics[0].loc
        raised_at(error, [(site.file, site.line, site.func or "<module>", site.text) for site in loc.chain()])
    return error
