"""Differentiate `try`: backward code goes through the region that gave the results, the body or the handlers.

    %y, %ok = try() do {                     if %ok {
      %a = inv(%x)                             ... (backward code of the body)
      yield(%a, true)                 =>     } else {
    } do (%error: exc) {                       ... (backward code of the handlers)
      %b = pinv(%x)                          }
      yield(%b, false)
    }

A body that raised has computed values that reach other code through cells and writes alone. Both are refused, unless nothing in
the body may raise behind them: a body that raised has then not come so far.
"""

from __future__ import annotations

from collections.abc import Collection

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.recompute import writes_outside
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.regions import ancestor_in, is_loop, may_raise
from scriptc.ir.types import BOOL, TensorType, is_subtype


def add_completed(op: Op) -> Value:
    """Add a result to a `try`, and return it: whether the body ran to its end."""
    for region, completed in zip(op.regions, (True, False), strict=True):
        last = region.ops[-1]
        if last.name == "yield":
            last.set_operands([*last.operands, Builder.before(last).const(completed, op.loc)])
    op.results.append(Value(BOOL, op, "completed"))
    return op.results[-1]


def refuse_partial_effects(op: Op, active: Collection[Value]) -> None:
    """Refuse writes in the body of a `try` to values with gradients from outside, if the body may raise behind them."""
    body = op.regions[0]
    for inner in body.walk():
        if inner.defn.writes & {"tensor", "list"} and inner.operands and inner.operands[0] in active:
            if writes_outside(inner, body) and not _is_last(inner, body):
                raise not_differentiable(inner, "a write in a `try`, which may raise later", "write behind the `try`")


@reverses("cell.get")
def refuse_cell(reversal: Reversal, level: Level, op: Op) -> None:
    raise not_differentiable(op, "a variable that a `try` sets before it may raise", "set it at the end of the `try`")


def forward_cells(func: Func) -> None:
    """Let handlers read what a variable was before the `try`, where the body sets the variable when nothing more may raise."""
    for op in [op for op in func.body.walk() if op.name == "cell.get"]:
        before = _before_try(op)
        if before is not None:
            op.replace_with([before])


def _before_try(op: Op) -> Value | None:
    """Return what a cell held before a `try`, if it does so when a handler reads it."""
    made = op.operands[0].op
    if made is None or made.name != "cell.new" or made.parent is None or op.parent is None:
        return None
    around = ancestor_in(made.parent, op)
    if around is None or around.name != "try" or not around.regions[1].encloses(op.parent):
        return None
    others = [user for user in made.result.users() if user.name != "cell.get"]
    if any(user.name != "cell.set" or not _is_last(user, around.regions[0]) for user in others):
        return None
    before, want = made.operands[0], op.result.type
    fits = before.type == want or (isinstance(want, TensorType) and is_subtype(before.type, want))
    return before if fits or all(user.name == "yield" for user in op.result.users()) else None


def _is_last(op: Op, body: Block) -> bool:
    """Return whether an op is in a block, in no loop there, and nothing in the block that runs behind the op may raise."""
    at: Op | None = op
    while at is not None and at.parent is not None and not is_loop(at):
        block = at.parent
        if any(_may_raise(inner) for later in block.ops[block.ops.index(at) + 1 :] for inner in later.walk()):
            return False
        if block is body:
            return True
        at = block.parent
    return False


def _may_raise(op: Op) -> bool:
    """Return whether an op may raise while there is memory."""
    return may_raise(op) and op.name != "list.append"
