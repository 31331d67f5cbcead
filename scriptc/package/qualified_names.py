"""Name the tensors of a package: a parameter by its path in the module that the entries reach, as in a state_dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from scriptc.driver.target import Target, original

_MOST_OBJECTS = 10_000  # the most objects that are searched for modules


def qualified_names(targets: Iterable[Target]) -> dict[int, str]:
    """Return the names of modules, of their tensors, and of the dicts of their optimizers' state, by id.

    The names within the only module that is an entry's receiver, or within the only module at all, have no prefix. Those
    within other modules begin with the name of the variable or attribute that holds the module.
    """
    found = _Search()
    receivers = []
    for target in targets:
        if isinstance(target.receiver, torch.nn.Module):
            receivers.append(target.receiver)
        found.visit(target.func.__name__, target.receiver)
        found.visit(target.func.__name__, target.func)
    inner = {id(m) for root in found.modules.values() for m in root.modules() if m is not root}
    roots = [(name, m) for name, m in ((found.name_of[i], m) for i, m in found.modules.items()) if id(m) not in inner]
    outermost = {id(m) for _, m in roots}
    main = {id(m) for m in receivers} & outermost or outermost
    names: dict[int, str] = {}
    for name, root in sorted(roots, key=lambda row: id(row[1]) not in main):
        prefix = "" if main == {id(root)} else name
        for path, module in root.named_modules(prefix=prefix):
            names.setdefault(id(module), path)
        for path, tensor in (*root.named_parameters(prefix=prefix), *root.named_buffers(prefix=prefix)):
            names.setdefault(id(tensor), path)
    for optimizer in found.optimizers.values():
        for parameter, state in optimizer.state.items():
            if isinstance(state, dict) and id(parameter) in names:
                names.setdefault(id(state), names[id(parameter)])
    return names


class _Search:
    """Find the modules and optimizers that functions and objects refer to."""

    def __init__(self) -> None:
        self.modules: dict[int, torch.nn.Module] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.name_of: dict[int, str] = {}  # of modules: of the variable or attribute that led there
        self.seen: dict[int, Any] = {}

    def visit(self, name: str, obj: Any) -> None:
        """Follow an object, and all that it refers to, breadth first."""
        pending = [(name, obj)]
        for name, obj in pending:
            obj = original(obj)
            if id(obj) in self.seen or len(self.seen) > _MOST_OBJECTS:
                continue
            self.seen[id(obj)] = obj
            if isinstance(obj, torch.nn.Module):
                self.modules[id(obj)] = obj
                self.name_of[id(obj)] = name
            if isinstance(obj, torch.optim.Optimizer):
                self.optimizers[id(obj)] = obj
            pending += _referred(name, obj)


def _referred(name: str, obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects that a user's object refers to, with names."""
    match obj:
        case FunctionType():
            used = _names_in(obj.__code__)
            yield from ((key, value) for key, value in obj.__globals__.items() if key in used)
            for key, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
                try:
                    yield key, cell.cell_contents
                except ValueError:  # the cell is empty
                    continue
        case MethodType():
            yield name, obj.__self__
            yield obj.__func__.__name__, obj.__func__
        case list() | tuple():
            yield from ((f"{name}.{i}", item) for i, item in enumerate(obj))
        case dict():
            yield from ((str(key), value) for key, value in obj.items())
        case torch.nn.Module():
            yield from obj.__dict__.items()
            yield from obj.__dict__["_modules"].items()
            yield from _methods_of(type(obj))
        case type() | ModuleType() | torch.Tensor() | torch.optim.Optimizer():
            return
        case _ if hasattr(obj, "__dict__") and not _is_library(type(obj)):
            yield from vars(obj).items()
            yield from _methods_of(type(obj))


def _methods_of(cls: type) -> Iterator[tuple[str, FunctionType]]:
    for base in cls.__mro__:
        if not _is_library(base):
            yield from ((name, value) for name, value in vars(base).items() if isinstance(value, FunctionType))


def _is_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("torch", "builtins", "scriptc")


def _names_in(code: CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(_names_in, inner))
