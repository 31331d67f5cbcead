"""Writes through tensors, as in-place operators and copies make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NoReturn

import torch

from scriptc.frontend.scalars import FILLING, Scalars
from scriptc.frontend.values import AV, Dyn, Known, ListV, Tup, is_complex_number, is_tensor, tensor_type
from scriptc.ir.analysis import is_fresh, shares_memory
from scriptc.ir.core import Attr, Op, Value
from scriptc.ir.dtypes import COMPLEX, INEXACT, INTEGRAL, SCALAR_TYPES, category
from scriptc.ir.ops import OPS
from scriptc.ir.types import FLOAT, INT, ScalarType, TensorType

# Ops that write their first operand, and the checks in front of them.
_WRITES = {name for name, row in OPS.items() if "tensor" in row.writes and row.args and row.args[0].name == "dst"}
_WRITES |= {"check.store", "check.overlap"}
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

    protects_leaves = True  # from in-place writes in grad mode

    def effect(self, name: str, operands: Sequence[Value], /, **attrs: Attr) -> Op:
        """Build an op without results; writes to tensors first ask whether autograd forbids them."""
        if name in _WRITES and self.graded is None and self.protects_leaves:
            self.check_leaf(operands[0])
        return super().effect(name, operands, **attrs)

    def check_leaf(self, dst: Value) -> None:
        """Raise where a leaf that requires grad, or a view of one, is written. The check is of what views were taken of."""
        root = dst
        while (op := root.op) is not None and shares_memory(root):
            if op.name == "alias":  # detached
                return
            root = op.operands[0]
        if not isinstance(root.type, TensorType) or root.type.dtype not in INEXACT or is_fresh(root):
            return
        view = root is not dst
        before = self.builder.block.ops[-3:]  # the checks of one write stand side by side
        if not any(o.name == "check.leaf" and o.operands[0] is root and o.attrs["view"] == view for o in before):
            super().effect("check.leaf", [root], view=view)

    @contextmanager
    def leaves_unprotected(self) -> Iterator[None]:
        """Build code that eager runs without grad mode, but whose results may require grad."""
        saved, self.protects_leaves = self.protects_leaves, False
        try:
            yield
        finally:
            self.protects_leaves = saved

    def write(self, dst: AV, src: AV) -> AV:
        """dst.copy_(src) for the result of an in-place op: shapes and dtypes as eager checks them; the value is dst."""
        if is_tensor(src):
            self.check_category(dst, tensor_type(src).dtype)
            if tensor_type(dst).dims != tensor_type(src).dims or None in (tensor_type(dst).dims or (None,)):
                self.effect("check.store", [self.value(dst), self.value(src)])
        self.copy_into(dst, src)
        return dst

    def check_category(self, dst: AV, found: str) -> None:
        """Raise where an op in place gives elements of a dtype that those of `dst` cannot be."""
        to = tensor_type(dst).dtype
        if category(found) > category(to):
            message = f"result type {SCALAR_TYPES[found]} can't be cast to the desired output type {SCALAR_TYPES[to]}"
            self.raises_at_run_time("RuntimeError", message)

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

    def check_number(self, value: AV, dtype: str) -> None:
        """Raise where a number that is assigned to a subscript does not fit: eager converts it before it looks at the index."""
        if is_tensor(value) or is_complex_number(value) or dtype in ("bool", "f16", "bf16") or dtype in COMPLEX:
            return
        kind = self.type_of(value)
        known = isinstance(value, Known) and kind in (INT, FLOAT)
        if known or kind == FLOAT and dtype in INTEGRAL or kind == INT and dtype in INTEGRAL and dtype != "i64":
            self.converted(value, dtype)

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
        to = tensor_type(view).dtype
        found = tensor_type(value).dtype if is_tensor(value) else to

        def raise_dtypes() -> NoReturn:
            self.raises_at_run_time(
                "RuntimeError",
                "Index put requires the source and destination dtypes match, got "
                f"{SCALAR_TYPES[to]} for the destination and {SCALAR_TYPES[found]} for the source.",
            )

        def check_item() -> bool:
            if found != to:
                self.converted(self.item(value), to)
            return True

        def check() -> bool:
            if found != to and (parts or tensor_type(value).rank):  # a list may be a mask
                raise_dtypes()
            self.check_overlap(view, value, *parts, apart=True)
            return True

        if not masked:
            check()
        elif is_tensor(value) and not tensor_type(value).rank:
            check_item()
        elif is_tensor(value) and tensor_type(value).rank:
            self.branch(self.compare("Eq", self.op("numel", value), Known(1)), check_item, check, frozenset())

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
