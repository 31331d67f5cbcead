"""Running sums, products and extremes along a dim, and sorting. Dims count from the front."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples
from scriptc.ir.ops.rules import Attrs, Operands, as_dim, normal_dim, tensor
from scriptc.ir.types import TensorType, Type

_PURE = frozenset({"PURE"})
_TENSOR = frozenset({"tensor"})
_SHAPES = (((3, 5),), ((4, 0),), ((1, 130),))


def _scanned(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x = tensor(operands[0])
    if x.dims is not None:
        normal_dim(attrs["dim"], x.rank)
    return (TensorType(attrs["dtype"], x.dims),)


def _positions(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType("i64", tensor(operands[0]).dims),)


def _values(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return (TensorType(tensor(operands[0]).dtype, tensor(operands[0]).dims),)


def _topk(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = list(tensor(operands[0]).dims or ())
    if dims:
        dims[attrs["dim"]] = as_dim(operands[1])
    return (TensorType("i64", tuple(dims)),)


def _kthvalue(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    dims = list(tensor(operands[0]).dims or ())
    if dims:
        dims[attrs["dim"]] = 1
    return (TensorType("i64", tuple(dims)),)


def _scan(name: str, dtypes: tuple[str, ...]) -> OpDef:
    return OpDef(
        name, "(Tensor self, int dim, *, ScalarType dtype) -> Tensor", _scanned, _PURE, ref=f"scan:{name}",
        reads=_TENSOR, emit="scan", samples=Samples(_SHAPES, dtypes=dtypes, extra=((0,), (1,))), tolerance_ulp=64,
        gradient=("self",),
    )  # fmt: skip


ROWS = [  # ORDER SCAN: sc_ops.h
    _scan("cumsum", ("f32", "f64", "i64")),
    _scan("cumprod", ("f32", "f64", "i64")),
    _scan("logcumsumexp", ("f32", "f64")),
    # The running extreme; among equal elements the latest.
    OpDef("extreme_scan", "(Tensor self, int dim, bool largest) -> Tensor", _values, _PURE, ref="extreme_scan", reads=_TENSOR,
          kernel="sc_extreme_scan",
          samples=Samples(_SHAPES, dtypes=("f32", "i64", "f64", "bf16"), extra=((0, True), (1, False))),
          gradient=("self",)),
    # The position of the running extreme.
    OpDef("arg_scan", "(Tensor self, int dim, bool largest) -> Tensor", _positions, _PURE, ref="arg_scan", reads=_TENSOR,
          kernel="sc_arg_scan", samples=Samples(_SHAPES, dtypes=("f32", "i64"), extra=((0, True), (1, False)))),
    # NaN is the largest. If not `stable`, equal elements have eager's order.
    OpDef("argsort", "(Tensor self, int dim, bool descending, bool stable) -> Tensor", _positions, _PURE, ref="argsort",
          reads=_TENSOR, kernel="sc_argsort",
          samples=Samples(_SHAPES, dtypes=("f32", "i64", "bool", "f64"), extra=((0, True, True), (1, False, True)))),
    # Returns the positions of the first k elements; among equal elements, eager's choice.
    OpDef("topk", "(Tensor self, SymInt k, int dim, bool largest, bool sorted) -> Tensor", _topk, _PURE, ref="topk",
          reads=_TENSOR, raises=True, kernel="sc_topk",
          samples=Samples((((9, 5),), ((2, 130),)), dtypes=("f32", "i64", "f64"),
                          extra=((2, 0, True, True), (2, 1, False, True), (2, 1, True, False))),
          errors=(Raises("RuntimeError", "selected index k out of range", shapes=((3, 4),), extra=(5, 0, True, True)),)),
    # Returns the position of the k-th smallest element, counted from 1; the dim stays, with size 1.
    OpDef("kthvalue", "(Tensor self, SymInt k, int dim) -> Tensor", _kthvalue, _PURE, ref="kthvalue", reads=_TENSOR,
          raises=True, kernel="sc_kthvalue",
          samples=Samples((((9, 5),), ((2, 130),)), dtypes=("f32", "i64", "f64"), extra=((2, 0), (1, 1))),
          errors=(Raises("RuntimeError", "kthvalue(): selected number k out of range for dimension 0", shapes=((3, 4),),
                         extra=(5, 0)),)),
]  # fmt: skip
