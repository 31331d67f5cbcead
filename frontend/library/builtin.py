"""Python's builtins and the helpers of torch that have no tensor meaning."""

from __future__ import annotations

from typing import Any

import torch

from scriptc.frontend.library import serves
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import (
    AV,
    Closure,
    DictV,
    Dyn,
    Known,
    ListV,
    RangeV,
    ReversedV,
    Tup,
    ZipV,
    is_tensor,
    tensor_type,
)
from scriptc.ir.types import BOOL, FLOAT, INT


@serves("builtins.len", "Tensor.__len__")
def len_(r: Reader, x: AV) -> AV:
    match x:
        case Tup(items):
            return Known(len(items))
        case DictV(items):
            return Known(len(items))
        case ListV(items=list() as items):
            r.observe(x)
            return Known(len(items))
        case ListV():
            return Dyn(r.build("list.len", [r.value(x)]))
        case Dyn() if is_tensor(x):
            if not tensor_type(x).dims:
                r.raises_at_run_time("TypeError", "len() of a 0-d tensor")
            return r.size_av(x, 0)
        case Known(torch.nn.Module() as module):
            r.guard_children(module)
            return r.evaluate(len, module)
        case Known(list() as obj):
            r.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
            return Known(len(obj))
        case Known(obj):
            return r.evaluate(len, obj)
    r.fail("len() of this value is not supported yet")


@serves("builtins.range")
def range_(r: Reader, *bounds: AV) -> AV:
    start, stop, step = (Known(0), bounds[0], Known(1)) if len(bounds) == 1 else (*bounds, Known(1))[:3]
    numbers = [b if isinstance(b, Known) else Dyn(r.integer(b)) for b in (start, stop, step)]
    if isinstance(numbers[2], Dyn):
        r.effect("check.step", [numbers[2].value])
    elif numbers[2].obj == 0:
        r.raises_at_run_time("ValueError", "range() arg 3 must not be zero")
    for n in numbers:
        if isinstance(n, Known) and not isinstance(n.obj, int):
            r.raises_at_run_time("TypeError", f"'{type(n.obj).__name__}' object cannot be interpreted as an integer")
    return RangeV(*numbers)


@serves("builtins.enumerate")
def enumerate_(r: Reader, sequence: AV, start: AV = Known(0)) -> AV:  # noqa: B008
    return ZipV([sequence], start)


@serves("builtins.zip")
def zip_(r: Reader, *sequences: AV, strict: AV = Known(False)) -> AV:  # noqa: B008
    """Lengths that must agree are known, or given by torch's own code."""
    return ZipV(list(sequences))


@serves("builtins.reversed")
def reversed_(r: Reader, sequence: AV) -> AV:
    return ReversedV(sequence)


@serves("builtins.list")
def list_(r: Reader, sequence: AV | None = None) -> AV:
    site = (r.loc, "list()")
    if sequence is None:
        return r.new_list([], site)
    walk = r.iteration(sequence, None)
    if walk.items is not None:
        return r.new_list(walk.items, site)
    r.fail("list() of a sequence of unknown length is not supported yet", "use a list comprehension")


@serves("builtins.tuple")
def tuple_(r: Reader, sequence: AV = Known(())) -> AV:  # noqa: B008
    return r.tuple_of(r.iterate(sequence))


@serves("itertools.repeat")
def repeat(r: Reader, x: AV, times: AV) -> AV:
    return Tup([x] * r.known(times, "the count of repeat()"))


@serves("builtins.dict")
def dict_(r: Reader, **items: AV) -> AV:
    return DictV(items)


@serves("builtins.int", "Tensor.__int__")
def int_(r: Reader, x: AV = Known(0)) -> AV:  # noqa: B008
    if isinstance(x, Known):
        return r.evaluate(int, x.obj)
    if is_tensor(x):
        return Dyn(r.build("item.int", [r.value(x)]))
    value = r.value(x)
    return x if value.type == INT else r.op("float.to_int" if value.type == FLOAT else "bool.to_int", x)


@serves("builtins.float", "Tensor.__float__")
def float_(r: Reader, x: AV = Known(0.0)) -> AV:  # noqa: B008
    if isinstance(x, Known):
        return r.evaluate(float, x.obj)
    return Dyn(r.build("item.float", [r.value(x)])) if is_tensor(x) else Dyn(r.to_float(r.value(x)))


@serves("builtins.bool", "Tensor.__bool__")
def bool_(r: Reader, x: AV = Known(False)) -> AV:  # noqa: B008
    return r.truth(x)


@serves("builtins.abs")
def abs_(r: Reader, x: AV) -> AV:
    if isinstance(x, Known):
        return r.evaluate(abs, x.obj)
    if is_tensor(x):
        return r.elementwise("abs", x)
    return (
        Dyn(r.build("float.abs", [r.value(x)])) if r.value(x).type == FLOAT else Dyn(r.build("int.abs", [r.integer(x)]))
    )


