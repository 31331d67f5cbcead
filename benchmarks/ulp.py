"""The error of the float functions over all float32 inputs, or every n-th, against float64, beside eager's own error
over every 16th of these inputs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import save
from scriptc.inspect.text_table import table

if TYPE_CHECKING:
    from torch import Tensor

    Function = Callable[[Tensor], Tensor]

BLOCK = 1 << 14  # inputs at a time: in double, with the temporaries of the distances, they fit the L2 cache
SPARSE = 16  # eager computes every 16th input, since it takes longest
BOUND = 4.0  # the largest accepted error in ulp, unless twice eager's at the same input is larger


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--step", type=int, default=1, help="take every n-th input (default: all, a minute a function)")
    command.add_argument("--only", default="", metavar="NAME", help="this function alone")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    import torch

    import scriptc
    from benchmarks.ulp_cases import CASES

    torch.set_num_threads(1)
    errors: dict[str, list[float]] = {}
    with torch.no_grad():
        for case in (case for case in CASES if options.only in ("", case.name)):
            worst = [Worst(scriptc.compile(case.function), 1), Worst(case.function, SPARSE)]
            for bits in blocks(options.step):
                x = bits.view(torch.float32)
                exact = case.exact(x.double())
                for one in worst:
                    one.see(x, exact)
            ours, eager = worst
            errors[case.name] = [ours.error, ours.place, eager.at(ours.place, case.exact), eager.error, eager.place]
            print(f"{case.name}: {ours}, eager {eager}", file=sys.stderr, flush=True)
    rows = [[name, f"{e:.3f}", f"{at:.9g}", f"{e2:.3f}", f"{e3:.3f}"] for name, (e, at, e2, e3, _) in errors.items()]
    print(table(["function", "scriptc, ulp", "at", "eager there", "eager's largest"], rows, right=range(1, 5)))
    save(options.json, errors)
    sys.exit(any(e > max(BOUND, 2 * e2) for e, _, e2, _, _ in errors.values()))


def blocks(step: int) -> Iterator[Tensor]:
    """Yield every `step`-th bit pattern of float32, after the special values."""
    import torch

    yield torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45]).view(torch.int32)
    for start in range(-(1 << 31), 1 << 31, BLOCK * step):
        yield torch.arange(start, min(start + BLOCK * step, 1 << 31), step, dtype=torch.int64).to(torch.int32)


class Worst:
    """The largest error of a function so far, and where it was."""

    def __init__(self, function: Function, step: int) -> None:
        self.function, self.step, self.error, self.place = function, step, 0.0, 0.0

    def see(self, x: Tensor, exact: Tensor) -> None:
        x, exact = x[:: self.step].contiguous(), exact[:: self.step].contiguous()
        off = distances(self.function(x), exact)
        largest = off.max().item()
        if largest > self.error:
            self.error, self.place = largest, x[off.argmax()].item()

    def at(self, place: float, exact: Function) -> float:
        """Return the error at one input, computed in a block, since eager has other code for single elements."""
        import torch

        x = torch.full((BLOCK,), place)
        return distances(self.function(x), exact(x.double())).max().item()

    def __str__(self) -> str:
        return f"{self.error:.3f} ulp at {self.place:.9g}"


def distances(y: Tensor, exact: Tensor) -> Tensor:
    """Return distances in units of the last place that float32 has at the exact value."""
    import torch

    exponents = exact.view(torch.int64) & 0x7FF0000000000000
    units = exponents.view(torch.float64).mul_(2.0**-23).clamp_(min=2.0**-149)
    off = y.double().sub_(exact).abs_().div_(units)
    if math.isfinite(off.max().item()):
        return off
    if torch.equal(y, exact.float()) or (y.isnan().all() and exact.isnan().all()):
        return torch.zeros_like(off)
    return _at_the_ends(off, y, exact)


def _at_the_ends(off: Tensor, y: Tensor, exact: Tensor) -> Tensor:
    """Return distances where a side is NaN or infinite.

    Two NaNs, or two values that round to the same infinity, have distance 0. Infinity counts as 2^128 beside a finite
    number. A NaN is infinitely far from a number.
    """
    import torch

    rounded = exact.float()
    end = 2.0**128
    apart = (y.double().clamp(-end, end) - exact.clamp(-end, end)).abs() / 2.0**104
    off = torch.where(y.isinf() | rounded.isinf(), apart, off)
    off = torch.where(y == rounded, off.nan_to_num(0.0).clamp(max=0.5), off)
    return torch.where(y.isnan() | rounded.isnan(), torch.where(y.isnan() & rounded.isnan(), 0.0, math.inf), off)
