"""Factorizations of matrices, and solutions by them, over the last two dims. The results are column-major."""

from __future__ import annotations

from typing import Any

from scriptc.ir.opdef import OUT_OF_MEMORY, OpDef, Raises, Samples, Shapes, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, broadcast_dims, tensor
from scriptc.ir.types import Dim, TensorType, Type

_PURE = frozenset({"PURE"})
_TENSOR = frozenset({"tensor"})
_FLOATS = ("f32", "f64")
_SQUARE = (((4, 4),), ((2, 3, 3),), ((1, 1),), ((0, 0),), ((0, 2, 2),), ((9, 9),))
_ANY = (((5, 3),), ((3, 5),), ((2, 9, 7),), ((0, 3),), ((3, 0),))


def _matrices(t: TensorType) -> tuple[tuple[Dim, ...], Dim, Dim]:
    """Return the batch dims, rows and columns."""
    if t.dims is None or len(t.dims) < 2:
        raise TypeRuleError(f"expected matrices, not {t}")
    if t.dtype not in _FLOATS:
        raise TypeRuleError(f"expected matrices of float or double, not {t}")
    return t.dims[:-2], t.dims[-2], t.dims[-1]


def _shorter(a: Dim, b: Dim) -> Dim:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _lu(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    batch, rows, columns = _matrices(t)
    return (t, TensorType("i32", (*batch, _shorter(rows, columns))), TensorType("i32", batch))


def _cholesky(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    return (t, TensorType("i32", _matrices(t)[0]))


def _geqrf(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    batch, rows, columns = _matrices(t)
    return (t, TensorType(t.dtype, (*batch, _shorter(rows, columns))))


def _householder(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t, tau = tensor(operands[0]), tensor(operands[1])
    batch, _, _ = _matrices(t)
    if tau.dtype != t.dtype or tau.dims is None or len(tau.dims) != len(batch) + 1:
        raise TypeRuleError(f"expected the factors of reflections along {t}, not {tau}")
    return (t,)


def _solved(matrix: TensorType, right: TensorType) -> tuple[Type, ...]:
    a, b = _matrices(matrix), _matrices(right)
    if matrix.dtype != right.dtype:
        raise TypeRuleError(f"expected {matrix} and {right} to have the same dtype")
    batch = broadcast_dims([a[0], b[0]])
    assert batch is not None
    return (TensorType(matrix.dtype, (*batch, *b[1:])),)


def _triangle(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    return _solved(tensor(operands[0]), tensor(operands[1]))


def _lu_solve(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    pivots = tensor(operands[1])
    if pivots.dtype != "i32":
        raise TypeRuleError(f"expected pivots of int32, not {pivots}")
    return _solved(tensor(operands[0]), tensor(operands[2]))


def _eigh(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    batch, rows, columns = _matrices(t)
    vectors = t if attrs["vectors"] else TensorType(t.dtype, (*batch, 0, 0))
    return (TensorType(t.dtype, (*batch, rows)), vectors, TensorType("i32", batch))


def _svd(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = tensor(operands[0])
    batch, rows, columns = _matrices(t)
    k = _shorter(rows, columns)
    u, vh = ((rows, rows), (columns, columns)) if attrs["full"] else ((rows, k), (k, columns))
    if not attrs["vectors"]:
        u = vh = (0, 0)
    shapes = ((*batch, *u), (*batch, k), (*batch, *vh))
    return (*(TensorType(t.dtype, shape) for shape in shapes), TensorType("i32", batch))



def _not_square(function: str, shapes: Shapes, extra: tuple[Any, ...]) -> Raises:
    message = f"{function}: A must be batches of square matrices, but they are 3 by 4 matrices"
    return Raises("RuntimeError", message, shapes=shapes, extra=extra)


_RIGHT = (((3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 5)), ((37, 37), (37, 20)), ((3, 3), (3, 0)), ((0, 0), (0, 2)))
ROWS = [
    # Returns both factors in one matrix, LAPACK's pivots, and the number of the first zero pivot, counted from 1, or 0.
    OpDef("linalg.lu", "(Tensor A) -> (Tensor, Tensor, Tensor)", _lu, _PURE, gradient=("A",), ref="torch.linalg.lu_factor_ex",
          reads=_TENSOR, raises=True, kernel="sc_linalg_lu", tolerance_ulp=256,
          samples=Samples((*_SQUARE, *_ANY), dtypes=_FLOATS), errors=(OUT_OF_MEMORY,)),
    # Solves A x = B, or A^T x = B if `adjoint`.
    OpDef("linalg.lu_solve", "(Tensor LU, Tensor pivots, Tensor B, *, bool adjoint) -> Tensor", _lu_solve, _PURE,
          gradient=("LU", "B"), ref="torch.linalg.lu_solve", reads=_TENSOR, raises=True, kernel="sc_linalg_lu_solve",
          tolerance_ulp=256,
          samples=Samples((((3, 3), (3,), (3, 2)), ((2, 1, 3, 3), (2, 1, 3), (4, 3, 5)), ((0, 0), (0,), (0, 2))),
                          1.0, 2.9, dtypes=_FLOATS, kinds=("", "i32", ""), extra=((False,), (True,))),
          errors=(_not_square("torch.linalg.lu_solve", ((3, 4), (3,), (3, 2)), (False,)),
                  Raises("RuntimeError", "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B (3x3 and "
                         "4x2)", shapes=((3, 3), (3,), (4, 2)), extra=(False,)))),
    OpDef("linalg.triangle", "(Tensor A, Tensor B, *, bool upper, bool unitriangular) -> Tensor", _triangle, _PURE,
          gradient=("A", "B"), ref="torch.linalg.solve_triangular", reads=_TENSOR, raises=True, kernel="sc_linalg_triangle",
          tolerance_ulp=256,
          samples=Samples(_RIGHT, 1.0, 1.1, dtypes=_FLOATS, extra=((True, False), (False, True), (False, False))),
          errors=(_not_square("linalg.solve_triangular", ((3, 4), (3, 2)), (True, False)),
                  Raises("RuntimeError", "linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B "
                         "(3x3 and 4x2)", shapes=((3, 3), (4, 2)), extra=(True, False)))),
    # Factors a matrix by its lower triangle. Also returns the order of the first leading minor that is not positive, or
    # 0.
    OpDef("linalg.cholesky", "(Tensor A) -> (Tensor, Tensor)", _cholesky, _PURE, gradient=("A",),
          ref="torch.linalg.cholesky_ex",
          reads=_TENSOR, raises=True, kernel="sc_linalg_cholesky", tolerance_ulp=256,
          samples=Samples((((1, 1),), ((3, 1, 1),), ((0, 0),)), 1.0, 3.0, dtypes=_FLOATS),
          errors=(_not_square("linalg.cholesky", ((3, 4),), ()),)),
    # Returns R above the diagonal with the vectors of the reflections below, and the factors of the reflections.
    OpDef("linalg.geqrf", "(Tensor A) -> (Tensor, Tensor)", _geqrf, _PURE, ref="torch.geqrf",
          reads=_TENSOR, raises=True, kernel="sc_linalg_geqrf", tolerance_ulp=1024,
          samples=Samples((*_SQUARE, *_ANY), dtypes=_FLOATS), errors=(OUT_OF_MEMORY,)),
    OpDef("linalg.householder", "(Tensor A, Tensor tau) -> Tensor", _householder, _PURE,
          gradient=("A", "tau"), ref="torch.linalg.householder_product", reads=_TENSOR, raises=True, kernel="sc_linalg_q",
          tolerance_ulp=1024,
          samples=Samples((((5, 3), (3,)), ((2, 40, 36), (2, 34)), ((3, 3), (0,)), ((0, 0), (0,))), 0.0, 0.2,
                          dtypes=_FLOATS),
          errors=(Raises("RuntimeError", "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
                         "input.shape[-1]", shapes=((3, 4), (3,))),
                  Raises("RuntimeError", "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to "
                         "tau.shape[-1]", shapes=((4, 3), (5,))))),
    # Returns eigenvalues, eigenvectors (none without `vectors`) and a code, which is not 0 if the iteration does not
    # converge. Reads the lower triangle. Samples test the values alone, since the vectors are unique only up to signs.
    OpDef("linalg.eigh", "(Tensor A, *, bool vectors) -> (Tensor, Tensor, Tensor)", _eigh, _PURE, gradient=("A",),
          ref="linalg:eigh",
          reads=_TENSOR, raises=True, kernel="sc_linalg_eigh", tolerance_ulp=1024,
          samples=Samples(_SQUARE, dtypes=_FLOATS, extra=((False,),)),
          errors=(_not_square("linalg.eigh", ((3, 4),), (False,)),)),
    # Returns left vectors, values, right vectors and a code as of linalg.eigh, -4 for a NaN. If `full`, the matrices of
    # vectors are square.
    OpDef("linalg.svd", "(Tensor A, *, bool vectors, bool full) -> (Tensor, Tensor, Tensor, Tensor)", _svd, _PURE,
          gradient=("A",), ref="linalg:svd", reads=_TENSOR, raises=True, kernel="sc_linalg_svd", tolerance_ulp=1024,
          samples=Samples((*_SQUARE, *_ANY), dtypes=_FLOATS, extra=((False, False),)), errors=(OUT_OF_MEMORY,)),
]  # fmt: skip
