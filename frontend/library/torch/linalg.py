"""Factorizations of matrices: the ops that decompositions call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import eigen_decomposed as eigen
from scriptc.frontend.library.torch import linalg_decomposed as linalg
from scriptc.frontend.operations.materialize import apply_for_results, apply_op
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, TupleValue


def _several(r: Reader, name: str, A: AbstractValue, **flags: AbstractValue) -> AbstractValue:
    known: dict[str, Any] = {flag: bool(require_known(r, av, flag)) for flag, av in flags.items()}
    return TupleValue([*apply_for_results(r, name, A, **known)])


@serves(eigen._eigh)
def eigh(r: Reader, A: AbstractValue, vectors: AbstractValue) -> AbstractValue:
    return _several(r, "linalg.eigh", A, vectors=vectors)


@serves(eigen._svd)
def svd(r: Reader, A: AbstractValue, vectors: AbstractValue, full: AbstractValue) -> AbstractValue:
    return _several(r, "linalg.svd", A, vectors=vectors, full=full)


def _factorization(function: Callable[..., Any], row: str) -> None:
    serves(function)(lambda r, A: _several(r, row, A))


for _function, _row in (
    (linalg._lu, "linalg.lu"), (linalg._cholesky, "linalg.cholesky"), (linalg._geqrf, "linalg.geqrf")
):  # fmt: skip
    _factorization(_function, _row)


@serves(linalg._lu_solve)
def lu_solve(
    r: Reader, LU: AbstractValue, pivots: AbstractValue, B: AbstractValue, adjoint: AbstractValue
) -> AbstractValue:
    return apply_op(r, "linalg.lu_solve", LU, pivots, B, adjoint=bool(require_known(r, adjoint, "adjoint")))


@serves(linalg._triangle)
def triangle(
    r: Reader, A: AbstractValue, B: AbstractValue, upper: AbstractValue, unitriangular: AbstractValue
) -> AbstractValue:
    return apply_op(r,
        "linalg.triangle", A, B, upper=bool(require_known(r, upper, "upper")),
        unitriangular=bool(require_known(r, unitriangular, "unitriangular")),
    )  # fmt: skip


@serves(linalg._householder)
def householder(r: Reader, A: AbstractValue, tau: AbstractValue) -> AbstractValue:
    return apply_op(r, "linalg.householder", A, tau)
