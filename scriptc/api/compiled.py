"""`scriptc.compile`: wraps functions, methods, nn.Module classes and instances, which compile when they are first called."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.options import Options
from scriptc.driver.target import original, target_of
from scriptc.driver.variant import Variant
from scriptc.ir.lazy import cached_property

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from scriptc.api.typing import C, CompileOptions, Decorator, M
    from scriptc.inspect.memory import Memory
    from scriptc.inspect.profile import Profile

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
_SLOT = "__scriptc_dispatcher__"  # where an object keeps what belongs to it alone
NAMES = ("ir", "c_source", "signatures", "profile", "memory")  # the methods that compiled modules have, too
SHOWN = 4  # signatures in a repr
_HELP = """\
Compiled by scriptc. To look inside, after a call:
  .signatures()   the argument types it is compiled for
  .ir()           the IR behind all passes, .ir("read") in front of them
  .c_source()     the generated C
  .profile(...)   the time of such a call by line and kernel
  .memory(...)    the peak memory of such a call, as a formula of the sizes
  .__wrapped__    the Python that was compiled"""


class Inspection:
    """The methods that show what was compiled. A specialization exists once a call has needed it."""

    _dispatcher: Dispatcher

    def ir(self, after: str | None = None, signature: int = -1) -> str:
        """Return the IR of a specialization (the latest), behind all passes or behind the last run of one ("read": before
        all)."""
        variant = self._variant(signature)
        if after == "read":
            return variant.source_ir
        from scriptc.driver.pipeline import optimise
        from scriptc.ir.parser import parse_module
        from scriptc.ir.printer import print_module

        if after is None:
            return print_module(variant.translated.entry.module)
        texts: dict[str, str] = {}
        module = parse_module(variant.source_ir)
        optimise(module, self._dispatcher.options, lambda name, m: texts.update({name: print_module(m)}))
        if after not in texts:
            raise ValueError(f"no pass {after!r} ran; passes that did: read, {', '.join(texts)}")
        return texts[after]

    def c_source(self, signature: int = -1) -> str:
        """Return the generated C of a specialization."""
        return self._variant(signature).c_source

    def signatures(self) -> list[str]:
        """Return the argument types of the specializations made so far, in order."""
        return [str(v) for v in self._dispatcher.variants]

    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Measure where the time of such a call goes, by line and by kernel: `print(net.profile(x))`."""
        from scriptc.inspect.profile import profile

        return profile(self._dispatcher, args, kwargs)

    def memory(self, /, *args: Any, **kwargs: Any) -> Memory:
        """Find the peak memory of such a call, as a formula of the sizes; without arguments, return what was found last. See
        `scriptc.inspect.memory`."""
        from scriptc.inspect.memory import memory

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


class Compiled(Inspection, Generic[P, R_co]):
    """A compiled function or method: `scriptc.compile` makes it, and type checkers know its parameters and result."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R_co]

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __get__(self, obj: None, owner: type | None = None) -> Compiled[P, R_co]: ...
        @overload
        def __get__(
            self: Compiled[Concatenate[S, Q], R_co], obj: S, owner: type | None = None
        ) -> Compiled[Q, R_co]: ...
        def __get__(self, obj: Any, owner: type | None = None) -> Any: ...

    @property
    def __defaults__(self) -> tuple[Any, ...] | None:
        defaults: tuple[Any, ...] | None = inspect.unwrap(self.__wrapped__).__defaults__
        return defaults

    @property
    def __kwdefaults__(self) -> dict[str, Any] | None:
        defaults: dict[str, Any] | None = inspect.unwrap(self.__wrapped__).__kwdefaults__
        return defaults

    def __getattribute__(self, name: str) -> Any:
        # The original's own text. `help` reads past this method and finds the property `DOC`.
        if name == "__doc__":
            return object.__getattribute__(self, "__dict__").get(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<{self._described()}: {state_of(vars(self).get('_dispatcher'))}>"

    def _described(self) -> str:
        raise NotImplementedError


def _help_text(obj: Compiled[..., Any]) -> str:
    own = vars(obj).get("__doc__")
    return f"{inspect.cleandoc(own)}\n\n{_HELP}" if own else _HELP


def _set_doc(obj: Compiled[..., Any], text: str | None) -> None:
    vars(obj)["__doc__"] = text


# Stands as `__doc__` in the class of a compiled function: what `help` shows is the original's text, and how to look inside.
DOC = property(_help_text, _set_doc)


def signature_text(function: Callable[..., Any]) -> str:
    """Return the name and parameters of a function, as in its definition."""
    try:
        return f"{function.__qualname__}{inspect.signature(function)}"
    except (ValueError, TypeError):
        return f"{function.__qualname__}(...)"


def state_of(dispatcher: Dispatcher | None) -> str:
    """Return in words what a compiled callable is compiled for."""
    texts = [] if dispatcher is None else [*dict.fromkeys(f"({variant})" for variant in dispatcher.variants)]
    if not texts:
        return "compiled, not called yet"
    more = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return f"compiled for {' and '.join([*texts[:SHOWN], *more])}"


# ---- functions and methods ----


class _Store(dict[type, Any]):
    """Compiled methods of one object by the class of the function, and its dispatcher.

    They belong to that object alone, so deep copies and pickles leave them out. A shallow copy takes them along with all
    else in the `__dict__`, and is told by that: `held` is the `__dict__` of the object that they are of.
    """

    def __init__(self, held: dict[str, Any] | None = None):
        self.held = held
        self.dispatcher: Dispatcher | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> _Store:
        return _Store()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return _Store, ()


def _store_of(held: dict[str, Any]) -> _Store:
    store: _Store | None = held.get(_SLOT)
    if store is None or store.held is not held:
        store = held[_SLOT] = _Store(held)
    return store


class CompiledFunction(Compiled[Any, Any]):
    """A compiled function; as an attribute of a class, a method that compiles once per object.

    Each has a class of its own, on which `__call__` becomes the dispatcher's builtin itself.
    """

    def __init__(self, func: FunctionType, options: Options):
        functools.update_wrapper(self, func)
        self.__scriptc_original__ = func
        self._options = options
        self._of_classes: dict[type, CompiledMethod] = {}  # as a classmethod

    @cached_property
    def _dispatcher(self) -> Dispatcher:  # type: ignore[override]
        return Dispatcher(self.__scriptc_original__, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Set what calls run from now on, and run it."""
        call = self._dispatcher.call
        if len(args) == 1 and not kwargs and self._is_getter(type(args[0])):
            own = type(self).__get__
            call = lambda obj: own(self, obj)()  # noqa: E731
        type(self).__call__ = staticmethod(call)  # type: ignore[method-assign]
        return call(*args, **kwargs)

    def _is_getter(self, cls: type) -> bool:
        """Return whether a property of a class calls this: then it compiles once per object, as methods do."""
        raw = inspect.getattr_static(cls, self.__name__, None)
        return raw is not self and self in (getattr(raw, "fget", None), getattr(raw, "func", None))

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self
        held = getattr(obj, "__dict__", None)
        if type(held) is not dict:  # of a class, or of an object with slots
            return self._bound_to_class(obj) if isinstance(obj, type) else MethodType(self, obj)
        store = held.get(_SLOT)
        if store is None or store.held is not held:
            store = _store_of(held)
        bound = store.get(type(self))  # not by name: a class and its base may both have a compiled method of that name
        if bound is None:
            bound = store[type(self)] = _compile_method(MethodType(self.__scriptc_original__, obj), self._options)
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
        """By name where it is found under its name, else the original, which is compiled again."""
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
        """As Python's methods: by the object and the name, where that gives this; copies are those of a copied object."""
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


