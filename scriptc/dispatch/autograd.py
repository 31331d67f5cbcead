"""Run calls that autograd must see: results require grad as in eager, and their gradients are computed by compiled code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from scriptc.dispatch.gradient_calls import (
    GradientCall,
    GradientCalls,
    Saved,
    has_several_tensors,
    is_differentiable,
    leaves_of_result,
)
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import (
    Contract,
    PlaceSpec,
    WriteBack,
    leaves,
    placed,
    values_of,
)
from scriptc.frontend.values.user_classes import is_plain


class _Differentiable(torch.autograd.Function):
    """Runs a forward entry, and its backward entry when gradients arrive."""

    @staticmethod
    def forward(ctx: Any, saved: Saved, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.saved = saved
        ctx.save_for_backward(*saved.tensors)
        outputs, saved.tensors, saved.outputs = tuple(saved.outputs), [], []  # autograd holds them without cycles
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        if torch.is_grad_enabled():
            raise NotImplementedError(
                "gradients of gradients of compiled functions are not supported; call backward() or torch.autograd.grad() "
                "without create_graph=True"
            )
        return None, *ctx.saved.call.run_backward(ctx.saved, ctx.saved_tensors, grads)


class _Compiled(torch.autograd.Function):
    """Marks results as differentiable. Its backward raises NotImplementedError, with the reason."""

    @staticmethod
    def forward(
        ctx: Any, reason: str, run: Callable[[], list[torch.Tensor]], *inputs: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.reason = reason
        return tuple(run())

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        raise NotImplementedError(ctx.reason)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value. Objects of the user's classes in it may form cycles."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, (list, tuple, deque)):
            todo += reversed(part)
        elif isinstance(part, dict):
            todo += reversed(part.values())
        elif _has_attributes(part) and id(part) not in seen:
            seen.add(id(part))
            todo += reversed(vars(part).values())


def _has_attributes(value: Any) -> bool:
    return is_plain(type(value)) and hasattr(value, "__dict__")


def _with_owner(store: WriteBack, arguments: list[Any]) -> WriteBack:
    """Return a store with the argument that owns it, if its owner is an argument."""
    return store._replace(owner=arguments[store.owner.number]) if isinstance(store.owner, PlaceSpec) else store


def _container(store: WriteBack) -> Any:
    container = store.owner
    for key in store.path or ():
        container = container[key]
    return container


def _held(store: WriteBack) -> Any:
    """Return the current value of a location that the call may have set, or None."""
    if store.path is None:
        return getattr(store.owner, store.key, None)
    container = _container(store)
    return container.get(store.key) if isinstance(container, dict) else container[store.key]


def _hold(store: WriteBack, value: Any) -> None:
    if store.path is None:
        setattr(store.owner, store.key, value)
    else:
        _container(store)[store.key] = value


def inputs_of(contract: Contract, arguments: dict[str, Any]) -> list[Any]:
    """Return the inputs of a call by number: leaves of the arguments and late-bound values, then tensors outside."""
    inputs: list[Any] = [leaf for a in contract.args for leaf in values_of(a.spec, arguments[a.name])]
    inputs += [leaf for v in contract.values for leaf in values_of(v.spec, v.container[v.key])]
    return inputs + [live.container[live.key] for live in contract.tensors]


def requires_grad(inputs: Sequence[Any]) -> set[int]:
    """Return the numbers of the inputs that require grad."""
    return {i for i, value in enumerate(inputs) if any(t.requires_grad for t in tensors_in(value))}


def call_with_grad(
    target: Target, contract: Contract, gradients: Dependencies, calls: GradientCalls,
    run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Run a call that autograd must see.

    The compiled code runs once, inside of an autograd.Function.
    """
    arguments = target.bind(args, kwargs)
    inputs = inputs_of(contract, arguments)
    requires = requires_grad(inputs)
    differentiable = [bool(g & requires) for g in gradients.results]
    owners = [v for a in contract.args for v in placed(a.spec, arguments[a.name])]
    stores = [_with_owner(contract.write_backs[i], owners) for i, g in gradients.targets.items() if g & requires]
    lists = [inputs[i] for i, g in gradients.lists.items() if g & requires]
    if not any(differentiable) and not stores and not lists:
        return run(*args, **kwargs)
    call = gradient_call(target, contract, calls, requires, differentiable, inputs, changes=bool(stores or lists))
    if isinstance(call, GradientCall):
        return _run_differentiable(call, differentiable, inputs, args, kwargs)
    given = {id(t) for value in inputs for t in tensors_in(value)}
    box: list[Any] = []
    raised: list[BaseException] = []
    marked: list[torch.Tensor] = []

    def once() -> list[torch.Tensor]:
        try:
            with torch.no_grad():
                box.append(calls.run_without(args, kwargs))
            for (_, leaf), flag in zip(leaves_of_result(contract.result, box[0]), differentiable, strict=True):
                if flag:
                    _mark(leaf, given, marked)
        except Exception as e:  # values that were set before the exception require grad, too
            raised.append(e)
        for value in [*map(_held, stores), *lists]:
            _mark(value, given, marked)
        return marked

    sources = [t for i in sorted(requires) for t in tensors_in(inputs[i])]
    outputs = _Compiled.apply(call, once, *sources)
    replaced = {id(old): new for old, new in zip(marked, outputs, strict=True)}
    for store in stores:
        held = _held(store)
        if any(id(t) in replaced for t in tensors_in(held)):
            _hold(store, _rebuild(held, replaced))
    for value in lists:
        _rebuild(value, replaced)
    if raised:
        raise raised[0]
    return _rebuild(box[0], replaced)


