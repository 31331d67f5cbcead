"""Names and attributes outside the compiled function: globals, closures, modules and classes. Guards protect each
baked-in value."""

from __future__ import annotations

import builtins
from collections import deque
from functools import cached_property, partial
from types import FunctionType
from typing import Any

import numpy as np
import torch

from scriptc.frontend.environment.arguments import parameter
from scriptc.frontend.environment.dependencies import forget, record_this_process
from scriptc.frontend.environment.genuine import BUILTINS, is_patch
from scriptc.frontend.environment.host_objects import (
    ABSENT,
    dtype_name,
    is_own,
    name_of_numpy_dtype,
    refuse_tensor,
    scripted,
    uncompiled,
)
from scriptc.frontend.environment.slots import Slot
from scriptc.frontend.environment.specs import LateBoundTensor, LateBoundValue, ScalarSpec, TensorSpec
from scriptc.frontend.environment.state import attribute_slot, has_item_slots, slot_value, store_plain
from scriptc.frontend.environment.views_of_state import view_of_state
from scriptc.frontend.environment.watching import (
    guard_item,
    is_data_descriptor,
    is_python_descriptor,
    static_attribute,
    watch_class_attribute,
    watch_object,
)
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.functions import Source, SourceError, source_of
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ArrayValue,
    Bound,
    CallerLocation,
    DictValue,
    Known,
    NumpyScalarValue,
    RuntimeValue,
)
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import is_known, is_unbound, may_be_unbound, param_behind
from scriptc.ir.core import Param
from scriptc.ir.types import FLOAT, INT, TensorType

_VALUES = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.Size)
_NUMBERS = {int: "i64", float: "f64"}


def find_source(reader: Reader, func: FunctionType) -> Source:
    """Return the source of a function that the current node calls."""
    try:
        return source_of(func)
    except SourceError as e:
        reader.reject("source_not_found", module=func.__module__, name=func.__qualname__, why=e)


def outside_value(reader: Reader, obj: Any, container: Any, key: Any, name: str, *, guarded: bool) -> AbstractValue:
    """Return a value from a dict or cell outside. Tensors are late-bound; other objects are baked in under a guard."""
    if (slot := reader.state.slots.get((id(container), key))) is not None:
        return slot_value(reader, slot)
    if isinstance(obj, torch.Tensor):
        return late_bound_tensor(reader, obj, container, key, name)
    if type(obj) in (list, dict, deque):
        reader.environment.found[id(obj)] = container, key
    if type(obj) in _NUMBERS and (id(container), key) in reader.assumptions.changing:
        return late_bound_number(reader, container, key, name, ScalarSpec(_NUMBERS[type(obj)]))
    if guarded:
        guard_item(reader, container, key, obj)
    return object_outside(reader, obj)


def object_outside(reader: Reader, obj: Any) -> AbstractValue:
    """Return the value of an object from outside of the function. The caller has a guard that it stays this object.

    A list that the code changes is a slot, whatever path leads to it.
    """
    if id(obj) not in reader.assumptions.changed or isinstance(obj, list) and has_item_slots(reader, obj):
        return numpy_outside(reader, obj) or Known(obj)
    for at, slot in reader.state.slots.items():
        if isinstance(slot.container, dict) and slot.container[slot.location.key] is obj and reader.state.keeps_object(at):
            guard_item(reader, slot.container, slot.location.key, obj)
            return slot_value(reader, slot)
    reader.reject("container_outside_changed", kind=type(obj).__name__)


