"""Replace conditions by constants where the branch that was taken tells what they are.

    if %c {                              if %c {
      %y = if %c {                         %t = const true
        yield(%a)                 =>       %y = if %t {
      } else {                               yield(%a)
        yield(%b)                          } else { ...
      }

    if %c {                              if %c {
      return(%a)                           return(%a)
    } else {                             } else {
      yield()                     =>       yield()
    }                                    }
    %n = bool.not(%c)                    %f = const false
                                         %n = bool.not(%f)

A branch in which `int.eq(%tag, %k)` holds for a constant `%k` tells what `%tag` is as well. `fold` then drops the branches that
are never taken. Operands of terminators stay, as no op of the function becomes simpler by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ranges import UNKNOWN, constant, constant_int
from scriptc.ir.regions import exits
from scriptc.ir.types import INT


def _facts(condition: Value, holds: bool) -> Iterator[tuple[Value, bool | int]]:
    """Yield the values that a truth value of a condition determines, with what they are."""
    if constant(condition) is not UNKNOWN:
        return
    yield condition, holds
    op = condition.op
    if op is None:
        return
    if op.name == "bool.not":
        yield from _facts(op.operands[0], not holds)
    elif op.name == ("bool.and_" if holds else "bool.or_"):
        for part in op.operands:
            yield from _facts(part, holds)
    elif op.name == ("int.eq" if holds else "int.ne"):
        for value, other in (op.operands, op.operands[::-1]):
            number = constant_int(other)
            if number is not None and value.type == INT and constant(value) is UNKNOWN:
                yield value, number


def _position(user: Op, block: Block) -> Op | None:
    """Return the op of `block` that is a user, or encloses one by control flow alone; else None."""
    at: Op | None = user
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
        if at is not None and not at.has("CONTROL"):
            return None
    return at


def _replace(value: Value, known: bool | int, block: Block, start: int, choice: Op) -> bool:
    """Replace the uses of a value by ops of `block` from `start` on, and by ops inside these."""
    if value.users() == [choice]:
        return False
    uses = [(user, i, _position(user, block)) for (_, i), user in value.uses.items() if not user.has("TERMINATOR")]
    inside = [(user, i) for user, i, at in uses if at is not None and block.ops.index(at) >= start]
    if inside:
        new = Builder(block, start).const(known, choice.loc)
        for user, i in inside:
            user.set_operand(i, new)
    return bool(inside)


def _propagate(choice: Op) -> bool:
    changed = False
    leaving = [t.parent for t in exits(choice)]
    goes_on = [any(t is not None and region.encloses(t) for t in leaving) for region in choice.regions]
    for branch, region in enumerate(choice.regions):
        for value, known in list(_facts(choice.operands[0], branch == 0)):
            changed |= _replace(value, known, region, 0, choice)
            if goes_on[branch] and not goes_on[1 - branch] and choice.parent is not None:
                changed |= _replace(value, known, choice.parent, choice.parent.ops.index(choice) + 1, choice)
    return changed


def run(module: Module, options: Mapping[str, int]) -> bool:
    return any([_propagate(op) for op in list(module.walk()) if op.name == "if"])
