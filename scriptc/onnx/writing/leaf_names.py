"""Names for the inputs and outputs of a model: parameters, keys and fields, and variables that the source returns."""

from __future__ import annotations

import ast
import inspect
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import Any

from scriptc.frontend.environment.results import Chooser, DictMaker, Maker, MappingMaker
from scriptc.frontend.environment.specs import ArgSpec, DictSpec, ObjectSpec, Spec, TupleSpec, is_leaf
from scriptc.frontend.source.functions import SourceError, source_of

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def input_names(function: Any, receiver: Any, args: Sequence[ArgSpec]) -> list[list[str]]:
    """Return a name for each leaf of each argument.

    What is in `*args` or `**kwargs` has its name from the function that `function` wraps. receiver: the object that the first
    argument is, which is no item of `args`; None for a plain function.
    """
    own = inspect.signature(function, follow_wrapped=False).parameters
    names = []
    for arg in args:
        parts, kind = _parts(arg.spec), own[arg.name].kind if arg.name in own else None
        if parts is not None and kind == inspect.Parameter.VAR_POSITIONAL:
            first = max(sum(p.kind in _POSITIONAL for p in own.values()), int(receiver is not None))
            wrapped = [n for n, p in inspect.signature(function).parameters.items() if p.kind in _POSITIONAL]
            parts = [(name, item) for name, (_, item) in zip(_named(wrapped[first:], arg.name, len(parts)), parts, strict=True)]
        if parts is not None and kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            names.append([leaf for name, item in parts for leaf in leaf_names(item, name)])
        else:
            names.append(list(leaf_names(arg.spec, arg.name)))
    return names


def output_names(function: Any, result: Spec) -> list[str]:
    """Return a name for each leaf of a result. Parts without names are numbered."""
    returned = _returned(function)
    parts = _parts(result)
    if parts is None or isinstance(getattr(result, "cls", None), Chooser):
        return list(leaf_names(result, returned if isinstance(returned, str) else "output"))
    names = [name for name, _ in parts]
    if isinstance(result, TupleSpec) and result.cls is tuple and isinstance(returned, list) and len(returned) == len(parts):
        names = [name or f"output_{i}" for i, name in enumerate(returned)]
    elif isinstance(result, TupleSpec) and result.cls is tuple:
        names = [f"output_{i}" for i in range(len(parts))]
    return [leaf for name, (_, item) in zip(names, parts, strict=True) for leaf in leaf_names(item, name)]


def _parts(spec: Spec) -> list[tuple[str, Spec]] | None:
    """Return the parts of a container with their names; None for a leaf."""
    if is_leaf(spec):
        return None
    names: Any = ()
    items = getattr(spec, "items", ())
    if isinstance(spec, DictSpec):
        names = spec.keys
    elif isinstance(spec, ObjectSpec):
        names = spec.names
    elif isinstance(spec, TupleSpec):
        cls = spec.cls
        if isinstance(cls, Maker):
            names = cls.names
        elif isinstance(cls, MappingMaker):
            found = dict(zip(cls.places, [*cls.names, *cls.keys], strict=True))
            names = [found[place] for place in sorted(found)]
        elif isinstance(cls, Chooser):
            names = ("kind", *cls.tags)
        elif isinstance(cls, DictMaker):
            names = cls.keys or ()
        else:
            names = getattr(cls, "_fields", ())
    texts = [re.sub(r"\W", "_", str(n)) or str(i) for i, n in enumerate(names)]
    return [(texts[i] if i < len(texts) else str(i), item) for i, item in enumerate(items)]


def leaf_names(spec: Spec, name: str) -> Iterator[str]:
    """Yield a name for each leaf of a value."""
    parts = _parts(spec)
    if parts is None:
        yield name
    for part, item in parts or ():
        yield from leaf_names(item, f"{name}_{part}")


def _named(names: list[str], rest: str, count: int) -> list[str]:
    """Return the first `count` names, and numbered ones behind the last name."""
    return [names[i] if i < len(names) else f"{rest}_{i}" for i in range(count)]


def numbered(name: str, count: int) -> list[str]:
    """Return names for the sequences of a list, which is one, or one for each leaf of the items."""
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]


def _returned(function: Any) -> str | list[str] | None:
    """Return the name of the variable that all `return` statements give, or the names of those of a tuple."""
    try:
        node = source_of(function).node
    except SourceError:
        return None
    found = [_names(r.value) for r in _returns(node) if r.value is not None]
    return found[0] if found and all(names == found[0] for names in found) else None


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the `return` statements of a function, without those of functions inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _returns(child)


def _names(value: ast.expr) -> str | list[str] | None:
    if isinstance(value, ast.Tuple):
        return [e.id if isinstance(e, ast.Name) else "" for e in value.elts]
    return value.id if isinstance(value, ast.Name) and not keyword.iskeyword(value.id) else None
