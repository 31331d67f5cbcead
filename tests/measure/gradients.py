"""Gradients of the op library by PyTorch's own samples (`op_db`): those of compiled functions against eager's."""

from __future__ import annotations

import copy
from typing import Any

import torch

import scriptc

from .command import Measure
from .opinfo import OPS, listed, programs
from .outcome import Differs, Program, compare, leaves


def differentiable(dtype: str) -> list[str]:
    """Return the ops that have gradients in a dtype."""
    return [name for name in listed(dtype) if OPS[name].supports_autograd]


def _requiring(program: Program, *, first: bool) -> list[Any]:
    """Return the arguments of a program, of which tensors of floats require grad, or only the first of these."""
    args = copy.deepcopy(program.args)
    require_grad(args, first=first)
    return args


def require_grad(values: Any, *, first: bool) -> None:
    """Let the tensors of floats among values require grad, or only the first of these."""
    tensors = [t for t in leaves(values) if isinstance(t, torch.Tensor) and is_inexact(t)]
    for t in tensors[:1] if first else tensors:
        t.requires_grad_()


def is_inexact(t: torch.Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def gradients(results: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Return the gradients of results with respect to inputs, for random cotangents of a fixed seed."""
    torch.manual_seed(1)
    cotangents = [torch.randn(t.shape, dtype=t.dtype) for t in results]  # the same for all strides
    return list(torch.autograd.grad(results, inputs, cotangents, allow_unused=True))


def _gradients(results: list[torch.Tensor], args: list[Any]) -> list[torch.Tensor | None]:
    return gradients(results, [t for t in leaves(args) if isinstance(t, torch.Tensor) and t.requires_grad])


def check_gradients(program: Program, optimize: int) -> int | None:
    """Compare the gradients of one call; None where eager has none."""
    with torch.enable_grad():
        compared = _check(program, optimize, first=False)
        return _check(program, optimize, first=True) if compared is None else compared


def _check(program: Program, optimize: int, *, first: bool) -> int | None:
    """Compare the gradients with respect to all arguments, or to the first where eager has none for others."""
    assert program.function is not None
    given, ours = _requiring(program, first=first), _requiring(program, first=first)
    try:
        torch.manual_seed(0)
        results = [t for t in leaves(program.function(*given)) if isinstance(t, torch.Tensor) and t.requires_grad]
        expected = _gradients(results, given)
    except Exception:
        return None
    if not results:
        return None
    compiled = scriptc.compile(program.function, optimize=optimize)
    torch.manual_seed(0)
    made = [t for t in leaves(compiled(*ours)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if len(made) != len(results):
        raise Differs(f"{len(made)} results require grad, not {len(results)}")
    compare_gradients(expected, _gradients(made, ours))
    return 0


def compare_gradients(expected: list[torch.Tensor | None], found: list[torch.Tensor | None]) -> None:
    """Raise where gradients differ; None stands for zeros."""
    for want, have in zip(expected, found, strict=True):
        if have is None or want is None:
            _compare_missing(have, want)
        else:
            compare(want, have)


def _compare_missing(have: torch.Tensor | None, want: torch.Tensor | None) -> None:
    """Compare gradients of which one is None, which stands for zeros."""
    given = want if have is None else have
    if given is not None and given.any():
        raise Differs("no gradient" if have is None else "a gradient where eager has none")


MEASURE = Measure(
    package="tests.gradients",
    variants=("float64", "float32", "complex128"),
    names=differentiable,
    calls=programs,
    samples=6,
    title="Gradients in {variant}",
    intro="`python -m tests.gradients --variant {variant}`: gradients with respect to every tensor of PyTorch's own samples "
    "(`op_db`), the first {count} of each function. Of {total} functions that have gradients, {passed} agree with eager.",
    check=check_gradients,
)
