"""Names and attributes outside the compiled function: globals, closures, modules and classes. What is baked in is guarded."""

from __future__ import annotations

import builtins
import enum
import operator
import threading
from collections import Counter, deque
from collections.abc import KeysView
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import torch

from scriptc.frontend.frame import Frame
from scriptc.frontend.genuine import BUILTINS, is_patch, originals_of, replaced_method
from scriptc.frontend.kept import KeptState
from scriptc.frontend.met import forget
from scriptc.frontend.numpy_numbers import NumpyNumbers
from scriptc.frontend.objects import defines
from scriptc.frontend.outside import dtype_name, is_library, is_own, refuse_tensor, scripted, torch_dtype, uncompiled
from scriptc.frontend.pure import is_pure, is_setting
from scriptc.frontend.source import Source, SourceError, source_of
from scriptc.frontend.specs import Live, ScalarSpec, TensorSpec
from scriptc.frontend.values import (
    AV,
    Bound,
    ClassOf,
    Closure,
    ComplexV,
    DictV,
    Dyn,
    Home,
    Known,
    KnownSet,
    ListV,
    Native,
    ObjectV,
    OneOf,
    SuperV,
    Tup,
    describe,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.watching import ABSENT, Watching, is_data_descriptor, is_of_c, static_attribute
from scriptc.ir.core import Param
from scriptc.ir.dtypes import SIZES
from scriptc.ir.types import EXC, ListType, TensorType

_VALUES = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.Size)
_CONTAINERS = (list, dict, set, str, tuple, complex)  # their methods are known to the compiler
_ABSENT = object()
_FOLLOWED = (FunctionType, property, staticmethod, classmethod)  # what classes of libraries define in Python too
_OF_MEMBERS = {"value": "_value_", "name": "_name_"}  # of enums
_NUMBERS = {int: "i64", float: "f64"}
_NEVER = frozenset(  # of a dense tensor on the CPU
    f"is_{kind}" for kind in "cuda ipu maia meta mkldnn mps mtia nested quantized sparse sparse_csr vulkan xla xpu".split()
)


