"""The core ATen set: 193 overloads, each called by its name. Arguments are PyTorch's samples of the function of that name,
as far as the overload takes them, else those of `core_samples`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from .command import Measure
from .core_samples import SAMPLES
from .opinfo import OPS
from .outcome import Program
from .source import Written, functions

LISTED = Path(__file__).parent.parent / "data" / "core_aten.txt"


def listed(variant: str) -> list[str]:
    return [line.removeprefix("aten.") for line in LISTED.read_text().split()]


def _op(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def _arguments(name: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """(args, kwargs) that the overload takes."""
    if name in SAMPLES:
        yield from ((given, {}) if isinstance(given, tuple) else tuple(given) for given in SAMPLES[name]())
        return
    packet = name.partition(".")[0]
    for op in OPS.values():
        if packet in (op.name, op.aten_name):
            dtype = torch.float32 if op.supports_dtype(torch.float32, "cpu") else torch.int64
            for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
                yield (sample.input, *sample.args), sample.kwargs


def _takes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    op = _op(name)
    kinds = [str(a.type) for a in op._schema.arguments]  # eager also takes tensors for numbers
    if any(isinstance(a, torch.Tensor) and k in ("number", "int", "float") for a, k in zip(args, kinds, strict=False)):
        return False
    try:
        op(*args, **kwargs)
    except Exception:
        return False
    return True


def call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], written: Written) -> str:
    texts = [*map(written.text, args), *(f"{k}={written.text(v)}" for k, v in kwargs.items())]
    return f"torch.ops.aten.{name}({', '.join(texts)})"


def programs(name: str, variant: str, count: int, directory: Path) -> list[Program]:
    found = ((args, kwargs) for args, kwargs in _arguments(name) if _takes(name, args, kwargs))
    calls = [
        lambda w, a=args, k=kwargs: call_text(name, a, k, w)
        for _, (args, kwargs) in zip(range(count), found, strict=False)
    ]
    return functions(f"aten_{name}", calls, directory)


MEASURE = Measure(
    package="tests.coreaten",
    variants=("float32",),
    names=listed,
    calls=programs,
    samples=6,
    title="Core ATen",
    intro="`python -m tests.coreaten`: the overloads of the core ATen set, called as `torch.ops.aten.NAME.OVERLOAD`, the first "
    "{count} samples of each. {passed} of {total} agree with eager.",
)
