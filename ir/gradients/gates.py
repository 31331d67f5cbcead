"""Gates: a value whose gradient flows on one path alone. A gate is the `if` that a value becomes the result of while its
function is differentiated.

    %y = tanh(%h)                          %y = tanh(%h)
                                           %z = if %open {
                                             yield(%y)
                                     =>    } else {
                                             %d = alias(%y)
                                             yield(%d)
                                           }
    return(%y)                             return(%z)

No gradient flows through `alias`. So the backward code of all that %y alone needs is built in a branch of `if %open`
(branches.py), where backward code says what %open is. Forward code loses the gate again.
"""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.loc import Loc


def add_gate(builder: Builder, value: Value, loc: Loc) -> Op:
    """Build the gate of a value. Its operand stands for the condition, and its result for the value."""
    then, orelse = Block(), Block()
    Builder(then).op("yield", [value], loc)
    inner = Builder(orelse)
    inner.op("yield", [inner.build("alias", [value], loc)], loc)
    condition = builder.const(True, loc)
    return builder.op("if", [condition], loc, regions=[then, orelse], types=[value.type], names=[value.name])


def remove_gate(gate: Op) -> None:
    """Put the value itself in the place of its gate."""
    condition = gate.operands[0].op
    gate.replace_with([gate.regions[0].ops[-1].operands[0]])
    if condition is not None:
        condition.detach()
