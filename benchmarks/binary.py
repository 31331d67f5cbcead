"""Binarized layers beside the same in float32, both compiled by scriptc, and beside intrinsics by hand; one thread."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from benchmarks.harness import Candidate, medians, microseconds, pin, save


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--samples", type=int, default=51)
    parser.add_argument("--json", type=Path, help="write the times there")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn

    import scriptc
    from benchmarks.floors import fastest, floor

    torch.manual_seed(0)
    torch.set_num_threads(1)

    def signs(x: Tensor) -> Tensor:
        return torch.where(x > 0, 1.0, -1.0)

    class Linear(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight)

    class BinaryLinear(Linear):
        def forward(self, x: Tensor) -> Tensor:
            return F.linear(signs(x), signs(self.weight))

    class Conv(nn.Conv2d):
        def forward(self, x: Tensor) -> Tensor:
            return F.conv2d(x, self.weight, padding=1)

    class BinaryConv(Conv):
        def forward(self, x: Tensor) -> Tensor:
            return F.conv2d(signs(x), signs(self.weight), padding=1)

    class Layers(nn.Module):
        """Some convolutions, each with a BatchNorm behind."""

        def __init__(self, conv: type[Conv], channels: int, count: int) -> None:
            super().__init__()
            self.convs = nn.ModuleList(conv(channels, channels, 3, bias=False) for _ in range(count))
            self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(count))
            for norm in self.norms:  # sums of signs are about as large as the root of their terms
                norm.running_mean.normal_(0, 20)
                norm.running_var.uniform_(500, 3000)

        def forward(self, x: Tensor) -> Tensor:
            for conv, norm in zip(self.convs, self.norms, strict=True):
                x = norm(conv(x)) if isinstance(conv, BinaryConv) else F.relu(norm(conv(x)))
            return x

    n, side, channels = 4096, 14, 256
    sizes = {"TERMS": n, "FILTERS": n}
    cases: list[tuple[str, Callable[[], nn.Module], Callable[[], nn.Module], tuple[int, ...], dict[str, int]]] = [
        (f"linear {n} to {n}, {rows} rows", lambda: BinaryLinear(n, n, False), lambda: Linear(n, n, False), (rows, n),
         {**sizes, "ROWS_OF_X": rows})
        for rows in (1, 256)
    ]  # fmt: skip
    cases.append((
        f"3 x 3 convolution, {channels} x {side} x {side}", lambda: BinaryConv(channels, channels, 3, bias=False),
        lambda: Conv(channels, channels, 3, bias=False), (1, channels, side, side),
        {"TERMS": channels, "FILTERS": channels, "SIDE": side},
    ))  # fmt: skip
    cases.append((
        "4 of these convolutions and BatchNorm", lambda: Layers(BinaryConv, channels, 4), lambda: Layers(Conv, channels, 4),
        (1, channels, side, side), {},
    ))  # fmt: skip
    print("us a call | float32 | binary | by hand | float32 / binary | binary / by hand")
    results = {}
    for title, make_binary, make_float, shape, macros in cases:
        binary, plain, x = make_binary().eval(), make_float().eval(), torch.randn(shape)
        calls = {"binary": scriptc.compile(binary, freeze=True), "float32": scriptc.compile(plain, freeze=True)}
        with torch.no_grad():
            expected = binary(x)
            if not torch.equal(calls["binary"](x), expected):
                raise SystemExit("the results differ")
            ours = [Candidate(name, lambda call=call, x=x: call(x)) for name, call in calls.items()]  # type: ignore[misc]
            given = {**macros, "BATCH": 1, "INPUT": 1, "HIDDEN": 16, "STEPS": 1}
            weights = list(binary.parameters())
            with floor("binary", given, weights, x, expected, plans=1, tolerance=0.0) if macros else nullcontext([]) as plans:
                by_hand = [Candidate(plan.name, plan.call) for plan in plans]  # in the thread's time, as the others
                times = medians([*ours, *by_hand], samples=options.samples, timer=time.thread_time)
        hand = fastest(times) if macros else None
        results[title] = {**times, "by hand": hand}
        shown = [microseconds(t) for t in (times["float32"], times["binary"], hand)]
        ratios = [f"{times['float32'] / times['binary']:.1f}", f"{times['binary'] / hand:.2f}" if hand else "-"]
        print(" | ".join([title, *shown, *ratios]), flush=True)
    save(options.json, results)
