"""Let backward code skip what only results contribute to whose gradients are not given.

Each result that takes a gradient becomes, while the function is differentiated, the result of an `if` of its own:

    %y = tanh(%h)                          %y = tanh(%h)
                                           %z = if %given {
                                             yield(%y)
                                     =>    } else {
                                             %d = alias(%y)
                                             yield(%d)
                                           }
    return(%y)                             return(%z)

No gradient flows through `alias`. So the backward code of all that %y alone needs is built in a branch of `if %given`
(branches.py), and %given is an argument of the backward function. Forward code loses the `if` again.
"""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.levels import Level
from scriptc.ir.types import BOOL, TensorType


class GivenFlags:
    """The results that have a flag. results: those of the function that take gradients, with those of an `if` in their place.

    numbers: the numbers among `results` of those that have a flag.
    """

    def __init__(self, last: Op, results: Sequence[Value]):
        self.results = list(results)
        self.numbers: list[int] = []
        self._ifs: list[Op] = []
        if len(results) > 1:  # a single gradient is given, or backward does not run
            for i, value in enumerate(results):
                if isinstance(value.type, TensorType) and value.op is not None and not may_be_undefined(value, ()):
                    self.numbers.append(i)
                    self._ifs.append(_if_given(last, value))
                    self.results[i] = self._ifs[-1].result

    def add_arguments(self, level: Level) -> list[Value]:
        """Return the flags as arguments of the backward function, whose outermost level this is."""
        flags = [Value(BOOL, level.builder.block, f"given_{op.result.name}") for op in self._ifs]
        for op, flag in zip(self._ifs, flags, strict=True):
            level.known[op.operands[0]] = flag
        return flags

    def makes(self, op: Op) -> bool:
        """Return whether an op tests a flag."""
        return op in self._ifs

    def remove(self) -> None:
        """Put the results themselves in the place of the `if`s in forward code."""
        for op in self._ifs:
            condition = op.operands[0].op
            op.replace_with([op.regions[0].ops[-1].operands[0]])
            if condition is not None:
                condition.detach()


def _if_given(last: Op, value: Value) -> Op:
    then, orelse, builder = Block(), Block(), Builder.before(last)
    Builder(then).op("yield", [value], last.loc)
    inner = Builder(orelse)
    inner.op("yield", [inner.build("alias", [value], last.loc)], last.loc)
    condition = builder.const(True, last.loc)
    return builder.op("if", [condition], last.loc, regions=[then, orelse], types=[value.type], names=[value.name])
