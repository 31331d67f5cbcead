"""Cells that a person wrote in C, as libraries of one size; see floor/floor.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.harness import Candidate, built
from benchmarks.models import Size

DIRECTORY = Path(__file__).parent / "floor"
FLAGS = (
    "-std=gnu11 -O3 -march=native -mprefer-vector-width=512 -Wno-psabi -ffp-contract=fast -fno-math-errno "
    "-fno-trapping-math -ffinite-math-only -fno-signed-zeros"
).split()
PLANS = 2

Pointer = ctypes.POINTER(ctypes.c_float)


def _pointer(tensor: Tensor) -> ctypes._Pointer[ctypes.c_float]:
    return ctypes.cast(tensor.data_ptr(), Pointer)


@contextmanager
def floor(
    name: str, size: Size, weights: Sequence[Tensor], inputs: Tensor, expected: Tensor
) -> Iterator[list[Candidate]]:
    """Yield the plans of a program by hand, each checked against `expected`. They time themselves."""
    sizes = {"BATCH": size.batch, "INPUT": size.input, "HIDDEN": size.hidden, "STEPS": size.steps}
    flags = [*FLAGS, "-shared", "-fPIC", *(f"-D{key}={value}" for key, value in sizes.items())]
    with built(DIRECTORY / f"{name}_floor.c", flags) as path:
        library = ctypes.CDLL(str(path))
        library.run.restype = ctypes.c_double
        held = [w.detach().contiguous() for w in weights]
        library.prepare((Pointer * len(held))(*map(_pointer, held)))
        x, out = inputs.contiguous(), torch.empty(expected.shape)
        yield [_plan(library, plan, x, out, expected) for plan in range(PLANS)]
        del held, x, out


def _plan(library: ctypes.CDLL, plan: int, x: Tensor, out: Tensor, expected: Tensor) -> Candidate:
    seconds = 0.0

    def call() -> None:
        nonlocal seconds
        seconds = library.run(plan, _pointer(x), _pointer(out))

    call()
    torch.testing.assert_close(out, expected, atol=1e-3, rtol=1e-3)
    return Candidate(f"plan {plan}", call, lambda: seconds)


def fastest(times: dict[str, float]) -> float:
    """Return the time of the fastest plan, and remove the times of all plans from `times`."""
    return min(times.pop(f"plan {plan}") for plan in range(PLANS))
