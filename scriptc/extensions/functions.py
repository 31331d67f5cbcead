"""C functions as Python calls them."""

from __future__ import annotations

import builtins
import operator
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, NoReturn

import cffi
import torch

from scriptc.backend_c.extensions.errors import ExtensionError
from scriptc.extensions.handles import Handle, ffi, refusal
from scriptc.ir.extern import (
    FUNCTIONS,
    LIBRARIES,
    ExternFunction,
    ExternLibrary,
    ExternPrototype,
    ExternType,
    trampoline_name,
)

_loaded: dict[str, Any] = {}  # by key: a process loads a library once, and so has its variables once
_lock = threading.Lock()


class CFunction(ExternFunction):
    """A C function of an extension.

    Tensors are passed as `DLTensor *`. Numbers and strings become the types of the prototype, or raise if they do not
    fit. What the function returns is a Python number, or None for `void` and `sc_status`. A message of `sc_fail` is
    raised.
    """

    def __init__(self, prototype: ExternPrototype, library: ExternLibrary, code: Any) -> None:
        self.prototype, self.library = prototype, library
        self.shape_function: Callable[..., Any] | None = None
        self.written = frozenset(name for name, t in prototype.parameters if t.written)
        self.__name__ = self.__qualname__ = prototype.name
        self.__doc__ = str(prototype)
        self._code = code

    def __repr__(self) -> str:
        return f"<C function {self.prototype}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> CFunction:
        """Return the function itself, as copies of Python's functions are."""
        return self

    def __copy__(self) -> CFunction:
        return self

    def meta(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let a Python function say what sizes the outputs get: a decorator.

        function: takes the arguments of the C function, and returns a dict of the new sizes of its outputs by the names of
            the parameters, such as {"out": a.shape}. Compiled code resizes the outputs so ahead of the C function.
        """
        self._change()
        if self.shape_function is not None:
            raise RuntimeError(f"{self.prototype.name} has a meta function already")
        self.shape_function = function
        return function

    def writes(self, *names: str) -> CFunction:
        """Say which parameters the function writes, of those that are not const. Return the function."""
        self._change()
        tensors = {name for name, t in self.prototype.parameters if t.written}
        if wrong := [name for name in names if name not in tensors]:
            raise ValueError(f"{self.prototype.name} has no parameter {wrong[0]} that it may write: {self.prototype}")
        self.written = frozenset(names)
        return self

    def _change(self) -> None:
        if self.is_compiled:
            raise RuntimeError(f"compiled code calls {self.prototype.name} already: say what it does before")

    def __call__(self, *args: Any) -> Any:
        parameters = self.prototype.parameters
        if len(args) != len(parameters):
            raise TypeError(self.prototype.wrong_count(len(args)))
        values, result = ffi.new("sc_extension_value[]", len(args) + 1), ffi.new("sc_extension_value *")
        error = ffi.new("sc_extension_error *")
        handles: dict[int, Handle] = {}  # one for each tensor, so that C code sees one tensor as one
        kept: list[Any] = []
        written: list[torch.Tensor] = []
        try:
            for index, ((name, t), given) in enumerate(zip(parameters, args, strict=True)):
                if t.kind == "tensor":
                    handle = self._handle(index, given, handles)
                    values[index].t = handle.pointer
                    if name in self.written:
                        handle.allow_resize()
                        written.append(given)
                else:
                    self._pass_value(values[index], index, given, kept)
            with _device_of(handles.values()):
                failed = self._code(error, values, result)
        finally:
            for handle in handles.values():
                handle.release()
            for tensor in written:
                if not tensor.is_inference():
                    torch.autograd.graph.increment_version(tensor)
        for handle in handles.values():
            if handle.error is not None:
                raise handle.error
        if failed:
            _raise(error)
        return _result(self.prototype.result, result)

    def _handle(self, index: int, given: Any, handles: dict[int, Handle]) -> Handle:
        if not isinstance(given, torch.Tensor):
            raise TypeError(self.prototype.wrong_kind(index, type(given).__name__))
        if id(given) not in handles:
            refused = refusal(given, with_cuda=self.library.with_cuda)
            if refused is not None:
                kind, reason = refused
                raise kind(f"{self.prototype.name}: {self.prototype.parameters[index][0]} {reason}")
            handles[id(given)] = Handle(given)
        return handles[id(given)]

    def _pass_value(self, value: Any, index: int, given: Any, kept: list[Any]) -> None:
        name, t = self.prototype.parameters[index]
        label = f"{self.prototype.name}: {name}"
        if t.kind == "str" and isinstance(given, str):
            if "\0" in given:
                raise ValueError(f"{label} has a NUL character, which ends a string in C")
            kept.append(ffi.new("char[]", given.encode()))
            value.s = kept[-1]
        elif t.kind == "bool" and isinstance(given, bool):
            value.i = given
        elif t.kind == "int" and hasattr(given, "__index__") and not isinstance(given, torch.Tensor):
            number = operator.index(given)
            unsigned = t.bits == 64 and not t.signed
            if not (0 <= number < 2**64 if unsigned else -(2**63) <= number < 2**63):
                raise OverflowError(f"{label} is {number}, which does not fit {t.text}")
            if unsigned:
                value.u = number
            else:
                value.i = number
        elif t.kind == "float" and hasattr(given, "__float__") and not isinstance(given, torch.Tensor):
            value.f = float(given)
        else:
            raise TypeError(self.prototype.wrong_kind(index, type(given).__name__))


def _device_of(handles: Iterable[Handle]) -> AbstractContextManager[Any]:
    """Return a context in which the device of the first CUDA tensor is the current one."""
    device = next((handle.tensor.device for handle in handles if handle.tensor.is_cuda), None)
    return nullcontext() if device is None else torch.cuda.device(device)


def _result(t: ExternType, value: Any) -> Any:
    match t.kind:
        case "int":
            return value.i
        case "bool":
            return bool(value.i)
        case "float":
            return value.f
    return None


def _raise(error: Any) -> NoReturn:
    message = ffi.string(error.message).decode(errors="replace")
    raise getattr(builtins, ffi.string(error.type).decode())(message)


class Extension:
    """The functions of a built extension, as attributes."""

    def __init__(self, library: ExternLibrary) -> None:
        self.__name__ = library.name
        self.functions: Mapping[str, CFunction] = MappingProxyType(load_functions(library))
        vars(self).update(self.functions)

    def __repr__(self) -> str:
        return f"<extension {self.__name__} of {', '.join(self.functions)}>"


def load_functions(library: ExternLibrary) -> dict[str, CFunction]:
    """Load the library of an extension. Return its functions by name."""
    with _lock:
        if library.key not in _loaded:
            _loaded[library.key] = _load(library)
        loaded = _loaded[library.key]
    LIBRARIES.setdefault(library.key, library)
    found = {}
    for p in library.prototypes:
        found[p.name] = CFunction(p, library, getattr(loaded, trampoline_name(library.key, p.name)))
        FUNCTIONS.setdefault((library.key, p.name), found[p.name])
    return found


def _load(library: ExternLibrary) -> Any:
    declarations = cffi.FFI()
    declarations.include(ffi)
    arguments = "sc_extension_error *, const sc_extension_value *, sc_extension_value *"
    declarations.cdef("".join(f"int {trampoline_name(library.key, p.name)}({arguments});\n" for p in library.prototypes))
    try:
        return declarations.dlopen(str(library.path))
    except OSError as e:
        raise ExtensionError(f"the extension {library.name} cannot be loaded: {e}") from None
