"""Let a 1 x 1 convolution scale, shift and bound its image as it reads it, without a pass over memory.

    %m = mul(%x, %s)                                   %y = if %own -> (f32[N, C, H, W]) {
    %a = add(%m, %t)                                     %m = mul(%x, %s)
    %y = relu(%a)                              =>        ...
    %l = bool.or_(%k, %free)                             yield(%r)
    %z = conv2d_packed(%y, %p, ..., %l, ...)           } else { yield(%x) }
                                                       %l = bool.or_(%k, %free)
                                                       %q = with_prologue(%free, %s, %t, %p) {least = 0.0, most = inf}
                                                       %z = conv2d_packed(%y, %q, ..., %l, ...)

%s and %t, of size [C, 1, 1] or [1, C, 1, 1], are the scale and the shift of a BatchNorm that cannot be folded into a weight,
since a ReLU follows. %s of size [N, C, 1, 1] is the gate of a squeeze-and-excite block. Where %own is true, the strides of the
convolution's result may follow from those of the ops in front of it, which are then computed as before (channels_last.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from scriptc.ir.analysis import Origins, may_write, writers
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.passes.fuse_epilogues import asks_for_sizes, bounds_of
from scriptc.ir.regions import precedes
from scriptc.ir.types import TensorType


@dataclass
class _Prologue:
    """clamp(image * scale + shift, least, most), which `ops` compute for `convs`. Where `own` is true, they still do."""

    image: Value
    scale: Value
    shift: Value | None
    least: float
    most: float
    ops: list[Op]
    convs: list[Op]
    own: Value


def _own(conv: Op) -> Value | None:
    """Return the flag of a convolution on which channels_last lets the strides of its result depend."""
    layout = conv.operands[3].op
    if layout is None or layout.name not in ("bool.or_", "bool.and_"):
        return None
    flag = layout.operands[1]
    if layout.name == "bool.and_":
        return flag
    return flag.op.operands[0] if flag.op is not None and flag.op.name == "bool.not" else None


def _is_per_channel(value: Value, image: TensorType, batch: bool) -> bool:
    """Return whether a tensor has one number for each channel of an image, or of each image of a batch if `batch`."""
    t, dims = value.type, image.dims
    if not isinstance(t, TensorType) or t.dtype != "f32" or t.dims is None or dims is None or not 3 <= len(t.dims) <= 4:
        return False
    first = t.dims[:-3]
    of_images = batch and first == dims[:1] and first[0] is not None
    return isinstance(dims[1], int) and t.dims[-3:] == (dims[1], 1, 1) and (first in ((), (1,)) or of_images)


def _per_channel(op: Op | None, name: str, batch: bool) -> tuple[Value, Value] | None:
    """Return the image and the numbers of the channels that an op combines."""
    if op is None or op.name != name or len(op.operands) != 2:
        return None
    for image, number in (op.operands, op.operands[::-1]):
        t = image.type
        if isinstance(t, TensorType) and t == op.result.type and t.rank == 4 and _is_per_channel(number, t, batch):
            return image, number
    return None


def _takes_prologue(conv: Op, image: Value) -> bool:
    """Return whether an image is what a 1 x 1 convolution without padding and groups reads."""
    if conv.name != "conv2d_packed" or [i for i, v in enumerate(conv.operands) if v is image] != [0]:
        return False
    packed = conv.operands[1].op
    return (
        (packed is None or packed.name != "with_prologue")
        and conv.attrs["weight"][2:] == (1, 1)
        and conv.attrs["groups"] == 1
        and conv.attrs["padding"] == (0, 0)
    )


def _find(result: Value) -> _Prologue | None:
    """Return the prologue whose result is `result`."""
    op, ops = result.op, []
    least, most = -inf, inf
    while op is not None and (bounds := bounds_of(op)) is not None:
        ops.append(op)
        least, most, op = max(least, bounds[0]), min(most, bounds[1]), op.operands[0].op
    shift = None
    if (found := _per_channel(op, "add", batch=False)) is not None:
        assert op is not None
        ops.append(op)
        op, shift = found[0].op, found[1]
    scaled = _per_channel(op, "mul", batch=True)
    if op is None or scaled is None or least > most:
        return None
    ops.append(op)
    image, scale = scaled
    convs = [user for user in result.users() if user.name == "conv2d_packed"]
    owns = {_own(conv) for conv in convs}
    own = owns.pop() if len(owns) == 1 else None
    if own is None or any(o.parent is not op.parent or o.result.type != image.type for o in ops) or not precedes(own, op):
        return None
    ok = all(_takes_prologue(conv, result) for conv in convs) and all(_is_hidden(o.result, ops, convs) for o in ops)
    return _Prologue(image, scale, shift, least, most, ops[::-1], convs, own) if ok else None


def _is_hidden(value: Value, ops: list[Op], convs: list[Op]) -> bool:
    """Return whether a value is used by the prologue and its convolutions alone, but for sizes, and strides of the last one."""
    last = value is ops[0].result
    return all(
        user in ops or asks_for_sizes(user) or (last and (user in convs or user.name == "suggests_channels_last"))
        for user in value.users()
    )


def _fuse(p: _Prologue) -> None:
    last = p.ops[-1]
    b, loc = Builder.before(last), last.loc
    for op in p.ops[:-1]:
        for (_, i), user in list(op.result.uses.items()):
            if user not in p.ops:
                user.set_operand(i, p.image)
    kept, read = Block(), Block()
    choice = b.op("if", [p.own], loc, regions=[kept, read], types=[last.result.type], names=[last.result.name]).result
    with b.at(kept):
        made: dict[Value, Value] = {}
        for op in p.ops:
            clone_op(b, op, made)
        b.op("yield", [made[last.result]], loc)
    with b.at(read):
        b.op("yield", [p.image], loc)
    last.result.replace_all_uses(choice)
    for op in reversed(p.ops):
        op.erase()
    for conv in p.convs:
        b = Builder.before(conv)
        free = b.op("bool.not", [p.own], conv.loc).result
        shift = p.shift or b.const(None, conv.loc)
        operands = [free, p.scale, shift, conv.operands[1]]
        made_of = b.op("with_prologue", operands, conv.loc, least=p.least, most=p.most)
        conv.set_operand(1, made_of.result)


def _results(func: Func) -> list[Value]:
    """Return the images that packed convolutions read."""
    return list(dict.fromkeys(op.operands[0] for op in func.body.walk() if op.name == "conv2d_packed"))


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        writing, known = list(writers(func.body)), Origins()
        found = [p for v in _results(func) if (p := _find(v)) is not None]
        stable = [
            p
            for p in found
            if not any(may_write(w, v, known) for v in (p.image, p.scale, p.shift) if v is not None for w in writing)
        ]
        for p in stable:
            _fuse(p)
        changed |= bool(stable)
    return changed
