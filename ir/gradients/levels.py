"""Forward values in backward code: a level for each forward block, with the backward code that mirrors it.

Backward code runs through the iterations and branches of the forward code in the opposite order. A forward value that
backward code needs is

- computed again from other such values, if that takes little work and memory: constants, numbers, sizes, views, and sums or
  products of one tensor and numbers, which keep that tensor instead;
- or kept by forward code, in a place that the level of its block chooses (keeping.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from scriptc.ir.analysis import is_written, may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import Written, viewed
from scriptc.ir.loc import Loc
from scriptc.ir.types import ListType, ScalarType, TensorType, Type

_CHEAP = frozenset({"add", "sub", "mul", "neg"})


class Keeper(Protocol):
    """Hands the values of one forward block over to backward code."""

    def keep(self, value: Value, builder: Builder) -> Value:
        """Keep a value of the forward block, and return the same value in backward code, built by `builder`."""


class Level:
    """A forward block, and the backward code that mirrors it.

    gradients: of forward values, as far as backward code has come. buffers: tensors of gradients that are changed in place,
    by the root of their views. shadows: lists of gradients, by forward list. stacked: the gradients of lists that are
    only stacked, as one tensor. written: the tensors that forward code writes to. gated: the values of gates (gates.py), by the
    results of these. index: the iteration, in the body of a loop.
    """

    def __init__(
        self, forward: Block, builder: Builder, outer: Level | None, keeper: Keeper, written: Written
    ):
        self.forward = forward
        self.builder = builder
        self.outer = outer
        self.keeper = keeper
        self.written = written
        self.gated: Mapping[Value, Value] = {} if outer is None else outer.gated
        self.index: Value | None = None
        self.gradients: dict[Value, Value] = {}
        self.buffers: dict[Value, Value] = {}
        self.shadows: dict[Value, Value] = {}
        self.known: dict[Value, Value] = {}
        self.copies: dict[tuple[Value, Op], Value] = {}
        self.stacked: dict[Value, Value] = {}

    def get(self, value: Value) -> Value:
        """Return a forward value in backward code."""
        value = self.gated.get(value, value)
        if (found := self.known.get(value)) is not None:
            return found
        if self.home_of(value) is not self:
            assert self.outer is not None
            return self.outer.get(value)
        op = value.op
        if op is not None and op.name in ("size", "size_or_zero") and self.find(op.operands[0]) is None:
            self.known[value] = self.keeper.keep(value, self.builder)  # a number, in place of a tensor
        elif op is not None and self.is_recomputed(op) and all(map(self.is_available, op.operands)):
            operands = [self.get(v) for v in op.operands]
            made = clone_op(self.builder, op, {}, operands=operands)
            self.known.update(zip(op.results, made.results, strict=True))
        else:
            self.known[value] = self.keeper.keep(value, self.builder)
        return self.known[value]

    def is_available(self, value: Value) -> bool:
        """Return whether backward code can have a forward value: there already, computed again, or kept."""
        if value in self.known or is_keepable(value.type):
            return True
        if self.home_of(value) is not self:
            return self.outer is not None and self.outer.is_available(value)
        op = value.op
        return op is not None and self.is_recomputed(op) and all(map(self.is_available, op.operands))

    def home_of(self, value: Value) -> Level:
        """Return the level of the block of a forward value: the outermost level for values from outside of its block."""
        home = self
        while value.block is not home.forward and home.outer is not None:
            home = home.outer
        return home

    def find(self, value: Value) -> Value | None:
        """Return a forward value in backward code if it is there already."""
        at: Level | None
        value, at = self.gated.get(value, value), self
        while at is not None:
            if value in at.known:
                return at.known[value]
            at = at.outer
        return None

    def get_at(self, value: Value, op: Op) -> Value:
        """Return a forward value as it was when `op` read it: a tensor may have been written since."""
        if not isinstance(value.type, TensorType) or value not in self.written:
            return self.get(value)
        if (value, op) not in self.copies:
            self.copies[value, op] = Builder.before(op).build("clone", [value], op.loc)
        return self.get(self.copies[value, op])

    def is_recomputed(self, op: Op) -> bool:
        """Return whether an op without much work or memory of its own is run again."""
        if self.is_scaled_tensor(op) or op.name in ("list.at", "list.get") and self.is_given(op.operands[0]):
            return True
        if op.regions or not op.has("PURE") or op.defn.reads:
            return False
        if op.has("VIEW") or viewed(op.results[0]) is not None:
            return op.results[0] not in self.written
        if op.name in ("const", "param", "undef", "tuple", "tuple.get", "optional.unwrap"):
            return True
        return all(isinstance(r.type, ScalarType) for r in op.results)

    def is_given(self, value: Value) -> bool:
        """Return whether a value is a list that the caller passes, and that stays as it is."""
        return value.op is None and value.block.parent is None and not is_written(value, value.block)

    def is_scaled_tensor(self, op: Op) -> bool:
        """Return whether an op adds numbers to one tensor that nobody writes, or multiplies it by numbers."""
        tensors = {v for v in op.operands if isinstance(v.type, TensorType)}
        if op.name not in _CHEAP or len(tensors) != 1 or (made := op.result) in self.written:
            return False
        (source,) = tensors
        return source not in self.written and source.type == made.type

    # ---- gradients of values ----

    def zero(self, value: Value, builder: Builder | None = None) -> Value:
        """Return a tensor of zeros of the sizes of a forward tensor. builder: builds it, if not that of the level."""
        t, loc = value.type, loc_of(value)
        assert isinstance(t, TensorType)
        sizes, builder = self.sizes(value), builder or self.builder
        shape, zero = builder.build("tuple", sizes, loc), builder.const(0.0, loc)
        return builder.op("full", [shape, zero], loc, dtype=t.dtype, types=[t]).result

    def sizes(self, value: Value, reader: Op | None = None) -> list[Value]:
        """Return the sizes of a forward tensor in backward code. reader: an op that reads the tensor, if there is one."""
        t = value.type
        assert isinstance(t, TensorType) and t.dims is not None
        loc = loc_of(value)
        have = self.find(value)
        return [
            self.builder.const(n, loc)
            if isinstance(n, int)
            else self.get(size_of(value, d, reader))
            if have is None
            else self.builder.build("size", [have], loc, dim=d)
            for d, n in enumerate(t.dims)
        ]


def is_keepable(t: Type) -> bool:
    """Return whether values of a type can be kept: numbers, strings, tensors of known rank, and lists of these."""
    if isinstance(t, ListType):
        return is_keepable(t.elem)
    return isinstance(t, ScalarType) or (isinstance(t, TensorType) and t.dims is not None)


def insert_at_end(block: Block) -> Builder:
    """Return a builder that builds at the end of a block: in front of what may leave it."""
    index = len(block.ops) - 1
    leaving = block.ops[index - 1] if index else None
    if leaving is not None and leaving.name == "if" and leaving.regions[0].ops[-1].name == "break":
        index -= 1
    return Builder(block, index)


def loc_of(value: Value) -> Loc:
    op = value.op or value.block.parent or (value.block.ops[0] if value.block.ops else None)
    assert op is not None
    return op.loc


def size_of(value: Value, dim: int, reader: Op | None = None) -> Value:
    """Return the size of a forward tensor, built after its definition.

    If the tensor may be undefined there, the size is read before `reader`, or is 0 where the tensor is undefined.
    """
    undefined = may_be_undefined(value, ())
    if undefined and reader is not None:
        return Builder.before(reader).build("size", [value], reader.loc, dim=dim)
    for user in value.users():
        if user.name == "size" and user.attrs["dim"] == dim and user.parent is value.block and not undefined:
            return user.result
    index, loc = 0 if value.op is None else value.block.ops.index(value.op) + 1, loc_of(value)
    builder = Builder(value.block, index)
    if undefined:
        return builder.build("size_or_zero", [value, builder.const(dim, loc)], loc)
    return builder.build("size", [value], loc, dim=dim)
