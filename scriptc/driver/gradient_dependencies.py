"""The inputs of a call through which gradients reach its results."""

from __future__ import annotations

from dataclasses import dataclass

Inputs = frozenset[int]  # leaves of the arguments and live values, then params


@dataclass(frozen=True)
class Dependencies:
    """The inputs from which a gradient would flow to each result of the entry, to what it sets outside of itself (by the
    number of the target), and to what it puts into lists that it was given (by the number of the leaf). writes: it may write
    tensors in place that autograd protects."""

    results: list[Inputs]
    targets: dict[int, Inputs]
    lists: dict[int, Inputs]
    writes: bool = False

    def any(self) -> bool:
        """Return whether autograd must see a call to which a tensor that requires grad is passed."""
        return self.writes or any((*self.results, *self.targets.values(), *self.lists.values()))
