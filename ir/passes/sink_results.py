"""Compute behind a loop what is computed in each iteration and needed of the last one alone.

    %h1, %y1 = loop L %i = %a to %n step 1               %h1 = loop L %i = %a to %n step 1
        carry (%h = %s, %y = %z) {                           carry (%h = %s) {
      %g = ...                                             %g = ...
      %v = linear_packed(%g, %p, %b)              =>       yield(%g)
      yield(%g, %v)                                      }
    }                                                    %any = int.lt(%a, %n)
                                                         %y1 = if %any {
                                                           %v = linear_packed(%h1, %p, %b)
                                                           yield(%v)
                                                         } else {
                                                           yield(%z)
                                                         }

The loop must be counted, and leave with this value at each exit. What it is computed from is carried too, or is defined in
front of the loop, or is itself computed for nothing else. A product whose largest element alone is used in the loop is computed
there as well, unless an estimate finds that element (estimate_products.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import interferes, is_invariant, writers
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.passes.estimate_products import Estimates
from scriptc.ir.ranges import constant_int, iterations
from scriptc.ir.regions import RegionArgument, is_loop, region_arguments
from scriptc.ir.types import TensorType


class _Sinker:
    def __init__(self, loop: Op, estimates: Estimates | None):
        self.loop = loop
        self.estimates = estimates
        self.arguments = [a for a in region_arguments(loop) if a.result is not None]
        self.writers = list(writers(loop))

    def sink(self, argument: RegionArgument) -> bool:
        """Compute the result of a carried argument behind the loop, if that is possible."""
        result, inner = argument.result, argument.inner
        if result is None or inner is None or not result.uses or inner.uses or not isinstance(result.type, TensorType):
            return False
        value = _left_with(argument)
        if value is None or value.op is None or is_invariant(value, self.loop):
            return False
        passing = set(_leaving(argument))
        others = (user for (_, i), user in value.uses.items() if (user, i) not in passing)
        if not all(map(self._is_estimated, others)):
            return False
        behind: dict[Value, Value] = {}
        ops = self._ops(value.op, behind)
        if ops is None:
            return False
        self._compute_behind(argument, value, ops, behind)
        for user, i in passing:
            user.set_operand(i, inner)
        return True

    def _is_estimated(self, user: Op) -> bool:
        return self.estimates is not None and self.estimates.weight(user) is not None

    def _ops(self, op: Op, behind: dict[Value, Value]) -> list[Op] | None:
        """Return the ops that compute the results of `op` behind the loop, and add what the values that they read are there."""
        if not op.has("PURE") or op.regions or op.defn.raises or len(op.results) != 1:
            return None
        if any(interferes(writer, op) for writer in self.writers):
            return None
        ops = []
        for value in op.operands:
            if is_invariant(value, self.loop):
                continue
            carried = next((a.result for a in self.arguments if _left_with(a) is value), None)
            if carried is not None and _is_alike(carried, value):
                behind[value] = carried
                continue
            if value.op is None or any(user is not op for user in value.users()):
                return None
            made = self._ops(value.op, behind)
            if made is None:
                return None
            ops += made
        return [*ops, op]

    def _compute_behind(self, argument: RegionArgument, value: Value, ops: list[Op], behind: dict[Value, Value]) -> None:
        b, loc, result = Builder.after(self.loop), ops[-1].loc, argument.result
        assert result is not None
        if iterations(self.loop):
            for op in ops:
                clone_op(b, op, behind)
            result.replace_all_uses(behind[value])
            return
        start, stop, step = self.loop.operands[:3]
        test = b.op("int.lt" if (constant_int(step) or 0) > 0 else "int.gt", [start, stop], loc).result
        ran, initial = Block(), Block()
        result.replace_all_uses(
            b.op("if", [test], loc, regions=[ran, initial], types=[result.type], names=[result.name]).result
        )
        with b.at(ran):
            for op in ops:
                clone_op(b, op, behind)
            b.op("yield", [behind[value]], loc)
        with b.at(initial):
            entering, i = argument.into_inner[0]
            b.op("yield", [entering.operands[i]], loc)


def _is_alike(carried: Value, value: Value) -> bool:
    """Return whether a result of a loop says as much as the value in it does, but for sizes, which it has all the same."""
    a, b = carried.type, value.type
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.dtype == b.dtype and a.dims is not None and b.dims is not None and len(a.dims) == len(b.dims)
    return a == b


def _leaving(argument: RegionArgument) -> list[tuple[Op, int]]:
    """Return the operands with which iterations end."""
    return [(user, i) for user, i in argument.operands if user is not argument.op]


def _left_with(argument: RegionArgument) -> Value | None:
    """Return the value with which all iterations end."""
    values = {user.operands[i] for user, i in _leaving(argument)}
    return values.pop() if len(values) == 1 else None


def run(module: Module, options: Mapping[str, int]) -> bool:
    estimates, changed = Estimates(module) if options.get("frozen") else None, False
    for loop in [op for op in module.walk() if is_loop(op) and op.attrs["counted"] and constant_int(op.operands[2])]:
        for argument in list(region_arguments(loop)):
            changed |= _Sinker(loop, estimates).sink(argument)
    return changed
