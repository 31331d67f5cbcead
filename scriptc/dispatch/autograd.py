"""Run calls that autograd must see: results require grad as in eager, and their gradients are computed by compiled code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from scriptc.dispatch.gradient_calls import (
    GradientCall,
    GradientCalls,
    Plan,
    Saved,
    assigned_data,
    is_list_of_tensors,
    leaves_of_result,
)
from scriptc.dispatch.gradient_groups import SharedBackward, attach
from scriptc.dispatch.recorded_calls import plan_of_calls
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import Contract, PlaceSpec, WriteBack, placed, values_of
from scriptc.frontend.values.user_classes import container_base, is_plain
from scriptc.runtime.bridge import add_plan
from scriptc.runtime.tensors import refuse_backward


class _Differentiable(torch.autograd.Function):
    """Runs a forward entry, and its backward entry when gradients arrive."""

    @staticmethod
    def forward(ctx: Any, saved: Saved, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.saved = saved
        ctx.save_for_backward(*saved.tensors)
        outputs, saved.tensors, saved.outputs = tuple(saved.outputs), [], []  # autograd holds them without cycles
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        return None, *_run_backward(ctx.saved, ctx.saved_tensors, grads)


def _run_backward(saved: Saved, tensors: Sequence[torch.Tensor], grads: Sequence[torch.Tensor | None]) -> list[Any]:
    """Return the gradients of the tensors that a call has saved inputs for. tensors: what autograd has saved."""
    if torch.is_grad_enabled():
        refuse_backward(freed=False)
    if any(t.data_ptr() != data.data_ptr() and not torch.equal(t, data) for t, data in saved.data):
        raise NotImplementedError("the .data of a weight were assigned to again before backward, which is not supported")
    return saved.call.run_backward(saved, tensors, grads)


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


def tensors_by_input(inputs: Sequence[Any]) -> list[tuple[torch.Tensor, ...]]:
    """Return the tensors in each input."""
    return [
        (v,) if isinstance(v, torch.Tensor) else tuple(v) if is_list_of_tensors(v) else tuple(tensors_in(v)) for v in inputs
    ]


def requires_grad(tensors: Sequence[tuple[torch.Tensor, ...]]) -> frozenset[int]:
    """Return the numbers of the inputs that hold a tensor that requires grad."""
    return frozenset(i for i, found in enumerate(tensors) if any(t.requires_grad for t in found))


def _refuse_views(leaves: Sequence[torch.Tensor], tensors: Sequence[tuple[torch.Tensor, ...]]) -> None:
    """Raise if an input is a view of a tensor that will require grad in the call, since the view would, too."""
    for leaf in leaves:
        if not leaf.requires_grad and any(t._base is leaf for found in tensors for t in found):
            raise NotImplementedError("requires_grad_() of an argument of which another argument is a view is not supported")


def plan_of(target: Target, gradients: Dependencies, calls: GradientCalls, required: frozenset[int], count: int) -> Plan:
    """Return how calls run in which the inputs of these numbers, out of `count`, require grad."""
    if required not in calls.plans:
        requires = required & gradients.inputs()
        differentiable = tuple(bool(g & requires) for g in gradients.results)
        stores, lists = ([i for i, g in found.items() if g & requires] for found in (gradients.targets, gradients.lists))
        call = calls.compile(requires, count) if any(differentiable) or stores or lists else None
        if isinstance(call, str):
            call = _unsupported(target, call)
        calls.plans[required] = Plan(requires, differentiable, stores, lists, call)
    return calls.plans[required]


def _unsupported(target: Target, reason: str) -> str:
    return f"backward through {target.name}, which scriptc compiled, is not supported:\n{reason}"


def _is_list_twice(inputs: Sequence[Any], requires: frozenset[int]) -> bool:
    """Return whether two of some inputs are, or hold, one list. Gradients of their items would go to one of the two."""
    seen: set[int] = set()
    for i in requires:
        found = set(_lists_in(inputs[i]))
        if seen & found:
            return True
        seen |= found
    return False


def _lists_in(value: Any) -> Iterator[int]:
    """Yield the ids of the containers in a value, but for tuples."""
    if isinstance(value, (list, deque, dict)):
        yield id(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, deque)) else ():
        yield from _lists_in(item)


def call_with_grad(
    target: Target, contract: Contract, gradients: Dependencies, calls: GradientCalls,
    run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    grad_call: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """Run a call that autograd must see, and that the bridge has no plan for.

    The compiled code runs once, inside of an autograd.Function. grad_call: the variant's, to which the bridge adds a plan.
    """
    arguments = target.bind(args, kwargs)
    inputs = inputs_of(contract, arguments)
    tensors = tensors_by_input(inputs)
    required = requires_grad(tensors) | gradients.leaves
    for i in gradients.leaves:
        _refuse_views(tensors[i], tensors)
    for message, behind in gradients.detached.items():
        if required & behind:
            raise RuntimeError(message)
    is_first = required not in calls.plans
    plan = plan_of(target, gradients, calls, required, len(inputs))
    if grad_call is not None and is_first and isinstance(plan.call, GradientCall) and not plan.stores and not plan.lists:
        from scriptc.ir.errors import bugs_at

        with bugs_at(None):
            recorded = plan_of_calls(plan.call, contract, gradients, plan.differentiable, required, len(inputs), _rebuilt)
        if recorded is not None:
            return add_plan(run, grad_call, recorded)(*args, **kwargs)
    if plan.call is None:
        return run(*args, **kwargs)
    if isinstance(plan.call, GradientCall) and gradients.changed and _is_list_twice(inputs, plan.requires):
        reason = "an argument is a list that is, or is in, another argument as well, and the function changes such a list"
        plan = plan._replace(call=_unsupported(target, f"error: {reason}\n  hint: pass a copy: list(...)"))
    changes = _Changes([], [inputs[i] for i in plan.lists])
    if plan.stores:
        owners = [v for a in contract.args for v in placed(a.spec, arguments[a.name])]
        changes.stores.extend(_with_owner(contract.write_backs[i], owners) for i in plan.stores)
    if isinstance(plan.call, GradientCall):
        data = assigned_data(contract)
        return _run_differentiable(plan.call, plan.differentiable, inputs, tensors, changes, data, args, kwargs)
    sources = [t for i in sorted(plan.requires) for t in tensors[i]]
    given = {id(t) for found in tensors for t in found}
    box: list[Any] = []
    raised: list[BaseException] = []
    marked: list[torch.Tensor] = []

    def once() -> list[torch.Tensor]:
        try:
            with torch.no_grad():
                box.append(calls.run_without(args, kwargs))
            for (_, leaf), flag in zip(leaves_of_result(contract.result, box[0]), plan.differentiable, strict=True):
                if flag:
                    _mark(leaf, given, marked)
        except Exception as e:  # values that were set before the exception require grad, too
            raised.append(e)
        _mark(changes.values(), given, marked)
        return marked

    rebuild = _Rebuild(marked, _Compiled.apply(plan.call, once, *sources))
    changes.rebuild(rebuild)
    if raised:
        raise raised[0]
    return rebuild(box[0])


class _Changes(NamedTuple):
    """Locations outside that a call may set to tensors that require grad, and lists to which it may append some."""

    stores: list[WriteBack]
    lists: list[Any]

    def values(self) -> list[Any]:
        """Return the current values of the locations, and the lists."""
        return [*map(_held, self.stores), *self.lists]

    def rebuild(self, rebuild: _Rebuild) -> None:
        """Replace tensors in the locations and lists."""
        for store in self.stores:
            held = _held(store)
            if rebuild.changes(held):
                _hold(store, rebuild(held))
        for value in self.lists:
            rebuild(value)


def _run_differentiable(
    call: GradientCall, differentiable: Sequence[bool], inputs: list[Any], tensors: Sequence[tuple[torch.Tensor, ...]],
    changes: _Changes, data: Sequence[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Run a forward entry, and let the tensors that require grad have the backward entry as their `grad_fn`.

    data: the tensors whose `.data` the entry assigns to.
    """
    given = {id(t) for found in tensors for t in found}  # before the call, which may append to lists
    try:
        value, saved = call.run_forward(args, kwargs, differentiable, given)
    except Exception:
        _mark_without_gradients(changes, given, [t for i in call.inputs for t in tensors[i]])
        raise
    sources = call.save_inputs(saved, inputs, tensors)
    saved.data = [(tensor, tensor.data) for tensor in data]
    old = list(saved.outputs)
    new = _attach(call, saved, sources, differentiable) if saved.outputs else ()
    rebuild = _Rebuild(old, new)
    changes.rebuild(rebuild)
    return rebuild(value)