def gradient_call(
    target: Target, contract: Contract, calls: GradientCalls, requires: set[int], differentiable: list[bool],
    inputs: list[Any], *, changes: bool,
) -> GradientCall | str:  # fmt: skip
    """Return the entries that compute gradients, or why backward is not supported. changes: the call sets state."""
    about = f"backward through {target.name}, which scriptc compiled, is not supported"
    if changes:
        return f"{about}: the call stores tensors that require grad outside of itself"
    if not all(isinstance(inputs[i], torch.Tensor) or _is_list_of_tensors(inputs[i]) for i in requires):
        return f"{about}: tensors in an object or a nested container that is an argument require grad"
    flagged = [leaf for leaf, flag in zip(leaves(contract.result), differentiable, strict=True) if flag]
    if not all(map(is_differentiable, flagged)):
        return f"{about}: it returns an object or a nested container with tensors that require grad"
    if has_several_tensors(contract.result):
        return f"{about}: it returns tensors of several ranks or dtypes"
    call = calls.get(frozenset(requires), len(inputs))
    return call if isinstance(call, GradientCall) else f"{about}:\n{call}"


def _is_list_of_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, torch.Tensor) for item in value)


def _run_differentiable(
    call: GradientCall, differentiable: list[bool], inputs: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a forward entry, and let the results that require grad have the backward entry as their `grad_fn`."""
    given = [t for v in inputs for t in tensors_in(v)]
    sources = [inputs[i] for i in call.inputs]
    counts = [None if isinstance(v, torch.Tensor) else len(v) for v in sources]
    flat = [t for v in sources for t in tensors_in(v)]  # before the call, which may append to lists
    value, saved = call.run_forward(args, kwargs, differentiable, given)
    saved.counts = counts
    call.save_weights(saved, inputs)
    old = list(saved.outputs)
    new = _Differentiable.apply(saved, *flat)
    return _rebuild(value, {id(a): b for a, b in zip(old, new, strict=True)})


def _mark(value: Any, given: set[int], out: list[torch.Tensor]) -> None:
    """Append the new floating and complex tensors of a value to `out`, once each."""
    seen = {id(t) for t in out}
    for t in tensors_in(value):
        if id(t) not in given and id(t) not in seen and (t.is_floating_point() or t.is_complex()):
            seen.add(id(t))
            out.append(t)


def _rebuild(value: Any, replaced: dict[int, torch.Tensor], seen: set[int] | None = None) -> Any:
    """Return a value with its tensors replaced by id.

    Lists, dicts and objects are changed in place.

    seen: ids of the objects that are done.
    """
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        return replaced.get(id(value), value)
    if isinstance(value, list):
        value[:] = [_rebuild(v, replaced, seen) for v in value]
        return value
    if isinstance(value, deque):
        items = [_rebuild(v, replaced, seen) for v in value]
        value.clear()
        value.extend(items)
        return value
    if isinstance(value, dict):
        value.update({k: _rebuild(v, replaced, seen) for k, v in value.items()})
        return value
    if isinstance(value, tuple):
        items = [_rebuild(v, replaced, seen) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if _has_attributes(value) and id(value) not in seen:
        seen.add(id(value))
        vars(value).update({k: _rebuild(v, replaced, seen) for k, v in vars(value).items()})
    return value
