"""The interface of a package: its entries as C and as Python functions, and its weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scriptc.backend_c.emit import CProgram
from scriptc.ir.dtypes import DTYPES, TORCH_NAMES

C_NUMBERS = {"i64": "int64_t", "f64": "double", "bool": "bool", "str": "scriptc_string"}  # and strings
MEMBERS = {"i64": "i", "f64": "f", "bool": "b", "str": "s"}  # of sc_value
PYTHON_NUMBERS = {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}


@dataclass(frozen=True)
class Leaf:
    """One value that crosses the C boundary: a tensor, a number, a string, a list of them, or a list of such lists."""

    name: str  # unique among the leaves of the entry, and no keyword of C
    kind: str  # "tensor", "i64", "f64", "bool", "str"; "nothing" for the elements of a list that is always empty
    is_list: bool = False
    dtype: str = ""  # of a tensor
    sizes: tuple[int | None, ...] = ()  # of a tensor; None: any
    is_nested: bool = False  # a list of lists, which C has as one list of all items and one of the lengths of the rows

    @property
    def count(self) -> str:
        """Return the name of the length of a list."""
        return f"n_{self.name}"

    @property
    def lengths(self) -> str:
        """Return the name of the lengths of the rows of a list of lists."""
        return f"lengths_{self.name}"

    @property
    def is_object(self) -> bool:
        """Return whether functions of the runtime take and give the leaf, which may fail."""
        return self.is_list or self.kind in ("tensor", "str")

    @property
    def in_c(self) -> bool:
        """Return whether the leaf is a parameter in C; a container that is always empty is none."""
        return self.kind != "nothing"

    def arguments(self) -> list[str]:
        """Return the C parameters that pass the leaf to the entry."""
        if not self.in_c:
            return []
        item = "const DLTensor *" if self.kind == "tensor" else f"{C_NUMBERS[self.kind]} "
        if not self.is_list:
            return [f"{item}{self.name}"]
        pointer = "const DLTensor *const *" if self.kind == "tensor" else f"const {item}*"
        rows = [f"const int64_t *{self.lengths}"] if self.is_nested else []
        return [f"{pointer}{self.name}", *rows, f"int64_t {self.count}"]

    def outputs(self) -> list[str]:
        """Return the C parameters that the entry returns the leaf through."""
        if not self.in_c:
            return []
        item = "DLManagedTensorVersioned *" if self.kind == "tensor" else f"{C_NUMBERS[self.kind]} "
        if not self.is_list:
            return [f"{item}*{self.name}"]
        rows = [f"int64_t **{self.lengths}"] if self.is_nested else []
        return [f"{item}**{self.name}", *rows, f"int64_t *{self.count}"]

    def parts(self) -> list[str]:
        """Return the names of the C parameters."""
        return [self.name, *([self.lengths] if self.is_nested else []), *([self.count] if self.is_list else [])]

    def describe(self) -> str:
        if self.kind == "tensor":
            text = f"{TORCH_NAMES[self.dtype]}[{', '.join('?' if n is None else str(n) for n in self.sizes)}]"
        elif self.in_c:
            text = PYTHON_NUMBERS[self.kind]
        else:
            return "list, empty"
        return f"list of lists of {text}" if self.is_nested else f"list of {text}" if self.is_list else text


@dataclass(frozen=True)
class EntryInterface:
    """One entry of a package.

    group: the name in Python, which the signatures of one function share.
    python: the trees of parameters and results by which the Python loader binds arguments (see NAME.py).
    state: the numbers of the leaves of the state that the entry takes.
    written: the numbers of the arguments to whose tensors the entry may write.
    fields: the members of the struct that C++ returns, one for each result in C; None if the result has no names.
    """

    name: str
    group: str
    declared: str  # where and how the user wrote it
    arguments: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    baked: tuple[str, ...]  # arguments that are part of the build, as "name = value"
    python: dict[str, Any]
    state: tuple[int, ...]
    written: frozenset[int]
    fields: tuple[str, ...] | None


@dataclass(frozen=True)
class Weight:
    name: str
    dtype: str
    sizes: tuple[int, ...]
    data: memoryview


@dataclass(frozen=True)
class StateLeaf:
    """A value that is kept from call to call.

    kind: see `Leaf`.
    initial: a number or a list of numbers, for tensors the names of weights, or None for an absent value.
    target, position: the `state.set` that sets the value, see `Kept`.
    written: whether an entry may write to the tensors of the value.
    saved: the name in a file of a saved state.
    slot: the number of the slot, which the leaves of one value share.
    dtype, rank: of a tensor; the rank is None where it is any.
    kinds: what the leaf holds for each kind of value that the slot may have, see `Kept`.
    """

    name: str
    kind: str
    is_list: bool
    initial: Any
    target: int | None
    position: int
    written: bool
    saved: str
    slot: int
    dtype: str
    rank: int | None
    kinds: tuple[Any, ...]


@dataclass(frozen=True)
class ExceptionClass:
    """An exception class that is not Python's own.

    name: in C. bases: by their names in C, or Python's own.
    module, path: where the class is found in Python, as "shop.errors" and "Orders.Missing"; "" if entries have several classes.
    """

    name: str
    bases: tuple[str, ...]
    module: str
    path: str


@dataclass(frozen=True)
class Pair:
    """A recorded call. Values are numbers, lists and `Array`s; references are None where there is none."""

    entry: int
    arguments: list[Any]
    expected: list[Any]
    references: list[Any]


@dataclass(frozen=True)
class Array:
    """The values of a tensor in row-major order, and its strides."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Package:
    name: str
    entries: tuple[EntryInterface, ...]
    program: CProgram
    user_rows: tuple[int, ...]  # for each location of the program, that of the user's line
    weights: tuple[Weight, ...]  # those that the program takes, then first values of the state
    state: tuple[StateLeaf, ...]
    exceptions: tuple[ExceptionClass, ...]  # base classes first
    pairs: tuple[Pair, ...]
    versions: dict[str, str]
    optimize: int
    debug: bool
    source_paths: str  # "absolute", or else no path of the machine that builds is to be seen
    embed_weights: bool
    march: str  # "" builds one level for each kind of machine
    bindings: str  # "pybind11": the package also holds an extension module of Python; "": none

    @property
    def opt_level(self) -> str:
        """Return the N of the compiler's -ON.

        At -O0, GCC would keep each function of the runtime that the program includes.
        """
        return str(self.optimize or "g")

    def groups(self) -> dict[str, list[EntryInterface]]:
        """Return the entries by their names in Python."""
        found: dict[str, list[EntryInterface]] = {}
        for entry in self.entries:
            found.setdefault(entry.group, []).append(entry)
        return found

    def leaves(self) -> Iterator[Leaf]:
        for entry in self.entries:
            yield from (*entry.arguments, *entry.results)


def dtype_code(dtype: str) -> int:
    return DTYPES.index(dtype)
