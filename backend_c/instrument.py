"""Instrumented code: calls of `sc_profile_at` between the statements of the loop IR, one site for each line and kernel.

    %y = c.rows(%x) ...      sc_profile_at(cx, 3);
                             <the loop>
                             sc_profile_work(cx, 2 * (double)y->numel, 0);
                             sc_profile_tensors(cx, 2, (const sc_tensor *[]){y, x});

Kernels report what they do themselves; a loop over elements reports one operation for each of its expressions, and the
tensors that it reads and writes. Time between two sites belongs to the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scriptc.backend_c.locations import whole_lines
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS

# They make nothing happen where they stand.
_SILENT = frozenset(
    {"const", "undef", "c.weight", "c.view", "c.retain", "c.release", "loop", "if", "scope", "unreachable"}
)


@dataclass(frozen=True)
class Site:
    """A kernel called by a line of the user's source; "" is the code of that line outside of kernels."""

    loc: Loc
    kernel: str


def run(module: Module) -> list[Site]:
    """Instruments a module of the loop IR in place; the sites by their number."""
    sites: dict[Site, int] = {}
    for func in module.funcs.values():
        _block(func.body, sites)
    return list(sites)


def _block(block: Block, sites: dict[Site, int]) -> None:
    ops, at = list(block.ops), None
    block.ops.clear()
    for op in ops:
        kernel = _kernel(op)
        site = Site(whole_lines(op.loc), kernel)
        is_new = site != at and (kernel or at is None or site.loc != at.loc)
        if is_new and op.name not in _SILENT and not op.has("TERMINATOR"):
            _insert(block, op, "sc_profile_at", f"cx, {sites.setdefault(site, len(sites))}", [])
            at = site
        block.append(op)
        if op.name == "c.rows":
            _report_loop(block, op)
            continue
        for region in op.regions:
            _block(region, sites)
        if op.regions or op.name == "call":
            at = None  # what ran last is not known here


def _kernel(op: Op) -> str:
    if op.name == "c.call":
        return str(op.attrs["fn"]).removeprefix("sc_")
    if op.name != "c.rows":
        return ""
    texts = [o.attrs["text"] for o in _expressions(op)]
    names = [name for text in texts for name in re.findall(r"sc_(\w+?)_(?:[fui]\d+|bf16)\(", text)]
    return f"loop of {len(texts)}" + (f": {', '.join(dict.fromkeys(names))}" if names else "")


def _expressions(rows: Op) -> list[Op]:
    return [o for o in rows.regions[0].walk() if o.name == "c.expr"]


def _report_loop(block: Block, rows: Op) -> None:
    first = rows.results[0]
    _insert(block, rows, "sc_profile_work", f"cx, {len(_expressions(rows))} * (double){{0}}->numel, 0", [first])
    tensors = [*rows.results, *rows.operands]
    slots = ", ".join(f"{{{i}}}" for i in range(len(tensors)))
    _insert(block, rows, "sc_profile_tensors", f"cx, {len(tensors)}, (const sc_tensor *[]){{{{{slots}}}}}", tensors)


def _insert(block: Block, at: Op, fn: str, args: str, operands: list[Value]) -> None:
    block.append(Op(OPS["c.call"], operands, (), {"fn": fn, "args": args, "fails": "never"}, at.loc))
