"""Calls as Python source: what a user would write, in a file, since compiled functions are read from their source."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .outcome import Program


class NotWritten(Exception):
    """An argument that has no spelling in source."""


@dataclass
class Written:
    """Arguments as source. `tensors` become parameters; all else is written out."""

    tensors: list[torch.Tensor] = field(default_factory=list)

    def text(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            for i, t in enumerate(self.tensors):
                if t is value:
                    return f"x{i}"
            self.tensors.append(value)
            return f"x{len(self.tensors) - 1}"
        if isinstance(value, (list, tuple)):
            items = [self.text(v) for v in value]
            if isinstance(value, list):
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, float):
            return repr(value) if abs(value) < float("inf") else f'float("{value}")'
        if isinstance(value, complex):
            return f"complex({self.text(value.real)}, {self.text(value.imag)})"
        if value is None or isinstance(value, (bool, int, str, torch.dtype, torch.memory_format, torch.layout)):
            return repr(value)
        if isinstance(value, torch.device):
            return f'"{value}"'
        raise NotWritten(f"an argument is a {type(value).__name__}")

    def subscript(self, index: Any) -> str:
        """An index between brackets, where slices have a notation of their own."""
        if isinstance(index, tuple) and index:
            return ", ".join(self.subscript(i) for i in index) + ("," if len(index) == 1 else "")
        if isinstance(index, slice):
            parts = ["" if p is None else self.text(p) for p in (index.start, index.stop, index.step)]
            return ":".join(parts[:2] if index.step is None else parts)
        return self.text(index)


def functions(stem: str, calls: Iterable[Callable[[Written], str]], directory: Path) -> list[Program]:
    """Each call as a function `sample0`, `sample1`, ... in one file; a call is given a `Written` and returns its text."""
    made: list[Program] = []
    lines = ["import torch", ""]
    for i, call in enumerate(calls):
        written = Written()
        try:
            text = call(written)
        except NotWritten as e:
            made.append(Program(None, (), str(e)))
            continue
        params = ", ".join(f"x{k}" for k in range(len(written.tensors)))
        lines += ["", f"def sample{i}({params}):", f"    return {text}", ""]
        made.append(Program(None, tuple(t.detach() for t in written.tensors), text))
    module = load("".join(c if c.isalnum() else "_" for c in stem), lines, directory)
    for i, program in enumerate(made):
        program.function = getattr(module, f"sample{i}", None)
    return made


def together(stem: str, programs: Sequence[Program], directory: Path) -> Program:
    """One function that makes all the calls: one build instead of many."""
    params: list[str] = []
    given: list[Any] = []
    calls = []
    for i, program in enumerate(programs):
        named = {f"x{k}": a for k, a in enumerate(program.args)} | program.kwargs
        params += [f"f{i}_{name}" for name in named]
        given += named.values()
        texts = [f"{name}=f{i}_{name}" if name in program.kwargs else f"f{i}_{name}" for name in named]
        calls += [f"        f{i}({', '.join(texts)}),"]
    lines = [f"def together({', '.join(params)}):", "    return (", *calls, "    )", ""]
    module = load(stem, lines, directory)
    for i, program in enumerate(programs):
        setattr(module, f"f{i}", program.function)
    return Program(module.together, tuple(given), "all of them")


def write_once(stem: str, text: str, directory: Path) -> Path:
    """Write a module into a folder that is named for its text, unless it is there, and return its path."""
    path = directory / hashlib.sha256(text.encode()).hexdigest()[:16] / f"{stem}.py"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")  # of the processes that want the same
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    return path


def load(stem: str, lines: Sequence[str], directory: Path) -> Any:
    """A module from source."""
    path = write_once(stem, "\n".join(lines), directory)
    spec = importlib.util.spec_from_file_location(stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    return module
