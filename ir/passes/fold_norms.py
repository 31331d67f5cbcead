"""Fold what is computed for each channel behind a convolution of frozen weights into its weight and bias.

    %y = conv2d(%x, %w, %b, %one)                         %s4 = reshape(%s, (F, 1, 1, 1))
    %m = mul(%y, %s)                                      %v = mul(%w, %s4)
    %z = add(%m, %t)                            =>        %c = add(mul(%b, %s1), %t1)
                                                          %z = conv2d(%x, %v, %c, %one)

With `folded=1`. %s and %t, of size [F, 1, 1] or [1, F, 1, 1], are computed from frozen weights alone, as the scale and the
shift of a BatchNorm in evaluation are. The new weight is computed once (`cache_frozen`). Results differ by rounding: each
product of the sum is rounded after the scale was multiplied in.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import FrozenWeights, computed_again, known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.rewrite import Rewriter, Rule, rewrite
from scriptc.ir.types import NONE

_SCALES = ("mul", "div")
_SHIFTS = ("add", "sub")


def _is_per_channel(value: Value, weight: Value) -> bool:
    """Return whether a tensor has a number for each filter of a weight, in the dim of an image's channels."""
    sizes, of = known_sizes(value), known_sizes(weight)
    if sizes is None or of is None or not 3 <= len(sizes) <= 4 or tensor(value).dtype != tensor(weight).dtype:
        return False
    return sizes[-3:] == (of[0], 1, 1) and sizes[:-3] in ((), (1,))


class _Folder:
    def __init__(self, module: Module):
        self.frozen = FrozenWeights(module)

    def fold(self, op: Op, rw: Rewriter) -> bool:
        found = self._match(op)
        if found is None:
            return False
        conv, factor = found
        x, weight, bias, groups = conv.operands
        number = computed_again(factor, Builder.before(conv))
        if op.name in _SCALES:
            weight = _apply(op, weight, number, (-1, 1, 1, 1), conv)
        if bias.type != NONE:
            bias = _apply(op, bias, number, (-1,), conv)
        elif op.name in _SHIFTS:
            bias = _reshaped(number, (-1,), conv)
            bias = bias if op.name == "add" else rw.insert_before(conv, "neg", [bias])
        new = Builder.before(conv).op("conv2d", [x, weight, bias, groups], conv.loc, names=[op.result.name], **conv.attrs)
        new.result.type = op.result.type
        for check in [user for user in conv.result.users() if user.name == "check" and factor in user.operands]:
            rw.erase_unused(check)  # the number of channels is known
        rw.add(new)
        rw.replace(op, [new.result])
        rw.replace(conv, [new.result])
        return True

    def _match(self, op: Op) -> tuple[Op, Value] | None:
        """Return the convolution whose results an op scales or shifts, and by what."""
        if op.name not in (*_SCALES, *_SHIFTS) or len(op.operands) < 2:
            return None
        for i in (0, 1) if op.name in ("mul", "add") else (0,):
            conv, factor = op.operands[i].op, op.operands[1 - i]
            if conv is None or conv.name != "conv2d" or not self._is_foldable(conv, op):
                continue
            if _is_per_channel(factor, conv.operands[1]) and self.frozen.is_computed_from_weights(factor):
                return conv, factor
        return None

    def _is_foldable(self, conv: Op, op: Op) -> bool:
        """Return whether an op is all that a convolution of frozen weights is computed for."""
        _, weight, bias, _ = conv.operands
        frozen = all(self.frozen.is_computed_from_weights(v) for v in (weight, bias) if v.type != NONE)
        others = [user for user in conv.result.users() if user is not op]
        return frozen and op.result.type == conv.result.type and all(u.name in ("check", "size") for u in others)


def _reshaped(number: Value, size: tuple[int, ...], anchor: Op) -> Value:
    b = Builder.before(anchor)
    sizes = b.op("tuple", [b.const(n, anchor.loc) for n in size], anchor.loc).result
    return b.op("reshape", [number, sizes], anchor.loc, proved=True).result


def _apply(op: Op, value: Value, number: Value, size: tuple[int, ...], anchor: Op) -> Value:
    """Return what `op` makes of a weight or a bias and the number of each filter."""
    operands = [value, _reshaped(number, size, anchor), *op.operands[2:]]
    return Builder.before(anchor).op(op.name, operands, op.loc, proved=True, **op.attrs).result


def run(module: Module, options: Mapping[str, int]) -> bool:
    if not options.get("folded"):
        return False
    rules: list[Rule] = [_Folder(module).fold]
    return rewrite(module, rules)
