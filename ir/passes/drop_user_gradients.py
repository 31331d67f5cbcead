"""Drop the ops that say how gradients flow through a user's `autograd.Function`, and the functions that they name.

    %s = sign(%x)                                                    =>    %s = sign(%x)
    %y = linked(%s, %x)                                                    %z = neg(%s)
    user_gradient(%y, %x) {backward = "Sign.backward", ...}
    %z = neg(%y)

Differentiation reads these ops. All other code takes them for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.core import Module
from scriptc.ir.rewrite import fits


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for op in list(module.walk()):
        if op.name == "user_gradient":
            module.funcs.pop(op.attrs["backward"], None)
            op.erase()
            changed = True
        elif op.name == "linked" and fits(op.operands[0], op.result):
            op.replace_with([op.operands[0]])
            changed = True
    return changed
