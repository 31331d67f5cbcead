"""Let a convolution or a product apply the function of one element that follows it, while its sums are in a near cache.

    %y = conv2d_packed(%x, %p, %none, %l, %none) {...}          %silu = activation() do (%a: f32[]) {
    %s = sigmoid(%y)                                              %s = sigmoid(%a)
    %z = mul(%y, %s)                                    =>        %z1 = mul(%a, %s)
                                                                  yield(%z1)
                                                                }
                                                                %z = conv2d_packed(%x, %p, %none, %l, %silu) {...}

    %y = linear_packed(%x, %p, %b) {...}                =>        %z = linear_activated(%x, %p, %b, %gelu) {...}

The function takes pointwise ops that depend on the result of the convolution or product and on constants alone, up to the last
one that gives all that others use. It is named after the result. Products in loops are left to `fuse`: their results are in a
near cache, and one loop over elements may compute more than the function.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ops.rules import tensor
from scriptc.ir.passes.fuse_epilogues import asks_for_sizes
from scriptc.ir.regions import is_constant, is_loop
from scriptc.ir.types import NONE, TensorType


def _takes_activation(op: Op) -> bool:
    if op.name == "conv2d_packed":
        return op.operands[4].type == NONE
    return op.name == "linear_packed" and tensor(op.result).dtype == "f32" and op.enclosing(is_loop) is None


def _follows(op: Op, conv: Op, known: set[Value]) -> bool:
    """Return whether an op may be a part of the function."""
    if not op.has("ELEMENTWISE") or op.parent is not conv.parent or op.defn.raises or any(writers(op)):
        return False
    return all(v in known or is_constant(v) for v in op.operands)


def _reached(conv: Op) -> list[Op]:
    """Return the pointwise ops that depend on the result of a convolution or a product alone, in their order."""
    found: dict[Op, None] = {}
    known = {conv.result}
    todo = [conv.result]
    while todo:
        for user in todo.pop().users():
            if user not in found and _follows(user, conv, known):
                found[user] = None
                known.add(user.result)
                todo.append(user.result)
    assert conv.parent is not None
    return sorted(found, key=conv.parent.ops.index)


def _is_used(value: Value, group: list[Op], conv: Op) -> bool:
    users = [user for user in value.users() if user not in group]
    return any(value is not conv.result or not asks_for_sizes(user) for user in users)


def _group(conv: Op) -> list[Op]:
    """Return the ops of the function: the longest sequence of which one result is used, the last one."""
    reached = _reached(conv)
    for n in range(len(reached), 0, -1):
        group = reached[:n]
        last = group[-1].result
        used = [v for v in (conv.result, *(op.result for op in group)) if _is_used(v, group, conv)]
        if used == [last] and isinstance(last.type, TensorType) and last.type.dtype == "f32":
            return group
    return []


def _of_one_element(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return TensorType(value.type.dtype, ())


def _activation(conv: Op, group: list[Op]) -> Value:
    """Build the function in front of a convolution or a product."""
    last, before = group[-1], Builder.before(conv)
    body = Block([(_of_one_element(conv.result), conv.result.name)])
    build, inner = Builder(body), {conv.result: body.args[0]}
    for op in group:
        for v in op.operands:
            if v not in inner and v.op is not None:  # a constant, which may stand behind the convolution
                inner[v] = before.const(v.op.attrs["value"], v.op.loc)
        operands, types = [inner[v] for v in op.operands], [_of_one_element(op.result)]
        made = build.op(op.name, operands, op.loc, names=[op.result.name], types=types, proved=True, **op.attrs)
        inner[op.result] = made.result
    build.op("yield", [inner[last.result]], last.loc)
    return before.op("activation", (), last.loc, regions=[body], names=[last.result.name]).result


def _fuse(conv: Op) -> bool:
    group = _group(conv)
    if not group:
        return False
    result = group[-1].result
    activation = _activation(conv, group)
    if conv.name == "conv2d_packed":
        conv.set_operand(4, activation)
    else:
        operands = [*conv.operands, activation]
        product = Builder.before(conv).op("linear_activated", operands, conv.loc, types=[conv.result.type], **conv.attrs)
        conv.result.replace_all_uses(product.result)
        conv.erase()
        conv = product
    result.replace_all_uses(conv.result)
    conv.result.type, conv.result.name = result.type, result.name
    for op in reversed(group):
        op.erase()
    return True


def run(module: Module, options: Mapping[str, int]) -> bool:
    return any([_fuse(op) for op in list(module.walk()) if _takes_activation(op)])
