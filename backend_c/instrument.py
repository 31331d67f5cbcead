"""Instrumentation: calls of `sc_profile_at` between the statements of the loop IR, one site for each line and kernel.

    %y = c.rows(%x) ...      sc_profile_at(cx, 3);
                             <the loop>
                             sc_profile_work(cx, 2 * (double)y->numel, 8 * (double)y->numel);

Kernels report their own work. A loop over elements reports one operation for each of its expressions, and the bytes
that it loads and stores. The time between two sites belongs to the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from scriptc.backend_c.arguments import Args
from scriptc.backend_c.locations import whole_lines
from scriptc.backend_c.op_templates import template
from scriptc.ir.core import Block, Module, Op
from scriptc.ir.dtypes import SIZES
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.types import FLOAT, ElemType, PtrType

# Ops that print no statement of their own that takes time.
_SILENT = frozenset(
    "const undef c.weight c.activation c.view c.retain c.release c.cell c.stop loop if scope try unreachable".split()
)
_LOOPS = frozenset({"c.rows", "c.for"})


@dataclass(frozen=True)
class Site:
    """A kernel called by a line of the user's source; "" is the code of that line outside of kernels."""

    loc: Loc
    kernel: str


def instrument(module: Module) -> list[Site]:
    """Instrument a module of the loop IR in place, and return the sites by number."""
    sites: dict[Site, int] = {}
    for func in module.funcs.values():
        _block(func.body, sites)
    return list(sites)


def _block(block: Block, sites: dict[Site, int]) -> None:
    ops, at = list(block.ops), None
    block.ops.clear()
    for index, op in enumerate(ops):
        kernel = _kernel(_op_around(ops, index))
        site = Site(whole_lines(op.loc), kernel)
        is_new = site != at and (kernel or at is None or site.loc != at.loc)
        if is_new and op.name not in _SILENT and not op.has("TERMINATOR"):
            _call(block, op, "sc_profile_at", Args(sites.setdefault(site, len(sites))))
            at = site
        block.append(op)
        if op.name in _LOOPS:
            _report_loop(block, op)
        if op.name in _LOOPS or op.name == "c.activation":
            continue
        for region in op.regions:
            _block(region, sites)
        if op.regions or op.name == "call":
            at = None  # which site ran last is unknown here


def _op_around(ops: list[Op], index: int) -> Op:
    """Return the op that an op is a part of: itself, or a later op.

    A c.unwind belongs to the op that may fail, a c.new to the loop that fills the tensor.
    """
    op = ops[index]
    if op.name == "c.unwind":
        return _op_around(ops, index + 1)
    if op.name == "c.new":
        return next((o for o in ops[index:] if o.name == "c.for" and o.loc == op.loc), op)
    return op


def _kernel(op: Op) -> str:
    if op.name == "c.call":
        return str(op.attrs["kernel"]).removeprefix("sc_")
    if op.name not in _LOOPS:
        return ""
    computed = _expressions(op)
    names = [str(o.attrs["of"]) for o in computed if o.name == "c.expr" and _calls_runtime(o)]
    return f"loop of {len(computed)}" + (f": {', '.join(dict.fromkeys(names))}" if names else "")


def _calls_runtime(op: Op) -> bool:
    return any(word.startswith("sc_") for word in template(op).words)


def _expressions(loop: Op) -> list[Op]:
    """Return the expressions that a loop computes for each element."""
    ops = [o for o in loop.regions[0].walk() if o.name in ("c.expr", "c.cast")]
    return [o for o in ops if isinstance(o.result.type, ElemType)]


def _report_loop(block: Block, loop: Op) -> None:
    """Append the report of a loop that makes a tensor. A loop that stores into parts of others reports nothing."""
    made = (
        loop.results[0]
        if loop.results
        else next((v for v in loop.operands if v.op is not None and v.op.name == "c.new"), None)
    )
    if made is None:
        return
    moved = 0
    for op in loop.regions[0].walk():
        if op.name in ("c.load", "c.store"):
            pointer = op.operands[0].type
            assert isinstance(pointer, PtrType)
            moved += SIZES[pointer.dtype]
    work = [
        block.append(Op(OPS["c.work"], [made], [FLOAT], {"factor": factor}, loop.loc)).result
        for factor in (len(_expressions(loop)), moved)
    ]
    _call(block, loop, "sc_profile_work", Args(*work))


def _call(block: Block, at: Op, kernel: str, args: Args) -> None:
    block.append(Op(OPS["c.call"], args.operands, (), {"kernel": kernel, "args": tuple(args.entries)}, at.loc))
