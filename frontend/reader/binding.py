"""The arguments of a call: the reader spreads `*` and `**`, and binds each argument to its parameter."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

import torch

from scriptc.frontend.environment.host_items import known_keywords
from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.environment.lookup import late_bound_tensor
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import optional_items
from scriptc.frontend.reader.paths import settle
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.scope import listed
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Bound,
    Closure,
    DictValue,
    Known,
    KnownLengthListValue,
    MaybeUnbound,
    OneOf,
    TupleValue,
)
from scriptc.frontend.values.alternatives import present
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_known_keys,
    has_known_length,
    has_method,
    is_known,
    is_object,
    is_on_heap,
    is_run_time_text,
    may_be_unbound,
    run_time_type,
)
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.verbs import class_name_of, describe, dict_behind, python_class
from scriptc.ir.types import DictType

_MAX_DEPTH = 200  # nested inlined calls


@dataclass(frozen=True)
class Spread:
    """A starred argument that is one of several sequences, or a double-starred one that is one of several dicts."""

    value: OneOf


def spread_argument(reader: Reader, av: AbstractValue) -> list[AbstractValue | Spread]:
    """Return the arguments that a starred argument gives."""
    found = present(reader, av, "TypeError", "argument after * must be an iterable, not NoneType")
    if not has_alternatives(found):
        return [*reader.iterate(found)]
    lengths = {None if items is None else len(items) for items in map(sequence_items, found.alternatives.values())}
    return [Spread(found)] if None in lengths or len(lengths) > 1 else [*reader.iterate(found)]


def read_arguments(
    reader: Reader, node: ast.Call, func: AbstractValue
) -> tuple[list[AbstractValue | Spread], dict[str, AbstractValue], list[Spread]]:
    """Return the arguments of a call: by position, by keyword, and dicts of keyword arguments that differ among paths."""
    args: list[AbstractValue | Spread] = []
    for a in node.args:
        if isinstance(a, ast.Starred):
            args += spread_argument(reader, reader.evaluate(a.value))
        else:
            args.append(reader.evaluate(a))
    kwargs: dict[str, AbstractValue] = {}
    dicts: list[Spread] = []
    for keyword in node.keywords:
        value = reader.evaluate(keyword.value)
        if keyword.arg is not None:
            merge_keywords(reader, func, kwargs, {keyword.arg: value})
            continue
        value = with_own_content(reader, dict_behind(reader, value))
        if has_alternatives(value):
            dicts.append(Spread(value))
        elif has_known_keys(value):
            merge_keywords(reader, func, kwargs, optional_items(reader, value))
        elif is_known(value) and isinstance(value.obj, dict):
            merge_keywords(reader, func, kwargs, known_keywords(reader, value.obj))
        elif is_object(value) and has_method(python_class(reader, value), "keys"):
            made = require_known_keys(reader, reader.call(Known(dict), [value], {}))
            merge_keywords(reader, func, kwargs, reader.items_of(made))
        else:
            require_known_keys(reader, value)
    return args, kwargs, dicts


def merge_keywords(
    reader: Reader, func: AbstractValue, kwargs: dict[str, AbstractValue], more: Mapping[str, AbstractValue]
) -> None:
    """Add keyword arguments to those of a call of `func`. Raise TypeError for a name that is there, as Python does."""
    for name, given in more.items():
        if name not in kwargs:
            kwargs[name] = given
            continue
        message = f"{_called(reader, func)} got multiple values for keyword argument '{name}'"
        held = kwargs[name]
        if not may_be_unbound(held):
            refuse_given(reader, given, message)
        elif not may_be_unbound(given):
            refuse_given(reader, held, message)
            kwargs[name] = given
        else:
            reader.reject("double_star_of_other", what="two dicts to which some paths give the same key")


def _called(reader: Reader, func: AbstractValue) -> str:
    """Return how Python names a callable in messages about its arguments."""
    if isinstance(func, Closure):
        around, name = func.frame, getattr(func.node, "name", "<lambda>")
        return f"{_module_of(around)}.{around.qualified_name}.<locals>.{name}()"
    if isinstance(func, Bound) and func.func is None:
        return f"{class_name_of(reader, func.owner)}.{func.name}()"
    obj = func.func if isinstance(func, Bound) else func.obj if is_known(func) else None
    if isinstance(obj, torch.nn.Module):
        return str(obj)
    name, module = getattr(obj, "__qualname__", "function"), getattr(obj, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def _module_of(frame: Frame) -> str:
    """Return the name of the module of the function that a frame, or a frame around it, runs."""
    while frame.func is None:
        assert frame.outer is not None
        frame = frame.outer
    return frame.func.__module__


def with_own_content(reader: Reader, value: AbstractValue) -> AbstractValue:
    """Return a dict or list to which some paths gave other keys or items as one of several, which do not change."""
    if not is_on_heap(value) or not has_alternatives(reader.heap.contents.get(value.ident)):
        return value
    found = settle(reader, value, reader.heap.contents)
    return OneOf(found.tag, {tag: _apart(a) for tag, a in found.alternatives.items()}) if has_alternatives(found) else value


def _apart(av: AbstractValue) -> AbstractValue:
    """Return a copy with an identity of its own, whose content the heap does not hold."""
    if has_known_keys(av):
        return DictValue(av.made_with)
    return KnownLengthListValue(av.first, None) if has_known_length(av) else av


def require_known_keys(reader: Reader, value: AbstractValue) -> DictValue:
    """Return the dict of a double-starred argument, whose keys must be known."""
    if has_known_keys(value):
        return value
    if isinstance(t := run_time_type(value), DictType):
        reader.speculation.refuse(t.variable.find(), "double_star_of_other", what=describe(value))
    reader.reject("double_star_of_other", what=describe(value))


def known_texts(
    reader: Reader, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:
    """Return arguments of a torch function with their strings known, such as equations and modes."""

    def known(av: AbstractValue) -> AbstractValue:
        return Known(require_known(reader, av, "a string that torch is given")) if is_run_time_text(av) else av

    return [known(a) for a in args], {k: known(v) for k, v in kwargs.items()}


def bind_arguments(
    reader: Reader, frame: Frame, func: FunctionType, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> None:
    node = frame.source.node
    defaults = [Known(d) for d in func.__defaults__ or ()]
    named = func.__kwdefaults__ or {}
    kw_defaults: dict[str, AbstractValue] = {k: Known(v) for k, v in named.items()}
    if named and not is_library(func.__module__):
        kw_defaults = known_keywords(reader, named)
    names = [a.arg for a in node.args.kwonlyargs]
    bind_parameters(
        reader, frame, node.args, args, kwargs, defaults, [kw_defaults.get(n) for n in names], func.__qualname__
    )


def check_depth(reader: Reader, frame: Frame, name: str) -> None:
    if frame.depth() > _MAX_DEPTH:
        reader.reject("call_depth", name=name, depth=_MAX_DEPTH)


def too_many(takes: int, defaults: int, given: int, keyword_only: int) -> str:
    """Return Python's message for a call with too many positional arguments, without the name of the function."""
    least = f"from {takes - defaults} to " if defaults else ""
    positional = f"positional argument{'s' if takes != 1 or defaults else ''}"
    of_both = f" positional argument{'s' if given != 1 else ''} (and {keyword_only} keyword-only argument"
    of_both += f"{'s' if keyword_only != 1 else ''})"
    were = "was" if given == 1 and not keyword_only else "were"
    return f"() takes {least}{takes} {positional} but {given}{of_both if keyword_only else ''} {were} given"


