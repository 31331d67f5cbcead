"""Nodes of autograd's graph for calls whose results depend on different inputs.

In eager, autograd reaches from a result only the inputs that the result depends on: it runs the hooks of these alone, and the
others have no gradients. So such a call has several nodes. A *port* is the node of results that depend on the same inputs. A
*group* is a node in front of inputs that the same ports depend on, and is reached from these ports.

    x ──┬─ group 0 ─┬─ port 0 ── y           y depends on x and w
    w ──┼─ group 1 ─┘     │
    v ──┴─ group 2 ───────┴─ port 1 ── z     z depends on x and v   (group 0 is reached from both ports)

A port notes the gradients that arrive. The first group that autograd runs then computes the gradients of all inputs. Autograd
has run all ports on which a group depends by then, and most often all others: it runs later nodes first. If another port has
run since, the next group computes the gradients again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import Any, NamedTuple

import torch

from scriptc.runtime.tensors import refuse_backward

_TOKEN = torch.empty(0)  # stands for a gradient between ports and groups
_keeps_graph: Callable[[], bool] = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)
_current_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: 0)


class Layout(NamedTuple):
    """The ports and groups of the calls of one plan.

    ports: for each output of the forward entry its port. groups: for each input its group, None where no gradient arrives.
    reached: for each port the groups that it reaches.
    """

    ports: tuple[int, ...]
    groups: tuple[int | None, ...]
    reached: tuple[tuple[int, ...], ...]


def layout_of(reaches: Sequence[frozenset[int]], requires: Sequence[bool], arrives: Sequence[bool]) -> Layout | None:
    """Return the nodes of a call, or None if one node is enough.

    reaches: for each output the inputs that it depends on. requires: for each output whether it requires grad. arrives: for
    each input whether it has a gradient.
    """
    inputs = frozenset(compress(range(len(arrives)), arrives))
    found = [inputs & each for each in reaches]
    kinds = list(dict.fromkeys(compress(found, requires)))
    if len(kinds) < 2:
        return None
    ports = tuple(kinds.index(each) if each in kinds else 0 for each in found)
    users = [frozenset(p for p, kind in enumerate(kinds) if i in kind) for i in range(len(arrives))]
    different = list(dict.fromkeys(u for u in users if u))
    groups = tuple(different.index(u) if u else None for u in users)
    reached = tuple(tuple(g for g, ports in enumerate(different) if p in ports) for p in range(len(kinds)))
    return Layout(ports, groups, reached)


class SharedBackward:
    """The backward of one call, which its ports and groups share.

    run: takes the context of a group, the gradients of the outputs, and whether it may free what forward kept. It returns the
    gradients of the tensors that the groups are in front of.
    free: frees what forward kept, if the contexts of the groups do not.
    numbers: for each port the numbers of its outputs. members: for each group the numbers of its tensors.
    saved: tensors that each group saves for backward.
    task, cotangents, arrived, made: the backward that runs, the gradients that arrived in it, by output, and their ports, and
    the gradients computed from these. spent: the groups that have run without `retain_graph`.
    """

    def __init__(
        self, run: Callable[[Any, Sequence[torch.Tensor | None], bool], Sequence[torch.Tensor | None]],
        numbers: Sequence[Sequence[int]], members: Sequence[Sequence[int]], *,
        free: Callable[[], None] | None = None, saved: Sequence[torch.Tensor] = (),
    ):  # fmt: skip
        self.run = run
        self.free = free
        self.numbers = numbers
        self.members = members
        self.saved = saved
        self.task: int | None = None
        self.cotangents: list[torch.Tensor | None] = []
        self.arrived: set[int] = set()
        self.made: list[torch.Tensor | None] | None = None
        self.spent: set[int] = set()

    def arrive(self, port: int, passed_on: Sequence[torch.Tensor | None], *grads: torch.Tensor | None) -> Any:
        """Note the gradients of the outputs of a port. passed_on: what the port returns."""
        if (task := _current_task()) != self.task:
            self.task, self.arrived = task, set()
            self.cotangents = [None] * sum(map(len, self.numbers))
        self.arrived.add(port)
        for number, grad in zip(self.numbers[port], grads, strict=True):
            self.cotangents[number] = grad
        self.made = None
        return passed_on

    def gradients(self, ctx: Any, group: int) -> list[torch.Tensor | None]:
        """Return the gradients of the tensors of a group."""
        if group in self.spent and self.free is not None:
            refuse_backward(freed=True)
        if self.made is None:
            is_last = len(self.arrived) == sum(1 for numbers in self.numbers if numbers)
            self.made = list(self.run(ctx, self.cotangents, is_last))
        found = [self.made[i] for i in self.members[group]]
        for i in self.members[group]:
            self.made[i] = None
        if not _keeps_graph():
            self.spent.add(group)
            if self.free is not None and len(self.spent) == len(self.members):
                self.free()
                self.cotangents = []
        return found


class _Group(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shared: SharedBackward, number: int, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.shared, ctx.number = shared, number
        ctx.save_for_backward(*shared.saved)
        return torch.empty(0)

    @staticmethod
    def backward(ctx: Any, token: torch.Tensor) -> Any:
        return None, None, *ctx.shared.gradients(ctx, ctx.number)


class _Port(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, shared: SharedBackward, number: int, outputs: list[torch.Tensor], *tokens: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.apply = partial(shared.arrive, number, (None, None, None, *([_TOKEN] * len(tokens))))  # autograd calls it
        own = tuple(outputs)
        outputs.clear()  # autograd holds them without cycles
        return own

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        return ctx.apply(*grads)


# What `Function.apply` does besides concerns transforms of torch.func.
_apply_group = super(torch.autograd.Function, _Group).apply
_apply_port = super(torch.autograd.Function, _Port).apply


def attach(
    layout: Layout, shared: SharedBackward, sources: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Let autograd see the outputs of a call. Return what it has made of them.

    sources: the tensors that have gradients. shared: of the call, whose numbers count these and the outputs.
    """
    tokens = [_apply_group(shared, g, *(sources[i] for i in members)) for g, members in enumerate(shared.members)]
    found = list(outputs)
    for port, numbers in enumerate(shared.numbers):
        if numbers:
            own = [outputs[i] for i in numbers]
            made = _apply_port(shared, port, own, *(tokens[g] for g in layout.reached[port]))
            for i, output in zip(numbers, made, strict=True):
                found[i] = output
    return tuple(found)


@lru_cache(64)
def members_of(layout: Layout, outputs: tuple[int, ...], inputs: tuple[int, ...]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the members of the ports and groups of a call. outputs, inputs: those that the tensors of autograd are of."""
    ports = numbers_of([layout.ports[i] for i in outputs], len(layout.reached))
    return ports, numbers_of([layout.groups[i] for i in inputs], 1 + max(g for g in layout.groups if g is not None))


def numbers_of(of: Sequence[int | None], count: int) -> list[list[int]]:
    """Return for each of `count` nodes the positions at which `of` names the node."""
    found: list[list[int]] = [[] for _ in range(count)]
    for i, node in enumerate(of):
        if node is not None:
            found[node].append(i)
    return found
