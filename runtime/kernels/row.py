"""The rows of the table of kernels: a function of the C runtime, and the file that defines it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fails = Literal["null", "status", "never"]
DECLARED = "sc_kernels.h"  # the header that is written from the rows


@dataclass(frozen=True)
class Parameter:
    """One parameter of a prototype; the type of a pointer ends in `*`."""

    type: str
    name: str

    def __str__(self) -> str:
        return self.name if self.type == "..." else self.type + ("" if self.type.endswith("*") else " ") + self.name


@dataclass(frozen=True)
class Kernel:
    """A function that generated code may call.

    result, name, parameters: the prototype.
    note: the comment at the declaration.
    header: the header that declares the function; all except sc_kernels.h are written by hand.
    inline: whether the header defines the function, because it is small.
    needs: the files whose functions an inline function calls.
    quiet: whether the function changes nothing and keeps no reference to its arguments.
    returns_argument: whether the result may be the first object among the arguments.
    """

    result: str
    name: str
    parameters: tuple[Parameter, ...]
    note: str = ""
    header: str = DECLARED
    inline: bool = False
    needs: tuple[str, ...] = ()
    quiet: bool = False
    returns_argument: bool = False

    @property
    def takes_context(self) -> bool:
        """Return whether the first parameter is the context of the call."""
        return bool(self.parameters) and self.parameters[0].type in ("sc_ctx *", "const sc_ctx *")

    @property
    def fails(self) -> Fails:
        """Return how the function reports an error: by NULL, by -1, or not at all."""
        if not self.parameters or self.parameters[0].type != "sc_ctx *":
            return "never"
        return "null" if self.result.endswith("*") else "status" if self.result == "int" else "never"

    @property
    def prototype(self) -> str:
        space = "" if self.result.endswith("*") else " "
        return f"{self.result}{space}{self.name}({', '.join(map(str, self.parameters)) or 'void'})"


@dataclass(frozen=True)
class Source:
    """A C file of the runtime.

    name: the file's name without `.c`.
    about: the comment above its declarations in the header.
    needs: the files that its functions call.
    hot: above 0 where its loops are worth -O3; the file with 1 takes longest to compile.
    unless: the macro under which the unity build leaves the file out.
    """

    name: str
    kernels: tuple[Kernel, ...] = ()
    about: str = ""
    needs: tuple[str, ...] = ()
    hot: int = 0
    unless: str = ""


def kernel(result: str, name: str, parameters: str, note: str = "", *, header: str = DECLARED, quiet: bool = False,
           returns_argument: bool = False) -> Kernel:  # fmt: skip
    """Return the row of a function that a C file defines."""
    return Kernel(result, name, _parameters(parameters), note, header, quiet=quiet, returns_argument=returns_argument)


def inline(result: str, name: str, parameters: str, header: str, needs: str = "", *, quiet: bool = False) -> Kernel:
    """Return the row of a function that a header defines."""
    return Kernel(result, name, _parameters(parameters), "", header, True, tuple(needs.split()), quiet)


def source(name: str, *kernels: Kernel, about: str = "", needs: str = "", hot: int = 0, unless: str = "") -> Source:
    return Source(name, kernels, about, tuple(needs.split()), hot, unless)


def _parameters(text: str) -> tuple[Parameter, ...]:
    return tuple(map(_parameter, filter(None, text.split(", "))))


def _parameter(text: str) -> Parameter:
    """Return the parameter that `const int64_t *size` declares."""
    if text == "...":
        return Parameter("...", "...")
    head, star, name = text.rpartition("*")
    if star:
        return Parameter(head + star, name)
    head, _, name = text.rpartition(" ")
    return Parameter(head, name)
