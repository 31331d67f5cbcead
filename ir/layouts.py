"""The layouts of tensors, as far as they follow from the IR.

A tensor is plain if it has the strides of a new contiguous tensor. `Layouts` finds the plain values of a function as a
greatest fixpoint, so a carried value is plain if all values that enter it are.

An `Access` follows a value through views back to the tensor whose elements it has.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.ranges import constant_int, upper_bounds
from scriptc.ir.regions import fed_arguments, region_arguments
from scriptc.ir.shapes import Shapes, settled
from scriptc.ir.types import TensorType


@dataclass(frozen=True)
class Access:
    """The elements of a value inside `root`.

    dims: for each dim of the value, the dim of root along which it runs; None for a dim of size 1 that a view added.
    offset: pairs of an index and a dim of root, whose products of index and stride add up.
    """

    root: Value
    dims: tuple[int | None, ...]
    offset: tuple[tuple[Value, int], ...] = ()


def rank(value: Value) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.rank


def _operand_dims(op: Op) -> list[int | None] | None:
    """Return the operand's dim for each dim of a view, None for a new dim. Return None if the view is not followed."""
    n = rank(op.operands[0])
    match op.name:
        case "select" if _counts_from_the_front(op.operands[1]):
            return [d for d in range(n) if d != op.attrs["dim"]]
        case "slice" if _is_inside(op):
            return list(range(n))
        case "transpose":
            dims: list[int | None] = list(range(n))
            a, b = op.attrs["dim0"], op.attrs["dim1"]
            if n:
                dims[a], dims[b] = dims[b], dims[a]
            return dims
        case "unsqueeze":
            at = op.attrs["dim"] % (n + 1)
            return [*range(at), None, *range(at, n)]
    return None


def _counts_from_the_front(index: Value) -> bool:
    """Return whether an index that is valid is not negative."""
    number = constant_int(index)
    return number >= 0 if number is not None else next(upper_bounds(index), None) is not None


def _is_inside(op: Op) -> bool:
    """Return whether the bounds of a slice are known and lie in the tensor."""
    start, stop, step = map(constant_int, op.operands[1:])
    t = op.operands[0].type
    assert isinstance(t, TensorType) and t.dims is not None
    size = t.dims[op.attrs["dim"]]
    if step != 1 or start is None or start < 0 or not isinstance(size, int):
        return False
    return stop is not None and start <= min(stop, size)


def is_followed(op: Op) -> bool:
    return op.has("VIEW") and _has_rank(op.operands[0]) and _operand_dims(op) is not None


