"""New tensors without input tensors. Sizes are a tuple of i64 values."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, tuple_items
from scriptc.ir.types import TensorType, Type

_FRESH = frozenset({"PURE", "ALLOCATES", "PLAIN"})


def _sized(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType(attrs["dtype"], tuple(as_dim(v) for v in tuple_items(operands[0]))),)


def _arange(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType(attrs["dtype"], (None,)),)


ROWS = [
    # Negative sizes raise, so `full` is not movable.
    OpDef("full", "(SymInt[] size, Scalar value, *, ScalarType dtype) -> Tensor", _sized, _FRESH, ref="torch.full",
          raises=True, emit="full",
          samples=Samples(extra=(((2, 3), 1.5), ((), 2), ((0, 4), True)), dtypes=("f32", "i64", "bool", "bf16")),
          errors=(Raises("RuntimeError", "Trying to create tensor with negative dimension -1: [2, -1]", shapes=(),
                         extra=((2, -1), 1.5)),)),
    OpDef("empty", "(SymInt[] size, *, ScalarType dtype) -> Tensor", _sized, _FRESH, ref="empty",
          raises=True, emit="empty", samples=Samples(extra=(((0, 4),),), dtypes=("f32",)),
          errors=(Raises("RuntimeError", "Trying to create tensor with negative dimension -1: [2, -1]", shapes=(),
                         extra=((2, -1),)),)),
    OpDef("arange", "(Scalar start, Scalar end, Scalar step, *, ScalarType dtype) -> Tensor", _arange, _FRESH,
          ref="torch.arange", raises=True, emit="arange",
          samples=Samples(extra=((0, 5, 1), (5, 0, -2), (0.5, 2.0, 0.25)), dtypes=("f32", "f64")),
          errors=(Raises("RuntimeError", "step must be nonzero", shapes=(), extra=(0, 5, 0)),
                  Raises("RuntimeError", "upper bound and lower bound inconsistent with step sign", shapes=(),
                         extra=(0, 5, -1)))),
]  # fmt: skip
