"""The context managers of contextlib."""

from __future__ import annotations

import contextlib

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.generators import manager_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, Native, ObjectValue


@serves("contextlib.contextmanager")
def contextmanager(r: Reader, func: AbstractValue) -> AbstractValue:
    """Decorate a function that is defined in compiled code. Calls of one outside are told by their code."""
    return Native(lambda *args, **kwargs: manager_of(r, r.call(func, args, kwargs)))


@serves("contextlib.nullcontext")
def nullcontext(r: Reader, enter_result: AbstractValue = Known(None)) -> AbstractValue:
    return ObjectValue(contextlib.nullcontext, {"enter_result": enter_result})


@serves("contextlib.suppress")
def suppress(r: Reader, *exceptions: AbstractValue) -> AbstractValue:
    return ObjectValue(contextlib.suppress, {"classes": make_tuple(list(exceptions))})
