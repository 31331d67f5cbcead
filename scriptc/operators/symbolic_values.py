"""The values of a symbolic run of the IR: sizes may be symbols, and data is unknown.

| value of the IR | symbolic value |
|---|---|
| tensor | a fake tensor, whose sizes are ints or `torch.SymInt`s |
| int | an int or a `torch.SymInt`; an unbacked one if it depends on data |
| float, bool, str | the Python value, a symbol of torch, or `UNKNOWN` if it depends on data |
| list, object, cell | a `Reference` to contents in the heap of the run |
| tuple, None | a Python tuple of values, None |

Contents are immutable, so a path of the program is copied by copying the dict that holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols, statically_known_true

Path = tuple[Any, ...]  # where a size is: the number of the value, then of the part
MergeSizes = Callable[[Path, Any, Any], Any]


class Unknown:
    """A float, bool or string that depends on data, or an exception."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class Undefined:
    """A variable without a value. Only code that no path reaches reads it."""

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED = Undefined()


@dataclass(frozen=True)
class Maybe:
    """A value that may also be None. Nobody knows before the data is there."""

    value: Any


@dataclass(frozen=True, eq=False)
class Reference:
    """A mutable object of the program. The heap of a run maps it to its contents."""


@dataclass(frozen=True)
class Items:
    """The contents of a list of known length, or of an object or cell."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Varying:
    """A tensor like each of many: sizes that differ between them are None."""

    dtype: torch.dtype
    sizes: tuple[Any, ...]


@dataclass(frozen=True)
class Repeated:
    """The contents of a list of any length. `item` stands for each of its items; it is None if there is none."""

    item: Any
    length: Any


Heap = dict[Reference, Items | Repeated]


class CannotTell(Exception):
    """Say that shapes cannot be told without running the program, with the reason."""


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)


def depends_on_data(value: Any) -> bool:
    """Return whether an int or a size is a symbol without a value behind it."""
    return isinstance(value, torch.SymInt) and bool(free_unbacked_symbols(value))


def same_size(a: Any, b: Any) -> bool:
    """Return whether two sizes are certainly equal. No guard is made."""
    return a is b or bool(statically_known_true(a == b))


class Values:
    """Makes and joins the values of one run."""

    def __init__(self, shape_env: ShapeEnv):
        self.shape_env = shape_env

    def size(self) -> Any:
        """Return a size that nothing is known of."""
        made = self.shape_env.create_unbacked_symint()
        torch._check(made >= 0)
        return made

    def tensor(self, dtype: torch.dtype, sizes: tuple[Any, ...]) -> torch.Tensor:
        """Return a contiguous fake tensor; sizes that are None become unknown."""
        return torch.empty([self.size() if n is None else n for n in sizes], dtype=dtype)

    def joined(self, a: Any, b: Any, path: Path, merge: MergeSizes) -> Any:
        """Return a value that stands for both of two values. `merge` joins sizes and other ints."""
        if a is b or b is UNDEFINED:
            return a
        if a is UNDEFINED:
            return b
        if is_tensor(a) and is_tensor(b):
            return self._joined_tensors(a, b, path, merge)
        if is_number(a) and is_number(b):
            return merge(path, a, b)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(self.joined(x, y, (*path, i), merge) for i, (x, y) in enumerate(zip(a, b, strict=True)))
        if a is None or b is None or isinstance(a, Maybe) or isinstance(b, Maybe):
            inner = [v.value if isinstance(v, Maybe) else v for v in (a, b) if v is not None]
            return Maybe(inner[0] if len(inner) == 1 else self.joined(inner[0], inner[1], path, merge))
        if isinstance(a, Reference) or isinstance(b, Reference):
            raise CannotTell("a variable holds one of two lists or objects")
        return a if type(a) is type(b) and isinstance(a, (bool, float, str)) and a == b else UNKNOWN

    def _joined_tensors(self, a: torch.Tensor, b: torch.Tensor, path: Path, merge: MergeSizes) -> torch.Tensor:
        if a.dim() != b.dim() or a.dtype != b.dtype:
            raise CannotTell("a variable holds tensors of several ranks or dtypes")
        sizes = [merge((*path, d), *pair) for d, pair in enumerate(zip(a.shape, b.shape, strict=True))]
        if all(map(same_size, sizes, a.shape)):
            return a
        return self.tensor(a.dtype, tuple(sizes))

    def joined_contents(self, a: Items | Repeated, b: Items | Repeated, path: Path, merge: MergeSizes) -> Items | Repeated:
        if isinstance(a, Items) and isinstance(b, Items) and len(a.values) == len(b.values):
            return Items(self.joined(a.values, b.values, path, merge))
        return Repeated(self.alike(self.summary(a), self.summary(b)), merge((*path, "length"), length(a), length(b)))

    def joined_heaps(self, a: Mapping[Reference, Any], b: Mapping[Reference, Any], merge: MergeSizes) -> Heap:
        """Return the contents of all objects. Some were made on one of the two paths only."""
        both = {
            ref: self.joined_contents(held, b[ref], (ref,), merge)
            for ref, held in a.items()
            if ref in b and b[ref] is not held
        }
        return {**b, **a, **both}

    # ---- items of lists whose length is a symbol ----

    def summary(self, contents: Items | Repeated) -> Any:
        """Return the value that stands for each item of a list."""
        if isinstance(contents, Repeated):
            return contents.item
        item: Any = None
        for value in contents.values:
            item = self.alike(item, self.generalized(value))
        return item

    def generalized(self, value: Any) -> Any:
        """Return a value without the sizes that may be others at each time."""
        if is_tensor(value):
            return Varying(value.dtype, tuple(None if depends_on_data(n) else n for n in value.shape))
        if isinstance(value, tuple):
            return tuple(map(self.generalized, value))
        if isinstance(value, Reference):
            raise CannotTell("a list of any length holds lists or objects")
        return UNKNOWN if is_number(value) or isinstance(value, (bool, float, str)) else value

    def alike(self, a: Any, b: Any) -> Any:
        """Return what stands for two kinds of items; None stands for no item."""
        if a is None or b is None:
            return b if a is None else a
        if isinstance(a, Varying) and isinstance(b, Varying):
            if a.dtype != b.dtype or len(a.sizes) != len(b.sizes):
                raise CannotTell("a list of any length holds tensors of several ranks or dtypes")
            pairs = zip(a.sizes, b.sizes, strict=True)
            return Varying(a.dtype, tuple(x if None not in (x, y) and same_size(x, y) else None for x, y in pairs))
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(map(self.alike, a, b))
        return UNKNOWN

    def one_of(self, item: Any) -> Any:
        """Return one item of a list by what stands for all of them."""
        if isinstance(item, Varying):
            return self.tensor(item.dtype, item.sizes)
        return tuple(map(self.one_of, item)) if isinstance(item, tuple) else item


def length(contents: Items | Repeated) -> Any:
    return len(contents.values) if isinstance(contents, Items) else contents.length
