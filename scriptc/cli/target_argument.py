"""Find the Python objects that a command line names: the target, and the arguments of one call."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

Call = tuple[tuple[Any, ...], dict[str, Any]]


class UserError(Exception):
    """An error of the user, which is printed without a traceback."""


class Located:
    """The object of `file.py:Name` or `package.module:Name`; Name may be dotted. `module` holds the name."""

    def __init__(self, text: str):
        path, colon, name = text.rpartition(":")
        self.name = _as_source(name)
        if not colon or not path or not self.name:
            raise UserError(f"a target is file.py:Name or package.module:Name, not {text!r}")
        self.module = _from_file(Path(path)) if _is_file(path) else _from_name(path)
        self.found: Any = self.module
        for part in self.name.split("."):
            if not hasattr(self.found, part):
                raise UserError(f"{path} has no {self.name}; it has {', '.join(_names(self.module))}")
            self.found = getattr(self.found, part)

    def model(self, init: str | None, evaluation: bool) -> Any:
        """Return the object to compile. A class is instantiated with the arguments in `init`.

        evaluation: whether to put a module into evaluation mode.
        """
        import torch

        obj = self.found
        if isinstance(obj, type):
            args, kwargs = self.evaluate(init or "", "--init")
            try:
                obj = obj(*args, **kwargs)
            except Exception as error:
                said = str(error) if isinstance(error, TypeError) else described(error)
                raise UserError(f"cannot make a {self.name}: {said}; give its arguments with --init") from error
        elif init is not None:
            raise UserError(f"--init is for classes; {self.name} is a {type(obj).__name__}")
        if evaluation and isinstance(obj, torch.nn.Module):
            obj.eval()
        return obj

    def arguments(self, expression: str | None) -> Call:
        """Return the arguments in `expression`, or else `NAME_args` or `example_args` of the module."""
        if expression is not None:
            return self.evaluate(expression, "--args")
        for name in (f"{self.name.rpartition('.')[2]}_args", "example_args"):
            if hasattr(self.module, name):
                offered = getattr(self.module, name)
                try:
                    offered = offered() if callable(offered) else offered
                except Exception as error:
                    raise UserError(f"{name}(): {described(error)}") from error
                return (tuple(offered), {}) if isinstance(offered, (tuple, list)) else ((offered,), {})
        raise UserError(
            f"give --args, or define example_args in {self.module.__name__}: a tuple, or a function that returns one"
        )

    def entries(self, model: Any, texts: list[str]) -> dict[str, tuple[Any, tuple[Any, ...]]]:
        """Return the entries of a package by name, from texts such as `encode=.encode(x)` or `train=train(x, y)`.

        A dot in front names an attribute of `model`; other functions are looked up in the module.
        """
        made: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        for text in texts:
            entry, name, arguments = self._entry(text)
            if entry in made:
                raise UserError(f"--entry names {entry} twice")
            try:
                function = attrgetter(name.lstrip("."))(model if name.startswith(".") else self.module)
            except AttributeError as error:
                raise UserError(f"--entry {text!r}: {error}") from error
            args, kwargs = self.evaluate(arguments, "--entry")
            if kwargs:
                raise UserError("build takes the arguments of the call by position")
            made[entry] = function, args
        return made

    def _entry(self, text: str) -> tuple[str, str, str]:
        """Return the name of an entry, the name of its function, and the arguments of its call."""
        found = re.fullmatch(r"\s*(\w+)\s*=\s*(\.?[\w.]*\w)\s*\((.*)\)\s*", text, flags=re.DOTALL)
        if found is None:
            raise UserError(f"an entry is name=function(arguments) or name=.method(arguments), not {text!r}")
        return found[1], found[2], found[3]

    def evaluate(self, expression: str, option: str) -> Call:
        """Evaluate the arguments of a call, with torch and the names of the module."""
        return evaluated(expression, option, vars(self.module))


def evaluated(expression: str, option: str, names: dict[str, Any]) -> Call:
    """Evaluate the arguments of a call, with torch and `names`."""
    import torch

    scope = {"torch": torch, **names, "_call": lambda *args, **kwargs: (args, kwargs)}
    try:
        return eval(f"_call({_as_source(expression)})", scope)
    except Exception as error:
        raise UserError(f"{option} {expression!r}: {described(error)}") from error


def _as_source(argument: str) -> str:
    """Return a command line argument as Python source, also if the locale lacks its letters."""
    return argument.encode(errors="surrogateescape").decode(errors="replace")


def _is_file(path: str) -> bool:
    from scriptc.frontend.source.providers import is_source_file

    return is_source_file(path)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    if path.suffix == ".hy":
        try:
            importlib.import_module("hy")  # it lets Python import files of this suffix
        except ImportError as error:
            raise UserError(f"{path} needs the package hy: pip install 'scriptc[hy]'") from error
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UserError(f"cannot import {path}{_line_in(path, error)}: {described(error)}") from error
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise UserError(f"there is no module {name}") from None
        raise UserError(f"cannot import {name}: {described(error)}") from error
    except (Exception, SystemExit) as error:
        raise UserError(f"cannot import {name}: {described(error)}") from error


def described(error: BaseException) -> str:
    """Return the class and the message of an error, as Python shows them."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line_in(path: Path, error: BaseException) -> str:
    """Return the line of a file at which an error passed through, as `:12`."""
    if isinstance(error, SyntaxError):
        return ""  # the message has the line
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f":{frames[-1].lineno}" if frames else ""


def _names(module: ModuleType) -> list[str]:
    """Return the names of the module's own functions and classes, to suggest to the user."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
