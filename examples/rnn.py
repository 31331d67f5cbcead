"""The recurrent net that tracing cannot compile: it takes a list of any length. `make demo` runs this."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import List  # noqa: UP035 - torch.jit.script reads this annotation

import torch
from torch import Tensor, nn

import scriptc

BATCH, INPUT, HIDDEN, STEPS = 4, 16, 32, 10
OUT = Path("build/demo")


class TestModel(nn.Module):
    """The Elman net of the post "HyTorch: A Bare-Bones PyTorch Compiler"."""

    __test__ = False  # tells pytest that this is not a test

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hid_init = nn.Parameter(torch.zeros(1, hidden_dim))
        self.in_to_hid = nn.Linear(input_dim, hidden_dim)
        self.hid_to_hid = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, inputs: List[Tensor]) -> Tensor:  # noqa: UP006
        hid: Tensor = self.hid_init.repeat(inputs[0].shape[0], 1)
        for x in inputs:
            hid = torch.sigmoid(self.hid_to_hid(hid) + self.in_to_hid(x))
        return hid


def sequence(steps: int, batch: int) -> list[Tensor]:
    return [torch.randn(batch, INPUT) for _ in range(steps)]


def example_args() -> tuple[list[Tensor]]:
    return (sequence(STEPS, BATCH),)


model = TestModel(INPUT, HIDDEN)


def show_agreement(compiled: Callable[..., Tensor]) -> None:
    print("Agreement with eager, one compilation for all sizes:")
    for steps, batch in ((1, 1), (9, 4), (10, 4), (64, 9), (200, 3)):
        report = scriptc.compare(compiled, sequence(steps, batch)).check()
        distance = f"max abs {report.max_abs:.1e}, {report.max_ulp} ulp"
        print(f"  {steps:3} steps, batch {batch}: {distance}, {report.rows[0].verdict}")


def show_times(compiled: Callable[..., Tensor]) -> None:
    """Show medians of runs that take turns, so that a busy machine slows all of them."""
    (inputs,) = example_args()
    with torch.no_grad():
        scripted = torch.jit.freeze(torch.jit.script(model.eval()))
        calls = {"eager": model, "torch.jit.script, frozen": scripted, "scriptc": compiled}
        for call in calls.values():
            for _ in range(100):
                call(inputs)
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(50):
            for name, call in calls.items():
                start = time.perf_counter()
                for _ in range(20):
                    call(inputs)
                times[name].append((time.perf_counter() - start) / 20)
    eager = statistics.median(times["eager"])
    print(f"\nTime of a call ({STEPS} steps, batch {BATCH}, {INPUT} to {HIDDEN}, one thread):")
    for name, samples in times.items():
        middle = statistics.median(samples)
        print(f"  {name:26} {middle * 1e6:7.1f} us  {eager / middle:5.1f} x eager's speed")


def write_sources(compiled: Callable[..., Tensor]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("rnn.read.ir", compiled.ir(after="read")),
        ("rnn.ir", compiled.ir()),
        ("rnn.c", compiled.c_source()),
    ):
        (OUT / name).write_text(text)
    print(f"\nWhat it was compiled to: {OUT / 'rnn.read.ir'} (as read), {OUT / 'rnn.ir'} (optimized), {OUT / 'rnn.c'}")


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    compiled = scriptc.compile(model)
    show_agreement(compiled)
    show_times(compiled)
    write_sources(compiled)


if __name__ == "__main__":
    main()
