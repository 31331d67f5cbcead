"""Writes through tensors, as in-place operators and copies make them."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.frontend.context import Context
from scriptc.frontend.values import AV, Dyn, Known, is_complex_number, is_tensor, tensor_type
from scriptc.ir.dtypes import COMPLEX, SCALAR_TYPES, category


class Writes(Context):
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

    def check_overlap(self, dst: AV, *operands: AV) -> None:
        """Eager refuses to write what another operand of the same op may read in other places."""
        for av in operands:
            if not is_tensor(av) or av is dst:
                continue
            made = self.value(av).op
            fresh = made is not None and made.has("PURE") and not made.has("VIEW") and not made.has("FETCHES")
            if not fresh and self.value(av) is not self.value(dst):
                self.effect("check.overlap", [self.value(dst), self.value(av)])

    def copy_into(self, dst: AV, src: AV) -> None:
        if not is_tensor(src):
            src = self.new_filled((), src, tensor_type(dst).dtype)
        self.effect("copy_", [self.value(dst), self.value(src)])

    def new_filled(self, size: Sequence[AV], number: AV, dtype: str) -> AV:
        """A new tensor of a number."""
        shape = self.shape_tuple(tuple(size))
        if not is_complex_number(number):
            return self.op("full", shape, number, dtype=dtype)
        if dtype not in COMPLEX:
            self.fail("complex_in_real")
        return self.op("fill", self.op("full", shape, Known(0), dtype=dtype), number)

    def shape_tuple(self, items: tuple[AV, ...]) -> AV:
        return Dyn(self.sizes(items))
