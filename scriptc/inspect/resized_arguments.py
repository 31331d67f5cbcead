"""Make arguments like those of an example in other sizes.

The sizes are those of tensors, the lengths of lists, and numbers. Sizes that are equal in the example change together,
because they are likely the same dimension (a batch). If a call refuses that, each size changes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from scriptc.frontend.environment import specs
from scriptc.frontend.environment.specs import Contract

SizeLocation = tuple[str, int]  # path within the arguments, and the dimension (-1: a length or a number)


class _Size(NamedTuple):
    location: SizeLocation
    value: int


class ResizedArguments:
    """Arguments of a call in sizes other than an example's.

    entry: the contract of the call. accepts: returns whether a call with some arguments succeeds.
    """

    def __init__(self, entry: Contract, example: dict[str, Any], accepts: Callable[[dict[str, Any]], bool]):
        self.entry = entry
        self.example = example
        self.accepts = accepts
        self.generator = torch.Generator().manual_seed(0)

    def groups(self, candidates: Callable[[int], list[int]]) -> list[tuple[list[SizeLocation], list[int]]]:
        """Return groups of sizes that change together, each with its accepted candidates."""
        by_value: dict[int, list[SizeLocation]] = {}
        for location, value in self.sizes():
            locations = by_value.setdefault(value, [])
            if location not in locations:
                locations.append(location)
        found = []
        for value, locations in by_value.items():
            together = self.accepted(locations, value, candidates)
            parts = [locations] if together or len(locations) == 1 else [[location] for location in locations]
            for part in parts:
                choices = together if part is locations else self.accepted(part, value, candidates)
                if choices:
                    found.append((part, choices))
        return found

    def sizes(self) -> Iterator[_Size]:
        """Yield the sizes of the example that a caller may change."""
        for arg in self.entry.args:
            yield from _sizes_of(self.example[arg.name], arg.spec, arg.name)

    def accepted(self, locations: list[SizeLocation], value: int, candidates: Callable[[int], list[int]]) -> list[int]:
        """Return the candidates for a size that a call accepts at some locations."""
        others = dict.fromkeys(n for n in candidates(value) if n not in (value, 0))
        return [n for n in others if self.accepts(self.make(dict.fromkeys(locations, n)))]

    def make(self, sizes: dict[SizeLocation, int], *, fresh: bool = True) -> dict[str, Any]:
        """Return the example in other sizes.

        fresh: whether tensors have random values instead of the example's.
        """
        return {
            arg.name: self.vary(self.example[arg.name], arg.spec, arg.name, sizes, fresh) for arg in self.entry.args
        }

    def vary(self, value: Any, spec: specs.Spec, path: str, sizes: dict[SizeLocation, int], fresh: bool) -> Any:
        match spec:
            case specs.TensorSpec():
                shape = [sizes.get((path, d), n) for d, n in enumerate(value.shape)]
                made = self.values_like(value, shape) if fresh else value.detach().clone().contiguous()
                return made.requires_grad_(value.requires_grad and value.is_leaf)
            case specs.ScalarSpec("i64"):
                return sizes.get((path, -1), value)
            case specs.ListSpec(elem, cls) if elem is not None and len(value):
                n = sizes.get((path, -1), len(value))
                return cls([self.vary(value[i % len(value)], elem, f"{path}[]", sizes, fresh) for i in range(n)])
            case specs.TupleSpec(items, cls) if cls is not complex:
                numbered = enumerate(zip(value, items, strict=True))
                parts = [self.vary(v, s, f"{path}[{i}]", sizes, fresh) for i, (v, s) in numbered]
                return tuple(parts) if cls is tuple else cls(*parts) if hasattr(cls, "_fields") else cls(parts)
            case specs.DictSpec(keys, items):
                pairs = zip(keys, items, strict=True)
                return {k: self.vary(value[k], s, f"{path}[{k!r}]", sizes, fresh) for k, s in pairs}
        return value

    def values_like(self, example: torch.Tensor, shape: list[int]) -> torch.Tensor:
        """Return random values with about the mean and deviation of an example.

        The function is then likely to accept them.
        """
        g, n = self.generator, example.numel()
        if example.dtype == torch.bool:
            return torch.rand(shape, generator=g) < (example.double().mean().item() if n else 0.5)
        if example.dtype.is_complex:
            return torch.complex(*(self.values_like(part, shape) for part in (example.real, example.imag)))
        if not example.dtype.is_floating_point:
            low, high = (int(example.min()), int(example.max())) if n else (0, 1)
            return torch.randint(low, high + 1, shape, generator=g, dtype=example.dtype)
        finite = example.detach().double()
        finite = finite[finite.isfinite()]
        made = torch.randn(shape, generator=g, dtype=torch.float64)
        if finite.numel() > 1 and finite.std() > 0:
            made = made * finite.std() + finite.mean()
            made = made.abs() if finite.min() >= 0 else made
        return made.to(example.dtype)


def _sizes_of(value: Any, spec: specs.Spec, path: str) -> Iterator[_Size]:
    match spec:
        case specs.TensorSpec(_, sizes):
            yield from (_Size((path, d), value.shape[d]) for d, n in enumerate(sizes) if n is None)
        case specs.ScalarSpec("i64"):
            yield _Size((path, -1), value)
        case specs.ListSpec(elem) if elem is not None:
            yield _Size((path, -1), len(value))
            for item in value:
                yield from _sizes_of(item, elem, f"{path}[]")
        case specs.TupleSpec(items, cls) if cls is not complex:
            for i, (item, s) in enumerate(zip(value, items, strict=True)):
                yield from _sizes_of(item, s, f"{path}[{i}]")
        case specs.DictSpec(keys, items):
            for key, s in zip(keys, items, strict=True):
                yield from _sizes_of(value[key], s, f"{path}[{key!r}]")


def elements_of(value: Any) -> int:
    """Return the number of tensor elements in a value."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sum(map(elements_of, items))
