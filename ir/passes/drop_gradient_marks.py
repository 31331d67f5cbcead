"""Drop the ops that only say how gradients flow, and the functions of users' backwards that they name.

    %s = sign(%x)                                                    =>    %s = sign(%x)
    %y = linked(%s, %x)                                                    %z = neg(%s)
    user_gradient(%y, %x) {backward = "Sign.backward", ...}                %b = mul(%z, %s)
    %z = neg(%y)
    %a = alias(%z)
    %b = mul(%a, %s)

Differentiation reads these ops, and stops at an `alias`, a detached tensor. All other code takes them for nothing, unless it
observes that an `alias` is another object.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import may_stand_for
from scriptc.ir.core import Module
from scriptc.ir.rewrite import fits


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for op in list(module.walk()):
        if op.name == "user_gradient":
            module.funcs.pop(op.attrs["backward"], None)
            op.erase()
            changed = True
        elif op.name in ("linked", "leaf", "leaf_argument", "with_data") and fits(op.operands[0], op.result):
            op.replace_with([op.operands[0]])
            changed = True
        elif op.name == "alias" and fits(op.operands[0], op.result) and may_stand_for(op.operands[0], op.result):
            op.replace_with([op.operands[0]])
            changed = True
    return changed
