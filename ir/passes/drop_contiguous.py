"""Drop `plain` of a new tensor that is plain already, or whose strides are not observable.

    %m = where(%mask, %zero, %x)                      %m = where(%mask, %zero, %x)
    %p = plain(%m)                              =>    %s = softmax(%m) {dim = 1}
    %s = softmax(%p) {dim = 1}

Eager writes the results of some ops, such as `masked_fill`, into new contiguous tensors, so the front end builds `plain` behind
the ops that stand for them. If all results have strides of their own, `plain` is not needed, and the ops around it can fuse.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import is_fresh
from scriptc.ir.core import Module, Op
from scriptc.ir.layouts import Layouts


def _is_on_new(op: Op) -> bool:
    """Return whether an op puts a new tensor, which has no other use, into plain order."""
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
