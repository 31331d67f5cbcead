"""Conversions of modules, and iterators over their parameters, buffers and children."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from scriptc.frontend.environment.host_items import known_item
from scriptc.frontend.environment.lookup import guard_children, module_attribute
from scriptc.frontend.library.python.iterators import over
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.objects import members_of_module
from scriptc.frontend.operations.options import options
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, TupleValue
from scriptc.frontend.values.predicates import is_known, is_none, is_object, is_tensor, ssa_value


@serves("torch.nn.Module.to")
def to(r: Reader, self: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    """Return the module itself. A conversion that would change its tensors is refused."""
    module: torch.nn.Module = require_known(r, self, "the module")
    for av in (*args, *kwargs.values()):
        obj = require_known(r, r.attribute(av, "dtype") if is_tensor(av) else av, "the target of to()")
        if isinstance(obj, torch.dtype):
            _has_dtype(r, module, obj)
        elif not isinstance(obj, (bool, torch.memory_format)):  # a bool is non_blocking
            options(r, {"device": Known(obj)})
    return self


def _has_dtype(r: Reader, module: torch.nn.Module, dtype: torch.dtype) -> None:
    held = [t.dtype for t in (*module.parameters(), *module.buffers())]
    if any(d != dtype and (d.is_floating_point or d.is_complex) for d in held):
        r.reject("module_converted", dtype=dtype)


def _conversion(name: str, dtype: torch.dtype) -> None:
    @serves(f"torch.nn.Module.{name}")
    def handler(r: Reader, self: AbstractValue) -> AbstractValue:
        _has_dtype(r, require_known(r, self, "the module"), dtype)
        return self


_conversion("float", torch.float32)
_conversion("double", torch.float64)
_conversion("half", torch.float16)
_conversion("bfloat16", torch.bfloat16)


@serves("torch.nn.Module.cpu")
def cpu(r: Reader, self: AbstractValue) -> AbstractValue:
    return self


@serves("torch.nn.ModuleDict.items")
def module_dict_items(r: Reader, modules: Known) -> AbstractValue:
    return TupleValue(
        [TupleValue([k, known_item(r, modules, require_known(r, k, "a key"))]) for k in r.iterate(modules)]
    )


@serves("torch.nn.ModuleDict.values")
def module_dict_values(r: Reader, modules: Known) -> AbstractValue:
    return TupleValue([known_item(r, modules, require_known(r, k, "a key")) for k in r.iterate(modules)])


@serves("torch.nn.ModuleDict.keys")
def module_dict_keys(r: Reader, modules: AbstractValue) -> AbstractValue:
    return TupleValue(r.iterate(modules))


def _modules(r: Reader, root: AbstractValue, prefix: str) -> Iterator[tuple[str, torch.nn.Module]]:
    module = require_known(r, root, "the module")
    for path, found in module.named_modules(prefix=prefix):
        guard_children(r, found)
        yield path, found


def _tensors(
    r: Reader, root: AbstractValue, table: str, prefix: str, recurse: AbstractValue, once: bool
) -> Iterator[tuple[str, AbstractValue]]:
    """Yield the parameters or buffers of a tree of modules by name, or each of them once."""
    seen: set[int] = set()
    deep = require_known(r, recurse, "recurse")
    for path, module in _modules(r, root, prefix) if deep else [(prefix, require_known(r, root, "the module"))]:
        held = module.__dict__[table]
        r.environment.guard("DICT_KEYS_ARE", held, None, tuple(held))
        for name, tensor in held.items():
            if tensor is None or (once and id(tensor) in seen):
                continue
            seen.add(id(tensor))
            yield f"{path}.{name}" if path else name, module_attribute(r, module, name)


def _iterator(items: list[AbstractValue]) -> AbstractValue:
    return over(TupleValue(items))


def _named(
    r: Reader,
    table: str,
    module: AbstractValue,
    prefix: AbstractValue,
    recurse: AbstractValue,
    remove_duplicate: AbstractValue,
) -> AbstractValue:
    found = _tensors(
        r,
        module,
        table,
        require_known(r, prefix, "prefix"),
        recurse,
        require_known(r, remove_duplicate, "remove_duplicate"),
    )
    return _iterator([TupleValue([Known(name), tensor]) for name, tensor in found])


_NO_PREFIX, _YES = Known(""), Known(True)


@serves("torch.nn.Module.named_parameters")
def named_parameters(
    r: Reader,
    self: AbstractValue,
    prefix: AbstractValue = _NO_PREFIX,
    recurse: AbstractValue = _YES,
    remove_duplicate: AbstractValue = _YES,
) -> AbstractValue:
    return _named(r, "_parameters", self, prefix, recurse, remove_duplicate)


@serves("torch.nn.Module.named_buffers")
def named_buffers(
    r: Reader,
    self: AbstractValue,
    prefix: AbstractValue = _NO_PREFIX,
    recurse: AbstractValue = _YES,
    remove_duplicate: AbstractValue = _YES,
) -> AbstractValue:
    return _named(r, "_buffers", self, prefix, recurse, remove_duplicate)


@serves("torch.nn.Module.parameters")
def parameters(r: Reader, self: AbstractValue, recurse: AbstractValue = _YES) -> AbstractValue:
    if is_object(self):
        return _iterator(_parameters_made_here(r, self, bool(require_known(r, recurse, "recurse"))))
    return _iterator([tensor for _, tensor in _tensors(r, self, "_parameters", "", recurse, True)])


@serves("torch.nn.Module.buffers")
def buffers(r: Reader, self: AbstractValue, recurse: AbstractValue = _YES) -> AbstractValue:
    return _iterator([tensor for _, tensor in _tensors(r, self, "_buffers", "", recurse, True)])


@serves("torch.nn.Module.named_children")
def named_children(r: Reader, self: AbstractValue) -> AbstractValue:
    module = require_known(r, self, "the module")
    guard_children(r, module)
    return _iterator([TupleValue([Known(name), Known(child)]) for name, child in module.named_children()])


def _parameters_made_here(r: Reader, module: AbstractValue, recurse: bool) -> list[AbstractValue]:
    """Return the parameters of a module that the code makes, each once."""
    found: list[AbstractValue] = []
    for made in modules_made_here(r, module) if recurse else [module]:
        if is_object(made):
            held = [av for av in members_of_module(r, made, "_parameters").values() if not is_none(av)]
        else:
            held = [av for _, av in _tensors(r, made, "_parameters", "", Known(True), True)]
        found += [av for av in held if not any(ssa_value(av) is ssa_value(other) for other in found)]
    return found


def modules_made_here(r: Reader, module: AbstractValue) -> list[AbstractValue]:
    """Return a module that the code makes, and the modules in it, each once."""
    found: list[AbstractValue] = []
    todo = [module]
    while todo:
        made = todo.pop()
        if is_object(made):
            if not any(is_object(other) and other.ident == made.ident for other in found):
                found.append(made)
                todo += reversed([*members_of_module(r, made, "_modules").values()])
        elif is_known(made) and not any(is_known(other) and other.obj is made.obj for other in found):
            found.append(made)
    return found


@serves("torch.nn.Module.children")
def children(r: Reader, self: AbstractValue) -> AbstractValue:
    if is_object(self):
        return _iterator([*members_of_module(r, self, "_modules").values()])
    module = require_known(r, self, "the module")
    guard_children(r, module)
    return _iterator([Known(child) for child in module.children()])


@serves("torch.nn.Module.named_modules")
def named_modules(
    r: Reader, self: AbstractValue, memo: AbstractValue = Known(None), prefix: AbstractValue = _NO_PREFIX
) -> AbstractValue:
    return _iterator(
        [TupleValue([Known(n), Known(m)]) for n, m in _modules(r, self, require_known(r, prefix, "prefix"))]
    )


@serves("torch.nn.Module.modules")
def modules(r: Reader, self: AbstractValue) -> AbstractValue:
    return _iterator([Known(m) for _, m in _modules(r, self, "")])
