"""The fake implementation of an operator: the shapes of its results for fake tensors, whose sizes may be symbols."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._python_dispatch import _disable_current_modes

from scriptc.frontend.environment.specs import (
    ConstantSpec,
    ItemsSpec,
    ListSpec,
    ScalarSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    values_of,
)
from scriptc.operators import symbolic_ops  # noqa: F401  registers rules of the run
from scriptc.operators.implementation import Implementation, LiftedVariant, tensors_in
from scriptc.operators.symbolic_run import SymbolicRun
from scriptc.operators.symbolic_values import CannotTell, depends_on_data, is_tensor
from scriptc.runtime.tensors import DTYPES

_NUMBERS: dict[str, tuple[type, ...]] = {
    "i64": (int, torch.SymInt), "f64": (float, torch.SymFloat), "bool": (bool, torch.SymBool), "str": (str,),
}  # fmt: skip

_ANY: dict[type, Any] = {torch.SymInt: 2, torch.SymFloat: 1.0, torch.SymBool: True}


def shapes(implementation: Implementation, name: str, flat: Sequence[Any], new_size: Callable[[], Any]) -> list[Any]:
    """Return fake results for fake arguments.

    new_size: makes a size that depends on data.

    Raises CannotTell, and what the function certainly raises.
    """
    tensors = [*tensors_in(flat)]
    found = next((t.fake_mode for t in tensors if isinstance(t, FakeTensor)), None)
    device = tensors[0].device if tensors else torch.device("cpu")
    ambient = found if found is not None and found.shape_env is not None else None
    mode = ambient or FakeTensorMode(shape_env=ShapeEnv())
    env = mode.shape_env
    assert env is not None

    def faked(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(faked, value))
        if not is_tensor(value) or (isinstance(value, FakeTensor) and value.fake_mode is mode):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cpu")

    with mode, env.ignore_fresh_unbacked_symbols(), _without_logs():
        weights, values = implementation.split([faked(value) for value in flat])
        lifted = _fitting(implementation, weights, values)
        names = [late.name for late in lifted.contract.tensors]
        params = dict(zip(names, (weights[i] for i in lifted.weights), strict=True))
        module = lifted.variant.read_module()
        leaves = [leaf for arg, value in zip(lifted.contract.args, values, strict=True) for leaf in values_of(arg.spec, value)]
        made = SymbolicRun(module, params, env).run(module.entries[0], leaves)
    sizes: dict[Any, Any] = {}

    def outside(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(outside, value)]
        if is_tensor(value):
            return torch.empty([known(n) for n in value.shape], dtype=value.dtype, device=device)
        if isinstance(value, torch.SymInt):
            return known(value)
        if isinstance(value, (int, float, bool, torch.SymFloat, torch.SymBool)):
            return value
        raise CannotTell(f"{name} returns a number that depends on data; return a tensor without dims")

    def known(size: Any) -> Any:
        if not depends_on_data(size) or _is_of_caller(size, flat):
            return size
        key = size.node.expr
        if key not in sizes:
            sizes[key] = new_size()
        return sizes[key]

    with mode if ambient is not None else nullcontext():
        return [outside(value) for value in made]


@contextmanager
def _without_logs() -> Iterator[None]:
    """Let PyTorch log no errors of fake tensors: a symbolic run tries paths that raise."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def _is_of_caller(size: torch.SymInt, flat: Sequence[Any]) -> bool:
    """Return whether the symbols of a size are symbols of the arguments."""
    given: set[Any] = set()
    for value in [*flat, *(n for t in tensors_in(flat) for n in t.shape)]:
        if isinstance(value, torch.SymInt):
            given |= value.node.expr.free_symbols
    return bool(size.node.expr.free_symbols <= given)


# ---- the variant of a fake call ----


def _fitting(implementation: Implementation, weights: Sequence[Any], values: list[Any]) -> LiftedVariant:
    """Return the variant that takes a call like this; compile one for zeros of the same sizes where there is none."""

    def fits(lifted: LiftedVariant) -> bool:
        return all(_takes(arg.spec, value) for arg, value in zip(lifted.contract.args, values, strict=True))

    lifted = next(filter(fits, implementation.lifted), None)
    if lifted is not None:
        return lifted
    with unset_fake_temporarily(), _disable_current_modes():
        implementation.add([*map(_example, values)])
    return next(filter(fits, implementation.lifted))


def _takes(spec: Spec, value: Any) -> bool:
    match spec:
        case TensorSpec(dtype, sizes):
            if not is_tensor(value) or value.dtype != DTYPES[dtype] or value.dim() != len(sizes):
                return False
            return all(n is None or _equal(n, size) for n, size in zip(sizes, value.shape, strict=True))
        case ScalarSpec(kind):
            return isinstance(value, _NUMBERS[kind]) and (kind != "i64" or not isinstance(value, bool))
        case ConstantSpec(obj):
            return _equal(obj, value)
        case ListSpec(elem, cls):
            if not isinstance(value, (list, tuple)) or type(value) is not cls:
                return False
            return not value if elem is None else all(_takes(elem, item) for item in value)
        case ItemsSpec() | TupleSpec():
            parts = spec.items
            return isinstance(value, (list, tuple)) and len(value) == len(parts) and all(map(_takes, parts, value))
    return False


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return type(a) is type(b) and a == b if not isinstance(b, (torch.SymInt, torch.SymFloat)) else bool(a == b)


def _example(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_example, value))
    if is_tensor(value):
        return torch.zeros([_example(n) for n in value.shape], dtype=value.dtype)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.hint if value.node.has_hint() else _ANY[type(value)]
    return value