def _compile_method(method: MethodType, options: Options, dispatcher: Dispatcher | None = None) -> CompiledMethod:
    dispatcher = dispatcher or Dispatcher(method, options)
    call = staticmethod(dispatcher.call)
    members = {"__call__": call, "__doc__": DOC, "__module__": __name__}
    made: CompiledMethod = type("CompiledMethod", (CompiledMethod,), members)(method, dispatcher)
    return made


def recompiled(obj: Any, options: CompileOptions) -> Any:
    """Return what a pickle or copy of a compiled object stands for: the original, compiled again."""
    return compile(obj, **options)


_Store.__module__ = recompiled.__module__ = "scriptc.compiled"  # their name in pickles, whatever module defines them


# ---- modules ----


class _SignatureOfCalls:
    """`inspect.signature(module)` is that of its calls; the class keeps that of its constructor."""

    def __init__(self, dispatcher: Dispatcher):
        self.dispatcher = dispatcher

    def __get__(self, obj: Any, owner: type | None = None) -> inspect.Signature:
        if obj is None:
            raise AttributeError("__signature__")
        return self.dispatcher.target.signature


def _extra_repr(cls: type, dispatcher_of: Callable[[Any], Dispatcher | None]) -> Callable[[Any], str]:
    """The `extra_repr` of a class, with what its objects are compiled for."""
    own = cls.extra_repr  # type: ignore[attr-defined]

    def extra_repr(self: Any) -> str:
        return ", ".join(filter(None, (own(self), state_of(dispatcher_of(self)))))

    return extra_repr


def _compile_instance(module: torch.nn.Module, options: Options) -> torch.nn.Module:
    """A module of a subclass made for it, which shares all state with the original."""
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
        **{name: getattr(Inspection, name) for name in NAMES if not hasattr(module, name)},
    }
    if cls.__call__ is torch.nn.Module.__call__:  # which runs forward
        forward = dispatcher.target
        if forward.receiver is module:
            method = MethodType(forward.func, module)
            members["forward"] = staticmethod(_compile_method(method, options, dispatcher))
        else:  # a function that the module was given in the place of its forward
            members["forward"] = staticmethod(dispatcher.call)
    made: torch.nn.Module = object.__new__(type(cls.__name__, (cls,), members))
    made.__dict__ = module.__dict__
    return made


def _compile_class(cls: type[torch.nn.Module], options: Options) -> type[torch.nn.Module]:
    """The class itself, changed so that calls of its objects are compiled (`super(Net, self)` must keep meaning it)."""

    def dispatcher_of(self: torch.nn.Module) -> Dispatcher:
        store = _store_of(self.__dict__)
        if store.dispatcher is None:
            store.dispatcher = Dispatcher(self, options)
        return store.dispatcher

    def call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        held = self.__dict__
        store = held.get(_SLOT)
        if store is None or store.held is not held or store.dispatcher is None:
            return dispatcher_of(self).call(*args, **kwargs)
        return store.dispatcher.call(*args, **kwargs)

    call.__scriptc_original__ = original(cls.__call__)  # type: ignore[attr-defined]
    cls.extra_repr = _extra_repr(cls, lambda self: _store_of(self.__dict__).dispatcher)
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
    """Compile a function, method, nn.Module class or instance when it is first called, for each signature it is called with.

    As a decorator with or without arguments, or as a call; over or under `classmethod`, `staticmethod` and `property`, whose
    getter is then compiled. The result has eager's signature and returns what eager returns or raises what eager raises;
    what cannot be compiled raises `CompileError` at the first call.
    source: the text of the function, or of the class of the method or module, where Python does not have it.
    Options: optimize (0 to 3), dynamic, freeze, weights, flush_denormals, debug: see `scriptc.driver.options.Options`.
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
