"""Let backward code skip what makes a value that nothing reads on the path that was taken.

    for t in range(n):                       if a:
        h = cell(x[t], h)                        y = y + w
        y = head(h)                          if b:
    return y                                     y = y * w

Of `y` on the left, only the last iteration's has a gradient: the next iteration overwrites all others. `w` on the right has
none where neither condition holds. Eager has no graph behind such values; zeros that went through their derivatives would
become NaN where one is infinite. So the gradient of a value that some path leaves unread may be None, and the value gets a
gate (gates.py), which is open where its gradient is not None.

A loop counts as a path that reads, whether it has iterations or not: sums of gradients that begin as None would be slow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import PARTIAL_VIEWS, Written, takes_gradients
from scriptc.ir.gradients.gates import add_gate, remove_gate
from scriptc.ir.regions import ancestor_in, fed_arguments, is_loop, region_arguments
from scriptc.ir.types import TensorType

Use = tuple[Op, int]


class Unread:
    """The values of a block that some path leaves unread, and the gates of those that ops make.

    values: those whose gradients may be None: results of gates, and what passes these on. active: the values that have
    gradients, to which the results of gates are added.
    """

    def __init__(self, block: Block, active: set[Value], ends: Collection[Value], written: Written):
        self._active = active
        self._unread: dict[Value, None] = {}  # in the order of the program, alike in all processes
        self._find(block, ends)
        made = [v for v in self._unread if _has_own_code(v) and v not in written and self._is_on_several_paths(v)]
        self.values = self._unread.keys() & self._reached_from(made)
        self._gates = dict.fromkeys(self._gate(value) for value in made)

    @property
    def gated(self) -> dict[Value, Value]:
        """The values of the gates, by the results of these."""
        return {gate.result: gate.regions[0].ops[-1].operands[0] for gate in self._gates}

    def is_gate(self, op: Op) -> bool:
        """Return whether an op is a gate of these."""
        return op in self._gates

    def remove_gates(self) -> None:
        """Take the gates out of forward code."""
        for gate in self._gates:
            if gate.operands:  # else it was dead code of a checkpoint
                remove_gate(gate)

    def _find(self, block: Block, ends: Collection[Value]) -> None:
        candidates = [v for v in _defined_in(block) if v not in ends and self._may_be_unread(v)]
        found: Collection[Value] = candidates
        while found:
            found = [v for v in candidates if v not in self._unread and not self._is_read(_uses(v), v.block)]
            self._unread.update(dict.fromkeys(found))

    def _may_be_unread(self, value: Value) -> bool:
        """Return whether no op of a value's own block takes it, but for those that pass it on to other blocks."""
        is_tensor = isinstance(value.type, TensorType) and (value in self._active or value.op is None)
        own = [user for user in value.users() if user.parent is value.block and not user.regions and not user.has("TERMINATOR")]
        return is_tensor and not any(takes_gradients(user, self._active) for user in own)

    def _is_read(self, uses: Iterable[Use], block: Block) -> bool:
        """Return whether each run of a block makes one of some uses of a value, which are all in the block."""
        by_op: dict[Op | None, list[Use]] = defaultdict(list)
        for user, i in uses:
            by_op[ancestor_in(block, user)].append((user, i))
        return any(op is not None and self._is_read_by(op, uses) for op, uses in by_op.items())

    def _is_read_by(self, op: Op, uses: Iterable[Use]) -> bool:
        own = [i for user, i in uses if user is op]
        if op.has("TERMINATOR"):
            return op.name == "return" or any(self._is_passed_on(op, i) for i in own)
        if not op.regions:
            return takes_gradients(op, self._active)
        inner = [use for use in uses if use[0] is not op]
        if op.name in ("if", "checkpoint"):
            return all(self._is_read([u for u in inner if region.encloses(_block_of(u))], region) for region in op.regions)
        return any(takes_gradients(user, self._active) for user, _ in inner) or any(self._is_passed_on(op, i) for i in own)

    def _is_passed_on(self, op: Op, index: int) -> bool:
        """Return whether an operand becomes a value that is read: of what a loop carries, by the next iteration."""
        fed = [a.inner if a.inner is not None else a.result for a in fed_arguments(op, index)]
        return any(v in self._active and v not in self._unread for v in fed)

    def _is_on_several_paths(self, value: Value) -> bool:
        """Return whether backward code of the op that makes a value does not move into one branch anyway (branches.py)."""
        users = [user for user in value.users() if takes_gradients(user, self._active)]
        regions = {_region_around(user, value.block) for user in users}
        return len(regions) > 1 or None in regions

    def _reached_from(self, values: Iterable[Value]) -> set[Value]:
        """Return values, and those that regions pass them on as."""
        seen, todo = set[Value](), list(values)
        while todo:
            value = todo.pop()
            if value not in seen:
                seen.add(value)
                fed = [a for user, i in _uses(value) for a in fed_arguments(user, i)]
                todo += [v for a in fed for v in (a.inner, a.result) if v is not None and v in self._unread]
        return seen

    def _gate(self, value: Value) -> Op:
        op = value.op
        assert op is not None and op.parent is not None
        uses = list(_uses(value))
        gate = add_gate(Builder(op.parent, op.parent.ops.index(op) + 1), value, op.loc)
        for user, i in uses:
            user.set_operand(i, gate.result)
        self._active.add(gate.result)
        self.values.discard(value)
        self.values.add(gate.result)
        return gate


def _defined_in(block: Block) -> Iterator[Value]:
    """Yield the values that ops of a block make, nested ones too, and those that loops carry."""
    for op in block.walk():
        yield from op.results
        if is_loop(op):
            yield from (a.inner for a in region_arguments(op) if a.inner is not None)


def _uses(value: Value) -> list[Use]:
    return [(user, i) for (_, i), user in value.uses.items()]


def _block_of(use: Use) -> Block:
    assert use[0].parent is not None
    return use[0].parent


def _region_around(user: Op, block: Block) -> Block | None:
    """Return the branch of an `if` of a block that an op is in; None if it is in none."""
    at = ancestor_in(block, user)
    if at is None or at is user or at.name != "if":
        return None
    return next(region for region in at.regions if region.encloses(_block_of((user, 0))))


def _has_own_code(value: Value) -> bool:
    """Return whether an op makes a value whose backward code may be built in a branch."""
    op = value.op
    if op is None or op.regions or not op.operands or op.no_grad or op.defn.writes:
        return False
    return not op.has("FETCHES") and op.name not in PARTIAL_VIEWS and not may_be_undefined(value, ())
