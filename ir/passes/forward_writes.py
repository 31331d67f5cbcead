"""Use the value that is written to a new tensor in place of the tensor, so that it need not be copied there.

    %y = conv2d(%x, %w, %b, %one)                         %y = conv2d(%x, %w, %b, %one)
    check.overlap(%y, %r) {apart = false}                 check(%y, %r) {of = "add"}
    check(%y, %r) {of = "add"}                            %t = add(%y, %r)
    %t = add(%y, %r)                              =>      check.store(%y, %t)
    check.store(%y, %t)                                   %m = mean(%t)
    copy_(%y, %t)
    %m = mean(%y)

Nothing else may be able to see the write: before it, the tensor is only computed with. Its strides must be those of the
value: both are plain, or, with `frozen=1`, the value is computed elementwise with the tensor as the first of all operands.
(Eager's result of the latter has other strides, in dims of size 1, than a channels-last image of one pixel.)
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import is_fresh
from scriptc.ir.core import Func, Module, Op, Value
from scriptc.ir.layouts import Layouts
from scriptc.ir.regions import ancestor_in
from scriptc.ir.shapes import Shapes, settled
from scriptc.ir.types import ScalarType, TensorType


def _only_reads(user: Op, index: int) -> bool:
    """Return whether an op can neither change a tensor nor let it be reached by other values."""
    if user.name in ("check", "check.store", "check.overlap", "size") or (user.name == "copy_" and index == 1):
        return True
    plain = all(isinstance(r.type, (TensorType, ScalarType)) for r in user.results)
    return plain and user.has("PURE") and not user.has("VIEW") and not user.has("FETCHES")


class _Forwarder:
    def __init__(self, func: Func, frozen: bool):
        self.layouts, self.frozen = Layouts(func.body), frozen

    def forward(self, write: Op) -> bool:
        """Let later ops use what is written, if that is not observable."""
        target, value = write.operands
        shapes = Shapes()  # sizes change their names as values take the place of tensors
        if not self._is_exact(target, value) or not self._is_own(write, value) or not shapes.fits_into(target, value):
            return False
        if not is_fresh(target) or target.block is not write.parent:
            return False
        before, after = _uses_around(write, target)
        if not all(_only_reads(user, i) for user, i in before):
            return False
        for user, _ in before:
            if user.name == "check.overlap" and user.operands[0] is not user.operands[1]:
                user.erase()  # memory that no other value can reach
        for user, i in after:
            user.set_operand(i, value)
        for check in [user for user in value.users() if user.name == "check.store"]:
            if _are_alike(shapes, target, value):
                check.erase()
        write.erase()
        return True

    def _is_own(self, write: Op, value: Value) -> bool:
        """Return whether a value is new, and only there to be written."""
        made = value.op is not None and value.op.has("ELEMENTWISE") and value.block is write.parent
        return made and all(user is write or user.name == "check.store" for user in value.users())

    def _is_exact(self, target: Value, value: Value) -> bool:
        """Return whether a value of the sizes of a tensor has its dtype and its strides."""
        if value.type != target.type:
            return False
        if target in self.layouts.plain and value in self.layouts.plain:
            return True
        return self.frozen and _follows(value, target)


def _follows(value: Value, target: Value) -> bool:
    """Return whether a value is computed elementwise from a tensor of its type, which is the first operand of each op."""
    while value is not target:
        if value.op is None or not value.op.has("ELEMENTWISE") or value.op.operands[0].type != target.type:
            return False
        value = value.op.operands[0]
    return True


def _are_alike(shapes: Shapes, a: Value, b: Value) -> bool:
    of_a, of_b = shapes.of(a), shapes.of(b)
    return of_a is not None and of_b is not None and settled(of_a) == settled(of_b)


def _uses_around(write: Op, target: Value) -> tuple[list[tuple[Op, int]], list[tuple[Op, int]]]:
    """Return the uses of a tensor before and after a write in the block where it is made."""
    block = write.parent
    assert block is not None
    place = {op: i for i, op in enumerate(block.ops)}
    before: list[tuple[Op, int]] = []
    after: list[tuple[Op, int]] = []
    for (_, i), user in target.uses.items():
        at = ancestor_in(block, user)
        if user is not write and at is not None:
            (before if place[at] < place[write] else after).append((user, i))
    return before, after


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        writes = [op for op in func.body.walk() if op.name == "copy_"]
        if writes:
            forwarder = _Forwarder(func, bool(options.get("frozen")))
            for write in writes:
                changed |= forwarder.forward(write)
    return changed
