"""Compare one case with eager. The result is a word and, unless the word is "equal", a reason."""

from __future__ import annotations

import copy
import time
import warnings
from statistics import median
from typing import Any

import torch
from torch.utils import _pytree as pytree

import scriptc

from .cases import Call, Case

_TOLERANCE = {
    torch.float32: 2e-4, torch.float64: 1e-8, torch.float16: 2e-2, torch.bfloat16: 5e-2, torch.complex64: 2e-4,
    torch.complex128: 1e-8,
}  # fmt: skip
_TIMED_CALLS = 7


def check(case: Case, *, timed: bool = False) -> tuple[str, str]:
    """Compile a model once, and call it at each size as eager is called.

    The words: "equal", "rejected", "raised", "different"; "unmade" if the model cannot be built, or eager raises.
    timed: the reason of "equal" is the time of the first call in eager, divided by its time in compiled code.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    try:
        model, calls = case.make()
        with torch.no_grad():
            wanted = [_called(model, call) for call in calls]
    except Exception as e:
        return "unmade", f"{type(e).__name__}: {e}"
    compiled = scriptc.compile(model)
    for call, expected in zip(calls, wanted, strict=True):
        try:
            with torch.no_grad():
                found = _called(compiled, call)
        except scriptc.CompileError as e:
            return "rejected", str(e)
        except Exception as e:
            return "raised", f"{type(e).__name__}: {e}"
        if (why := difference(found, expected)) is not None:
            return "different", why
    return "equal", f"{_times_faster(compiled, model, calls[0]):.2f}" if timed else ""


def _times_faster(compiled: Any, model: Any, call: Call) -> float:
    """Return how many times faster the compiled callable is, by the medians of calls that take turns."""
    seconds: dict[Any, list[float]] = {compiled: [], model: []}
    with torch.no_grad():
        for function in (compiled, model) * _TIMED_CALLS:
            began = time.perf_counter()
            _called(function, call)
            seconds[function].append(time.perf_counter() - began)
    return median(seconds[model]) / median(seconds[compiled])


def _called(function: Any, call: Call) -> Any:
    torch.manual_seed(1)
    args, kwargs = copy.deepcopy((call.args, call.kwargs))
    return function(*args, **kwargs)


def difference(found: Any, expected: Any) -> str | None:
    """Return where two results differ; None if they are equal within the tolerance of their dtypes."""
    if type(found) is not type(expected):
        return f"{type(found).__name__} in place of {type(expected).__name__}"
    (got, form), (want, other) = pytree.tree_flatten(parts_of(found)), pytree.tree_flatten(parts_of(expected))
    if form != other:
        return f"a result of the form {form} in place of {other}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if isinstance(a, float) and isinstance(b, float):
            a, b = torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)  # of an element, mostly
        if not isinstance(b, torch.Tensor):
            if type(a) is not type(b) or a != b:
                return f"leaf {i}: {a!r} in place of {b!r}"
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"leaf {i}: {a.dtype}{[*a.shape]} in place of {b.dtype}{[*b.shape]}"
        tolerance = _TOLERANCE.get(b.dtype, 0.0)
        finite = b[b.isfinite()].abs()
        scale = finite.max().item() if finite.numel() and b.dtype in _TOLERANCE else 1.0
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-3), equal_nan=True):
            return f"leaf {i}: differs by {_distance(a, b):.3g}, of {scale:.3g}"
    return None


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    wide = torch.complex128 if b.is_complex() else torch.float64
    return (a.to(wide) - b.to(wide)).abs().max().item()


def parts_of(value: Any) -> Any:
    """Return a value with its objects as dicts of their attributes, so that all leaves are seen."""
    if isinstance(value, torch.Tensor) or value is None or isinstance(value, (int, float, str, bool, type)):
        return value
    if isinstance(value, dict):
        return {key: parts_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [parts_of(item) for item in value]
    if hasattr(value, "__dict__") and not isinstance(value, torch.nn.Module):
        return {"class": type(value).__name__, **{name: parts_of(item) for name, item in vars(value).items()}}
    return repr(value)
