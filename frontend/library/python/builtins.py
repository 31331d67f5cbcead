"""Python's builtins and the helpers of torch that have no tensor meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from scriptc.frontend.environment.host_items import known_item
from scriptc.frontend.environment.host_objects import type_name
from scriptc.frontend.environment.lookup import guard_children
from scriptc.frontend.environment.state import attribute_slot, delete_attribute, has_slot, store_plain
from scriptc.frontend.environment.watching import (
    call_in_python,
    watch,
    watch_class_attribute,
    watch_names,
    watch_object,
)
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import complexes_decomposed as complexes
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.formatting import format_of, raise_with, text_of
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, is_one_of, to_float
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.runtime_dicts import refuse_item_sets
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.iterables import checked_iterable
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import is_exception
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ClassOf,
    ComplexValue,
    DictValue,
    Known,
    ListValue,
    MaybeUnbound,
    ObjectValue,
    OneOf,
    RangeValue,
    RuntimeValue,
    TupleValue,
    ViewValue,
    ZipValue,
    is_dict,
    is_set,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.verbs import class_name_of, materialize, python_class
from scriptc.ir.types import EXC, FLOAT, INT, STR, ScalarType


@serves("builtins.len", *(f"{kind}.__len__" for kind in ("Tensor", "list", "tuple", "dict", "set", "str", "range")))
def len_(r: Reader, x: AbstractValue) -> AbstractValue:
    refuse_item_sets(r, x)
    match x:
        case TupleValue(items):
            return Known(len(items))
        case DictValue():
            return Known(len(r.items_of(x)))
        case RangeValue(start, stop, step):
            if all(isinstance(b, Known) for b in (start, stop, step)):
                return Known(len(range(*(b.obj for b in (start, stop, step) if isinstance(b, Known)))))
            return r.call(Known(range_length), [start, stop, step], {})
        case Known() if (found := special(r, x, "__len__", [])) is not None:
            return found
        case ObjectValue():
            found = special(r, x, "__len__", [])
            if found is None:
                r.emit.raise_error("TypeError", f"object of type '{x.cls.__name__}' has no len()")
            return found
        case ListValue(items=list() as items):
            r.speculation.observe(x)
            return Known(len(items))
        case ListValue():
            return RuntimeValue(r.emit.build("list.len", [materialize(r, x)]))
        case ViewValue(table):
            return len_(r, table)
        case RuntimeValue() if is_dict(x) or is_set(x):
            return RuntimeValue(r.emit.build("dict.len", [x.value]))
        case RuntimeValue() if is_tensor(x):
            if not tensor_type(x).dims:
                r.emit.raise_error("TypeError", "len() of a 0-d tensor")
            return size_av(r, x, 0)
        case RuntimeValue() if x.type == STR:
            return RuntimeValue(r.emit.build("str.len", [x.value]))
        case RuntimeValue() if isinstance(x.type, ScalarType):
            r.emit.raise_error("TypeError", f"object of type '{class_name_of(r, x)}' has no len()")
        case Known(torch.nn.Module() as module):
            guard_children(r, module)
            return call_in_python(r, len, module)
        case Known(list() as obj):
            r.environment.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
            return Known(len(obj))
        case Known(obj):
            return call_in_python(r, len, obj)
    r.reject("len_of_other")


def range_length(start: int, stop: int, step: int) -> int:
    """Compiled, not run."""
    if step > 0:
        return (stop - start - 1) // step + 1 if start < stop else 0
    return (start - stop - 1) // -step + 1 if start > stop else 0


@serves("builtins.range")
def range_(r: Reader, *bounds: AbstractValue) -> AbstractValue:
    if not 1 <= len(bounds) <= 3:
        r.emit.raise_error("TypeError", f"range expected 1 to 3 arguments, got {len(bounds)}")
    start, stop, step = (Known(0), bounds[0], Known(1)) if len(bounds) == 1 else (*bounds, Known(1))[:3]
    numbers = [b if isinstance(b, Known) else RuntimeValue(integer(r, b)) for b in (start, stop, step)]
    if isinstance(numbers[2], RuntimeValue):
        r.emit.effect("check.step", [numbers[2].value])
    elif numbers[2].obj == 0:
        r.emit.raise_error("ValueError", "range() arg 3 must not be zero")
    for n in numbers:
        if isinstance(n, Known) and not isinstance(n.obj, int):
            r.emit.raise_error("TypeError", f"'{type(n.obj).__name__}' object cannot be interpreted as an integer")
    return RangeValue(*numbers)


@serves("builtins.enumerate")
def enumerate_(r: Reader, sequence: AbstractValue, start: AbstractValue = Known(0)) -> AbstractValue:
    return ZipValue([checked_iterable(r, sequence)], start)


@serves("builtins.zip")
def zip_(r: Reader, *sequences: AbstractValue, strict: AbstractValue = Known(False)) -> AbstractValue:
    return ZipValue(
        [checked_iterable(r, sequence) for sequence in sequences],
        strict=bool(require_known(r, strict, "the strict of zip()")),
    )


@serves("operator.index")
def index(r: Reader, x: AbstractValue) -> AbstractValue:
    if isinstance(x, Known):
        return call_in_python(r, operator.index, x.obj)
    if (found := special(r, x, "__index__", [])) is not None:
        return found
    return RuntimeValue(integer(r, x))


def refuse_others(r: Reader, name: str, x: AbstractValue) -> None:
    """What no number is made of."""
    if isinstance(x, (ComplexValue, TupleValue, ListValue, DictValue, RangeValue)) or is_dict(x) or is_set(x):
        what = "a string, a bytes-like object or a real number" if name == "int" else "a string or a real number"
        r.emit.raise_error("TypeError", f"{name}() argument must be {what}, not '{python_class(r, x).__name__}'")


@serves("builtins.int", "Tensor.__int__")
def int_(r: Reader, x: AbstractValue = Known(0), base: AbstractValue | None = None) -> AbstractValue:
    if isinstance(x, Known) and (base is None or isinstance(base, Known)):
        return call_in_python(r, int, x.obj, *([] if base is None else [base.obj]))
    if base is None and isinstance(x, ObjectValue):
        return number_of(r, "int", x, ["__int__", "__index__"])
    if is_text(x):
        return RuntimeValue(
            r.emit.build("parse.int", [materialize(r, x), r.emit.const(10) if base is None else integer(r, base)])
        )
    if base is not None:
        r.emit.raise_error("TypeError", "int() can't convert non-string with explicit base")
    if is_tensor(x):
        _check_one_element(r, x)
        return RuntimeValue(r.emit.build("item.int", [materialize(r, x)]))
    refuse_others(r, "int", x)
    value = materialize(r, x)
    return (
        RuntimeValue(value)
        if value.type == INT
        else apply_op(r, "float.to_int" if value.type == FLOAT else "bool.to_int", x)
    )


@serves("builtins.float", "Tensor.__float__")
def float_(r: Reader, x: AbstractValue = Known(0.0)) -> AbstractValue:
    if isinstance(x, Known):
        return call_in_python(r, float, x.obj)
    if isinstance(x, ObjectValue):
        return number_of(r, "float", x, ["__float__", "__index__"])
    if is_text(x):
        return apply_op(r, "parse.float", x)
    refuse_others(r, "float", x)
    if is_tensor(x):
        _check_one_element(r, x)
        return RuntimeValue(r.emit.build("item.float", [materialize(r, x)]))
    return RuntimeValue(to_float(r, materialize(r, x)))


def number_of(r: Reader, name: str, x: ObjectValue, methods: list[str]) -> AbstractValue:
    """The number that the class of an object makes of it."""
    for method in methods:
        if (found := special(r, x, method, [])) is not None:
            cls = python_class(r, found)
            if cls is not (float if method == "__float__" else int):
                wanted = "float" if method == "__float__" else "int"
                r.emit.raise_error("TypeError", f"{method} returned non-{wanted} (type {cls.__name__})")
            return found if cls.__name__ == name else float_(r, found)
    r.emit.raise_error("TypeError", f"{name}() argument must be a string or a real number, not '{x.cls.__name__}'")


def _check_one_element(r: Reader, x: AbstractValue) -> None:
    """`int(t)` and `float(t)` raise another error than `t.item()`."""
    count = r.call(r.attribute(x, "numel"), [], {})
    message = "only one element tensors can be converted to Python scalars"
    check_that(r, r.compare("Eq", count, Known(1)), "ValueError", message)


@serves("builtins.bool", "Tensor.__bool__")
def bool_(r: Reader, x: AbstractValue = Known(False)) -> AbstractValue:
    return r.truth(x)


@serves("builtins.abs")
def abs_(r: Reader, x: AbstractValue) -> AbstractValue:
    if isinstance(x, Known):
        return call_in_python(r, abs, x.obj)
    if (found := special(r, x, "__abs__", [])) is not None:
        return found
    if is_tensor(x):
        return elementwise(r, "abs", x)
    if isinstance(x, ComplexValue):
        return r.call(Known(complexes.magnitude), [x.real, x.imag], {})
    return (
        RuntimeValue(r.emit.build("float.abs", [materialize(r, x)]))
        if materialize(r, x).type == FLOAT
        else RuntimeValue(r.emit.build("int.abs", [integer(r, x)]))
    )


@serves("builtins.isinstance")
def isinstance_(r: Reader, x: AbstractValue, classes: AbstractValue) -> AbstractValue:
    if isinstance(x, OneOf):
        answers = {tag: isinstance_(r, a, classes) for tag, a in x.alternatives.items()}
        if all(isinstance(a, Known) for a in answers.values()):
            return is_one_of(r, x, [tag for tag, a in answers.items() if isinstance(a, Known) and a.obj])
        return split(r, x, lambda a: isinstance_(r, a, classes))
    cls = require_known(r, classes, "the class of isinstance()")
    if isinstance(x, RuntimeValue) and x.type == EXC:
        return is_exception(
            r, x, [c for c in (cls if isinstance(cls, tuple) else (cls,)) if issubclass(c, BaseException)]
        )
    if is_tensor(x):
        if any(tensor_has_class(x, c) for c in flat(cls)):
            return Known(True)
        if torch.nn.Parameter in flat(cls):
            r.reject("is_parameter")
        return Known(False)
    return call_in_python(r, issubclass, python_class(r, x), cls)


def flat(classes: Any) -> Iterator[Any]:
    """The classes of a tuple of classes and such tuples."""
    for cls in classes if isinstance(classes, tuple) else (classes,):
        yield from flat(cls) if isinstance(cls, tuple) else (cls,)


def tensor_has_class(x: AbstractValue, cls: Any) -> bool:
    """Whether a tensor is an instance of a class, or of one of the types of old, such as torch.LongTensor."""
    if isinstance(cls, type(torch.FloatTensor)):
        return f"{cls.__module__}.{cls.__name__}" == type_name(tensor_type(x).dtype)
    return issubclass(torch.Tensor, cls)


@serves("builtins.issubclass")
def issubclass_(r: Reader, cls: AbstractValue, classes: AbstractValue) -> AbstractValue:
    if isinstance(cls, ClassOf):
        return isinstance_(r, cls.exception, classes)
    return call_in_python(
        r,
        issubclass,
        require_known(r, cls, "the class of issubclass()"),
        require_known(r, classes, "the class of issubclass()"),
    )


@serves("builtins.type")
def type_(r: Reader, x: AbstractValue) -> AbstractValue:
    if isinstance(x, RuntimeValue) and x.type == EXC:
        return ClassOf(x)
    return Known(python_class(r, x))


@serves("builtins.callable")
def callable_(r: Reader, x: AbstractValue) -> AbstractValue:
    return Known(
        callable(x.obj) if isinstance(x, Known) else not isinstance(x, (RuntimeValue, TupleValue, ListValue, DictValue))
    )


@serves("builtins.getattr")
def getattr_(r: Reader, owner: AbstractValue, name: AbstractValue, *default: AbstractValue) -> AbstractValue:
    attr = require_known(r, name, "the name of getattr()")
    if not default:
        return r.attribute(owner, attr)
    return r.choose(_has(r, owner, attr), lambda: r.attribute(owner, attr), lambda: default[0])


@serves("builtins.setattr")
def setattr_(r: Reader, owner: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    r.store_attribute(owner, require_known(r, name, "the name of setattr()"), value)
    return Known(None)


@serves("builtins.object.__setattr__", "torch.nn.Module.__setattr__")
def plain_setattr(r: Reader, owner: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    if isinstance(owner, Known):
        store_plain(r, owner.obj, require_known(r, name, "the name of an attribute"), value)
    else:
        r.store_attribute(owner, require_known(r, name, "the name of an attribute"), value)
    return Known(None)


@serves("builtins.delattr")
def delattr_(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    if not isinstance(owner, Known):
        r.reject("delattr_of_object")
    delete_attribute(r, owner.obj, require_known(r, name, "the name of delattr()"))
    return Known(None)


@serves("builtins.hasattr")
def hasattr_(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    return _has(r, owner, require_known(r, name, "the name of hasattr()"))


def _has(r: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    if isinstance(owner, Known) and (slot := attribute_slot(r, owner.obj, name)) is not None:
        return has_slot(r, slot)
    held = r.items_of(owner).get(name) if isinstance(owner, ObjectValue) else None
    if isinstance(held, MaybeUnbound) and not hasattr(python_class(r, owner), name):
        return held.flag
    return Known(_has_always(r, owner, name))


def _has_always(r: Reader, owner: AbstractValue, name: str) -> bool:
    if isinstance(owner, Known):
        return _has_now(r, owner.obj, name)
    if isinstance(owner, ObjectValue) and name in r.items_of(owner):
        return True
    cls = python_class(r, owner)
    watch_class_attribute(r, cls, name)
    return hasattr(cls, name)


def _has_now(r: Reader, obj: Any, name: str) -> bool:
    """hasattr() of an object outside, guarded wherever the attribute is found, or would be."""
    watch_object(r, obj)
    own = getattr(obj, "__dict__", None)
    tables = [own] if type(own) is dict else []
    if isinstance(obj, torch.nn.Module):
        tables += [vars(obj)[table] for table in ("_parameters", "_buffers", "_modules")]
    for table in tables:
        r.environment.guard("DICT_HAS" if name in table else "DICT_MISSING", table, name, None)
        if name in table:
            return True
    for cls in (obj, type(obj)) if isinstance(obj, type) else (type(obj),):
        watch_class_attribute(r, cls, name)
    return hasattr(obj, name)


# What they do or tell is of the process, or of the frame in which Python calls them, at the time of the call.
@serves("builtins.id", "builtins.open", "builtins.input", "builtins.exec", "builtins.eval",
        "builtins.globals", "builtins.locals", "builtins.compile",
        "torch.initial_seed", "torch.random.initial_seed", "torch.get_num_threads", "torch.get_num_interop_threads",
        "torch.set_num_threads", "torch.set_num_interop_threads", "torch.set_flush_denormal", "torch.set_default_dtype",
        "torch.set_default_device", "torch.set_default_tensor_type", "torch.set_printoptions",
        "torch.is_inference_mode_enabled", "torch.set_warn_always")  # fmt: skip
def refused(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    r.reject("builtin_function")


def _names_in(function: Callable[[Any], Any]) -> Callable[..., AbstractValue]:
    def handler(r: Reader, *obj: AbstractValue) -> AbstractValue:
        if not obj:
            r.reject("builtin_function")  # those of the frame
        owner = require_known(r, obj[0], "the object")
        watch_object(r, owner)
        if function is vars:
            return r.attribute(obj[0], "__dict__")
        for cls in type(owner).__mro__:
            watch_names(r, cls)
        own = getattr(owner, "__dict__", None)
        if type(own) is dict:
            watch(r, own, deep=False)
        return call_in_python(r, function, owner)

    return handler


serves("builtins.vars")(_names_in(vars))
serves("builtins.dir")(_names_in(dir))


@serves("sys.exit", "builtins.exit", "builtins.quit")
def exit_(r: Reader, *code: AbstractValue) -> AbstractValue:
    r.reject("raise_of_other", name="SystemExit")


@serves("builtins.breakpoint")
def breakpoint_(r: Reader) -> AbstractValue:
    r.emit.raise_error("NotImplementedError", "compiled code cannot stop for a debugger: breakpoint() was reached")


@serves("Size.numel")
def size_numel(r: Reader, size: AbstractValue) -> AbstractValue:
    total: AbstractValue = Known(1)
    for n in r.iterate(size):
        total = r.binary("Mult", total, n)
    return total


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


# ---- torch without tensors ----
@serves(
    "torch.backends.mha.get_fastpath_enabled", "torch.overrides.has_torch_function", "torch.overrides.has_torch_function_unary",
    "torch.overrides.has_torch_function_variadic", "torch.jit.is_scripting", "torch.jit.is_tracing",
    "torch._jit_internal.is_scripting", "torch.compiler.is_compiling", "torch.compiler.is_dynamo_compiling",
    "torch.compiler.is_exporting", "torch._C._get_tracing_state", "torch.is_autocast_enabled",
    "torch.cuda.is_available", "torch.is_autocast_cpu_enabled",
)  # fmt: skip
def never(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return Known(False)


@serves("torch.is_tensor")
def is_tensor_(r: Reader, x: AbstractValue) -> AbstractValue:
    return Known(is_tensor(x))


@serves("torch.jit.annotate", "typing.cast")
def annotate(r: Reader, cls: AbstractValue, x: AbstractValue) -> AbstractValue:
    return x


@serves("torch.jit._unwrap_optional", "torch._jit_internal._unwrap_optional")
def unwrap(r: Reader, x: AbstractValue) -> AbstractValue:
    return x


@serves("torch.get_default_dtype")
def default_dtype(r: Reader) -> AbstractValue:
    return Known(torch.get_default_dtype())


@serves("torch._assert")
def assert_(r: Reader, condition: AbstractValue, message: AbstractValue) -> AbstractValue:

    def fails() -> bool:
        raise_with(r, "AssertionError", message)

    truth = r.truth(condition)
    if isinstance(truth, Known):
        return Known(None) if truth.obj else Known(fails())
    r.branch(truth, lambda: True, fails, frozenset())
    return Known(None)


@serves("warnings.warn")
def warn(
    r: Reader,
    message: AbstractValue,
    category: AbstractValue = Known(UserWarning),
    stacklevel: AbstractValue = Known(1),
) -> AbstractValue:
    """The warning points where Python's would: `stacklevel` - 1 calls up."""
    cls = require_known(r, category, "the category of a warning")
    where = list(r.position.loc.chain())[: require_known(r, stacklevel, "stacklevel")][-1]
    format, values = format_of(r, text_of(r, message))
    r.emit.builder.op("warn", values, where, category=cls.__name__, message=format)
    return Known(None)
