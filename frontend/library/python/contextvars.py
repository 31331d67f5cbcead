"""Context variables: `get`, `set` and `reset`. What compiled code sets, it must set back before it returns."""

from __future__ import annotations

import contextvars
from typing import Any

from scriptc.frontend.environment.context_variables import MISSING, variable_of
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import is_known, is_made_tuple


def _variable(r: Reader, owner: AbstractValue) -> contextvars.ContextVar[Any]:
    assert is_known(owner)  # compiled code makes none
    found: contextvars.ContextVar[Any] = owner.obj
    return found


@serves("ContextVar.get")
def get(r: Reader, owner: AbstractValue, *default: AbstractValue) -> AbstractValue:
    var = _variable(r, owner)
    value = r.items_of(variable_of(r, var))["value"]
    if not (is_known(value) and value.obj is MISSING):
        return value
    if default:
        return default[0]
    try:
        return Known(contextvars.Context().run(var.get))
    except LookupError:
        r.emit.raise_error("LookupError", repr(var))


@serves("ContextVar.set")
def set_(r: Reader, owner: AbstractValue, value: AbstractValue) -> AbstractValue:
    held = variable_of(r, _variable(r, owner))
    token = TupleValue([owner, r.items_of(held)["value"]], contextvars.Token)
    set_items(r, held, {"value": value})
    return token


@serves("ContextVar.reset")
def reset(r: Reader, owner: AbstractValue, token: AbstractValue) -> AbstractValue:
    if not is_made_tuple(token) or token.cls is not contextvars.Token:
        r.emit.raise_error("TypeError", "expected an instance of Token")
    var, before = token.items
    if _variable(r, var) is not _variable(r, owner):
        r.emit.raise_error("ValueError", "the Token was created by a different ContextVar")
    set_items(r, variable_of(r, _variable(r, owner)), {"value": before})
    return Known(None)
