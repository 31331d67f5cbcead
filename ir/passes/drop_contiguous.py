"""A new tensor that is put into plain order stays as it is where it has that already, or where nobody can tell.

    %m = where(%mask, %zero, %x)                      %m = where(%mask, %zero, %x)
    %p = plain(%m)                              =>    %s = softmax(%m) {dim = 1}
    %s = softmax(%p) {dim = 1}

Eager writes the results of some ops, `masked_fill` among them, into new tensors, whatever the strides of their operands; so the
front end puts `plain` behind what these consist of. On the way to results whose strides do not follow from theirs it is not
needed, and what comes next can fuse with what is in front.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import is_fresh
from scriptc.ir.core import Module, Op
from scriptc.ir.layouts import Layouts

NAME = "drop_contiguous"


def _is_on_new(op: Op) -> bool:
    """Return whether an op puts a tensor into plain order that is new and used for nothing else."""
    return op.name == "plain" and is_fresh(op.operands[0]) and len(op.operands[0].uses) == 1


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        ops = [op for op in func.body.walk() if _is_on_new(op)]
        layouts = Layouts(func.body, ops)
        for op in ops:
            made = op.operands[0]
            if made in layouts.plain or layouts.strides_are_free(op.result):
                op.result.replace_all_uses(made)
                op.erase()
                changed = True
    return changed
