"""One exit for each region of a program that is differentiated."""

from __future__ import annotations

from scriptc.ir.core import Module, Op
from scriptc.ir.passes import dce, single_exit
from scriptc.ir.regions import region_arguments
from scriptc.ir.rewrite import fits


def give_one_exit(module: Module) -> None:
    """Give every region one exit, and drop the second names that values get by it.

    In `if p: return y`, with `y += 1` and `return y` behind it, the one exit passes on `y` from either path. It then passes on
    `y` by its own name, so that gradients flow through the write.
    """
    single_exit.run(module, {})
    while any([_drop_second_names(op) for op in module.walk() if op.has("CONTROL")]):
        dce.run(module, {})


def _drop_second_names(op: Op) -> bool:
    """Use a value from outside of a region where all exits pass on this value, or were not taken. Return whether one was."""
    changed = False
    for argument in region_arguments(op):
        for name, sources in ((argument.inner, argument.into_inner), (argument.result, argument.into_result)):
            given = {v for o, i in sources if (v := o.operands[i]) is not name and (v.op is None or v.op.name != "undef")}
            if name is None or not name.uses or len(given) != 1:
                continue
            (value,) = given
            if fits(value, name) and not any(region.encloses(value.block) for region in op.regions):
                name.replace_all_uses(value)
                changed = True
    return changed
