"""Attributes of all kinds of values."""

from __future__ import annotations

import enum
import threading
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from scriptc.frontend.environment.genuine import is_patch, originals_of, replaced_method
from scriptc.frontend.environment.gradient_slots import read_gradient
from scriptc.frontend.environment.host_items import outside_subscript
from scriptc.frontend.environment.host_objects import ABSENT, is_library, is_own, torch_dtype, uncompiled
from scriptc.frontend.environment.lookup import (
    class_attribute,
    element,
    guard_class_attribute,
    has_fixed_attribute,
    in_own_code,
    outside_value,
    value_of_attribute,
)
from scriptc.frontend.environment.pure import is_pure, is_setting
from scriptc.frontend.environment.state import attribute_slot
from scriptc.frontend.environment.watching import (
    call_in_python,
    guard_item,
    is_data_descriptor,
    is_of_c,
    static_attribute,
    watch_bases,
    watch_class_attribute,
    watch_function,
    watch_object,
)
from scriptc.frontend.operations.autograd_flags import function_of_gradient, is_leaf_of_autograd, requires_grad_of
from scriptc.frontend.operations.complexes import imaginary_part, real_part
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.objects import bound_to
from scriptc.frontend.operations.sizes import shape_of_tensor
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, Native
from scriptc.frontend.values.predicates import tensor_type
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import class_name_of, python_class
from scriptc.ir.dtypes import SIZES

_SERVED = (list, dict, set, str, tuple, complex, ContextVar)  # handlers and decompositions serve their methods


_FOLLOWED = (FunctionType, property, staticmethod, classmethod)  # the reader follows these in library classes, too


_OF_MEMBERS = {"value": "_value_", "name": "_name_"}  # attributes of enum members


_OF_OBJECT = (object.__setattr__, object.__getattribute__)


# Attributes that are False for each dense tensor on the CPU.
_NEVER = frozenset(
    f"is_{kind}"
    for kind in "cuda ipu maia meta mkldnn mps mtia nested quantized sparse sparse_csr vulkan xla xpu".split()
)