def bind_parameters(
    reader: Reader,
    frame: Frame,
    spec: ast.arguments,
    args: Sequence[AbstractValue],
    kwargs: dict[str, AbstractValue],
    defaults: Sequence[AbstractValue],
    kw_defaults: Sequence[AbstractValue | None],
    name: str,
) -> None:
    """Bind arguments to parameters as Python does. Python's TypeErrors are raised at run time."""
    params = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    kwargs = dict(kwargs)
    bound: dict[str, AbstractValue] = dict(zip(params, args, strict=False))
    extra = list(args[len(params) :])
    if extra and spec.vararg is None:
        given_too = sum(a.arg in kwargs for a in spec.kwonlyargs)
        reader.emit.raise_error("TypeError", name + too_many(len(params), len(defaults), len(args), given_too))
    if spec.vararg is not None:
        bound[spec.vararg.arg] = TupleValue(extra)
    keyword_only = [a.arg for a in spec.kwonlyargs]
    for key in list(kwargs):
        if key in params[len(spec.posonlyargs) :] or key in keyword_only:
            given = kwargs.pop(key)
            if key in bound:
                refuse_given(reader, given, f"{name}() got multiple values for argument '{key}'")
            else:
                bound[key] = given
    defaulted = dict(zip(reversed(params), reversed(defaults), strict=False))
    defaulted |= {p: d for p, d in zip(keyword_only, kw_defaults, strict=True) if d is not None}
    for param, default in defaulted.items():
        bound.setdefault(param, default)
    for param, given in bound.items():
        if may_be_unbound(given):  # a key that only some paths gave the dict of the arguments
            kind = "keyword-only" if param in keyword_only else "positional"
            missing = f"{name}() missing 1 required {kind} argument: '{param}'"
            bound[param] = given_or(reader, given, defaulted.get(param), missing)
    for kind, names in (("positional", params), ("keyword-only", keyword_only)):
        if lacking := [p for p in names if p not in bound]:
            reader.emit.raise_error("TypeError", f"{name}() missing {len(lacking)} required {kind} {listed(lacking)}")
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = DictValue(kwargs)
    else:
        for key, given in kwargs.items():
            refuse_given(reader, given, f"{name}() got an unexpected keyword argument '{key}'")
    frame.locals.update({k: tensor_default(reader, v, k) for k, v in bound.items()})
    if params:
        frame.first_arg = bound[params[0]]


def refuse_given(reader: Reader, given: AbstractValue, message: str) -> None:
    """Raise TypeError for an argument, on the paths that give it."""
    is_given = given.flag if may_be_unbound(given) else Known(True)
    check_that(reader, negated(reader, is_given), "TypeError", message)


def given_or(reader: Reader, given: MaybeUnbound, default: AbstractValue | None, missing: str) -> AbstractValue:
    """Return an argument that only some paths give, or the default of its parameter."""
    if default is None:
        check_that(reader, given.flag, "TypeError", missing)
        return given.av
    return reader.choose(given.flag, lambda: given.av, lambda: default)


def tensor_default(reader: Reader, av: AbstractValue, name: str) -> AbstractValue:
    if is_known(av) and isinstance(av.obj, torch.Tensor):
        return late_bound_tensor(reader, av.obj, {name: av.obj}, name, name)
    return av
