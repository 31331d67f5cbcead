"""Types of the gradients that branches and loops pass on: what all paths know of their sizes."""

from __future__ import annotations

from scriptc.ir.core import Block, Value
from scriptc.ir.regions import region_arguments
from scriptc.ir.types import OptionalType, Type, join


def join_types(block: Block) -> None:
    """Widen the types of values that come from several paths, until they hold on each path."""
    changed = True
    while changed:
        changed = False
        for op in block.walk():
            for argument in region_arguments(op):
                for to, sources in ((argument.inner, argument.into_inner), (argument.result, argument.into_result)):
                    for user, i in sources if to is not None else ():
                        changed |= to is not None and _widen(to, user.operands[i].type)
            if op.name == "optional.unwrap" and isinstance(op.operands[0].type, OptionalType):
                changed |= _widen(op.result, op.operands[0].type.item)


def _widen(value: Value, more: Type) -> bool:
    """Join the type of a value with another one, and return whether it has changed."""
    before, value.type = value.type, join(value.type, more)
    return value.type != before