def attribute(reader: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    return verbs.attribute(reader, owner, name)


def class_itself(reader: Reader, owner: AbstractValue) -> AbstractValue:
    """Return `owner.__class__` of an instance of a class of Python's own."""
    return reader.call(Known(type), [owner], {})


def method_or_error(reader: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    """Return an attribute of a value whose class has only methods; raise AttributeError for other names."""
    if name == "__class__":
        return class_itself(reader, owner)
    if not hasattr(python_class(reader, owner), name):
        own = class_name_of(reader, owner)
        reader.emit.raise_error("AttributeError", f"'{own}' object has no attribute '{name}'")
    return Bound(owner, name)


def patched_method(reader: Reader, tensor: AbstractValue, name: str) -> AbstractValue | None:
    """Return the user's replacement of a method of torch.Tensor, or None. A guard watches the method."""
    if in_own_code(reader):
        return None
    watch_class_attribute(reader, torch.Tensor, name)
    found = replaced_method(torch.Tensor, name, static_attribute(torch.Tensor, name))
    if isinstance(found, str):
        return tensor_attribute(reader, tensor, found)
    return None if found is None else bound_to(reader, tensor, torch.Tensor, name, found)


def replaced_operator(reader: Reader, name: str, tensor: AbstractValue, *args: AbstractValue) -> AbstractValue | None:
    """Return the result of the user's replacement of an operator of torch.Tensor; None for torch's own operator."""
    replaced = patched_method(reader, tensor, name)
    return None if replaced is None else reader.call(replaced, args, {})


def tensor_attribute(reader: Reader, tensor: AbstractValue, name: str) -> AbstractValue:
    t = tensor_type(tensor)
    match name:
        case "shape":
            return shape_of_tensor(reader, tensor)
        case "dtype":
            return Known(torch_dtype(t.dtype))
        case "device":
            return Known(torch.device("cpu"))
        case "ndim":
            return Known(t.rank)
        case "itemsize":
            return Known(SIZES[t.dtype])
        case "nbytes":
            return reader.binary("Mult", reader.call(Bound(tensor, "numel"), [], {}), Known(SIZES[t.dtype]))
        case "T" | "mT" | "H" | "mH":
            if name == "H" and t.rank not in (0, 2):
                hint = " For batches of matrices, consider using tensor.mH" if t.rank > 2 else ""
                message = f"tensor.H is only supported on matrices (2-D tensors). Got {t.rank}-D tensor.{hint}"
                reader.emit.raise_error("RuntimeError", message)
            if name != "T" and t.rank == 1:
                message = f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
                reader.emit.raise_error("RuntimeError", message)
            if name == "T" and t.rank > 2:
                reader.reject("transpose_of_many_dims", name=name, rank=t.rank)
            turned = (
                apply_op(reader, "transpose", tensor, dim0=t.rank - 2, dim1=t.rank - 1)
                if t.rank > 1
                else view_of(reader, tensor)
            )
            return reader.call(Known(torch.conj), [turned], {}) if name in ("H", "mH") else turned
        case "real":
            return real_part(reader, tensor)
        case "imag":
            return imaginary_part(reader, tensor)
        case _ if name in _NEVER:
            return Known(False)
        case "is_cpu":
            return Known(True)
        case "layout":
            return Known(torch.strided)
        case "data":
            return apply_op(reader, "alias", tensor)
        case "requires_grad":
            return requires_grad_of(reader, tensor)
        case "is_leaf":
            return is_leaf_of_autograd(reader, tensor)
        case "grad":
            return read_gradient(reader, tensor)
        case "grad_fn":
            return function_of_gradient(reader, tensor)
    if not hasattr(torch.Tensor, name):
        reader.emit.raise_error("AttributeError", f"'Tensor' object has no attribute '{name}'")
    if not callable(getattr(torch.Tensor, name)):
        reader.reject("attribute_of_autograd", name=name)
    return Bound(tensor, name)


def known_attribute(reader: Reader, obj: Any, name: str) -> AbstractValue:
    if isinstance(obj, ModuleType):
        return python_module_attribute(reader, obj, name)
    if isinstance(obj, super):
        return super_attribute(reader, obj, name)
    is_builtin = isinstance(obj, _SERVED) and not defines(Known(obj), name)
    if is_builtin and name != "__class__" and callable(static_attribute(type(obj), name)):
        return Bound(Known(obj), name)
    if isinstance(obj, type):
        found = getattr(obj, name, ABSENT)
        guard_class_attribute(reader, obj, name)
        if found is ABSENT:
            reader.emit.raise_error("AttributeError", f"type object '{obj.__name__}' has no attribute '{name}'")
        if isinstance(found, MethodType):
            return Bound(Known(obj), name, found.__func__)
        return element(reader, Known(found), name)
    if (slot := attribute_slot(reader, obj, name)) is not None:
        return value_of_attribute(reader, slot)
    return attribute_of_object(reader, obj, name)


def attribute_of_object(reader: Reader, obj: Any, name: str) -> AbstractValue:
    """Return an attribute of an object that is neither a class nor a module, as object.__getattribute__ finds it."""
    getter = type(obj).__getattribute__
    if isinstance(getter, FunctionType):
        watch_class_attribute(reader, type(obj), "__getattribute__")
        return reader.call(Known(getter), [Known(obj), Known(name)], {})
    return found_attribute(reader, obj, name)


def found_attribute(reader: Reader, obj: Any, name: str) -> AbstractValue:
    """Return an attribute of an object outside as `object.__getattribute__` finds it, and then `__getattr__`."""
    if isinstance(obj, torch._ops.OpOverloadPacket):
        getattr(obj, name, None)  # keeps the overload that it finds
    own, raw = getattr(obj, "__dict__", None), static_attribute(type(obj), name)
    if isinstance(obj, threading.local):  # each thread sees other attributes
        reader.reject("content_unguarded", kind=type(obj).__name__)
    if isinstance(obj, enum.Enum) and name in _OF_MEMBERS:
        watch_class_attribute(reader, type(obj), name)
        return outside_value(reader, vars(obj)[_OF_MEMBERS[name]], vars(obj), _OF_MEMBERS[name], name, guarded=True)
    if isinstance(own, dict) and name in own and not is_data_descriptor(raw):
        watch_object(reader, obj)
        return outside_value(reader, own[name], own, name, name, guarded=True)
    is_value = raw is not ABSENT and not hasattr(type(raw), "__get__")
    is_users = raw is not ABSENT and not is_library(type(obj).__module__) and not is_of_c(raw)
    if isinstance(raw, _FOLLOWED) or is_value or is_users:
        return class_attribute(reader, obj, type(obj), raw, name)
    get_missing = static_attribute(type(obj), "__getattr__")
    if raw is ABSENT and isinstance(own, dict) and (get_missing is ABSENT or isinstance(get_missing, FunctionType)):
        watch_object(reader, obj)
        reader.environment.guard("DICT_MISSING", own, name, None)
        for looked_up in (name, "__getattr__"):
            watch_class_attribute(reader, type(obj), looked_up)
        if get_missing is ABSENT:
            reader.emit.raise_error("AttributeError", f"'{type(obj).__name__}' object has no attribute '{name}'")
        return reader.call(Known(get_missing), [Known(obj), Known(name)], {})
    if is_of_c(raw) and has_fixed_attribute(obj, name):
        watch_object(reader, obj)
        found = getattr(obj, name)
        reader.environment.guard("ATTRIBUTE_IS", obj, name, found)
        return element(reader, Known(found), name)
    if callable(raw) and is_pure(getattr(obj, name, None)):
        return Known(getattr(obj, name))  # the call of the method guards what the method reads
    return element(reader, call_in_python(reader, getattr, obj, name))


def python_module_attribute(reader: Reader, module: ModuleType, name: str) -> AbstractValue:
    if in_own_code(reader) and name in (meant := originals_of(module)):
        return element(reader, Known(meant[name]), name)
    if name in module.__dict__:
        return outside_value(reader, module.__dict__[name], module.__dict__, name, name, guarded=True)
    raw = static_attribute(type(module), name)
    if raw is ABSENT:  # the module's own __getattr__ may find the name
        try:
            getattr(module, name)
        except Exception as e:
            reader.environment.guard("DICT_MISSING", module.__dict__, name, None)
            reader.emit.raise_error(type(e).__name__, str(e))
        if name in module.__dict__:  # and keep what it found, as torch.ops does
            return outside_value(reader, module.__dict__[name], module.__dict__, name, name, guarded=True)
    reader.environment.guard("DICT_MISSING", module.__dict__, name, None)
    if isinstance(raw, torch.backends.ContextProp) and is_setting(raw.getter):  # a flag of torch.backends
        watch_class_attribute(reader, type(module), name)
        return reader.call(Known(raw.getter), [], {})
    if isinstance(raw, _FOLLOWED) or isinstance(getattr(type(raw), "__get__", None), FunctionType):
        watch_class_attribute(reader, type(module), name)
        return bound_to(reader, Known(module), type(module), name, raw)
    try:  # a property of a class that the module was given as `__class__`
        found = getattr(module, name)
    except Exception as e:
        reader.emit.raise_error(type(e).__name__, str(e))
    if not isinstance(found, BuiltinFunctionType) and not has_fixed_attribute(module, name):
        reader.reject("content_unguarded", kind=type(found).__name__)
    if not isinstance(found, BuiltinFunctionType):
        reader.environment.guard("ATTRIBUTE_IS", module, name, found)
    return element(reader, Known(found), name)


def super_attribute(reader: Reader, proxy: super, name: str) -> AbstractValue:
    obj, cls = proxy.__self__, proxy.__thisclass__  # type: ignore[attr-defined]
    mro = proxy.__self_class__.__mro__  # type: ignore[attr-defined]
    watch_bases(reader, proxy.__self_class__)  # type: ignore[attr-defined]
    for base in mro[mro.index(cls) + 1 :]:
        watch_class_attribute(reader, base, name)
        if name in base.__dict__:
            raw = uncompiled(base.__dict__[name])
            if isinstance(raw, classmethod) and isinstance(func := uncompiled(raw.__func__), FunctionType):
                return Bound(Known(proxy.__self_class__), name, func)  # type: ignore[attr-defined]
            if (isinstance(raw, FunctionType) or raw in _OF_OBJECT) and not isinstance(obj, type):
                return Bound(Known(obj), name, raw)
            if raw is type.__dict__["__call__"]:
                return Bound(Known(obj), name, raw)
            if base in (list, dict, set, tuple, str) and not isinstance(obj, type):
                return method_of_builtin(reader, Known(obj), name)
            return call_in_python(reader, getattr, proxy, name)
    reader.emit.raise_error("AttributeError", f"'super' object has no attribute '{name}'")


def method_of_builtin(reader: Reader, owner: Known, name: str) -> AbstractValue:
    """Return a method that a user's class inherits from a builtin container. The class may override the method."""
    if name == "__getitem__":
        return Native(lambda index: outside_subscript(reader, owner, index))
    return Bound(owner, name)


def reads_patched(reader: Reader, func: Any) -> bool:
    """Return whether a function of torch reads a name that the user replaced. Guards watch these names."""
    if (
        not isinstance(func, FunctionType)
        or not is_library(func.__module__)
        or is_own(func.__module__)
        or in_own_code(reader)
    ):
        return False
    watch_function(reader, func)
    names, found = func.__code__.co_names, []
    for space in [func.__globals__, *(vars(m) for n in names if isinstance(m := func.__globals__.get(n), ModuleType))]:
        for name in names:
            if callable(space.get(name)) or isinstance(space.get(name), ModuleType):
                guard_item(reader, space, name, space[name])
                found.append(space[name])
    return is_patch(func) or any(map(is_patch, found))