def _extreme(r: Reader, name: str, items: list[AV]) -> AV:
    if all(isinstance(i, Known) for i in items):
        return r.evaluate({"min": min, "max": max}[name], [i.obj for i in items if isinstance(i, Known)])
    best = items[0]
    for item in items[1:]:
        if is_tensor(best) or is_tensor(item):
            r.fail(f"{name}() of tensors is not supported yet", f"use torch.{name}imum")
        a, b = r.value(best), r.value(item)
        if a.type != b.type:
            r.fail(f"{name}() of an int and a float has no one type", "convert one with float()")
        best = Dyn(r.build(f"{'float' if a.type == FLOAT else 'int'}.{name}", [a, b]))
    return best


@serves("builtins.min")
def min_(r: Reader, *args: AV) -> AV:
    return _extreme(r, "min", r.iterate(args[0]) if len(args) == 1 else list(args))


@serves("builtins.max")
def max_(r: Reader, *args: AV) -> AV:
    return _extreme(r, "max", r.iterate(args[0]) if len(args) == 1 else list(args))


@serves("builtins.sum")
def sum_(r: Reader, sequence: AV, start: AV = Known(0)) -> AV:  # noqa: B008
    total = start
    for item in r.iterate(sequence):
        total = r.binary("Add", total, item)
    return total


@serves("math.prod")
def prod(r: Reader, sequence: AV, *, start: AV = Known(1)) -> AV:  # noqa: B008
    total = start
    for item in r.iterate(sequence):
        total = r.binary("Mult", total, item)
    return total


def _all(r: Reader, items: list[AV], stop_at: bool) -> AV:
    result: AV = Known(not stop_at)
    for item in items:
        t = r.truth(item)
        result = r.negate(r.both(r.negate(result), r.negate(t))) if stop_at else r.both(result, t)
    return result


@serves("builtins.all")
def all_(r: Reader, sequence: AV) -> AV:
    return _all(r, r.iterate(sequence), stop_at=False)


@serves("builtins.any")
def any_(r: Reader, sequence: AV) -> AV:
    return _all(r, r.iterate(sequence), stop_at=True)


def python_class(r: Reader, x: AV) -> type:
    """type(x)."""
    match x:
        case Known(obj):
            return type(obj)
        case Tup():
            return x.cls
        case ListV():
            return list
        case DictV():
            return dict
        case Dyn() if is_tensor(x):
            return torch.Tensor
        case Dyn() if x.type in (INT, FLOAT, BOOL):
            return {"i64": int, "f64": float, "bool": bool}[str(x.type)]
        case Closure():
            return type(python_class)
    r.fail("the class of this value is not known at compile time")


@serves("builtins.isinstance")
def isinstance_(r: Reader, x: AV, classes: AV) -> AV:
    cls = r.known(classes, "the class of isinstance()")
    if is_tensor(x) and cls in (torch.nn.Parameter,):
        r.fail("whether a tensor is a Parameter is not known in compiled code")
    return r.evaluate(issubclass, python_class(r, x), cls)


@serves("builtins.type")
def type_(r: Reader, x: AV) -> AV:
    return Known(python_class(r, x))


@serves("builtins.callable")
def callable_(r: Reader, x: AV) -> AV:
    return Known(callable(x.obj) if isinstance(x, Known) else not isinstance(x, (Dyn, Tup, ListV, DictV)))


@serves("builtins.getattr")
def getattr_(r: Reader, owner: AV, name: AV, *default: AV) -> AV:
    attr = r.known(name, "the name of getattr()")
    if default and not _has(r, owner, attr):
        return default[0]
    return r.attribute(owner, attr)


@serves("builtins.hasattr")
def hasattr_(r: Reader, owner: AV, name: AV) -> AV:
    return Known(_has(r, owner, r.known(name, "the name of hasattr()")))


def _has(r: Reader, owner: AV, name: str) -> bool:
    if isinstance(owner, Known):
        found = hasattr(owner.obj, name)
        own = getattr(owner.obj, "__dict__", None)
        if not found and isinstance(own, dict):
            r.guard("DICT_MISSING", own, name, None)
        return found
    return hasattr(python_class(r, owner), name)


@serves("builtins.id", "builtins.print", "builtins.open", "builtins.input", "builtins.exec", "builtins.eval")
def refused(r: Reader, *args: AV, **kwargs: AV) -> AV:
    r.fail("this builtin is not supported in compiled code", "call it outside of the compiled function")


# ---- methods of lists, tuples, dicts and sizes ----
@serves("list.append")
def list_append(r: Reader, target: ListV, item: AV) -> AV:
    r.append(target, item)
    return Known(None)


@serves("list.extend")
def list_extend(r: Reader, target: ListV, items: AV) -> AV:
    for item in r.iterate(items):
        r.append(target, item)
    return Known(None)