class Lookup(KeptState, NumpyNumbers, Watching):
    """Mixin: reads Python objects around the compiled function."""

    def source_of(self, func: FunctionType) -> Source:
        """Return the source of a function that is called here."""
        try:
            return source_of(func)
        except SourceError as e:
            self.fail("source_not_found", module=func.__module__, name=func.__qualname__, why=e)

    def outside_value(self, obj: Any, container: Any, key: Any, name: str, *, guarded: bool) -> AV:
        """A value found in a dict or cell outside: tensors are read at each call, all else is baked in under a guard."""
        if (slot := self.slots.get((id(container), key))) is not None:
            return self.slot_value(slot)
        if isinstance(obj, torch.Tensor):
            return self.live_tensor(obj, container, key, name)
        if type(obj) in (list, dict, deque):
            self.found[id(obj)] = container, key
        if type(obj) in _NUMBERS and (id(container), key) in self.assume.changing:
            return self.live_number(container, key, name, ScalarSpec(_NUMBERS[type(obj)]))
        if guarded:
            self.guard_item(container, key, obj)
        return self.as_python(obj)

    def live_tensor(self, tensor: torch.Tensor, container: Any, key: Any, name: str) -> Dyn:
        if reason := refuse_tensor(tensor):
            self.fail("tensor_outside", name=name, why=reason)
        if id(tensor) in self.assume.written:
            self.fail("written_tensor_of_no_attribute", name=name)
        dtype = dtype_name(tensor.dtype)
        assert dtype is not None
        return self.param(tensor, container, key, name, TensorSpec(dtype, tuple(tensor.shape)))

    def param(self, tensor: Any, container: dict[Any, Any], key: Any, name: str, spec: TensorSpec) -> Dyn:
        """A tensor that lives outside the call, read at each call."""
        param = self.outside.param_of.get(id(tensor))
        if param is None:
            count = self.names_of_params.get(name, 0)
            self.names_of_params[name] = count + 1
            unique = f"{name}_{count}" if count else name
            param = Param(unique, TensorType(spec.dtype, spec.sizes))
            self.module.params[unique] = param
            self.outside.param_of[id(tensor)] = param
            self.outside.live.append(Live(unique, container, key, spec))
            self.outside.keep.append(tensor)
        elif not any(g.container is container and g.key == key for g in self.outside.live):
            self.guard("DICT_IS", container, key, tensor)  # a second path to the same tensor
            first = next(g for g in self.outside.live if g.name == param.name)
            self.guard("DICT_IS", first.container, first.key, tensor)
        hint = param.name.rpartition(".")[2]
        return Dyn(self.builder.op("param", (), self.loc, names=[hint], types=[param.type], name=param.name).result)

    def free_name(self, frame: Frame, func: FunctionType, name: str) -> AV:
        """A name that the function does not bind: captured, global or builtin."""
        if name in func.__code__.co_freevars:
            cell = (func.__closure__ or ())[func.__code__.co_freevars.index(name)]
            try:
                obj = cell.cell_contents
            except ValueError:
                self.raises_at_run_time(
                    "NameError",
                    f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope",
                )
            if isinstance(obj, torch.Tensor):
                self.guard("CELL_IS", cell, None, obj)
                return self.live_tensor(obj, {name: obj}, name, name)
            if not is_own(func.__module__):
                self.guard("CELL_EQ" if isinstance(obj, _VALUES) else "CELL_IS", cell, None, obj)
            return self.as_python(obj)
        if name in func.__globals__:
            guarded = not is_own(func.__module__)
            return self.outside_value(func.__globals__[name], func.__globals__, name, name, guarded=guarded)
        if is_own(func.__module__) and name in BUILTINS:
            return Known(BUILTINS[name])
        if hasattr(builtins, name):
            self.guard("DICT_MISSING", func.__globals__, name, None)
            return self.outside_value(getattr(builtins, name), vars(builtins), name, name, guarded=True)
        self.raises_at_run_time("NameError", f"name '{name}' is not defined")

    # ---- attributes ----
    def attribute(self, owner: AV, name: str) -> AV:
        if (found := self.numpy_attribute(owner, name)) is not None:
            return found
        match owner:
            case Known(torch.nn.Module() as module):
                return self.module_attribute(module, name)
            case Dyn() | Tup() | ListV() | DictV() | KnownSet() | ComplexV() if name == "__class__":
                return self.call(Known(type), [owner], {})
            case KnownSet():
                return Bound(owner, name)
            case Known(type() as cls) if name == "_make" and hasattr(cls, "_fields"):
                return Native(lambda items: self.made_of(cls, self.iterate(items)))
            case Known(obj) if type(obj) is tuple and name in ("index", "count"):
                return self.attribute(Tup([Known(o) for o in obj]), name)
            case Known(obj):
                return self.known_attribute(obj, name)
            case Dyn() if is_tensor(owner):
                replaced = self.replaced_method(owner, name)
                return self.tensor_attribute(owner, name) if replaced is None else replaced
            case ComplexV() if (part := self.complex_attribute(owner, name)) is not None:
                return part
            case ComplexV() if not hasattr(complex, name):
                self.raises_at_run_time("AttributeError", f"'complex' object has no attribute '{name}'")
            case Tup(items, cls) if name in getattr(cls, "__match_args__", ()):  # named tuples, torch.return_types
                return items[cls.__match_args__.index(name)]  # type: ignore[attr-defined]
            case Tup() if owner.cls is not slice and (found := self.tuple_method(owner, name)) is not None:
                return found
            case ListV() if owner.is_tuple:
                return self.any_length_method(owner, name)
            case Tup(cls=cls) if cls not in (tuple, slice, set, torch.Size) and not hasattr(tuple, name):
                found = self.class_value(owner, cls, name)
                if found is None:
                    self.raises_at_run_time("AttributeError", f"'{cls.__name__}' object has no attribute '{name}'")
                return found
            case Dyn(value) if value.type != EXC and not hasattr(self.python_class(owner), name):
                self.raises_at_run_time("AttributeError", f"'{self.type_name(owner)}' object has no attribute '{name}'")
            case Tup() | ListV() | DictV() if not hasattr(self.python_class(owner), name):
                self.raises_at_run_time("AttributeError", f"'{self.type_name(owner)}' object has no attribute '{name}'")
            case OneOf():
                owner = self.present(owner, "AttributeError", f"'NoneType' object has no attribute '{name}'")
                return self.split(owner, lambda o: self.attribute(o, name))
            case ObjectV():
                return self.object_attribute(owner, name)
            case SuperV():
                return self.super_value(owner, name)
            case ClassOf(exception) if name in ("__name__", "__qualname__"):
                return self.op("text", exception, format="%n")
            case Dyn(value) if value.type == EXC:
                return self.caught_attribute(owner, name)
            case Closure() | Bound():
                self.fail("attribute_of_function", name=name)
        return Bound(owner, name)

    @property
    def in_own_code(self) -> bool:
        """Return whether what is read is a function of scriptc's, in which names of torch mean what torch means by them."""
        frame = self.frame if self.frames else None
        while frame is not None and frame.func is None:
            frame = frame.outer
        return frame is not None and frame.func is not None and is_own(frame.func.__module__)

    def replaced_method(self, tensor: AV, name: str) -> AV | None:
        """What somebody put in the place of a method of torch.Tensor, None for torch's own; which it is is guarded."""
        if self.in_own_code:
            return None
        self.watch_class_attribute(torch.Tensor, name)
        found = replaced_method(torch.Tensor, name, static_attribute(torch.Tensor, name))
        if isinstance(found, str):
            return self.tensor_attribute(tensor, found)
        return None if found is None else self.bound_to(tensor, torch.Tensor, name, found)

    def replaced_operator(self, name: str, tensor: AV, *args: AV) -> AV | None:
        """What an operator gives that somebody put in the place of torch.Tensor's; None for torch's own."""
        replaced = self.replaced_method(tensor, name)
        return None if replaced is None else self.call(replaced, args, {})

    def tensor_attribute(self, tensor: AV, name: str) -> AV:
        t = tensor_type(tensor)
        match name:
            case "shape":
                return self.shape(tensor)
            case "dtype":
                return Known(torch_dtype(t.dtype))
            case "device":
                return Known(torch.device("cpu"))
            case "ndim":
                return Known(t.rank)
            case "itemsize":
                return Known(SIZES[t.dtype])
            case "nbytes":
                return self.binary("Mult", self.call(Bound(tensor, "numel"), [], {}), Known(SIZES[t.dtype]))
            case "T" | "mT" | "H" | "mH":
                if t.rank < 2 and name in ("T", "H"):
                    return self.view_of(tensor)
                if t.rank == 1:
                    message = f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
                    self.raises_at_run_time("RuntimeError", message)
                if t.rank < 2 or (t.rank != 2 and name in ("T", "H")):
                    self.fail("transpose_of_many_dims", name=name, rank=t.rank)
                turned = self.op("transpose", tensor, dim0=t.rank - 2, dim1=t.rank - 1)
                return self.call(Known(torch.conj), [turned], {}) if name in ("H", "mH") else turned
            case "real":
                return self.real_part(tensor)
            case "imag":
                return self.imaginary_part(tensor)
            case _ if name in _NEVER:
                return Known(False)
            case "is_cpu":
                return Known(True)
            case "layout":
                return Known(torch.strided)
            case "data":
                return self.op("alias", tensor)
            case "requires_grad" if self.is_from_nothing(tensor):
                return Known(False)
            case "requires_grad" if (live := self.live_place(tensor)) is not None and isinstance(live.container, dict):
                requires = bool(live.container[live.key].requires_grad)
                self.guard("REQUIRES_GRAD_IS", live.container, live.key, requires)
                return Known(requires)
            case "requires_grad" | "grad" | "grad_fn" | "is_leaf":
                self.fail("attribute_of_autograd", name=name)
        if not hasattr(torch.Tensor, name):
            self.raises_at_run_time("AttributeError", f"'Tensor' object has no attribute '{name}'")
        if not callable(getattr(torch.Tensor, name)):
            self.fail("attribute_of_autograd", name=name)
        return Bound(tensor, name)

    def live_place(self, tensor: AV) -> Live | None:
        """Where a tensor that lives outside the call does so; None for others."""
        op = tensor.value.op if isinstance(tensor, Dyn) else None
        name = op.attrs["name"] if op is not None and op.name == "param" else None
        return next((v for v in self.outside.live if v.name == name), None)

    def is_from_nothing(self, tensor: AV) -> bool:
        """Whether neither an argument nor a weight has a part in a tensor."""
        assert isinstance(tensor, Dyn)
        todo, seen = [tensor.value], set()
        while todo:
            v = todo.pop()
            if v in seen or not isinstance(v.type, (TensorType, ListType)):
                continue
            if v.op is None or v.op.name == "param" or v.op.regions:
                return False
            seen.add(v)
            todo += v.op.operands
        return True

    def shape(self, tensor: AV) -> AV:
        sizes = [self.size_av(tensor, i) for i in range(tensor_type(tensor).rank)]
        if all(isinstance(s, Known) for s in sizes):
            return Known(torch.Size(s.obj for s in sizes if isinstance(s, Known)))
        return Tup(sizes, torch.Size)

    def module_attribute(self, module: torch.nn.Module, name: str) -> AV:
        """An attribute of an nn.Module, found where Module.__getattr__ finds it."""
        self.refuse_torchscript(module)
        own = module.__dict__
        self.watch_object(module)
        if (slot := self.attribute_slot(module, name)) is not None:
            return self.slot_value(slot)
        if name in ("_parameters", "_buffers", "_modules"):
            self.guard("DICT_IS", own, name, own[name])
            self.guard("DICT_KEYS_ARE", own[name], None, tuple(own[name]))
            return DictV({k: self.module_attribute(module, k) for k in own[name]}, home=Home(None))
        found = getattr(type(module), name, _ABSENT)
        is_data = hasattr(type(found), "__set__")
        if name in own and not is_data:
            return self.outside_value(own[name], own, name, self.path(module, name), guarded=True)
        if found is not _ABSENT:
            return self.class_attribute(module, type(module), found, name)
        self.watch_class_attribute(type(module), "__getattr__")
        own_getattr = static_attribute(type(module), "__getattr__")
        if is_patch(own_getattr) and static_attribute(torch.nn.Module, "__getattr__") is own_getattr:
            self.fail("own_getattr", name=name, class_name=type(module).__name__)
        for table in ("_parameters", "_buffers", "_modules"):
            if name in own.get(table, ()):  # which Module.__init__ makes, if it was called
                self.guard("DICT_IS", own, table, own[table])
                return self.outside_value(own[table][name], own[table], name, self.path(module, name), guarded=True)
        if is_patch(own_getattr):
            self.fail("own_getattr", name=name, class_name=type(module).__name__)
        self.raises_at_run_time("AttributeError", f"'{type(module).__name__}' object has no attribute '{name}'")

    def python_behind(self, function: torch.jit.ScriptFunction[..., Any]) -> FunctionType:
        found = scripted(function)
        if found is None:
            self.fail("torchscript", name=f"the function '{function.name}'", kind="traced")
        return found

    def refuse_torchscript(self, module: torch.nn.Module) -> None:
        if isinstance(module, torch.jit.ScriptModule):
            name = self.module_paths.get(id(module)) or type(module).__name__
            self.fail("torchscript", name=f"the module '{name}'", kind=f"a {type(module).__name__}")

    def path(self, module: torch.nn.Module, name: str) -> str:
        """The name of a parameter from the root module, as state_dict spells it."""
        prefix = self.module_paths.get(id(module))
        return name if not prefix else f"{prefix}.{name}"

    module_paths: dict[int, str]

    def class_attribute(self, obj: Any, cls: type, found: Any, name: str) -> AV:
        """An attribute that a class of the object defines: properties are called, functions bound."""
        owner = next((c for c in cls.__mro__ if name in c.__dict__), cls)
        raw = owner.__dict__.get(name, found)
        self.watch_object(obj)
        self.watch_class_attribute(cls, name)
        if isinstance(own := getattr(obj, "__dict__", None), dict) and not is_data_descriptor(raw):
            self.guard("DICT_MISSING", own, name, None)
        raw = uncompiled(raw)
        if isinstance(raw, property):
            if not isinstance(uncompiled(raw.fget), FunctionType):
                self.fail("property_of_other", name=name)
            return self.call(Known(raw.fget), [Known(obj)], {})
        if isinstance(raw, staticmethod):
            return Known(raw.__func__)
        if isinstance(raw, classmethod):
            return Bound(Known(cls), name, uncompiled(raw.__func__))
        if isinstance(raw, FunctionType):
            return Bound(Known(obj), name, raw)
        return self.element(Known(getattr(obj, name)), name)

    def known_attribute(self, obj: Any, name: str) -> AV:
        if isinstance(obj, ModuleType):
            return self.python_module_attribute(obj, name)
        if isinstance(obj, super):
            return self.super_attribute(obj, name)
        is_builtin = isinstance(obj, _CONTAINERS) and not defines(Known(obj), name)
        if is_builtin and name != "__class__" and callable(getattr(obj, name, None)):
            return Bound(Known(obj), name)
        if isinstance(obj, type):
            found = getattr(obj, name, _ABSENT)
            self.guard_class_attribute(obj, name)
            if found is _ABSENT:
                self.raises_at_run_time("AttributeError", f"type object '{obj.__name__}' has no attribute '{name}'")
            if isinstance(found, MethodType):
                return Bound(Known(obj), name, found.__func__)
            return self.element(Known(found), name)
        if (slot := self.attribute_slot(obj, name)) is not None:
            return self.slot_value(slot)
        return self.attribute_of_object(obj, name)

    def attribute_of_object(self, obj: Any, name: str) -> AV:
        """An attribute of an object that is neither a class nor a module, found as object.__getattribute__ finds it."""
        own, raw = getattr(obj, "__dict__", None), static_attribute(type(obj), name)
        if isinstance(obj, threading.local):  # each thread has other attributes
            self.fail("content_unguarded", kind=type(obj).__name__)
        if isinstance(obj, enum.Enum) and name in _OF_MEMBERS:
            self.watch_class_attribute(type(obj), name)
            return self.outside_value(vars(obj)[_OF_MEMBERS[name]], vars(obj), _OF_MEMBERS[name], name, guarded=True)
        if isinstance(own, dict) and name in own and not is_data_descriptor(raw):
            self.watch_object(obj)
            return self.outside_value(own[name], own, name, name, guarded=True)
        if isinstance(raw, _FOLLOWED) or raw is not ABSENT and not is_library(type(obj).__module__) and not is_of_c(raw):
            return self.class_attribute(obj, type(obj), raw, name)
        if is_of_c(raw) and self.has_fixed_attribute(obj, name):
            self.watch_object(obj)
            found = getattr(obj, name)
            self.guard("ATTRIBUTE_IS", obj, name, found)
            return self.element(self.as_python(found), name)
        if callable(raw) and is_pure(getattr(obj, name, None)):
            return Known(getattr(obj, name))  # what it looks at is guarded when it is called
        return self.element(self.evaluate(getattr, obj, name))

    def has_fixed_attribute(self, obj: Any, name: str) -> bool:
        """Return whether an attribute that C computes, or a slot, gives the same constant or object each time."""
        try:
            first, second = getattr(obj, name), getattr(obj, name)
        except Exception:  # whatever it raises is raised at run time
            return False
        by_value = isinstance(first, _VALUES) or (isinstance(first, tuple) and all(isinstance(o, _VALUES) for o in first))
        return first is second or by_value and type(first) is type(second) and first == second

    def guard_class_attribute(self, cls: type, name: str) -> None:
        """Guards an attribute of a class; of one that its own class has (`__name__`), only that this still has it."""
        for holder in (cls, type(cls)):
            self.watch_class_attribute(holder, name)
            if static_attribute(holder, name) is not ABSENT:
                return

    def python_module_attribute(self, module: ModuleType, name: str) -> AV:
        if self.in_own_code and name in (meant := originals_of(module)):
            return self.element(self.as_python(meant[name]), name)
        if name in module.__dict__:
            return self.outside_value(module.__dict__[name], module.__dict__, name, name, guarded=True)
        self.guard("DICT_MISSING", module.__dict__, name, None)
        raw = static_attribute(type(module), name)
        if isinstance(raw, torch.backends.ContextProp) and is_setting(raw.getter):  # a flag of torch.backends
            self.watch_class_attribute(type(module), name)
            return self.call(Known(raw.getter), [], {})
        if isinstance(raw, _FOLLOWED) or isinstance(getattr(type(raw), "__get__", None), FunctionType):
            self.watch_class_attribute(type(module), name)
            return self.bound_to(Known(module), type(module), name, raw)
        try:
            found = getattr(module, name)  # a module's own __getattr__, or a property of the class that it was given
        except Exception as e:
            self.raises_at_run_time(type(e).__name__, str(e))
        if not isinstance(found, BuiltinFunctionType) and not self.has_fixed_attribute(module, name):
            self.fail("content_unguarded", kind=type(found).__name__)
        if not isinstance(found, BuiltinFunctionType):
            self.guard("ATTRIBUTE_IS", module, name, found)
        return self.element(Known(found), name)

    def super_attribute(self, proxy: super, name: str) -> AV:
        obj, cls = proxy.__self__, proxy.__thisclass__  # type: ignore[attr-defined]
        mro = proxy.__self_class__.__mro__  # type: ignore[attr-defined]
        self.watch_bases(proxy.__self_class__)  # type: ignore[attr-defined]
        for base in mro[mro.index(cls) + 1 :]:
            self.watch_class_attribute(base, name)
            if name in base.__dict__:
                raw = uncompiled(base.__dict__[name])
                if isinstance(raw, classmethod) and isinstance(func := uncompiled(raw.__func__), FunctionType):
                    return Bound(Known(proxy.__self_class__), name, func)  # type: ignore[attr-defined]
                if (isinstance(raw, FunctionType) or raw is object.__setattr__) and not isinstance(obj, type):
                    return Bound(Known(obj), name, raw)
                if base in (list, dict, set, tuple, str) and not isinstance(obj, type):
                    return self.method_of_builtin(Known(obj), name)
                return self.evaluate(getattr, proxy, name)
        self.raises_at_run_time("AttributeError", f"'super' object has no attribute '{name}'")

    def method_of_builtin(self, owner: Known, name: str) -> AV:
        """What a class of the user's inherits from Python's container, and may have another in the place of."""
        if name == "__getitem__":
            return Native(lambda index: self.outside_subscript(owner, index))
        return Bound(owner, name)

    def reads_patched(self, func: Any) -> bool:
        """Whether a function of torch's that is known as a whole reads what somebody has replaced; what it reads is guarded."""
        if not isinstance(func, FunctionType) or not is_library(func.__module__) or is_own(func.__module__) or self.in_own_code:
            return False
        self.watch_function(func)
        names, found = func.__code__.co_names, []
        for space in [func.__globals__, *(vars(m) for n in names if isinstance(m := func.__globals__.get(n), ModuleType))]:
            for name in names:
                if callable(space.get(name)) or isinstance(space.get(name), ModuleType):
                    self.guard_item(space, name, space[name])
                    found.append(space[name])
        return is_patch(func) or any(map(is_patch, found))

    # ---- items of known containers ----
    def known_keywords(self, named: dict[Any, Any]) -> dict[str, AV]:
        """The items of a dict outside, as the arguments that `**` makes of them."""
        self.watch(named, deep=False)
        return {key: self.known_item(Known(named), key) for key in named}

    def known_item(self, owner: Known, key: Any) -> AV:
        obj = owner.obj
        if isinstance(obj, torch.nn.Module):
            return self.submodule_item(owner, key)
        if isinstance(obj, dict):
            if not dict.__contains__(obj, key):
                return self.missing_item(obj, key)
            return self.outside_value(dict.__getitem__(obj, key), obj, key, str(key), guarded=True)
        if (slot := self.item_slot(obj, Known(key))) is not None:
            return self.slot_value(slot)
        if isinstance(obj, list) and not self.has_item_slots(obj):
            self.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
            self.note_queues(obj)
            if isinstance(key, slice):
                return self.new_list([self.known_item(owner, i) for i in range(len(obj))[key]], (self.loc, "slice"))
        bases = (list, tuple) if defines(owner, "__getitem__") else ()
        inherited = next((base.__getitem__ for base in bases if isinstance(obj, base)), operator.getitem)
        return self.element(self.evaluate(inherited, obj, key))

    def missing_item(self, obj: dict[Any, Any], key: Any) -> AV:
        """What a dict outside gives for a key that it does not have."""
        self.guard("DICT_MISSING", obj, key, None)
        if type(obj) is Counter:
            return Known(0)
        if hasattr(obj, "__missing__"):
            self.fail("container_outside_changed", kind=type(obj).__name__)
        self.raises_at_run_time("KeyError", repr(key))

    def made_here(self, obj: Any) -> Known:
        """A list or module that was made of another's items: no guard need watch it."""
        self.outside.keep.append(obj)
        self.outside.made |= {id(obj), *(map(id, (vars(obj), *vars(obj).values())) if hasattr(obj, "__dict__") else ())}
        known = Known(obj)
        forget(obj)
        return known

    def note_queues(self, obj: list[Any]) -> None:
        """Where the deques in a list outside live."""
        self.found |= {id(o): (obj, i) for i, o in enumerate(obj) if type(o) is deque}

    def element(self, av: AV, name: str = "item") -> AV:
        """What is found where a guard sees that it is replaced, as in a class; a tensor is read at each call."""
        if isinstance(av, Known) and isinstance(av.obj, torch.Tensor):
            return self.live_tensor(av.obj, {name: av.obj}, name, name)
        return self.as_python(av.obj) if type(av) is Known else av

    def submodule_item(self, owner: Known, key: Any) -> AV:
        if (found := self.special(owner, "__getitem__", [Known(key)])) is not None:
            return found
        module = owner.obj
        if isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and isinstance(key, (int, slice)):
            self.guard_children(module)
            if isinstance(key, slice):
                return self.made_here(module[key])
            try:
                child = module[key]
            except (IndexError, KeyError) as e:
                self.raises_at_run_time(type(e).__name__, str(e.args[0]))
            return self.module_attribute(module, next(n for n, c in module._modules.items() if c is child))
        if isinstance(module, torch.nn.ModuleDict):
            self.guard_children(module)
            if key not in module._modules:
                self.raises_at_run_time("KeyError", repr(key))
            return self.module_attribute(module, key)
        if isinstance(module, torch.nn.ParameterDict) and key in module._keys:
            self.guard("DICT_KEYS_ARE", module._keys, None, tuple(module._keys))
            return self.module_attribute(module, key)
        if isinstance(module, torch.nn.ParameterList) and isinstance(key, int):
            return self.module_attribute(module, str(range(len(module))[key]))
        self.fail("subscript_of_module", name=type(module).__name__)

    def guard_children(self, module: torch.nn.Module) -> None:
        """The children of a container, their number included, are baked in."""
        children = module._modules
        self.guard("DICT_KEYS_ARE", children, None, tuple(children))
        for name, child in children.items():
            self.guard("DICT_IS", children, name, child)

    def known_items(self, owner: Known) -> list[AV]:
        """The items of a known object that can be iterated."""
        if (walked := self.special(owner, "__iter__", [])) is not None:
            return self.iterate(walked)
        obj = owner.obj
        if isinstance(obj, (torch.nn.ModuleList, torch.nn.Sequential)):
            self.guard_children(obj)
            return [self.module_attribute(obj, n) for n in obj._modules]
        if isinstance(obj, torch.nn.ModuleDict):
            self.guard_children(obj)
            return [Known(k) for k in obj._modules]
        if isinstance(obj, torch.nn.ParameterDict):
            self.guard("DICT_KEYS_ARE", obj._keys, None, tuple(obj._keys))
            return [Known(k) for k in obj._keys]
        if isinstance(obj, enum.EnumMeta):
            return [Known(obj[name]) for name in obj._member_names_]
        if isinstance(obj, torch.nn.ParameterList):
            return [self.module_attribute(obj, str(i)) for i in range(len(obj))]
        if isinstance(obj, dict):
            self.guard("DICT_KEYS_ARE", obj, None, tuple(obj))
            return [Known(k) for k in obj]
        if isinstance(obj, list) and self.has_item_slots(obj):
            return [self.slot_value(self.slots[id(obj), i]) for i in range(len(obj))]
        if isinstance(obj, list):
            self.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
            self.note_queues(obj)
        if isinstance(obj, (tuple, list, str, range, set, frozenset, MappingProxyType, KeysView)):
            self.watch(obj, deep=False)
            self.note_order(obj)
            return [self.element(Known(o)) for o in obj]
        self.fail("iteration_over_outside", what=describe(owner))