def layout_of(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return where the elements of an array are."""
    return array.ctypes.data, array.dtype, array.shape, array.strides, array.flags.writeable


def numpy_outside(reader: Reader, obj: Any) -> AbstractValue | None:
    """Return a NumPy array or scalar outside; None for other objects, and for dtypes that tensors lack.

    A tensor of the array's memory is late-bound, so each call reads the present elements.
    """
    if not isinstance(obj, (np.generic, np.ndarray)) or (dtype := name_of_numpy_dtype(obj.dtype)) is None:
        return None
    if isinstance(obj, np.generic):
        return NumpyScalarValue(Known(obj.item()), dtype)
    if type(obj) is not np.ndarray or not obj.flags.writeable or any(stride < 0 for stride in obj.strides):
        return None
    if id(obj) not in reader.environment.arrays:
        reader.environment.arrays[id(obj)] = torch.from_numpy(obj)
        reader.environment.keep.append(obj)
        layout = partial(layout_of, obj)
        reader.environment.guard("CALL_GIVES", layout, None, layout())
        record_this_process()
    tensor = reader.environment.arrays[id(obj)]
    return ArrayValue(late_bound_tensor(reader, tensor, {"array": tensor}, "array", "array"))


def late_bound_tensor(reader: Reader, tensor: torch.Tensor, container: Any, key: Any, name: str) -> AbstractValue:
    if reason := refuse_tensor(tensor):
        reader.reject("tensor_outside", name=name, why=reason)
    name = reader.environment.names.get(id(tensor), name)
    if id(tensor) in reader.assumptions.written:
        lasting = (s for at, s in reader.state.slots.items() if reader.state.keeps_object(at))
        same = (s for s in lasting if s.container[s.location.key] is tensor)
        if (slot := next(same, None)) is not None and isinstance(found := slot_value(reader, slot), RuntimeValue):
            return found
        reader.reject("written_tensor_of_no_attribute", name=name)
    if (data := reader.state.slots.get((id(tensor), "data"))) is not None:
        return slot_value(reader, data)
    if reader.state.ahead and (view := view_of_state(reader, tensor)) is not None:
        return view
    dtype = dtype_name(tensor.dtype)
    assert dtype is not None
    return parameter_outside(reader, tensor, container, key, name, TensorSpec(dtype, tuple(tensor.shape)))


def parameter_outside(
    reader: Reader, tensor: Any, container: dict[Any, Any], key: Any, name: str, spec: TensorSpec
) -> RuntimeValue:
    """Return a tensor outside, which each call reads."""
    param = reader.environment.param_of.get(id(tensor))
    if param is None:
        count = reader.environment.names_of_params.get(name, 0)
        reader.environment.names_of_params[name] = count + 1
        unique = f"{name}_{count}" if count else name
        param = Param(unique, TensorType(spec.dtype, spec.sizes))
        reader.emit.module.params[unique] = param
        reader.environment.param_of[id(tensor)] = param
        reader.environment.tensors.append(LateBoundTensor(unique, container, key, spec))
        reader.environment.keep.append(tensor)
    elif not any(g.container is container and g.key == key for g in reader.environment.tensors):
        reader.environment.guard("DICT_IS", container, key, tensor)  # another path leads to the same tensor
        first = next(g for g in reader.environment.tensors if g.name == param.name)
        reader.environment.guard("DICT_IS", first.container, first.key, tensor)
    hint = param.name.rpartition(".")[2]
    return RuntimeValue(
        reader.emit.builder.op(
            "param", (), reader.position.loc, names=[hint], types=[param.type], name=param.name
        ).result
    )


def free_name(reader: Reader, frame: Frame, func: FunctionType, name: str) -> AbstractValue:
    """Return the value of a name that the function does not bind: captured, global or builtin."""
    if name in func.__code__.co_freevars:
        cell = (func.__closure__ or ())[func.__code__.co_freevars.index(name)]
        try:
            obj = cell.cell_contents
        except ValueError:
            reader.emit.raise_error(
                "NameError",
                f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope",
            )
        if isinstance(obj, torch.Tensor):
            reader.environment.guard("CELL_IS", cell, None, obj)
            return late_bound_tensor(reader, obj, {name: obj}, name, name)
        if not is_own(func.__module__):
            reader.environment.guard("CELL_EQ" if isinstance(obj, _VALUES) else "CELL_IS", cell, None, obj)
        return object_outside(reader, obj)
    if name in func.__globals__:
        guarded = not is_own(func.__module__)
        return outside_value(reader, func.__globals__[name], func.__globals__, name, name, guarded=guarded)
    if is_own(func.__module__) and name in BUILTINS:
        return Known(BUILTINS[name])
    if hasattr(builtins, name):
        reader.environment.guard("DICT_MISSING", func.__globals__, name, None)
        return outside_value(reader, getattr(builtins, name), vars(builtins), name, name, guarded=True)
    reader.emit.raise_error("NameError", f"name '{name}' is not defined")


def in_own_code(reader: Reader) -> bool:
    """Return whether scriptc's own code is being read, in which names of torch mean torch's originals."""
    frame = reader.position.frame if reader.position.frames else None
    while frame is not None and frame.func is None:
        frame = frame.outer
    return frame is not None and frame.func is not None and is_own(frame.func.__module__)


def late_binding_of(reader: Reader, tensor: AbstractValue) -> LateBoundTensor | None:
    """Return the container and key of a late-bound tensor; None for other values."""
    op = param_behind(tensor)
    name = op.attrs["name"] if op is not None else None
    return next((v for v in reader.environment.tensors if v.name == name), None)


def module_attribute(reader: Reader, module: torch.nn.Module, name: str) -> AbstractValue:
    """Return an attribute of an nn.Module, found where Module.__getattr__ finds it."""
    refuse_torchscript(reader, module)
    own = module.__dict__
    watch_object(reader, module)
    if (slot := attribute_slot(reader, module, name)) is not None:
        return value_of_attribute(reader, slot)
    if name in ("_parameters", "_buffers", "_modules"):
        reader.environment.guard("DICT_IS", own, name, own[name])
        reader.environment.guard("DICT_KEYS_ARE", own[name], None, tuple(own[name]))
        return DictValue({k: module_attribute(reader, module, k) for k in own[name]}, home=CallerLocation(None))
    found = static_attribute(type(module), name)
    if name in own and not is_data_descriptor(found):
        return outside_value(reader, own[name], own, name, module_path(reader, module, name), guarded=True)
    if found is not ABSENT:
        return class_attribute(reader, module, type(module), found, name)
    watch_class_attribute(reader, type(module), "__getattr__")
    own_getattr = static_attribute(type(module), "__getattr__")
    if is_patch(own_getattr) and static_attribute(torch.nn.Module, "__getattr__") is own_getattr:
        reader.reject("own_getattr", name=name, class_name=type(module).__name__)
    for table in ("_parameters", "_buffers", "_modules"):
        if name in own.get(table, ()):  # the table is missing if Module.__init__ was not called
            reader.environment.guard("DICT_IS", own, table, own[table])
            if table == "_parameters":
                reader.environment.parameter_tables.add(id(own[table]))
            return outside_value(
                reader, own[table][name], own[table], name, module_path(reader, module, name), guarded=True
            )
    if is_patch(own_getattr):
        reader.reject("own_getattr", name=name, class_name=type(module).__name__)
    reader.emit.raise_error("AttributeError", f"'{type(module).__name__}' object has no attribute '{name}'")


def python_behind(reader: Reader, function: torch.jit.ScriptFunction[..., Any]) -> FunctionType:
    found = scripted(function)
    if found is None:
        reader.reject("torchscript", name=f"the function '{function.name}'", kind="traced")
    return found


def refuse_torchscript(reader: Reader, module: torch.nn.Module) -> None:
    if isinstance(module, torch.jit.ScriptModule):
        name = reader.environment.module_paths.get(id(module)) or type(module).__name__
        reader.reject("torchscript", name=f"the module '{name}'", kind=f"a {type(module).__name__}")


def module_path(reader: Reader, module: torch.nn.Module, name: str) -> str:
    """Return the name of a parameter from the root module, as state_dict spells it."""
    environment = reader.environment
    prefix = environment.names.get(id(module), environment.module_paths.get(id(module)))
    return name if not prefix else f"{prefix}.{name}"


def class_attribute(reader: Reader, obj: Any, cls: type, found: Any, name: str) -> AbstractValue:
    """Return an attribute that a class of the object defines: properties are called, functions bound."""
    owner = next((c for c in cls.__mro__ if name in c.__dict__), cls)
    raw = owner.__dict__.get(name, found)
    watch_object(reader, obj)
    watch_class_attribute(reader, cls, name)
    if isinstance(own := getattr(obj, "__dict__", None), dict) and not is_data_descriptor(raw):
        reader.environment.guard("DICT_MISSING", own, name, None)
    raw = uncompiled(raw)
    if isinstance(raw, property):
        if not isinstance(uncompiled(raw.fget), FunctionType):
            reader.reject("property_of_other", name=name)
        return reader.call(Known(raw.fget), [Known(obj)], {})
    if isinstance(raw, staticmethod):
        return Known(raw.__func__)
    if isinstance(raw, classmethod):
        return Bound(Known(cls), name, uncompiled(raw.__func__))
    if isinstance(raw, FunctionType):
        return Bound(Known(obj), name, raw)
    if is_python_descriptor(raw):
        return value_of_descriptor(reader, obj, cls, raw, name)
    return element(reader, Known(getattr(obj, name)), name)


def value_of_descriptor(reader: Reader, obj: Any, cls: type, raw: Any, name: str) -> AbstractValue:
    """Return what a descriptor written in Python computes for an object outside. A cached property is kept there."""
    watch_class_attribute(reader, type(raw), "__get__")
    if type(raw).__get__ is not cached_property.__get__:
        return reader.call(Known(type(raw).__get__), [Known(raw), Known(obj), Known(cls)], {})
    value = reader.call(Known(raw.func), [Known(obj)], {})
    store_plain(reader, obj, name, value)
    return value


def value_of_attribute(reader: Reader, slot: Slot) -> AbstractValue:
    """Return an attribute that the call assigns to, or what a descriptor of the class computes while it is not set."""
    obj, name, held = slot.location.owner, slot.location.key, reader.heap.contents[slot.ident]
    raw = static_attribute(type(obj), name)
    if not is_python_descriptor(raw) or not (is_unbound(held) or may_be_unbound(held)):
        return slot_value(reader, slot)

    def compute() -> AbstractValue:
        watch_class_attribute(reader, type(obj), name)
        return value_of_descriptor(reader, obj, type(obj), raw, name)

    return reader.choose(held.flag, lambda: held.av, compute) if may_be_unbound(held) else compute()


def has_fixed_attribute(obj: Any, name: str) -> bool:
    """Return whether an attribute that C computes, or one in `__slots__`, gives the same constant or object each
    time."""
    try:
        first, second = getattr(obj, name), getattr(obj, name)
    except Exception:  # the read raises the same exception at run time
        return False
    by_value = isinstance(first, _VALUES) or (isinstance(first, tuple) and all(isinstance(o, _VALUES) for o in first))
    return first is second or by_value and type(first) is type(second) and first == second


def guard_class_attribute(reader: Reader, cls: type, name: str) -> None:
    """Guard an attribute of a class. For an attribute of the metaclass, such as `__name__`, guard only that it
    exists."""
    for holder in (cls, type(cls)):
        watch_class_attribute(reader, holder, name)
        if static_attribute(holder, name) is not ABSENT:
            return


def made_here(reader: Reader, obj: Any) -> Known:
    """Note a list or module that was made of another's items, which needs no guards, and return it."""
    reader.environment.keep.append(obj)
    reader.environment.made |= {
        id(obj),
        *(map(id, (vars(obj), *vars(obj).values())) if hasattr(obj, "__dict__") else ()),
    }
    known = Known(obj)
    forget(obj)
    return known


def element(reader: Reader, av: AbstractValue, name: str = "item") -> AbstractValue:
    """Return an object that was found in a guarded container. A tensor is late-bound."""
    if is_known(av) and isinstance(av.obj, torch.Tensor):
        return late_bound_tensor(reader, av.obj, {name: av.obj}, name, name)
    return object_outside(reader, av.obj) if type(av) is Known else av


def guard_children(reader: Reader, module: torch.nn.Module) -> None:
    """Guard the children of a container, their number included."""
    children = module._modules
    reader.environment.guard("DICT_KEYS_ARE", children, None, tuple(children))
    for name, child in children.items():
        reader.environment.guard("DICT_IS", children, name, child)


def late_bound_number(reader: Reader, container: Any, key: Any, name: str, spec: ScalarSpec) -> AbstractValue:
    at = (id(container), key)
    for value, known in reader.speculation.number_args.items():
        if known == at:
            return RuntimeValue(value)
    value = parameter(reader, {"i64": INT, "f64": FLOAT}[spec.kind], name)
    reader.speculation.number_args[value] = at
    reader.environment.values.append(LateBoundValue(container, key, spec))
    return RuntimeValue(value)
