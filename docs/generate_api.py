"""Write docs/guide/api.md from the docstrings of scriptc: `python docs/generate_api.py`. A test compares the page."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scriptc

PAGE = Path(__file__).parent / "guide" / "api.md"
FUNCTIONS = ("compile", "compare", "explain", "build", "signatures", "load", "latency", "from_onnx", "to_onnx",
             "extension", "create_extension", "register_source")
OPTIONS = "CompileOptions"
# The classes of results that `scriptc` does not export.
RESULTS = ("Report", "Explanation", "Diagnostic", "Profile", "Memory", "TrainingMemory", "Latency", "Machine", "TorchOperator",
           "Extension", "CFunction", "ExtensionBuilder")  # fmt: skip
ERRORS = ("CompileError", "ToolchainError", "BuildError", "ExtensionError", "InternalError")
WIDTH = 120
HEAD = """\
# API

After this page you know each public function, class and option of `scriptc`. `dir(scriptc)` lists the public names.

`python docs/generate_api.py` writes the page from the docstrings."""


def text() -> str:
    """Return the page."""
    classes = dict(_classes())
    parts = [HEAD, "## Functions"]
    parts += [_function(f"scriptc.{name}", getattr(scriptc, name), 3) for name in FUNCTIONS]
    parts += ["## Options", _class(f"scriptc.{OPTIONS}", getattr(scriptc, OPTIONS))]
    parts += ["## Compiled functions", _class("scriptc.Compiled", scriptc.Compiled)]
    parts += ["## Results", *(_class(name, classes[name]) for name in RESULTS)]
    parts += ["## Errors", *(_class(f"scriptc.{name}", getattr(scriptc, name)) for name in ERRORS)]
    return "\n\n".join(parts) + "\n"


def public_members() -> Iterator[tuple[str, Any]]:
    """Yield every documented object with its name."""
    classes = dict(_classes())
    for name in FUNCTIONS:
        yield name, getattr(scriptc, name)
    for name in ("Compiled", OPTIONS, *RESULTS, *ERRORS):
        cls = classes.get(name) or getattr(scriptc, name)
        yield name, cls
        yield from ((f"{name}.{member}", value) for member, value in _members(cls))


def _classes() -> Iterator[tuple[str, type]]:
    """Yield the classes of RESULTS, wherever in the package they live."""
    for found in pkgutil.walk_packages(scriptc.__path__, "scriptc."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for module in [m for name, m in sys.modules.items() if name.startswith("scriptc.")]:
        for name in RESULTS:
            value = vars(module).get(name)
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield name, value


def _function(name: str, function: Any, level: int) -> str:
    return f"{'#' * level} `{name}`\n\n{_signature(name, function)}\n\n{_prose(inspect.getdoc(function) or '')}"


def _class(name: str, cls: type) -> str:
    parts = [f"### `{name}`"]
    bases = [base.__name__ for base in cls.__bases__ if issubclass(base, Exception)]
    if bases and cls.__bases__ != (Exception,):
        parts.append(f"A subclass of `{bases[0]}`.")
    parts.append(_prose(inspect.getdoc(cls) or ""))
    for member, value in _members(cls):
        if isinstance(value, property):
            parts.append(f"#### `{name}.{member}`\n\n{_prose(inspect.getdoc(value) or '')}")
        else:
            parts.append(_function(f"{name}.{member}", value, 4))
    return "\n\n".join(parts)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that the package defines, in the order of their definition."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("scriptc") or base.__module__ == "builtins":
            continue
        for name, value in vars(base).items():
            if not name.startswith("_") and name not in seen and (inspect.isfunction(value) or isinstance(value, property)):
                seen.add(name)
                yield name, value


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    items = list(_parameters([p for p in signature.parameters.values() if p.name != "self"]))
    result = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(items)}){result}"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *(f"    {item}," for item in items), f"){result}"])
    return f"```python\n{line}\n```"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield parameters as a definition has them. Annotations are strings, since the package postpones them."""
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        name = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        annotation = "" if p.annotation is p.empty else f": {p.annotation}"
        equals = " = " if annotation else "="
        yield name + annotation + ("" if p.default is p.empty else f"{equals}{p.default!r}")


def _prose(doc: str) -> str:
    """Return a docstring as Markdown: lines `name: text` become the items of a list."""
    paragraphs = []
    for block in doc.split("\n\n"):
        lines: list[str] = []
        for line in block.splitlines():
            found = re.match(r"(\w+): (.*)", line)
            if found:
                lines.append(f"- `{found[1]}`: {found[2]}")
            elif line.startswith("    ") and lines and lines[-1].lstrip().startswith(("-", "  ")):
                lines.append(f"  {line.strip()}")
            else:
                lines.append(line)
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
