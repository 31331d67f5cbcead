"""`scriptc.compile`: wrap functions, methods, nn.Module classes and instances, which compile at their first calls."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import torch

from scriptc.api.compiled import DOC, NAMES, Compiled, Inspection, signature_text, state_of
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.options import Options
from scriptc.driver.target import original, target_of
from scriptc.ir.cached_property import cached_property

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from scriptc.api.static_types import C, Decorator, M
    from scriptc.driver.options import CompileOptions

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
_ATTRIBUTE = "__scriptc_dispatcher__"  # the attribute of an object that holds its compiled methods


# ---- functions and methods ----


class CompiledMethods(dict[type, Any]):
    """The compiled methods of one object by the class of the function, and the dispatcher of the object.

    They belong to that object alone, so deep copies and pickles leave them out. A shallow copy has them among its
    attributes: `attributes` is the `__dict__` of the object that they belong to, which tells the copy from that object.
    """

    def __init__(self, attributes: dict[str, Any] | None = None):
        self.attributes = attributes
        self.dispatcher: Dispatcher | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledMethods:
        return CompiledMethods()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return CompiledMethods, ()


def _compiled_methods(attributes: dict[str, Any]) -> CompiledMethods:
    """Return the compiled methods of the object that has these attributes."""
    methods: CompiledMethods | None = attributes.get(_ATTRIBUTE)
    if methods is None or methods.attributes is not attributes:
        methods = attributes[_ATTRIBUTE] = CompiledMethods(attributes)
    return methods


class CompiledFunction(Compiled[Any, Any]):
    """A compiled function. As an attribute of a class, it is a method that compiles once per object.

    Each compiled function has a class of its own, whose `__call__` becomes the dispatcher's builtin at the first call.
    """

    def __init__(self, func: FunctionType, options: Options):
        functools.update_wrapper(self, func)
        self.__scriptc_original__ = func
        self._options = options
        self._of_classes: dict[type, CompiledMethod] = {}  # bound methods of a classmethod, by class

    @cached_property
    def _dispatcher(self) -> Dispatcher:  # type: ignore[override]
        return Dispatcher(self.__scriptc_original__, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Set `__call__` of the class to the function that later calls run, and run it."""
        call = self._dispatcher.call
        if len(args) == 1 and not kwargs and self._is_getter(type(args[0])):
            own = type(self).__get__
            call = lambda obj: own(self, obj)()  # noqa: E731
        type(self).__call__ = staticmethod(call)  # type: ignore[method-assign]
        return call(*args, **kwargs)

    def _is_getter(self, cls: type) -> bool:
        """Return whether this function is the getter of a property.

        A getter compiles once per object.
        """
        raw = inspect.getattr_static(cls, self.__name__, None)
        return raw is not self and self in (getattr(raw, "fget", None), getattr(raw, "func", None))

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        attributes = getattr(obj, "__dict__", None)
        if type(attributes) is not dict:  # a class, or an object with `__slots__`
            return self._bound_to_class(obj) if isinstance(obj, type) else MethodType(self, obj)
        methods = attributes.get(_ATTRIBUTE)
        if methods is None or methods.attributes is not attributes:
            methods = _compiled_methods(attributes)
        # Not keyed by name, since a class and its base may both have a compiled method of one name.
        bound = methods.get(type(self))
        if bound is None:
            bound = methods[type(self)] = _compile_method(MethodType(self.__scriptc_original__, obj), self._options)
        return bound

    def _bound_to_class(self, cls: type) -> CompiledMethod:
        if cls not in self._of_classes:
            self._of_classes[cls] = _compile_method(MethodType(self.__scriptc_original__, cls), self._options)
        return self._of_classes[cls]

    # ---- copies: one function is one object, as in Python ----

    def __copy__(self) -> CompiledFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return the name if it names this function, or else the original to compile again."""
        found: Any = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (recompiled, (self.__scriptc_original__, self._options.given()))

    def _described(self) -> str:
        return f"function {signature_text(self.__scriptc_original__)}"


class CompiledMethod(Compiled[Any, Any]):
    """A compiled bound method. Each has a class of its own, whose `__call__` is the dispatcher's builtin."""

    def __init__(self, method: MethodType, dispatcher: Dispatcher):
        functools.update_wrapper(self, method)
        self.__scriptc_original__ = method
        self._dispatcher = dispatcher

    def __get__(self, obj: Any, owner: type | None = None) -> CompiledMethod:
        return self

    @property
    def __self__(self) -> Any:
        return self.__scriptc_original__.__self__

    @property
    def __func__(self) -> Any:
        return self.__scriptc_original__.__func__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return object and name if they give this method, or else the original to compile again."""
        if getattr(self.__self__, self.__name__, None) is self:
            return getattr, (self.__self__, self.__name__)
        return recompiled, (self.__scriptc_original__, self._dispatcher.options.given())

    def _described(self) -> str:
        owner = self.__self__ if isinstance(self.__self__, type) else type(self.__self__)
        return f"method {signature_text(self.__scriptc_original__)} of {owner.__name__}"


def _compile_function(func: FunctionType, options: Options) -> CompiledFunction:
    members = {"__doc__": DOC, "__module__": __name__}
    made: CompiledFunction = type("CompiledFunction", (CompiledFunction,), members)(func, options)
    return made


def _compile_method(method: MethodType, options: Options) -> CompiledMethod:
    dispatcher = Dispatcher(method, options)
    call = staticmethod(dispatcher.call)
    members = {"__call__": call, "__doc__": DOC, "__module__": __name__}
    made: CompiledMethod = type("CompiledMethod", (CompiledMethod,), members)(method, dispatcher)
    return made


def recompiled(obj: Any, options: CompileOptions) -> Any:
    """Restore a compiled object from a pickle or copy: compile the original again."""
    return compile(obj, **options)


# Pickles contain these names, so they must not change.
CompiledMethods.__module__ = recompiled.__module__ = "scriptc.compiled"
CompiledMethods.__qualname__ = "_Store"


# ---- modules ----


class _SignatureOfCalls:
    """`__signature__` of an instance: that of its calls. The class has none, and shows that of its constructor."""

    def __init__(self, dispatcher: Dispatcher):
        self.dispatcher = dispatcher

    def __get__(self, obj: Any, owner: type | None = None) -> inspect.Signature:
        if obj is None:
            raise AttributeError("__signature__")
        return self.dispatcher.target.signature


def _extra_repr(cls: type, dispatcher_of: Callable[[Any], Dispatcher | None]) -> Callable[[Any], str]:
    """Return the `extra_repr` of a class with the signatures that an object is compiled for."""
    own = cls.extra_repr  # type: ignore[attr-defined]

    def extra_repr(self: Any) -> str:
        return ", ".join(filter(None, (own(self), state_of(dispatcher_of(self)))))

    return extra_repr


def _compile_instance(module: torch.nn.Module, options: Options) -> torch.nn.Module:
    """Return an instance of a new subclass of a module's class.

    It shares all state with the module.
    """
    cls = type(module)
    dispatcher = Dispatcher(module, options)

    def reduce(self: Any, protocol: Any) -> Any:
        return recompiled, (module, options.given())

    def shallow_copy(self: Any) -> torch.nn.Module:
        return _compile_instance(copy.copy(module), options)

    def deep_copy(self: Any, memo: dict[int, Any]) -> torch.nn.Module:
        return _compile_instance(copy.deepcopy(module, memo), options)

    members = {
        "__call__": staticmethod(dispatcher.call),
        "__reduce_ex__": reduce,
        "__copy__": shallow_copy,
        "__deepcopy__": deep_copy,
        "__scriptc_original__": property(lambda self: module),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__signature__": _SignatureOfCalls(dispatcher),
        "extra_repr": _extra_repr(cls, lambda self: dispatcher),
        "_dispatcher": dispatcher,
        "_variant": Inspection._variant,
        # The class is asked first: an object of a compiled class would compute the property `code`.
        **{name: getattr(Inspection, name) for name in NAMES if not (hasattr(cls, name) or hasattr(module, name))},
    }
    forward = dispatcher.target
    is_method = cls.__call__ is torch.nn.Module.__call__ and forward.receiver is module  # a call runs `forward`
    if is_method:  # which runs no hooks
        members["forward"] = staticmethod(_compile_method(MethodType(forward.func, module), options))
    elif cls.__call__ is torch.nn.Module.__call__:  # the instance has a `forward` that replaces the method
        members["forward"] = staticmethod(dispatcher.call)
    made: torch.nn.Module = object.__new__(type(cls.__name__, (cls,), members))
    made.__dict__ = module.__dict__
    if is_method:
        dispatcher.with_hooks = functools.partial(cls._call_impl, made)
    return made


def _compile_class(cls: type[torch.nn.Module], options: Options) -> type[torch.nn.Module]:
    """Compile calls of the objects of a class.

    The class is changed in place, so that `super(Net, self)` keeps its meaning.
    """

    def dispatcher_of(self: torch.nn.Module) -> Dispatcher:
        methods = _compiled_methods(self.__dict__)
        if methods.dispatcher is None:
            methods.dispatcher = Dispatcher(self, options)
        return methods.dispatcher

    def call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        attributes = self.__dict__
        methods = attributes.get(_ATTRIBUTE)
        if methods is None or methods.attributes is not attributes or methods.dispatcher is None:
            return dispatcher_of(self).call(*args, **kwargs)
        return methods.dispatcher.call(*args, **kwargs)

    call.__scriptc_original__ = original(cls.__call__)  # type: ignore[attr-defined]
    cls.extra_repr = _extra_repr(cls, lambda self: _compiled_methods(self.__dict__).dispatcher)
    cls.__call__ = call
    cls._dispatcher = property(dispatcher_of)
    for name in (*NAMES, "_variant"):
        if not hasattr(cls, name):
            setattr(cls, name, getattr(Inspection, name))
    return cls


# ---- compile ----


@overload
def compile(obj: type[C], *, source: str | None = None, **options: Unpack[CompileOptions]) -> type[C]: ...  # type: ignore[overload-overlap]
@overload
def compile(obj: M, *, source: str | None = None, **options: Unpack[CompileOptions]) -> M: ...
@overload
def compile(
    obj: classmethod[S, P, R], *, source: str | None = None, **options: Unpack[CompileOptions]
) -> classmethod[S, P, R]: ...
@overload
def compile(  # type: ignore[overload-overlap]
    obj: staticmethod[P, R], *, source: str | None = None, **options: Unpack[CompileOptions]
) -> staticmethod[P, R]: ...
@overload
def compile(obj: property, *, source: str | None = None, **options: Unpack[CompileOptions]) -> property: ...
@overload
def compile(obj: Callable[P, R], *, source: str | None = None, **options: Unpack[CompileOptions]) -> Compiled[P, R]: ...
@overload
def compile(obj: None = None, *, source: str | None = None, **options: Unpack[CompileOptions]) -> Decorator: ...
def compile(obj: Any = None, *, source: str | None = None, **options: Unpack[CompileOptions]) -> Any:
    """Return `obj` compiled: each new signature is compiled at the first call that has it.

    `compile` is a decorator, with or without arguments, or a function. The result has the signature of `obj`, and each
    call returns or raises what eager PyTorch returns or raises. A signature holds the structure of the arguments,
    their types, and the dtypes and ranks of tensors. Sizes and lengths stay free, as do numbers and strings that are
    not needed at compile time.

    obj: a function, a method, an nn.Module instance or class, a `classmethod`, `staticmethod` or `property` (its
        getter).
    source: the text of the function, or of the class, if Python does not have it (`exec`, templates).
    options: see `CompileOptions`.

    A function or method gives a `Compiled`. An nn.Module instance gives an instance of a subclass that shares all
    state with `obj`. An nn.Module class is changed and returned.

    Raises TypeError for an option that does not exist, and ValueError for a value that an option cannot have. The
    first call of a signature raises CompileError if the program cannot be compiled, and ToolchainError if no C
    compiler works.
    """
    made = Options.of(options)
    if obj is None:
        return lambda target: compile(target, source=source, **options)
    if isinstance(obj, (classmethod, staticmethod)):
        return type(obj)(compile(obj.__func__, source=source, **options))
    if isinstance(obj, property):
        return property(obj.fget and compile(obj.fget, source=source, **options), obj.fset, obj.fdel, obj.__doc__)
    obj = original(obj)
    if source is not None:
        from scriptc.frontend.source.texts import give

        give(obj, source)
    if isinstance(obj, type) and issubclass(obj, torch.nn.Module):
        return _compile_class(obj, made)
    if isinstance(obj, torch.nn.Module):
        return _compile_instance(obj, made)
    if isinstance(obj, MethodType):
        return _compile_method(obj, made)
    if isinstance(obj, FunctionType):
        return _compile_function(obj, made)
    target_of(obj)
    raise AssertionError("target_of refuses what is not handled above")
