"""The builder, with which the front end and passes insert ops.

`build` types the op through its row. An op whose row names a `check` gets that check in front of it unless the types
prove that it holds, so that the op itself is pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.ir.core import Attr, Block, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.ops import OPS
from scriptc.ir.ops.checks import is_proved
from scriptc.ir.types import BOOL, FLOAT, INT, NONE, STR, Type

_LEAVING = ("raise", "reraise", "return", "unreachable")
_CONST_TYPES: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STR, type(None): NONE}


class _Elsewhere:
    """The context in which a builder builds at the end of another block."""

    def __init__(self, builder: Builder, block: Block, goes_on: bool):
        self.builder, self.block, self.goes_on = builder, block, goes_on

    def __enter__(self) -> Block:
        self.saved = self.builder.block, self.builder.index, self.builder.no_grad
        self.builder.block, self.builder.index = self.block, None
        return self.block

    def __exit__(self, *_: object) -> None:
        builder, block = self.builder, self.block
        builder.block, builder.index, no_grad = self.saved
        if not self.goes_on:
            leaves = bool(block.ops) and block.ops[-1].name in _LEAVING
            builder.grad_mode_depends |= builder.no_grad != no_grad and not leaves
            builder.no_grad = no_grad


class Builder:
    """Insert ops at `index` of `block`, or at its end while `index` is None.

    no_grad: of the ops that are built, see Op. grad_mode_depends: a block changed `no_grad`, and control reaches its end.
    """

    def __init__(self, block: Block, index: int | None = None):
        self.block = block
        self.index = index
        self.no_grad = False
        self.grad_mode_depends = False

    @classmethod
    def before(cls, op: Op) -> Builder:
        assert op.parent is not None
        return cls(op.parent, op.parent.ops.index(op))

    @classmethod
    def after(cls, op: Op) -> Builder:
        assert op.parent is not None
        return cls(op.parent, op.parent.ops.index(op) + 1)

    def insert(self, op: Op) -> Op:
        if self.index is None:
            return self.block.append(op)
        self.block.insert(self.index, op)
        self.index += 1
        return op

    def at(self, block: Block, *, goes_on: bool = False) -> _Elsewhere:
        """Build at the end of `block` within the context. goes_on: what follows the context runs behind the block."""
        return _Elsewhere(self, block, goes_on)

    def build(self, name: str, operands: Sequence[Value], loc: Loc, /, *, hint: str = "", **attrs: Attr) -> Value:
        """Build an op with one result, after its check if it can fail."""
        return self.op(name, operands, loc, names=[hint] if hint else [], **attrs).result

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        loc: Loc,
        /,
        *,
        regions: Sequence[Block] = (),
        names: Sequence[str] = (),
        types: Sequence[Type] | None = None,
        proved: bool = False,
        **attrs: Attr,
    ) -> Op:
        """Build any op.

        types: the result types, if they do not follow from the operands (`loop`, `if`).
        proved: the caller knows that the op's check holds.
        """
        defn = OPS[name]
        result_types = defn.infer(operands, attrs) if types is None else types
        if defn.check and not proved and not is_proved(defn.check, operands, attrs):
            check = OPS["check"]
            self.insert(Op(check, operands, (), {"of": name, **attrs}, loc))
        return self.insert(Op(defn, operands, result_types, attrs, loc, regions, names, no_grad=self.no_grad and not regions))

    def const(self, value: Attr, loc: Loc) -> Value:
        """Return a Python constant: bool, int, float, str or None."""
        return self.op("const", (), loc, types=[_CONST_TYPES[type(value)]], value=value).result
