"""Cut long loops into chunks that backward code runs again, so that values are kept of one chunk at a time.

    %h = loop L0 %i = 0 to %n step 1 carry (%h1 = %x) {...}
 =>
    %h = loop K0 %j = 0 to %n step %c carry (%g = %x) {
      %m = int.min(%c, %n - %j)
      %e = checkpoint() {...} do {
        %f = loop L0 %k = 0 to %m step 1 carry (%h1 = %g) {... with %i = %j + %k}
        yield(%f)
      }
      yield(%e)
    }

With chunks of about sqrt(n) iterations, %c, the values that a chunk begins with and those of all iterations of one chunk are
of about the same number.

Only counted loops that run to their end are cut. What a loop does to values from outside is done by forward code alone, so a
loop that also reads such a value is left as it is: its chunks could not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from scriptc.ir.analysis import is_fresh, roots
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.levels import is_keepable
from scriptc.ir.gradients.recompute import writes_outside
from scriptc.ir.gradients.trip_counts import range_length
from scriptc.ir.loc import Loc
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import defined_by, is_loop, runs_to_its_end
from scriptc.ir.types import INT

FEW = 4  # loops of a constant number of iterations up to this one are not cut
_FREE = ("const", "param", "undef", "tuple", "tuple.get", "optional.unwrap")  # computed again by any level
_LEFT = frozenset({"call", "is_defined", "str.is_defined", "checkpoint", "try"})  # a loop that has one is not cut
_EFFECTS = frozenset({"tensor", "list", "cell", "random", "state", "io"})


def cut_loops(ops: Iterable[Op], active: Collection[Value], label: Callable[[], str]) -> dict[Op, Value]:
    """Cut the loops among some ops, and in their regions, through which gradients flow. label: gives fresh labels.

    Returns, for each op that appends to a list in an iteration of a loop that was cut, the number of the iteration.
    """
    numbers: dict[Op, Value] = {}
    for loop in [inner for op in ops for inner in op.walk() if is_loop(inner)]:
        if _gains(loop, active) and _can_run_again(loop):
            number = _cut(loop, label())
            numbers |= {op: number for op in loop.regions[0].ops if op.name == "list.append"}
    return numbers


def _gains(loop: Op, active: Collection[Value]) -> bool:
    """Return whether a loop may have many iterations, of which backward code needs values."""
    if not loop.attrs["counted"] or not runs_to_its_end(loop):
        return False
    if loop.parent is not None and loop.parent.parent is not None and loop.parent.parent.name == "checkpoint":
        if not loop.parent.parent.attrs["repeats"]:  # this loop is a chunk
            return False
    start, stop, step = map(constant_int, loop.operands[:3])
    if start is not None and stop is not None and step and len(range(start, stop, step)) <= FEW:
        return False
    return any(v in active for op in loop.walk() if op is not loop for v in op.results)


def _can_run_again(loop: Op) -> bool:
    """Return whether a chunk of a loop can run again, from kept values."""
    (body,) = loop.regions
    own = defined_by(loop.walk())
    given = {v for op in body.walk() for v in op.operands if v not in own}
    if not all(is_keepable(arg.type) for arg in body.args) or not all(map(_is_available, given)):
        return False
    if any(op.name in _LEFT or op.defn.writes - _EFFECTS for op in body.walk()):
        return False
    written = {r for op in body.walk() if writes_outside(op, body) for r in roots(op.operands[0])}
    return all(map(is_fresh, written)) and not any(_reads(op, written) for op in body.walk())


def _is_available(value: Value) -> bool:
    """Return whether backward code can have a value: kept, or computed again."""
    if is_keepable(value.type):
        return True
    return value.op is not None and value.op.name in _FREE and all(map(_is_available, value.op.operands))


def _reads(op: Op, written: set[Value]) -> bool:
    """Return whether an op does more with values from outside that a loop writes than to write them, or take views."""
    is_check = not op.results and not op.defn.writes and not op.has("TERMINATOR")
    if not written or op.has("VIEW") or op.name == "size" or is_check:
        return False
    operands = op.operands[1:] if op.name in ("copy_", "list.append") else op.operands
    return any(roots(v) & written for v in operands)


def _cut(loop: Op, label: str) -> Value:
    """Make a loop the chunk of another loop. Return the number of the iteration, counted from 0 over all chunks."""
    loc, (body,) = loop.loc, loop.regions
    before = Builder.before(loop)
    start, stop, step = loop.operands[:3]
    count = range_length(before, start, stop, step, loc)
    length = _chunk_length(before, count, loc)
    zero, one = before.const(0, loc), before.const(1, loc)
    types = [r.type for r in loop.results]
    for arg, t in zip(body.args[1:], types, strict=True):
        arg.type = t
    chunks = Block([(INT, "chunk"), *((arg.type, arg.name) for arg in body.args[1:])])
    names = [r.name for r in loop.results]
    outer = before.op("loop", [zero, count, length, *loop.operands[3:]], loc, regions=[chunks], types=types, names=names,
                      label=label, counted=True)  # fmt: skip
    for old, new in zip(loop.results, outer.results, strict=True):
        old.replace_all_uses(new)
    builder = Builder(chunks)
    rest = builder.build("int.sub", [count, chunks.args[0]], loc)
    iterations = builder.build("int.min", [length, rest], loc)
    again = Block()
    made = builder.op("checkpoint", [], loc, regions=[again], types=types, label=f"{label}_again", preserve=True, repeats=False)
    builder.op("yield", made.results, loc)
    loop.detach()
    again.append(loop)
    loop.set_operands([zero, iterations, one, *chunks.args[1:]])
    Builder(again).op("yield", loop.results, loc)
    return _count_iterations(body, chunks.args[0], start, step, loc)


def _count_iterations(body: Block, first: Value, start: Value, step: Value, loc: Loc) -> Value:
    """Compute the counter of a loop from the number of the iteration in its chunk, which begins with iteration `first`."""
    counter, number = body.args[0], Value(INT, body, "iteration")
    body.args[0] = number
    builder = Builder(body, 0)
    place = builder.build("int.add", [first, number], loc)
    at = place
    if constant_int(step) != 1:
        at = builder.build("int.mul", [at, step], loc)
    if constant_int(start) != 0:
        at = builder.build("int.add", [start, at], loc)
    counter.replace_all_uses(at)
    return place


def _chunk_length(builder: Builder, count: Value, loc: Loc) -> Value:
    """Return the least number whose square is not below `count`, but at least 1."""
    root = builder.build("math.sqrt", [builder.build("int.to_float", [count], loc)], loc)
    return builder.build("int.max", [builder.build("math.ceil", [root], loc), builder.const(1, loc)], loc)