def _attach(
    call: GradientCall, saved: Saved, sources: Sequence[torch.Tensor], differentiable: Sequence[bool]
) -> tuple[torch.Tensor, ...]:
    """Let autograd see the outputs of a call. Return what it has made of them."""
    is_transformed = torch._C._are_functorch_transforms_active()  # refused by `Function.apply`
    layout = None if saved.fetched or is_transformed else call.layout(differentiable)
    if layout is None:
        return _Differentiable.apply(saved, *sources)
    ports, groups = call.nodes(saved, layout)
    outputs = {id(t) for t in saved.outputs}
    kept = [t.detach() if id(t) in outputs else t for t in saved.tensors]  # else the graph and what it keeps form a cycle
    found, saved.tensors, saved.outputs = saved.outputs, [], []
    run = lambda ctx, grads, is_last: _run_backward(saved, ctx.saved_tensors, grads)  # noqa: E731
    return attach(layout, SharedBackward(run, ports, groups, saved=kept), sources, found)


def _mark_without_gradients(changes: _Changes, given: set[int], sources: list[torch.Tensor]) -> None:
    """Let what a call has set before it raised require grad, as in eager. Backward through that is not supported."""
    marked: list[torch.Tensor] = []
    _mark(changes.values(), given, marked)
    if marked:
        reason = "backward through what a compiled function has set before it raised is not supported"
        changes.rebuild(_Rebuild(marked, _Compiled.apply(reason, lambda: marked, *sources)))


