"""The gradient of an operator: a second operator, so that graphs with a backward half hold one node for that as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from scriptc.operators.implementation import Implementation, tensors_in


def register_gradients(library: torch.library.Library, label: str, implementation: Implementation) -> None:
    """Define `LABEL_backward`, and let autograd call it for the operator `label` of a library."""
    backward = f"{label}_backward"
    library.define(implementation.schema.backward_text(backward))
    library.impl(backward, implementation.backward, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{library.ns}::{backward}", _fake_gradients, lib=library)
    refuse_gradients(library, backward, f"gradients of gradients of {library.ns}::{label} are not supported")
    operator = getattr(getattr(torch.ops, library.ns), backward)
    results = implementation.schema.results

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*tensors_in(inputs))
        ctx.values = [*map(_without_tensors, inputs)]
        outputs = output if len(results) != 1 else (output,)
        ctx.counts = [len(value) if isinstance(value, (list, tuple)) else None for value in outputs or ()]

    def gradients(ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        flat = [_with_tensors(value, tensors) for value in ctx.values]
        needs = [*_needs(flat, ctx.needs_input_grad, implementation.reached())]
        found = iter(operator([*_arriving(results, grads, ctx.counts)], needs, *flat) if any(needs) else ())
        wanted = iter(needs)
        return tuple(_in_place_of(value, wanted, found) for value in flat)

    torch.library.register_autograd(f"{library.ns}::{label}", gradients, setup_context=keep, lib=library)


def refuse_gradients(library: torch.library.Library, label: str, reason: str) -> None:
    """Let a call of an operator raise NotImplementedError where autograd would record the call."""
    operator = getattr(getattr(torch.ops, library.ns), label)

    def run(*flat: Any) -> Any:
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors_in(flat)):
            raise NotImplementedError(reason)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*flat)

    library.impl(label, run, "Autograd")


def _fake_gradients(grads: Sequence[Any], needs: Sequence[bool], *flat: Any) -> list[torch.Tensor]:
    pairs = zip(tensors_in(flat), needs, strict=True)
    return [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t, need in pairs if need]


class _Tensor:
    """Stands for a tensor that autograd keeps."""


_TENSOR = _Tensor()


def _without_tensors(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [*map(_without_tensors, value)]
    return _TENSOR if isinstance(value, torch.Tensor) else value


def _with_tensors(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(item, tensors) for item in value]
    return next(tensors) if value is _TENSOR else value


def _needs(flat: Sequence[Any], needed: Sequence[Any], reached: Sequence[bool]) -> Iterator[bool]:
    """Yield for each tensor of a call whether it needs a gradient.

    needed: for each argument what autograd says: a bool, or one for each item of a list.
    reached: for each argument whether gradients may reach its tensors.
    """
    for value, need, reaches in zip(flat, needed, reached, strict=True):
        count = sum(1 for _ in tensors_in([value]))
        flags = list(need) if isinstance(need, (list, tuple)) else [need] * count
        yield from (bool(flag) and reaches for flag in flags[:count])


def _arriving(results: Sequence[str], grads: Sequence[Any], counts: Sequence[int | None]) -> Iterator[torch.Tensor | None]:
    """Yield the gradient that arrives at each tensor among the results."""
    for kind, grad, count in zip(results, grads, counts, strict=True):
        if kind == "Tensor[]":
            yield from grad if grad is not None else [None] * (count or 0)
        elif kind == "Tensor":
            yield grad


def _in_place_of(value: Any, wanted: Iterator[bool], found: Iterator[torch.Tensor]) -> Any:
    """Return the gradients of the tensors in an argument, in its structure."""
    if isinstance(value, list):
        return [_in_place_of(item, wanted, found) for item in value]
    return next(found) if isinstance(value, torch.Tensor) and next(wanted) else None
