"""Cells and decoders that a person wrote in C, as libraries of one size; see floor/floor.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.harness import Candidate, built

DIRECTORY = Path(__file__).parent / "floor"
FLAGS = (
    "-std=gnu11 -O3 -march=native -mprefer-vector-width=512 -Wno-psabi -ffp-contract=fast -fno-math-errno "
    "-fno-trapping-math -ffinite-math-only -fno-signed-zeros"
).split()

Pointer = ctypes.POINTER(ctypes.c_float)


def _pointer(tensor: Tensor) -> ctypes._Pointer[ctypes.c_float]:
    return ctypes.cast(tensor.data_ptr(), Pointer)


@contextmanager
def floor(
    name: str, macros: Mapping[str, int], weights: Sequence[Tensor], inputs: Tensor, expected: Tensor, *,
    plans: int = 2, tolerance: float = 1e-3,
) -> Iterator[list[Candidate]]:  # fmt: skip
    """Yield the plans of a program by hand, each checked against `expected`. They time themselves."""
    flags = [*FLAGS, "-shared", "-fPIC", *(f"-D{key}={value}" for key, value in macros.items())]
    with built(DIRECTORY / f"{name}_floor.c", flags) as path:
        library = ctypes.CDLL(str(path))
        library.run.restype = ctypes.c_double
        held = [w.detach().contiguous() for w in weights]
        library.prepare((Pointer * len(held))(*map(_pointer, held)))
        x, out = inputs.contiguous(), torch.empty(expected.shape)
        yield [_plan(library, plan, x, out, expected, tolerance) for plan in range(plans)]
        del held, x, out


def _plan(
    library: ctypes.CDLL, plan: int, x: Tensor, out: Tensor, expected: Tensor, tolerance: float
) -> Candidate:
    seconds = 0.0

    def call() -> None:
        nonlocal seconds
        seconds = library.run(plan, _pointer(x), _pointer(out))

    call()
    torch.testing.assert_close(out, expected, atol=tolerance, rtol=tolerance)
    return Candidate(f"plan {plan}", call, lambda: seconds)


def fastest(times: dict[str, float]) -> float:
    """Return the time of the fastest plan, and remove the times of all plans from `times`."""
    return min(times.pop(name) for name in list(times) if name.startswith("plan "))
