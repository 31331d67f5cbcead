"""The inputs of a call through which gradients reach its results."""

from __future__ import annotations

from typing import NamedTuple

Inputs = frozenset[int]  # indices: leaves of the arguments and late-bound values, then params


class Dependencies(NamedTuple):
    """The inputs from which gradients would flow to each output of an entry.

    results: by result. targets: by the number of a state target that the entry sets. lists: by the number of the
    argument leaf that is a container into which the entry puts values. writes: the entry may write in place to a tensor that
    autograd protects. detached: the inputs from which gradients would flow to a tensor that must require none, by the message
    of the error: to one that becomes a NumPy array, or that a C function gets.
    asks: the entry asks whether a tensor from outside requires grad. leaves: the inputs that require grad after the call.
    cut: the results that `detach()` cuts off from all inputs, so that they require no grad in any mode.
    changed: the containers among the arguments that the entry changes.
    """

    results: list[Inputs]
    targets: dict[int, Inputs]
    lists: dict[int, Inputs]
    writes: bool = False
    detached: dict[str, Inputs] = {}
    asks: bool = False
    leaves: Inputs = frozenset()
    cut: frozenset[int] = frozenset()
    changed: Inputs = frozenset()

    def inputs(self) -> Inputs:
        """Return the inputs from which gradients would flow to any output."""
        return frozenset().union(*self.results, *self.targets.values(), *self.lists.values())

    def any(self) -> bool:
        """Return whether autograd must see a call to which a tensor that requires grad is passed."""
        return self.writes or bool(any(self.detached.values()) or self.inputs())
