"""The op library by PyTorch's own samples (`op_db`): each called in a compiled function as a user would."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core
from torch.testing._internal.opinfo.core import OpInfo

from .command import Measure
from .outcome import Program
from .source import Written, functions

# For each sample, torch searches the stack for a test of `unittest`, which takes longer than the sample. There is none here.
core.extract_test_fn = common_utils.extract_test_fn = lambda: None  # type: ignore[attr-defined, assignment]

LISTED = Path(__file__).parent.parent / "data" / "opinfo_ops.txt"

DTYPES = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "int8", "uint8", "int16", "int32",
          "complex64")  # fmt: skip

# What users write where the op's own name, called on the sample's arguments, is not it.
_SPELLED = {
    "T": "{0}.T", "H": "{0}.H", "mT": "{0}.mT", "mH": "{0}.mH",
    "__getitem__": "{0}[{1}]",
    "slice": "torch.ops.aten.slice.Tensor({*})",
    "einsum": "torch.einsum({1}, {0})",
    "where": "torch.where({1}, {0}, {2})",
    "zero_": "torch.zero_({0}.clone())",
    "nn.functional.embedding": "torch.nn.functional.embedding({1}, {0}{rest})",
    "nn.functional.embedding_bag": "torch.nn.functional.embedding_bag({1}, {0}{rest})",
}  # fmt: skip


def op_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


OPS = {op_name(op): op for op in op_db}


def listed(dtype: str) -> list[str]:
    """The ops that count, of those that take the dtype."""
    names = LISTED.read_text().split()
    return [name for name in names if OPS[name].supports_dtype(getattr(torch, dtype), "cpu")]


def _function(name: str) -> str | None:
    """The name under which torch has a function of the op."""
    obj: Any = torch
    for part in name.split("."):
        obj = getattr(obj, part, None)
    ours = callable(obj) and not isinstance(obj, (type, torch.dtype)) and not keyword.iskeyword(name)
    return f"torch.{name}" if ours else None


def call_text(op: OpInfo, sample: Any, written: Written) -> str:
    """A call of the op with a sample's arguments."""
    first = written.text(sample.input)
    if op.name == "__getitem__":
        args = [first, written.subscript(sample.args[0])]
    else:
        args = [first, *map(written.text, sample.args)]
    named = [f"{k}={written.text(v)}" for k, v in sample.kwargs.items()]
    if op.name in ("polygamma", "special.polygamma"):
        args[:2] = reversed(args[:2])
    if op.name in _SPELLED:
        rest = "".join(f", {a}" for a in (*args[2:], *named))
        text = _SPELLED[op.name].replace("{*}", ", ".join([*args, *named])).replace("{rest}", rest)
        for i, arg in enumerate(args):
            text = text.replace(f"{{{i}}}", arg)
        return text
    function = _function(op.name)
    if function is None or op.name in ("bfloat16", "bool", "double", "float", "half", "int", "long", "short"):
        receiver = first if first.isidentifier() else f"({first})"
        return f"{receiver}.{op.name}({', '.join([*args[1:], *named])})"
    return f"{function}({', '.join([*args, *named])})"


def samples(op: OpInfo, dtype: torch.dtype, count: int) -> Iterator[Any]:
    generator = op.sample_inputs("cpu", dtype, requires_grad=False)
    for _, sample in zip(range(count), generator, strict=False):
        yield sample


def programs(name: str, dtype: str, count: int, directory: Path) -> list[Program]:
    """The first samples of an op, each as a function in one file."""
    op = OPS[name]
    calls = [lambda w, s=s: call_text(op, s, w) for s in samples(op, getattr(torch, dtype), count)]
    return functions(f"op_{name}_{dtype}", calls, directory)


MEASURE = Measure(
    package="tests.opinfo",
    variants=DTYPES,
    names=listed,
    calls=programs,
    samples=6,
    title="Functions in {variant}",
    intro="`python -m tests.opinfo --variant {variant}`: PyTorch's own samples (`op_db`), the first {count} of each function, "
    "each called in a compiled function. Of the 540 functions that count, {total} take {variant}; {passed} of these agree "
    "with eager in value, dtype and shape on every sample.",
)
