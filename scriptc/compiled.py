"""`scriptc.compile`: wraps functions, methods, nn.Module classes and instances, which compile when they are first called."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch

from scriptc.dispatch import Dispatcher
from scriptc.options import Options
from scriptc.target import original, target_of
from scriptc.variant import Variant

if TYPE_CHECKING:
    from scriptc.memory import Memory
    from scriptc.profile import Profile

T = TypeVar("T")
_SLOT = "__scriptc_dispatcher__"  # where an object keeps the dispatcher of its compiled method


class Inspection:
    """What a compiled callable tells of itself. A specialisation exists once a call has needed it."""

    _dispatcher: Dispatcher

    def ir(self, after: str | None = None, signature: int = -1) -> str:
        """The IR of a specialisation (the latest), behind all passes or behind the last run of one ("read": before all)."""
        variant = self._variant(signature)
        if after == "read":
            return variant.source_ir
        from scriptc.ir.parser import parse_module
        from scriptc.ir.printer import print_module
        from scriptc.pipeline import optimise

        if after is None:
            return print_module(variant.translated.entry.module)
        texts: dict[str, str] = {}
        module = parse_module(variant.source_ir)
        optimise(module, self._dispatcher.options, lambda name, m: texts.update({name: print_module(m)}))
        if after not in texts:
            raise ValueError(f"no pass {after!r} ran; passes that did: read, {', '.join(texts)}")
        return texts[after]

    def c_source(self, signature: int = -1) -> str:
        """The generated C of a specialisation."""
        return self._variant(signature).c_source

    def signatures(self) -> list[str]:
        """The specialisations made so far, in order."""
        return [str(v) for v in self._dispatcher.variants]

    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Where the time of such a call goes, by line and by kernel: `print(net.profile(x))`. See `scriptc.profile`."""
        from scriptc.profile import profile

        return profile(self._dispatcher, args, kwargs)

    def memory(self, /, *args: Any, **kwargs: Any) -> Memory:
        """The peak memory of such a call, as a formula of the sizes; without arguments, what was found last. See
        `scriptc.memory`."""
        from scriptc.memory import memory

        found = self._dispatcher.memory
        if args or kwargs or (found is None and not self._dispatcher.target.signature.parameters):
            found = self._dispatcher.memory = memory(self._dispatcher, args, kwargs)
        if found is None:
            raise RuntimeError("no call is known yet: give the arguments of one")
        return found

    def _variant(self, signature: int) -> Variant:
        if not self._dispatcher.variants:
            raise RuntimeError("nothing is compiled yet: call it once")
        return self._dispatcher.variants[signature]


class CompiledFunction(Inspection):
    """A compiled function; as an attribute of a class, a method that compiles once per object."""

    def __init__(self, func: FunctionType, options: Options):
        functools.update_wrapper(self, func)
        self.__scriptc_original__ = func
        self._options = options
        self._attribute = func.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    @functools.cached_property
    def _dispatcher(self) -> Dispatcher:  # type: ignore[override]
        return Dispatcher(self.__scriptc_original__, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first call; those that follow go to the dispatcher directly."""
        type(self).__call__ = staticmethod(self._dispatcher.call)  # type: ignore[method-assign]
        return self._dispatcher.call(*args, **kwargs)

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        store = obj.__dict__.setdefault(_SLOT, _Store())
        bound = store.get(self._attribute)
        if bound is None:
            bound = store[self._attribute] = CompiledMethod(MethodType(self.__scriptc_original__, obj), self._options)
        return bound


class _Store(dict[str, Any]):
    """Compiled methods of one object: they belong to it alone, so copies and pickles leave them out."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Store:
        return _Store()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Store, ()


class CompiledMethod(Inspection):
    """A compiled bound method."""

    def __init__(self, method: MethodType, options: Options):
        functools.update_wrapper(self, method)
        self.__scriptc_original__ = method
        self._dispatcher = Dispatcher(method, options)
        self._call = self._dispatcher.call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def _function_type(func: FunctionType, options: Options) -> CompiledFunction:
    """Each compiled function has a class of its own, on which `__call__` becomes the dispatcher's builtin itself."""
    made: CompiledFunction = type("CompiledFunction", (CompiledFunction,), {})(func, options)
    return made


def _remade(make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The original in a pickle: pickle itself refuses to make another class's object in the place of ours."""
    return make(*arguments)


def _compile_instance(module: torch.nn.Module, options: Options) -> torch.nn.Module:
    """A module of a subclass made for it, which shares all state with the original."""
    cls = type(module)
    dispatcher = Dispatcher(module, options)

    def reduce(self: Any, protocol: Any = 2) -> Any:
        make, arguments, *rest = module.__reduce_ex__(protocol)
        return _remade, (make, arguments), *rest

    def deepcopy(self: Any, memo: dict[int, Any]) -> torch.nn.Module:
        return _compile_instance(copy.deepcopy(module, memo), options)

    members = {
        "__call__": staticmethod(dispatcher.call),
        "__reduce_ex__": reduce,
        "__deepcopy__": deepcopy,
        "__scriptc_original__": property(lambda self: module),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_dispatcher": dispatcher,
        "ir": Inspection.ir, "c_source": Inspection.c_source, "signatures": Inspection.signatures,
        "profile": Inspection.profile, "memory": Inspection.memory, "_variant": Inspection._variant,
    }  # fmt: skip
    if cls.__call__ is torch.nn.Module.__call__:  # which runs forward
        members["forward"] = staticmethod(dispatcher.call)
    made: torch.nn.Module = object.__new__(type(cls.__name__, (cls,), members))
    made.__dict__ = module.__dict__
    return made


def _compile_class(cls: type[torch.nn.Module], options: Options) -> type[torch.nn.Module]:
    """The class itself, changed so that calls of its objects are compiled (`super(Net, self)` must keep meaning it)."""

    def dispatcher_of(self: torch.nn.Module) -> Dispatcher:
        store = self.__dict__.setdefault(_SLOT, _Store())
        found = store.get("")
        if found is None:
            found = store[""] = Dispatcher(self, options)
        return found

    def call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        return dispatcher_of(self).call(*args, **kwargs)

    call.__scriptc_original__ = original(cls.__call__)  # type: ignore[attr-defined]
    cls.__call__ = call
    cls._dispatcher = property(dispatcher_of)
    for name in ("ir", "c_source", "signatures", "profile", "memory", "_variant"):
        if not hasattr(cls, name):
            setattr(cls, name, getattr(Inspection, name))
    return cls


@overload
def compile(obj: T, **options: Any) -> T: ...
@overload
def compile(obj: None = None, **options: Any) -> Callable[[T], T]: ...
def compile(obj: Any = None, **options: Any) -> Any:
    """Compiles a function, method, nn.Module class or instance when it is first called, for each signature it is called with.

    As a decorator with or without arguments, or as a call. The result has eager's signature and returns what eager
    returns or raises what eager raises; what cannot be compiled raises `CompileError` at the first call.
    Options: optimize (0 to 3), dynamic, freeze, debug: see `scriptc.options.Options`.
    """
    made = Options.of(options)
    if obj is None:
        return lambda target: compile(target, **options)
    obj = original(obj)
    if isinstance(obj, type) and issubclass(obj, torch.nn.Module):
        return _compile_class(obj, made)
    if isinstance(obj, torch.nn.Module):
        return _compile_instance(obj, made)
    if isinstance(obj, MethodType):
        return CompiledMethod(obj, made)
    if isinstance(obj, FunctionType):
        return _function_type(obj, made)
    target_of(obj)
    raise AssertionError("target_of refuses what is not handled above")
