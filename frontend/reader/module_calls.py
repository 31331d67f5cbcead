"""Calls of modules: the module's forward between its own forward hooks."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.lookup import refuse_torchscript
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.reader.contents import optional_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Known
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, has_known_keys, is_none
from scriptc.frontend.values.verbs import describe, python_class

_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


def call_module(
    reader: Reader, module: torch.nn.Module, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return `module(...)`, the module's forward between its own forward hooks."""
    refuse_torchscript(reader, module)
    guard_hooks(reader, module, ("_backward_hooks", "_backward_pre_hooks"))
    owner, named = Known(module), None
    for hook, with_kwargs in _own_hooks(reader, module, "_forward_pre_hooks"):
        if with_kwargs:
            named = DictValue(kwargs) if named is None else named
            changed = reader.call(hook, [owner, make_tuple(list(args)), named], {})
        else:
            changed = reader.call(hook, [owner, make_tuple(list(args))], {})
        if has_alternatives(changed):
            reader.reject("hook_returns_sometimes")
        if is_none(changed):
            continue
        if with_kwargs:
            args, named = _both(reader, changed)
        else:
            args = reader.iterate(changed) if issubclass(python_class(reader, changed), tuple) else [changed]
    if named is not None:
        kwargs = dict(optional_items(reader, named))  # a hook may have changed the dict
    result = reader.call(reader.attribute(owner, "forward"), args, kwargs)
    for hook, with_kwargs in _own_hooks(reader, module, "_forward_hooks"):
        before = result
        if with_kwargs:
            named = DictValue(kwargs) if named is None else named
            changed = reader.call(hook, [owner, make_tuple(list(args)), named, before], {})
        else:
            changed = reader.call(hook, [owner, make_tuple(list(args)), before], {})
        result = split(reader, changed, functools.partial(_unless_none, before))
    return result


def _both(reader: Reader, changed: AbstractValue) -> tuple[Sequence[AbstractValue], DictValue]:
    """Return the positional and the keyword arguments that a pre-hook returned."""
    if issubclass(python_class(reader, changed), tuple) and len(items := reader.iterate(changed)) == 2:
        args, named = items
        if has_known_keys(named) and issubclass(python_class(reader, args), (tuple, list)):
            return reader.iterate(args), named
    reader.reject("hook_returns_other", what=describe(changed))


def _own_hooks(reader: Reader, module: torch.nn.Module, name: str) -> list[tuple[AbstractValue, bool]]:
    """Return the hooks of one category that a module has, under a guard.

    A hook comes with True if it takes the keyword arguments as well.
    """
    own = module.__dict__
    table = own.get(name)
    if table is None:
        reader.emit.raise_error("AttributeError", f"'{type(module).__name__}' object has no attribute '{name}'")
    if not table:
        reader.environment.guard("DICT_EMPTY", table, None, None)
        return []
    reader.environment.guard("DICT_KEYS_ARE", table, None, tuple(table))
    for key, hook in table.items():
        reader.environment.guard("DICT_IS", table, key, hook)
    hooks = {key: hook for key, hook in table.items() if not _is_idle(hook)}
    with_kwargs, always = (_marked(reader, own, f"{name}_{mark}") for mark in ("with_kwargs", "always_called"))
    if any(key in always for key in hooks):
        reader.reject("hook_always_called")
    return [(Known(hook), key in with_kwargs) for key, hook in hooks.items()]


def _marked(reader: Reader, own: dict[str, Any], name: str) -> dict[int, bool]:
    """Return the table of the hooks that have a mark, under a guard."""
    table: dict[int, bool] = own.get(name) or {}
    if name in own:
        reader.environment.guard("DICT_KEYS_ARE", own[name], None, tuple(table))
    return table


def _is_idle(hook: Any) -> bool:
    """Return whether a hook is one of those by which torch.export lets modules be arguments, and has no such module."""
    made_by = getattr(sys.modules.get("torch.export._unlift"), "_create_stateful_graph_module", None)
    if not isinstance(hook, FunctionType) or hook.__code__ not in getattr(made_by, "__code__", hook.__code__).co_consts:
        return False
    return [cell.cell_contents for cell in hook.__closure__ or ()] == [set()]


def guard_hooks(
    reader: Reader, module: torch.nn.Module,
    names: tuple[str, ...] = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
) -> None:  # fmt: skip
    for name in _GLOBAL_HOOKS:
        table = getattr(torch.nn.modules.module, name)
        if table:
            reader.reject("hooks_on_all_modules")
        reader.environment.guard("DICT_EMPTY", table, None, None)
    for name in names:
        table = module.__dict__.get(name)
        if table:
            reader.reject("hooks_on_container", kind=type(module).__name__)
        if table is not None:  # for None, _own_hooks has left the guard
            reader.environment.guard("DICT_EMPTY", table, None, None)


def _unless_none(first: AbstractValue, second: AbstractValue) -> AbstractValue:
    return first if is_none(second) else second