def _of_known(method: str) -> None:
    @serves(f"tuple.{method}", f"list.{method}")
    def handler(r: Reader, target: AV, *args: AV) -> AV:
        known = [r.known(a, f"what {method}() looks for") for a in args]
        return r.evaluate(getattr(tuple, method), tuple(r.known(target, "the items of a sequence")), *known)


for _method in ("index", "count"):
    _of_known(_method)


@serves("str.join")
def join(r: Reader, separator: AV, parts: AV) -> AV:
    return r.evaluate(str.join, r.known(separator, "a string"), [r.known(p, "a string") for p in r.iterate(parts)])


@serves("dict.items")
def dict_items(r: Reader, d: AV) -> AV:
    return Tup([Tup([Known(k), v]) for k, v in _pairs(r, d)])


@serves("dict.values")
def dict_values(r: Reader, d: AV) -> AV:
    return Tup([v for _, v in _pairs(r, d)])


@serves("dict.keys")
def dict_keys(r: Reader, d: AV) -> AV:
    return Tup([Known(k) for k, _ in _pairs(r, d)])


@serves("dict.get")
def dict_get(r: Reader, d: AV, key: AV, default: AV = Known(None)) -> AV:  # noqa: B008
    return dict(_pairs(r, d)).get(r.known(key, "the key of a dict"), default)


def _pairs(r: Reader, d: AV) -> list[tuple[Any, AV]]:
    if isinstance(d, DictV):
        return list(d.items.items())
    assert isinstance(d, Known)
    return [(k, r.known_item(d, k)) for k in d.obj]


@serves("Size.numel")
def size_numel(r: Reader, size: AV) -> AV:
    total: AV = Known(1)
    for n in r.iterate(size):
        total = r.binary("Mult", total, n)
    return total


@serves("torch.nn.ModuleDict.items")
def module_dict_items(r: Reader, modules: Known) -> AV:
    return Tup([Tup([k, r.known_item(modules, r.known(k, "a key"))]) for k in r.iterate(modules)])


@serves("torch.nn.ModuleDict.values")
def module_dict_values(r: Reader, modules: Known) -> AV:
    return Tup([r.known_item(modules, r.known(k, "a key")) for k in r.iterate(modules)])


@serves("torch.nn.ModuleDict.keys")
def module_dict_keys(r: Reader, modules: AV) -> AV:
    return Tup(r.iterate(modules))


# ---- torch without tensors ----
@serves(
    "torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary",
    "torch.overrides.has_torch_function_variadic", "torch.jit.is_scripting", "torch.jit.is_tracing",
    "torch._jit_internal.is_scripting", "torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling",
    "torch.compiler.is_exporting", "torch._C._get_tracing_state", "torch.is_autocast_enabled",
    "torch.cuda.is_available", "torch.is_autocast_cpu_enabled",
)  # fmt: skip
def never(r: Reader, *args: AV, **kwargs: AV) -> AV:
    return Known(False)


@serves("torch.is_tensor")
def is_tensor_(r: Reader, x: AV) -> AV:
    return Known(is_tensor(x))


@serves("torch.jit.annotate", "typing.cast")
def annotate(r: Reader, cls: AV, x: AV) -> AV:
    return x


@serves("torch.jit._unwrap_optional", "torch._jit_internal._unwrap_optional")
def unwrap(r: Reader, x: AV) -> AV:
    return x


@serves("torch.get_default_dtype")
def default_dtype(r: Reader) -> AV:
    return Known(torch.get_default_dtype())


@serves("torch._assert")
def assert_(r: Reader, condition: AV, message: AV) -> AV:
    text = r.text(message)

    def fails() -> bool:
        r.raises_at_run_time("AssertionError", text)

    truth = r.truth(condition)
    if isinstance(truth, Known):
        return Known(None) if truth.obj else Known(fails())
    r.branch(truth, lambda: True, fails, frozenset())
    return Known(None)


@serves("warnings.warn")
def warn(r: Reader, message: AV, category: AV = Known(UserWarning), stacklevel: AV = Known(1)) -> AV:  # noqa: B008
    """The warning points where Python's would: `stacklevel` - 1 calls up."""
    cls = r.known(category, "the category of a warning")
    where = list(r.loc.chain())[: r.known(stacklevel, "stacklevel")][-1]
    r.builder.op("warn", (), where, category=cls.__name__, message=r.text(message))
    return Known(None)


def _math(name: str) -> None:
    @serves(f"math.{name}")
    def handler(r: Reader, x: AV) -> AV:
        import math

        if isinstance(x, Known):
            return r.evaluate(getattr(math, name), x.obj)
        value = r.build("item.float", [r.value(x)]) if is_tensor(x) else r.to_float(r.value(x))
        return Dyn(r.build(f"math.{name}", [value]))


for _name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "ceil"):
    _math(_name)