def _mark(value: Any, given: set[int], out: list[torch.Tensor]) -> None:
    """Append the new floating and complex tensors of a value to `out`, once each."""
    seen = {id(t) for t in out}
    for t in tensors_in(value):
        if id(t) not in given and id(t) not in seen and (t.is_floating_point() or t.is_complex()):
            seen.add(id(t))
            out.append(t)


def _rebuilt(value: Any, old: Sequence[torch.Tensor], new: Sequence[torch.Tensor]) -> Any:
    return _Rebuild(old, new)(value)


class _Rebuild:
    """Replaces tensors in values by others. Lists, dicts and objects are changed in place.

    done: the tuples and objects that have been rebuilt, with what replaces them, by the ids of those.
    """

    def __init__(self, old: Sequence[torch.Tensor], new: Sequence[torch.Tensor]):
        self.old = old
        self.replaced = {id(a): b for a, b in zip(old, new, strict=True)}
        self.done: dict[int, tuple[Any, Any]] = {}

    def changes(self, value: Any) -> bool:
        """Return whether a value holds a tensor that is replaced."""
        return any(id(t) in self.replaced for t in tensors_in(value))

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.replaced.get(id(value), value)
        if id(value) in self.done:
            return self.done[id(value)][1]
        if isinstance(value, list):
            value[:] = map(self, value)
        elif isinstance(value, deque):
            items = list(map(self, value))
            value.clear()
            value.extend(items)
        elif isinstance(value, dict):
            base: Any = container_base(type(value))  # the class may define what it refuses, such as `update`
            for key, item in [*base.items(value)]:
                base.__setitem__(value, key, self(item))
            if hasattr(value, "__dict__"):
                vars(value).update({k: self(v) for k, v in vars(value).items()})
        elif isinstance(value, tuple) and self.changes(value):
            items = list(map(self, value))
            made = type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
            self.done[id(value)] = value, made
            return made
        elif _has_attributes(value):
            self.done[id(value)] = value, value
            vars(value).update({k: self(v) for k, v in vars(value).items()})
        return value
