"""C functions of extensions that compiled code may call: their prototypes, their libraries, and the Python objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("tensor", "int", "float", "bool", "str", "status", "none")
REQUIRES_GRAD = (
    "requires grad, and autograd does not see what C code does; call the function in torch.no_grad(), in the forward of "
    "a torch.autograd.Function, or pass x.detach()"
)
MOST_PARAMETERS = 64
_NEEDED = {"tensor": "a tensor", "int": "an int", "float": "a number", "bool": "a bool", "str": "a str"}


@dataclass(frozen=True)
class ExternType:
    """The type of a parameter or a result.

    kind: one of KINDS; `status` and `none` are of results.
    text: the type in C.
    bits, signed: of numbers.
    dtype: the dtype that a tensor must have, "" for any.
    written: whether a tensor may be written and resized.
    """

    kind: str
    text: str
    bits: int = 0
    signed: bool = True
    dtype: str = ""
    written: bool = False


@dataclass(frozen=True)
class ExternPrototype:
    """A function that a header declares. `where` is the file and line of the declaration."""

    name: str
    parameters: tuple[tuple[str, ExternType], ...]
    result: ExternType
    where: str = ""

    def __str__(self) -> str:
        inside = ", ".join(f"{t.text} {name}" for name, t in self.parameters) or "void"
        return f"{self.result.text} {self.name}({inside})"

    def wrong_count(self, count: int) -> str:
        """Return the message for a call with `count` arguments, where the function takes another number."""
        n = len(self.parameters)
        takes, given = f"{n} argument{'' if n == 1 else 's'}", f"{count} {'was' if count == 1 else 'were'}"
        return f"{self.name}() takes {takes}, but {given} given: {self}"

    def wrong_kind(self, index: int, given: str) -> str:
        """Return the message for an argument of another kind. given: the class of the argument."""
        name, wanted = self.parameters[index]
        return f"{self.name}: {name} must be {_NEEDED[wanted.kind]} ({wanted.text}), not {given}"


@dataclass(frozen=True)
class ExternSources:
    """The sources and the build options of an extension, for packages.

    files: texts by their names in a folder of the extension.
    headers, sources: the names of those that declare its functions, and of those that are compiled.
    include_dirs: folders in that folder.
    flags: macros, and other options of the compiler.
    libraries: options of the linker.
    """

    files: tuple[tuple[str, str], ...] = ()
    headers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExternLibrary:
    """An extension that is built. `key` is a hash of everything that its code depends on.

    with_cuda: whether its functions take tensors on CUDA devices.
    """

    name: str
    key: str
    path: Path
    prototypes: tuple[ExternPrototype, ...]
    with_cuda: bool = False
    built_from: ExternSources = field(default_factory=ExternSources, repr=False, compare=False)

    def prototype(self, name: str) -> ExternPrototype:
        (found,) = (p for p in self.prototypes if p.name == name)
        return found


def trampoline_name(key: str, function: str) -> str:
    """Return the name of the C function through which a function of the library with a key is called."""
    return f"scriptc_call_{key[:16]}_{function}"


class ExternFunction:
    """A C function as a Python object. scriptc/extensions has the subclass that Python calls.

    shape_function: the Python function that gives the outputs their sizes in compiled code, or None.
    written: the names of the parameters that the C function may write.
    is_compiled: whether compiled code calls the function, so that what it does may no longer be said anew.
    """

    prototype: ExternPrototype
    library: ExternLibrary
    shape_function: Callable[..., Any] | None
    written: frozenset[str]
    is_compiled: bool = False

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError


LIBRARIES: dict[str, ExternLibrary] = {}  # those that this process has loaded, by key
FUNCTIONS: dict[tuple[str, str], ExternFunction] = {}  # their functions, by key and name
