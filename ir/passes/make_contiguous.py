"""Make invariant tensors that a loop reads element by element contiguous in front of the loop.

    loop L %i = 0 to %n step 1 {                      %p = plain(%x)
      %a = select(%x, %i) {dim = 0}                   loop L %i = 0 to %n step 1 {
      %y = fuse(%a) do ...                      =>      %a = select(%p, %i) {dim = 0}
                                                        %y = fuse(%a) do ...

`plain` returns the tensor itself if its strides are those of a new one, as those of most arguments and weights are. The
loop can then be printed without asking for strides (backend_c/emitters/nests.py). Not done where the strides of a result
would follow those of the tensor and could be seen, for what the loop may write, nor where it takes rows by an index of its
own: it might take few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from scriptc.ir.analysis import is_invariant, is_written, may_be_undefined, passed_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Module, Op, Value
from scriptc.ir.layouts import Layouts, access
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, loop_of_counter
from scriptc.ir.types import TensorType


def _loops_around(op: Op) -> Iterator[Op]:
    """Yield the loops around an op, innermost first."""
    loop = op.enclosing(is_loop)
    while loop is not None:
        yield loop
        loop = loop.enclosing(is_loop)


def _anchor(op: Op, root: Value) -> Op | None:
    """Return the outermost loop around an op that neither changes nor makes a tensor."""
    anchor = None
    for loop in _loops_around(op):
        if not is_invariant(root, loop) or is_written(root, loop):
            break
        anchor = loop
    return anchor


class _Maker:
    def __init__(self, func: Func, passed: Collection[Value]):
        self.layouts, self.passed = Layouts(func.body), passed
        self.made: dict[tuple[Value, Op], Value] = {}

    def operand(self, op: Op, value: Value) -> Value:
        """Return the value that the op reads after the pass."""
        found = access(value)
        root = found.root
        if root in self.layouts.plain or not all(map(self.is_even, (index for index, _ in found.offset))):
            return value
        anchor = _anchor(op, root)
        if anchor is None or may_be_undefined(root, self.passed):
            return value
        key = root, anchor
        if key not in self.made:
            self.made[key] = Builder.before(anchor).build("plain", [root], anchor.loc, hint=root.name)
        return self.again(op, value, root, self.made[key])

    def is_even(self, index: Value) -> bool:
        return constant_int(index) is not None or loop_of_counter(index) is not None

    def again(self, op: Op, value: Value, root: Value, new: Value) -> Value:
        """Return the views that lead from a root to a value, applied to another tensor."""
        if value is root:
            return new
        view = value.op
        assert view is not None
        operands = [self.again(op, view.operands[0], root, new), *view.operands[1:]]
        return (
            Builder.before(op).op(view.name, operands, view.loc, names=[value.name], proved=True, **view.attrs).result
        )


def _has_known_rank(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dims is not None


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed, passed = False, passed_undefined(module)
    for func in module.funcs.values():
        maker = _Maker(func, passed)
        for op in [o for o in func.body.walk() if (o.has("ELEMENTWISE") or o.name == "fuse") and o.enclosing(is_loop)]:
            if op.enclosing(lambda o: o.name == "fuse") is not None:
                continue
            if not all(r in maker.layouts.plain or maker.layouts.strides_are_free(r) for r in op.results):
                continue
            operands = [maker.operand(op, v) if _has_known_rank(v) else v for v in op.operands]
            if operands != list(op.operands):
                op.set_operands(operands)
                changed = True
    return changed
