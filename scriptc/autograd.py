"""Autograd is never silently cut: where eager's results would require grad, so do ours, and backward says it cannot yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from scriptc.frontend.entry import Entry
from scriptc.frontend.specs import Spec, TensorSpec, is_leaf, leaf_values, leaves, parts
from scriptc.gradients import Inputs
from scriptc.target import Target


class _Compiled(torch.autograd.Function):
    """Marks results as differentiable; their gradient is a later pass of the compiler."""

    @staticmethod
    def forward(
        ctx: Any, name: str, run: Callable[[], list[torch.Tensor]], *inputs: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.name = name
        return tuple(run())

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        raise NotImplementedError(
            f"backward through {ctx.name}, which scriptc compiled, is not supported yet; "
            "train the original module, or call the compiled one under torch.no_grad()"
        )


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


class GradCall:
    """Runs a call that autograd must see: once through the compiled code, inside an autograd.Function."""

    def __init__(self, target: Target, entry: Entry, gradients: list[Inputs]):
        self.target = target
        self.entry = entry
        self.stores_tensors = any(isinstance(leaf, TensorSpec) for form in entry.forms for leaf in leaves(form))
        self.gradients = gradients

    def __call__(self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = self.target.bind(args, kwargs)
        inputs: list[Any] = [leaf for a in self.entry.args for _, leaf in leaf_values(a.spec, arguments[a.name])]
        inputs += [None] * len(self.entry.numbers)
        inputs += [live.container[live.key] for live in self.entry.live]
        requires = {i for i, value in enumerate(inputs) if any(t.requires_grad for t in _tensors(value))}
        if requires and self.stores_tensors:
            raise NotImplementedError(
                f"{self.target.name} stores tensors in its arguments, which is not supported where gradients are recorded: "
                "call it under torch.no_grad(), or return the tensors"
            )
        differentiable = [bool(g & requires) for g in self.gradients]
        if not any(differentiable):
            return run(*args, **kwargs)
        given = {id(t) for value in inputs for t in _tensors(value)}
        box: list[Any] = []
        flags = iter(differentiable)
        marked: list[torch.Tensor] = []

        def once() -> list[torch.Tensor]:
            with torch.no_grad():
                box.append(run(*args, **kwargs))
            self._collect(self.entry.result, box[0], flags, given, marked)
            return marked

        sources = [t for i in sorted(requires) for t in _tensors(inputs[i])]
        outputs = _Compiled.apply(self.target.name, once, *sources)
        replaced = {id(old): new for old, new in zip(marked, outputs, strict=True)}
        return _rebuild(box[0], replaced)

    def _collect(self, spec: Spec, value: Any, flags: Iterator[bool], given: set[int], out: list[torch.Tensor]) -> None:
        """Results that are to require grad: not those that are arguments themselves."""
        if is_leaf(spec):
            if next(flags):
                seen = {id(t) for t in out}
                out += [t for t in _tensors(value) if id(t) not in given and id(t) not in seen]
            return
        for item, part in parts(spec, value):
            self._collect(item, part, flags, given, out)


def _rebuild(value: Any, replaced: dict[int, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return replaced.get(id(value), value)
    if isinstance(value, list):
        value[:] = [_rebuild(v, replaced) for v in value]
        return value
    if isinstance(value, dict):
        value.update({k: _rebuild(v, replaced) for k, v in value.items()})
        return value
    if isinstance(value, tuple):
        items = [_rebuild(v, replaced) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
