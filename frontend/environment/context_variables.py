"""Context variables of Python: their values during a reading.

The front end follows what compiled code sets a variable to, as it follows an attribute of an object made here. The value
at entry is guarded. At each return the variable must have that value again: compiled code stores none after a call.
"""

from __future__ import annotations

import contextvars
from functools import partial
from typing import Any

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Content, DictValue, Ident, Known
from scriptc.frontend.values.predicates import is_known

MISSING = object()  # the value of a variable that is not set


def variable_of(reader: Reader, var: contextvars.ContextVar[Any]) -> DictValue:
    """Return the value that stands for a variable, whose item "value" is the variable's present value."""
    found = reader.state.context_variables.get(var)
    if found is None:
        now = partial(var.get, MISSING)
        reader.environment.guard("CALL_GIVES", now, None, now())
        record_this_process()
        found = reader.state.context_variables[var] = DictValue({"value": Known(now())})
    return found


def refuse_changed_variables(reader: Reader, heap: dict[Ident, AbstractValue]) -> None:
    """Reject a return at which a variable has another value than at entry."""
    for var, held in reader.state.context_variables.items():
        content = heap.get(held.ident)
        if content is None:
            continue
        value = content.items["value"] if isinstance(content, Content) else content
        first = held.items["value"]
        if not (is_known(value) and is_known(first) and value.obj is first.obj):
            reader.reject("context_variable_kept", name=var.name)
