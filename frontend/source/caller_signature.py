"""Find the signature that callers of a Python function see.

Every process that calls compiled functions imports this module. Only functions that wrap others need their AST here, so the
import of `scriptc.frontend.source.functions` waits for the first of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType


def signature_of(func: FunctionType) -> inspect.Signature:
    """Return the signature of what decorators wrap, where their functions only pass on what they are given."""
    return inspect.signature(signed_function(func), follow_wrapped=False)


def signed_function(func: FunctionType) -> FunctionType:
    """Return the function whose signature and defaults callers of a function see."""
    found: FunctionType = inspect.unwrap(func, stop=lambda f: not _passes_on(f))
    return found


def _passes_on(func: Callable[..., object]) -> bool:
    inner = getattr(func, "__wrapped__", None)
    if not isinstance(inner, FunctionType) or not isinstance(func, FunctionType):
        return False
    from scriptc.frontend.source.functions import passes_on

    return passes_on(func, inner)
