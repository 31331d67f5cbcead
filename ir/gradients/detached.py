"""Detach what ops of `no_grad` code make and write, by `alias`, which carries no gradients.

    %y = mul(%x, %c) no_grad               %t = mul(%x, %c)
                                     =>    %y = alias(%t)
    copy_(%b, %y) no_grad                  %a = alias(%b)
                                           copy_(%a, %y)
    %p = chunk(%x, %n) no_grad             %b = alias(%x)
                                           %p = chunk(%b, %n)

Passes may then treat such ops as all others. Values that such ops only fetch, such as an item of a list, keep their gradients.
"""

from __future__ import annotations

from scriptc.ir.analysis import is_fresh
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.types import TensorType

_SAME_OBJECT = ("contiguous", "param")  # may return a tensor that existed before


def is_detached(value: Value) -> bool:
    """Return whether a value is a new tensor object that an op of `no_grad` code made."""
    op, t = value.op, value.type
    if op is None or not op.no_grad or op.has("FETCHES") or op.name in (*_SAME_OBJECT, "undef"):
        return False
    return isinstance(t, TensorType) and t.dtype in INEXACT and (is_fresh(value) or op.has("VIEW"))


def writes_tensor(op: Op) -> bool:
    """Return whether an op writes to the tensor that is its first operand."""
    return "tensor" in op.defn.writes and bool(op.defn.args) and op.defn.args[0].name == "dst"


def _makes_views(op: Op) -> bool:
    """Return whether an op makes a list of views of its first operand."""
    return op.has("VIEW") and not isinstance(op.result.type, TensorType) and isinstance(op.operands[0].type, TensorType)


def run(module: Module) -> None:
    """Make the gradients of `no_grad` code explicit in all functions of a module."""
    for func in module.funcs.values():
        detach(func.body)


def detach(block: Block) -> None:
    """Make the gradients of `no_grad` code explicit in a block."""
    for op in [op for op in block.walk() if op.no_grad and op.name != "contiguous"]:
        _detach(op)
        op.no_grad = False


def _detach(op: Op) -> None:
    assert op.parent is not None
    builder = Builder.after(op)
    for result in filter(is_detached, op.results):
        uses = list(result.uses.items())
        detached = builder.build("alias", [result], op.loc, hint=result.name)
        for (_, i), user in uses:
            user.set_operand(i, detached)
    if writes_tensor(op) or _makes_views(op):
        op.set_operand(0, Builder.before(op).build("alias", [op.operands[0]], op.loc))
