"""Writes through tensors, as in-place operators and copies make them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

from scriptc.frontend.scalars import FILLING, Scalars
from scriptc.frontend.values import AV, Dyn, Known, ListV, Tup, is_complex_number, is_tensor, tensor_type
from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import SCALAR_TYPES, category
from scriptc.ir.ops import OPS
from scriptc.ir.types import ScalarType, TensorType

# These write where indices say, and refuse to read what they write.
_PLACING = frozenset(
    ("cat", "gather", "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "put", "scatter",
     "scatter_add", "scatter_reduce", "stack")
)
# Pointwise ops that ATen has no tag for: most of them are names of others.
_UNTAGGED = frozenset(
    ("addr", "divide", "floor_divide", "greater", "greater_equal", "less", "less_equal", "multiply", "not_equal", "subtract")
)


class Writes(Scalars):
    """Mixin: what writes tensors."""

    def write(self, dst: AV, src: AV) -> AV:
        """dst.copy_(src) for the result of an in-place op: shapes and dtypes as eager checks them; the value is dst."""
        if is_tensor(src):
            to, found = tensor_type(dst).dtype, tensor_type(src).dtype
            if category(found) > category(to):
                self.raises_at_run_time(
                    "RuntimeError",
                    f"result type {SCALAR_TYPES[found]} can't be cast to the desired output type {SCALAR_TYPES[to]}",
                )
            if tensor_type(dst).dims != tensor_type(src).dims or None in (tensor_type(dst).dims or (None,)):
                self.effect("check.store", [self.value(dst), self.value(src)])
        self.copy_into(dst, src)
        return dst

    def spread_into(self, view: AV, value: AV) -> None:
        """view[...] = value. Unlike copy_, leading dims of one do not count, and the value may lie in the view where it is
        spread: eager expands it before it looks for overlaps."""
        source = self.cast(value, tensor_type(view).dtype) if is_tensor(value) else value
        if not is_tensor(source):
            self.copy_into(view, source)
            return
        for _ in range(tensor_type(source).rank - tensor_type(view).rank):
            one = self.compare("Eq", self.size_av(source, 0), Known(1))
            self.check_that(one, "RuntimeError", "shape mismatch: the value does not fit where it is assigned to")
            source = self.op("select", source, Known(0), dim=0)
        if not tensor_type(source).rank and not self.is_untouched(self.value(source)):
            source = self.op("clone", source)
        if self.is_untouched(self.value(source)):
            self.effect("check.store", [self.value(view), self.value(source)])
        elif tensor_type(source).dims != tensor_type(view).dims or None in (tensor_type(view).dims or ()):
            sizes = tuple(self.size_av(view, d) for d in range(tensor_type(view).rank))
            source = self.op("expand", source, self.shape_tuple(sizes))
        self.copy_into(view, source)

    def check_operands(self, name: str, dst: AV, operands: Sequence[AV]) -> None:
        """What eager tests before an op writes its result into dst: pointwise ops refuse to read it in other places than they
        write, those that place by indices to read it at all."""
        known = [isinstance(av, Tup) or (isinstance(av, ListV) and av.items is not None) for av in operands]
        items = [self.iterate(av) if k else [av] for av, k in zip(operands, known, strict=True)]
        tensors = [t for ts in items for t in ts if is_tensor(t)]
        if name in FILLING:
            tensors = [t for t in tensors if tensor_type(t).rank]
        if name in _PLACING or _is_pointwise(name):
            self.check_overlap(dst, *tensors, apart=name in _PLACING)

    def check_placed(self, view: AV, index: AV, value: AV) -> None:
        """The same of view[index] = value with tensors in the index. One number under one mask is filled in, and may lie in the
        view."""
        parts = [p for p in (index.items if isinstance(index, Tup) else (index,)) if is_tensor(p)]
        masked = len(parts) == 1 and tensor_type(parts[0]).dtype in ("bool", "u8") and tensor_type(parts[0]).rank > 0

        def check() -> bool:
            self.check_overlap(view, value, *parts, apart=True)
            return True

        if not masked:
            check()
        elif is_tensor(value) and tensor_type(value).rank:
            self.branch(self.compare("Eq", self.op("numel", value), Known(1)), lambda: True, check, frozenset())

    def check_overlap(self, dst: AV, *operands: AV, apart: bool = False) -> None:
        for value in (self.value(av) for av in operands if is_tensor(av)):
            if apart if value is self.value(dst) else not self.is_untouched(value):
                self.effect("check.overlap", [self.value(dst), value], apart=apart)

    def is_untouched(self, value: Value) -> bool:
        """Whether a tensor was made right here and only computed with since, so that no other shares its memory."""
        fresh = value.op is not None and _makes_new(value.op) and all(map(_makes_new, value.users()))
        return fresh and value.block is self.builder.block

    def copy_into(self, dst: AV, src: AV) -> None:
        if not is_tensor(src):
            src = self.new_filled((), src, tensor_type(dst).dtype)
        self.effect("copy_", [self.value(dst), self.value(src)])

    def view_of(self, tensor: AV) -> Dyn:
        """A new tensor object over all of a tensor, through which gradients flow (`alias` detaches)."""
        return self.op("permute", tensor, dims=tuple(range(tensor_type(tensor).rank)))

    def new_filled(self, size: Sequence[AV], number: AV, dtype: str) -> AV:
        """A new tensor of a number."""
        shape = self.shape_tuple(tuple(size))
        if is_complex_number(number):
            number = self.converted(number, dtype)
        if not is_complex_number(number):
            return self.op("full", shape, number, dtype=dtype)
        return self.op("fill", self.op("full", shape, Known(0), dtype=dtype), number)

    def shape_tuple(self, items: tuple[AV, ...]) -> AV:
        if any(is_tensor(i) and tensor_type(i).dtype == "bool" for i in items):
            self.raises_at_run_time("RuntimeError", "Expected scalar.isIntegral(false) to be true, but got false.")
        return Dyn(self.sizes(items))


def _makes_new(op: Op) -> bool:
    plain = all(isinstance(r.type, (TensorType, ScalarType)) for r in op.results)
    return plain and op.has("PURE") and not op.has("VIEW") and not op.has("FETCHES")


@cache
def _is_pointwise(name: str) -> bool:
    if name in _UNTAGGED:
        return True
    if name in OPS:
        return "ELEMENTWISE" in OPS[name].traits
    packet = getattr(torch.ops.aten, name, None)
    return packet is not None and any(torch.Tag.pointwise in getattr(packet, o).tags for o in packet.overloads())
