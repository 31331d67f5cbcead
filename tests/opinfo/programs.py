"""The Python of a user who calls an op with the arguments of a sample: one function per sample, in a file per op."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

LISTED = Path(__file__).parent.parent / "data" / "opinfo_ops.txt"

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


class NotWritten(Exception):
    """An argument that has no spelling in source."""


def op_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def listed_ops() -> dict[str, OpInfo]:
    """The ops that count, by name."""
    found = {op_name(op): op for op in op_db}
    return {name: found[name] for name in LISTED.read_text().split()}


@dataclass
class Written:
    """Arguments as source. `tensors` become parameters; all else is written out."""

    tensors: list[torch.Tensor] = field(default_factory=list)

    def text(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            for i, t in enumerate(self.tensors):
                if t is value:
                    return f"x{i}"
            self.tensors.append(value)
            return f"x{len(self.tensors) - 1}"
        if isinstance(value, (list, tuple)):
            items = [self.text(v) for v in value]
            if isinstance(value, list):
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, float):
            return repr(value) if abs(value) < float("inf") else f'float("{value}")'
        if value is None or isinstance(value, (bool, int, str, torch.dtype, torch.memory_format, torch.layout)):
            return repr(value)
        if isinstance(value, torch.device):
            return f'"{value}"'
        raise NotWritten(f"an argument is a {type(value).__name__}")

    def subscript(self, index: Any) -> str:
        """An index between brackets, where slices have a notation of their own."""
        if isinstance(index, tuple) and index:
            return ", ".join(self.subscript(i) for i in index) + ("," if len(index) == 1 else "")
        if isinstance(index, slice):
            parts = ["" if p is None else self.text(p) for p in (index.start, index.stop, index.step)]
            return ":".join(parts[:2] if index.step is None else parts)
        return self.text(index)


def _function(name: str) -> str | None:
    """The name under which torch has a function of the op."""
    obj: Any = torch
    for part in name.split("."):
        obj = getattr(obj, part, None)
    ours = callable(obj) and not isinstance(obj, (type, torch.dtype)) and not keyword.iskeyword(name)
    return f"torch.{name}" if ours else None


def call_text(op: OpInfo, sample: Any) -> tuple[str, list[torch.Tensor]]:
    """A call of the op with a sample's arguments, and the tensors in it."""
    written = Written()
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
        return text, written.tensors
    function = _function(op.name)
    if function is None or op.name in ("bfloat16", "bool", "double", "float", "half", "int", "long", "short"):
        receiver = first if first.isidentifier() else f"({first})"
        return f"{receiver}.{op.name}({', '.join([*args[1:], *named])})", written.tensors
    return f"{function}({', '.join([*args, *named])})", written.tensors


@dataclass
class Program:
    """A compilable function and the arguments of its call."""

    function: Callable[..., Any] | None
    args: list[torch.Tensor]
    text: str


def samples(op: OpInfo, dtype: torch.dtype, count: int) -> Iterator[Any]:
    generator = op.sample_inputs("cpu", dtype, requires_grad=False)
    for _, sample in zip(range(count), generator, strict=False):
        yield sample


def programs(op: OpInfo, dtype: torch.dtype, count: int, directory: Path) -> list[Program]:
    """The first samples of an op, each as a function in one file."""
    made: list[Program] = []
    lines = ["import torch", ""]
    for i, sample in enumerate(samples(op, dtype, count)):
        try:
            text, tensors = call_text(op, sample)
        except NotWritten as e:
            made.append(Program(None, [], str(e)))
            continue
        params = ", ".join(f"x{k}" for k in range(len(tensors)))
        lines += ["", f"def sample{i}({params}):", f"    return {text}", ""]
        made.append(Program(None, tensors, text))
    stem = "op_" + "".join(c if c.isalnum() else "_" for c in op_name(op)) + f"_{dtype}".replace("torch.", "")
    path = directory / f"{stem}.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location(stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    for i, program in enumerate(made):
        program.function = getattr(module, f"sample{i}", None)
    return made
