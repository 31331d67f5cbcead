"""Writes into tensors as new values: which tensors may be written, and what their views become.

    %v = select(%x, %i) {dim = 0}              v = Gather(x, i)
    copy_(%v, %y)                       =>     x_1 = ScatterElements(x, the places of v in x, y)
    %z = relu(%v)                              z = Relu(Gather(x_1, i))

A write makes a new value of the base of the tensor: the tensor with memory of its own that the tensor is a view of. Views of
the base are computed again where they are read next. This is right only if all names of the memory are known: the base is
made in the function, and no write follows where the base, or a view, is put into a container or passed on by a region.
"""

from __future__ import annotations

from collections.abc import Iterator

from scriptc.ir.analysis import is_fresh
from scriptc.ir.core import Func, Op, Value
from scriptc.ir.layouts import Layouts
from scriptc.ir.regions import ancestor_in
from scriptc.ir.types import ScalarType, TensorType

_ARGUMENT = (
    "a write into an argument has no ONNX form: the caller would not see it",
    "clone the argument before the write, and return the clone",
)
_NAMES = (
    "a write into a tensor that may have several names has no ONNX form",
    "make a new tensor, or clone the tensor before the write",
)


class TensorWrites:
    """The tensors of a function that ops write.

    bases: the tensors with memory of their own that are written.
    base_of: the base of each view of these tensors, and of each base.
    refused: a message and a hint for each write that has no ONNX form.
    """

    def __init__(self, func: Func):
        self.bases: set[Value] = set()
        self.base_of: dict[Value, Value] = {}
        self.refused: dict[Op, tuple[str, str]] = {}
        # Runtimes pass contiguous tensors.
        self.plain = Layouts(func.body, arguments=[v for v in func.body.args if isinstance(v.type, TensorType)]).plain
        writes = [op for op in func.body.walk() if op.name == "copy_"]
        of_base: dict[Value, list[Op]] = {}
        for write in writes:
            base = self._base(write.operands[0])
            if base.op is None and base.block is func.body:
                self.refused[write] = _ARGUMENT
            elif not is_fresh(base) or not isinstance(base.type, TensorType):
                self.refused[write] = _NAMES
            else:
                of_base.setdefault(base, []).append(write)
        for base, found in of_base.items():
            self._add(base, found)

    def _add(self, base: Value, writes: list[Op]) -> None:
        """Add a tensor that is written, or refuse the writes that other names of its memory would see."""
        views, others = self._names(base)
        late = [w for w in writes if any(may_follow(w, other, base) and self._is_seen(w, other, base) for other in others)]
        self.refused.update(dict.fromkeys(late, _NAMES))
        self.bases.add(base)
        self.base_of.update(dict.fromkeys(views, base))

    def _is_view(self, op: Op) -> bool:
        """Return whether the result of an op is a tensor over the memory of its first operand."""
        if not op.has("VIEW") or op.has("FETCHES") or not isinstance(op.result.type, TensorType):
            return False
        return not op.defn.reads or op.operands[0] in self.plain

    def _base(self, value: Value) -> Value:
        while value.op is not None and self._is_view(value.op):
            value = value.op.operands[0]
        return value

    def _names(self, base: Value) -> tuple[list[Value], list[Op]]:
        """Return the base with its views, and the ops that may give their memory a name that is not one of these."""
        views, others = [base], []
        for value in views:  # the list grows
            for (_, index), user in value.uses.items():
                if index == 0 and user.has("VIEW") and self._is_view(user):
                    if user.result not in views:
                        views.append(user.result)
                elif not _only_reads(user):
                    others.append(user)
        return views, others

    def _is_seen(self, write: Op, other: Op, base: Value) -> bool:
        """Return whether a write that may follow an op may be seen by another name which the op gives the memory.

        Only reads of what may be a view, such as a reshaped tensor, are followed.
        """
        if not other.has("VIEW") or not isinstance(other.result.type, TensorType):
            return True
        return any(
            may_follow(user, write, base) if _only_reads(user) else self._is_seen(write, user, base)
            for user in other.result.users()
        )

    def chain(self, value: Value) -> list[Op]:
        """Return the view ops that lead from the base of a tensor to the tensor."""
        found: list[Op] = []
        base = self.base_of[value]
        while value is not base:
            assert value.op is not None
            found.append(value.op)
            value = value.op.operands[0]
        return found[::-1]

    def changed(self, op: Op) -> Iterator[Value]:
        """Yield the tensors of enclosing blocks that the regions of an op write."""
        for inner in op.walk():
            if inner.name == "copy_" and (base := self.base_of.get(inner.operands[0])) is not None:
                yield base


def _only_reads(user: Op) -> bool:
    if user.name in ("copy_", "return") or user.name == "check" or user.name.startswith("check."):
        return True
    plain = all(isinstance(r.type, (TensorType, ScalarType)) for r in user.results)
    return plain and user.has("PURE") and not user.has("VIEW") and not user.has("FETCHES")


def may_follow(later: Op, earlier: Op, made: Value) -> bool:
    """Return whether an op may run after another one, in one run of the block that makes a value."""
    block = made.block
    while True:
        if later is earlier:
            return False
        at, of = ancestor_in(block, later), ancestor_in(block, earlier)
        assert at is not None and of is not None
        if at is not of:
            return block.ops.index(at) > block.ops.index(of)
        if at is later or at is earlier or at.name in ("loop", "try"):
            return True
        inner = next(region for region in at.regions if ancestor_in(region, later) is not None)
        if ancestor_in(inner, earlier) is None:
            return False
        block = inner
