"""The functions of the runtime that the C of a module calls, by which it is linked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from scriptc.ir.core import Module, Op
from scriptc.ir.ops import OPS
from scriptc.runtime.kernels import KERNELS

# What the printer of an op calls beside the op's own kernel.
_PRINTED = {
    "c.rows": ("sc_iter_begin", "sc_iter_over", "sc_iter_next"), "c.new": ("sc_empty", "sc_take"), "c.release": ("sc_release",),
    "c.set": ("sc_release",), "c.stop": ("sc_check_stop",), "reraise": ("sc_reraise",),
}  # fmt: skip


def called_kernels(module: Module) -> frozenset[str]:
    """Return the kernels that a module of the loop IR calls."""
    return frozenset(kernel for op in module.walk() for kernel in _called(op))


def _called(op: Op) -> Iterator[str]:
    yield from _PRINTED.get(op.name, ())
    if "kernel" in op.attrs:
        yield op.attrs["kernel"]
    if op.name == "raise":
        yield "sc_raise_text" if op.operands else "sc_raise"
    if op.defn.raises:
        yield "sc_fail_at"
    if op.has("EXPRESSION"):
        yield from _named(op.attrs.get("of", op.name))


@cache
def _named(row: str) -> frozenset[str]:
    """The kernels in the templates of a row."""
    c = OPS[row].c
    texts = [c] if isinstance(c, str) else (c or {}).values()
    return frozenset(word for text in texts for word in re.findall(r"\w+", text) if word in KERNELS)
