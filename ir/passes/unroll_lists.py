"""Write out loops of few iterations that take items of lists, or add to them.

    %a = list.new(%p, %q)                             %a = list.new(%p, %q)
    %b = list.new()                                   %b = list.new()
    loop L %i = 0 to 2 step 1 {                       %x = list.at(%a, 0)
      %x = list.at(%a, %i)                 =>         %y = tanh(%x)
      %y = tanh(%x)                                   list.append(%b, %y)
      list.append(%b, %y)                             %x1 = list.at(%a, 1)
    }                                                 %y1 = tanh(%x1)
                                                      list.append(%b, %y1)

`split_lists` calls it, which finds the loops' counts, and needs the items of %b.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import inline
from scriptc.ir.core import Module, Op
from scriptc.ir.ranges import constant_int, iterations
from scriptc.ir.regions import exits
from scriptc.ir.rewrite import Rewriter, fits, on, rewrite
from scriptc.ir.types import ListType

_MOST_ITERATIONS = 8
_MOST_OPS = 256  # in all iterations of a loop


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [unroll])


@on("loop")
def unroll(op: Op, rw: Rewriter) -> bool:
    """Write out the iterations of a loop that has no jumps to its own label, and no loops and scopes inside."""
    n, (body,) = iterations(op), op.regions
    inside = list(body.walk())
    if n is None or n > _MOST_ITERATIONS or n * len(inside) > _MOST_OPS or not any(map(_takes_list, inside)):
        return False
    if exits(op) != [body.ops[-1]] or body.ops[-1].name != "yield" or any("label" in inner.attrs for inner in inside):
        return False
    carried, final = body.args[1:], body.ops[-1].operands
    if not all(map(fits, [*op.operands[3:], *final], [*carried, *carried])):
        return False
    start, _, step = map(constant_int, op.operands[:3])
    assert start is not None and step is not None
    builder, values = Builder.before(op), tuple(op.operands[3:])
    for i in range(n):
        values = inline(builder, body, [builder.const(start + i * step, op.loc), *values], None, lambda: "")
    rw.replace(op, values)
    return True


def _takes_list(op: Op) -> bool:
    return any(isinstance(v.type, ListType) and not v.type.is_tuple for v in op.operands)
