"""Arguments like an example in other sizes.

A variation changes sizes of tensors, lengths of lists and numbers. Sizes that are equal in the example change together,
since they are likely the same thing (a batch); where that is refused, each is tried alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from scriptc.frontend.environment import specs
from scriptc.frontend.environment.specs import Contract

Place = tuple[str, int]  # path of an argument, and the dimension (-1: a length or a number)


class _Size(NamedTuple):
    place: Place
    value: int


class Variations:
    """accepts: whether a call with such arguments works."""

    def __init__(self, entry: Contract, example: dict[str, Any], accepts: Callable[[dict[str, Any]], bool]):
        self.entry = entry
        self.example = example
        self.accepts = accepts
        self.generator = torch.Generator().manual_seed(0)

    def groups(self, candidates: Callable[[int], list[int]]) -> list[tuple[list[Place], list[int]]]:
        """Places whose sizes change together, with those of candidates(the example's) that are accepted."""
        by_value: dict[int, list[Place]] = {}
        for place, value in self.sizes():
            places = by_value.setdefault(value, [])
            if place not in places:
                places.append(place)
        found = []
        for value, places in by_value.items():
            together = self.accepted(places, value, candidates)
            parts = [places] if together or len(places) == 1 else [[place] for place in places]
            for part in parts:
                choices = together if part is places else self.accepted(part, value, candidates)
                if choices:
                    found.append((part, choices))
        return found

    def sizes(self) -> Iterator[_Size]:
        """Sizes of the example that a caller may change."""
        for arg in self.entry.args:
            yield from _sizes_of(self.example[arg.name], arg.spec, arg.name)

    def accepted(self, places: list[Place], value: int, candidates: Callable[[int], list[int]]) -> list[int]:
        others = dict.fromkeys(n for n in candidates(value) if n not in (value, 0))
        return [n for n in others if self.accepts(self.make(dict.fromkeys(places, n)))]

    def make(self, sizes: dict[Place, int], *, fresh: bool = True) -> dict[str, Any]:
        """The example in other sizes, and with other values if fresh."""
        return {
            arg.name: self.vary(self.example[arg.name], arg.spec, arg.name, sizes, fresh) for arg in self.entry.args
        }

    def vary(self, value: Any, spec: specs.Spec, path: str, sizes: dict[Place, int], fresh: bool) -> Any:
        match spec:
            case specs.TensorSpec():
                shape = [sizes.get((path, d), n) for d, n in enumerate(value.shape)]
                return self.values_like(value, shape) if fresh else value.detach().clone().contiguous()
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
        """Random values of about the example's distribution, so that they mean something to the function."""
        g, n = self.generator, example.numel()
        if example.dtype == torch.bool:
            return torch.rand(shape, generator=g) < (example.double().mean().item() if n else 0.5)
        if example.dtype.is_complex:
            return torch.complex(*(self.values_like(part, shape) for part in (example.real, example.imag)))
        if not example.dtype.is_floating_point:
            low, high = (int(example.min()), int(example.max())) if n else (0, 1)
            return torch.randint(low, high + 1, shape, generator=g, dtype=example.dtype)
        known = example.detach().double()
        known = known[known.isfinite()]
        made = torch.randn(shape, generator=g, dtype=torch.float64)
        if known.numel() > 1 and known.std() > 0:
            made = made * known.std() + known.mean()
            made = made.abs() if known.min() >= 0 else made
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
    if isinstance(value, torch.Tensor):
        return value.numel()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sum(map(elements_of, items))
