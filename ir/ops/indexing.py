"""Elements picked and placed by tensors of indices. Dims count from the front."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, tensor
from scriptc.ir.types import TensorType, Type

_ANY = frozenset({"PURE", "ANY_DTYPE"})
_TENSOR = frozenset({"tensor"})
# ORDER SCATTER: sc_ops.h
REDUCTIONS = ("set", "add", "prod", "amax", "amin", "mean")
_INDEX = ("", "i64")


def _gather(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType(tensor(operands[0]).dtype, tensor(operands[1]).dims),)


def _scatter(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, _, src = map(tensor, operands)
    if x.dtype != src.dtype:
        raise TypeRuleError("scatter(): Expected self.dtype to be equal to src.dtype")
    return (x,)


def _index_select(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x, index = tensor(operands[0]), tensor(operands[1])
    assert x.dims is not None
    if not x.dims:
        return (x,)
    dim = attrs["dim"]
    count = index.dims[0] if index.dims else 1
    return (TensorType(x.dtype, (*x.dims[:dim], count, *x.dims[dim + 1 :])),)


def _nonzero(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType("i64", (None, tensor(operands[0]).rank)),)


_SCATTERED = (((3, 4), (2, 3), (3, 4)), ((5,), (4,), (4,)))
_DTYPES = ("f32", "i64", "bool", "bf16", "f64")

ROWS = [
    OpDef("gather", "(Tensor self, int dim, Tensor index) -> Tensor", _gather, _ANY, gradient=("self",), ref="torch.gather",
          reads=_TENSOR, raises=True, kernel="sc_gather",
          samples=Samples((((3, 4), (3, 2)), ((3, 4), (0, 2)), ((5,), (3,))), 0.0, 2.9, dtypes=_DTYPES, extra=((0,),),
                          kinds=_INDEX),
          errors=(Raises("RuntimeError", "index 5 is out of bounds for dimension 0 with size 3", shapes=((3, 4), (2, 2)),
                         extra=(0,), value=5.0),
                  Raises("RuntimeError", "Index tensor must have the same number of dimensions as input tensor",
                         shapes=((3, 4), (2,)), extra=(0,)))),
    OpDef("index_select", "(Tensor self, int dim, Tensor index) -> Tensor", _index_select, _ANY,
          gradient=("self",), ref="torch.index_select", reads=_TENSOR, raises=True, kernel="sc_index_select",
          samples=Samples((((3, 4), (5,)), ((3, 4), (0,))), 0.0, 2.9, dtypes=_DTYPES, extra=((0,), (1,)), kinds=_INDEX),
          errors=(Raises("IndexError", "index out of range in self", shapes=((3, 4), (2,)), extra=(0,), value=5.0),)),
    # Copies self and writes src into the copy. If `include_self`, the elements of self take part in the reduction.
    OpDef("scatter", "(Tensor self, int dim, Tensor index, Tensor src, str reduce, bool include_self) -> Tensor",
          _scatter, _ANY, gradient=("self", "src"), ref="scatter", reads=_TENSOR, raises=True, emit="scatter", tolerance_ulp=4,
          samples=Samples(_SCATTERED, 0.0, 2.9, dtypes=("f32", "i64", "f64", "i8"), kinds=(*_INDEX, ""),
                          extra=tuple((0, r, s) for r in REDUCTIONS for s in (True, False))),
          errors=(Raises("RuntimeError", "index 5 is out of bounds for dimension 0 with size 3",
                         shapes=((3, 4), (2, 2), (3, 4)), extra=(0, "set", True), value=5.0),)),
    # i64 [found, rank], in element order
    OpDef("nonzero", "(Tensor self) -> Tensor", _nonzero, _ANY, torch=("torch.nonzero", "Tensor.nonzero"),
          ref="torch.nonzero", reads=_TENSOR, kernel="sc_nonzero",
          samples=Samples((((3, 4),), ((),), ((0, 2),)), -1.0, 1.0, dtypes=("bool", "i64", "f32"))),
]  # fmt: skip
