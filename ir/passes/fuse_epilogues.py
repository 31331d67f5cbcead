"""Add to the results of a convolution, and bound them, before they are stored.

    %y = conv2d_packed(%x, %p, %none, %l, %none) {low = -inf, high = inf}
    check(%y, %r) {of = "add"}
    %s = add(%y, %r)                                =>    %z = conv2d_packed(%x, %p, %r, %l, %none) {low = 0.0, high = inf}
    %z = relu(%s)

`relu` and `clamp` by numbers become bounds. An added tensor must be there before the convolution, which broadcasts the tensor
and raises the errors of the sum. So no op between convolution and sum may write or raise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf, isnan

from scriptc.ir.analysis import writers
from scriptc.ir.core import Attr, Module, Op, Value
from scriptc.ir.ops.rules import tensor
from scriptc.ir.regions import may_raise, precedes
from scriptc.ir.rewrite import Rewriter, rewrite
from scriptc.ir.types import NONE, TensorType


def asks_for_sizes(op: Op) -> bool:
    """Return whether an op asks for the sizes of a result alone."""
    return op.name in ("check", "size")


def _convolution(value: Value) -> Op | None:
    """Return the convolution whose sums a value is."""
    op = value.op
    return op if op is not None and op.name == "conv2d_packed" and op.operands[4].type == NONE else None


def _replace(conv: Op, op: Op, added: Value, rw: Rewriter, **changed: Attr) -> bool:
    """Let a convolution compute the result of the only op that uses its elements."""
    x, packed, _, layout, activation = conv.operands
    attrs: dict[str, Attr] = {**conv.attrs, **changed}
    new = rw.insert_before(conv, "conv2d_packed", [x, packed, added, layout, activation], hint=op.result.name, **attrs)
    new.type = op.result.type
    rw.replace(op, [new])
    rw.replace(conv, [new])
    return True


def bounds_of(op: Op) -> tuple[float, float] | None:
    """Return the bounds between which an op puts its operand."""
    if op.name == "relu":
        return 0.0, inf
    if op.name not in ("clamp.min", "clamp.max"):
        return None
    bound = op.operands[1].op
    number = bound.attrs["value"] if bound is not None and bound.name == "const" else None
    if not isinstance(number, (int, float)) or isnan(number):
        return None
    return (float(number), inf) if op.name == "clamp.min" else (-inf, float(number))


def fuse_bounds(op: Op, rw: Rewriter) -> bool:
    if (bounds := bounds_of(op)) is None or (conv := _convolution(op.operands[0])) is None:
        return False
    if any(user is not op and not asks_for_sizes(user) for user in conv.result.users()):
        return False
    low, high = max(bounds[0], conv.attrs["low"]), min(bounds[1], conv.attrs["high"])
    return low <= high and op.result.type == conv.result.type and _replace(conv, op, conv.operands[2], rw, low=low, high=high)


def _belongs_to(check: Op, op: Op) -> bool:
    """Return whether a check was built for a sum. Its operands may be others of the same sizes."""
    alike = check.loc == op.loc or list(check.operands) == list(op.operands)
    return check.name == "check" and check.attrs["of"] == op.name and alike


def _keeps_sizes(check: Op, op: Op) -> bool:
    """Return whether a check says that the sum has the sizes of its first operand, in whose place it was stored."""
    return check.name == "check.store" and list(check.operands) == [op.operands[0], op.result]


def _may_be_one(conv: Op, op: Op, dropped: Collection[Op]) -> bool:
    """Return whether no op between a convolution and a sum writes or raises, but for dropped checks."""
    block = conv.parent
    if block is None or op.parent is not block:
        return False
    between = [o for o in block.ops[block.ops.index(conv) + 1 : block.ops.index(op)] if o not in dropped]
    inner = [i for o in between for region in o.regions for i in region.walk()]
    return not any(may_raise(o) or any(writers(o)) for o in (*between, *inner))


def fuse_add(op: Op, rw: Rewriter) -> bool:
    if op.name != "add" or len(op.operands) != 2 or op.operands[0] is op.operands[1]:
        return False
    for i in (0, 1):
        conv, added = _convolution(op.operands[i]), op.operands[1 - i]
        if conv is None or conv.operands[2].type != NONE or (conv.attrs["low"], conv.attrs["high"]) != (-inf, inf):
            continue
        if not isinstance(added.type, TensorType) or added.type.dtype != "f32" or added.type.dims is None:
            continue
        others = [user for user in conv.result.users() if user is not op]
        dropped = [user for user in others if _belongs_to(user, op) or _keeps_sizes(user, op)]
        in_place = any(_keeps_sizes(user, op) for user in dropped)
        if tensor(op.result) != tensor(conv.result) or (len(dropped) < len(others) and not in_place):
            continue
        if any(not asks_for_sizes(user) for user in others if user not in dropped):
            continue
        if precedes(added, conv) and _may_be_one(conv, op, dropped):
            for check in dropped:
                rw.erase_unused(check)
            return _replace(conv, op, added, rw, add_first=i == 1, in_place=in_place)
    return False


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [fuse_add, fuse_bounds])