def _has_rank(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dims is not None


def _is_inside_fuse(op: Op) -> bool:
    holder = op.parent.parent if op.parent is not None else None
    return holder is not None and not holder.has("CONTROL")


def _asks_for_sizes(check: Op) -> bool:
    """Return whether this is a check that strides do not matter to."""
    return check.name == "check" and OPS[check.attrs["of"]].check not in ("view", "reshape")


def ignores_strides(op: Op) -> bool:
    """Return whether nothing that an op computes depends on the strides of its operands."""
    return op.has("PLAIN") or op.name in ("stacked.put", "size") or _asks_for_sizes(op)


def access(value: Value) -> Access:
    dims: list[int | None] = list(range(rank(value)))
    offset: list[tuple[Value, int]] = []
    while (op := value.op) is not None and is_followed(op):
        outer = _operand_dims(op)
        assert outer is not None
        dims = [None if d is None else outer[d] for d in dims]
        offset = [(index, d) for index, at in offset if (d := outer[at]) is not None]
        if op.name in ("select", "slice"):
            offset.append((op.operands[1], op.attrs["dim"]))
        value = op.operands[0]
    return Access(value, tuple(dims), tuple(offset))


class Layouts:
    """What is known of the tensors of a function."""

    def __init__(self, body: Block, ignored: Collection[Op] = (), arguments: Collection[Value] = ()):
        """Find the layouts of a function.

        ignored: ops that make tensors plain, which are looked through. arguments: those of the function that are plain.
        """
        self.shapes = Shapes()
        self.ignored = ignored
        self._spread: dict[tuple[Value, Value], list[bool | None]] | None = {}  # while layouts are searched
        ops = [op for op in body.walk() if op.parent is not None and not _is_inside_fuse(op)]
        # By result or argument of a region op: the values that it may be.
        self.passed_on: dict[Value, list[Value]] = {}
        for op in ops:
            for argument in region_arguments(op) if op.has("CONTROL") else ():
                for value, given in ((argument.inner, argument.into_inner), (argument.result, argument.into_result)):
                    if value is not None:
                        self.passed_on[value] = [user.operands[i] for user, i in given]
        self.plain = {v for v in (*(r for op in ops for r in op.results), *self.passed_on) if _has_rank(v)}
        self.plain.update(v for v in arguments if _has_rank(v))
        while wrong := {v for v in self.plain.difference(arguments) if not self._may_be_plain(v)}:
            self.plain -= wrong
        self._spread = None

    def _may_be_plain(self, value: Value) -> bool:
        if value in self.passed_on:
            return all(v in self.plain for v in self.passed_on[value])
        op = value.op
        assert op is not None
        if op in self.ignored:
            return op.operands[0] in self.plain
        if op.has("PLAIN") or op.attrs.get("plain"):
            return True
        if op.has("ELEMENTWISE") or op.name == "fuse":
            return self.keeps_order(value, op.operands)
        return self._is_plain_part(op)

    def _is_plain_part(self, op: Op) -> bool:
        """Return whether a view of a plain tensor is plain: it leaves out leading dims, or adds one."""
        if not is_followed(op) or op.operands[0] not in self.plain or op.name == "transpose":
            return False
        return op.name == "unsqueeze" or op.attrs["dim"] == 0

    def keeps_order(self, result: Value, operands: Sequence[Value]) -> bool:
        """Return whether eager gives the result of an elementwise op default strides.

        Two dims keep their order if the first operand that has both has them in order. A dim of size 1 does not count.
        """
        tensors = [v for v in operands if isinstance(v.type, TensorType)]
        if not all(map(_has_rank, [*tensors, result])):
            return False
        n = rank(result)
        if n < 2 or all(v in self.plain and rank(v) == n for v in tensors):
            return True
        spread = [self.spread_dims(v, result) for v in tensors]
        return all(
            self._keeps(tensors, spread, outer - n, inner - n) for inner in range(1, n) for outer in range(inner)
        )

    def _keeps(
        self, operands: Sequence[Value], spread: Sequence[Sequence[bool | None]], outer: int, inner: int
    ) -> bool:
        for v, dims in zip(operands, spread, strict=True):
            if dims[inner] or dims[outer]:
                continue
            return dims[inner] is not None and dims[outer] is not None and self._in_order(v, outer, inner)
        return True

    def strides_are_free(self, value: Value) -> bool:
        """Return whether the strides of a value, and through it those of its operands, are not observable.

        This holds if the value is only an input of computations whose results have strides of their own.
        """
        seen, todo = set[Value](), [value]
        while todo:
            v = todo.pop()
            if v in seen or v in self.plain:
                continue
            seen.add(v)
            for (_, i), user in v.uses.items():
                if user.has("TERMINATOR") or user.has("CONTROL"):
                    into = fed_arguments(user, i)
                    if not into:
                        return False
                    todo += [x for argument in into for x in (argument.inner, argument.result) if x is not None]
                elif user.has("ELEMENTWISE") or user.name == "fuse" or is_followed(user):
                    todo += user.results
                elif not ignores_strides(user):
                    return False
        return True

    def _in_order(self, value: Value, outer: int, inner: int) -> bool:
        """Return whether the strides of two dims (counted from the end) are certainly in the order of a new tensor."""
        found = access(value)
        a, b = found.dims[outer], found.dims[inner]
        return found.root in self.plain and a is not None and b is not None and a < b

    def spread_dims(self, value: Value, over: Value) -> list[bool | None]:
        """Return for each dim of `over` whether `value` is repeated along it, None if this is not known."""
        if self._spread is None:
            return self._spread_dims(value, over)
        if (value, over) not in self._spread:
            self._spread[value, over] = self._spread_dims(value, over)
        return self._spread[value, over]

    def _spread_dims(self, value: Value, over: Value) -> list[bool | None]:
        own, full = self.shapes.of(value), self.shapes.of(over)
        assert own is not None and full is not None, "both have a known rank"
        missing = len(full) - len(own)
        pairs = zip(settled(own), settled(full)[missing:], strict=True)
        one = frozenset([1])
        return [True] * missing + [False if a == b else True if a == one else None for a, b in pairs]
