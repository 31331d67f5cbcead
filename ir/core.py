"""Values, operations, blocks, functions and modules.

Control flow is structured: an op owns regions, and every region is one `Block` that takes arguments and ends in a
terminator. There are no phis and no gotos. Only `Op` holds operands, and only through its methods, so that
`Value.uses` is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from scriptc.ir.loc import Loc
from scriptc.ir.opdef import OpDef
from scriptc.ir.types import Record, TensorType, Type

Attr = Any  # None, bool, int, float, str, or a tuple of these


@final
class Value:
    """The result of an op or an argument of a block. `name` is a suggestion; the printer makes it unique."""

    __slots__ = ("name", "owner", "type", "uses")

    def __init__(self, type: Type, owner: Op | Block, name: str = ""):
        self.type = type
        self.owner = owner
        self.name = name
        self.uses: dict[tuple[int, int], Op] = {}

    @property
    def op(self) -> Op | None:
        """Return the op that makes this value, None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    @property
    def block(self) -> Block:
        """Return the block in which this value is defined."""
        if isinstance(self.owner, Block):
            return self.owner
        assert self.owner.parent is not None
        return self.owner.parent

    def users(self) -> list[Op]:
        return list(dict.fromkeys(self.uses.values()))

    def replace_all_uses(self, new: Value) -> None:
        for (_, index), op in list(self.uses.items()):
            op.set_operand(index, new)

    def __repr__(self) -> str:
        return f"%{self.name or '?'}: {self.type}"


@final
class Op:
    """One operation: an instance of an `OpDef`, with a location in the user's source.

    no_grad: autograd does not record the op. Only differentiation asks, so passes of forward code need not keep it.
    """

    __slots__ = ("attrs", "defn", "loc", "name", "no_grad", "operands", "parent", "regions", "results")

    def __init__(
        self,
        defn: OpDef,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attrs: dict[str, Attr],
        loc: Loc,
        regions: Sequence[Block] = (),
        names: Sequence[str] = (),
        *,
        no_grad: bool = False,
    ):
        self.defn = defn
        self.name = defn.name  # asked for more often than anything else
        self.attrs = attrs
        self.loc = loc
        self.no_grad = no_grad
        self.parent: Block | None = None
        self.operands = tuple(operands)
        number = id(self)
        for i, value in enumerate(self.operands):
            value.uses[number, i] = self
        self.results = [Value(t, self) for t in result_types]
        for result, name in zip(self.results, names, strict=False):
            result.name = name
        self.regions = list(regions)
        for region in self.regions:
            region.parent = self

    @property
    def result(self) -> Value:
        assert len(self.results) == 1, f"{self.name} has {len(self.results)} results"
        return self.results[0]

    def has(self, trait: str) -> bool:
        return trait in self.defn.traits

    def set_operand(self, index: int, value: Value) -> None:
        old = self.operands[index]
        del old.uses[id(self), index]
        value.uses[id(self), index] = self
        self.operands = (*self.operands[:index], value, *self.operands[index + 1 :])

    def set_operands(self, values: Sequence[Value]) -> None:
        for i, old in enumerate(self.operands):
            del old.uses[id(self), i]
        self.operands = tuple(values)
        for i, value in enumerate(self.operands):
            value.uses[id(self), i] = self

    def walk(self) -> Iterator[Op]:
        """Yield this op, then all ops nested in its regions, in program order."""
        yield self
        for region in self.regions:
            yield from region.walk()

    def erase(self) -> None:
        """Take the op and its regions out of its block. Its results must be unused."""
        assert not any(r.uses for r in self.results), f"erasing {self.name}, whose results are used"
        self.detach()
        self.drop()

    def detach(self) -> None:
        assert self.parent is not None
        self.parent.ops.remove(self)
        self.parent = None

    def drop(self) -> None:
        """Drop the operands of this op and of all nested ones."""
        for op in self.walk():
            op.set_operands(())

    def replace_with(self, values: Sequence[Value]) -> None:
        for old, new in zip(self.results, values, strict=True):
            old.replace_all_uses(new)
            if old.name and not new.name:
                new.name = old.name
        self.erase()

    def enclosing(self, test: Callable[[Op], bool]) -> Op | None:
        """Return the innermost surrounding op for which `test` holds."""
        block = self.parent
        while block is not None and block.parent is not None:
            if test(block.parent):
                return block.parent
            block = block.parent.parent
        return None

    def is_before(self, other: Op) -> bool:
        """Return whether this op precedes `other` in the same block."""
        assert self.parent is not None and self.parent is other.parent
        return self.parent.ops.index(self) < self.parent.ops.index(other)

    def __repr__(self) -> str:
        return f"<{self.name} at {self.loc}>"


@final
class Block:
    """A region: arguments, then ops, the last of which is a terminator."""

    __slots__ = ("args", "ops", "parent")

    def __init__(self, args: Sequence[tuple[Type, str]] = ()):
        self.args = [Value(t, self, name) for t, name in args]
        self.ops: list[Op] = []
        self.parent: Op | None = None

    def append(self, op: Op) -> Op:
        self.ops.append(op)
        op.parent = self
        return op

    def insert(self, index: int, op: Op) -> Op:
        self.ops.insert(index, op)
        op.parent = self
        return op

    def insert_before(self, anchor: Op, op: Op) -> Op:
        return self.insert(self.ops.index(anchor), op)

    def erase(self, dead: Sequence[Op]) -> None:
        """Erase ops of this block, users in front of what they use. `Op.erase` would search the block for each."""
        gone = set(dead)
        self.ops[:] = [op for op in self.ops if op not in gone]
        for op in dead:
            assert not any(r.uses for r in op.results), f"erasing {op.name}, whose results are used"
            op.parent = None
            op.drop()

    @property
    def terminator(self) -> Op | None:
        return self.ops[-1] if self.ops and self.ops[-1].has("TERMINATOR") else None

    def walk(self) -> Iterator[Op]:
        """Yield the ops of the block and those nested in them, in program order."""
        todo: list[Op | Block] = [self]
        while todo:
            item = todo.pop()
            if isinstance(item, Block):
                todo += reversed(item.ops)
            else:
                yield item
                todo += reversed(item.regions)

    def encloses(self, other: Block) -> bool:
        """Return whether `other` is this block or nested in it."""
        block: Block | None = other
        while block is not None:
            if block is self:
                return True
            block = block.parent.parent if block.parent else None
        return False

    def drop(self) -> None:
        """Drop the operands of all ops in this block."""
        for op in self.walk():
            op.set_operands(())


@dataclass(eq=False)
class Func:
    """A function. `body.args` are its parameters. `return` leaves it with values of `results`."""

    name: str
    body: Block
    results: list[Type]
    loc: Loc
    source: list[str] = field(default_factory=list)  # the lines that a comment above the C function shows


@dataclass(frozen=True)
class Param:
    """A weight, buffer or other tensor outside the call. `name` is its path from the root."""

    name: str
    type: TensorType


@dataclass(eq=False)
class Module:
    """A compilation unit.

    entries: the names of the functions that callers may enter.
    params: the tensors that `param` ops read, by name.
    exceptions: the exception classes that Python does not define, with the names of their bases.
    records: the classes of objects.
    """

    name: str
    funcs: dict[str, Func] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    exceptions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)

    def walk(self) -> Iterator[Op]:
        for func in self.funcs.values():
            yield from func.body.walk()
