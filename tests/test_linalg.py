"""Linear algebra: eager, the interpreter and C agree in values, strides, exceptions and their messages.

Values are compared in float64: how float32 rounds is tested against float64, beside eager's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from measure import linalg
from settings import OPTIMIZE, sweep
from test_opinfo import entries, failures, first_calls
from three_ways import assert_same, call, compiled, eager, interpreted

import scriptc

L = torch.linalg
F64 = torch.float64
EYE = torch.eye(4, dtype=F64)
SINGULAR = torch.diag(torch.tensor([1.0, 0.0, 2.0, 0.0], dtype=F64))


def made(*size: int) -> torch.Tensor:
    """Well conditioned where it is square."""
    x = torch.randn(size, dtype=F64, generator=torch.Generator().manual_seed(sum(size)))
    return x + 3 * torch.eye(*size[-2:], dtype=F64) * math.sqrt(size[-1]) if size[-1] == size[-2] else x


def positive(*size: int) -> torch.Tensor:
    x = made(*size)
    return x @ x.mT


A = made(4, 4)
SQUARE = [
    A, A.mT, made(2, 3, 5, 5), made(2, 5, 5).mT, made(8, 8)[::2, 1::2], made(1, 1), made(0, 0), made(0, 3, 3), made(40, 40),
    torch.stack([A, SINGULAR, EYE]),
]  # fmt: skip


# ---- functions of one matrix; those above are given to each ----


def determinants(x):
    return L.det(x), torch.det(x), x.logdet(), *L.slogdet(x), *torch.slogdet(x)


def lu_factors(x):
    LU, pivots, info = L.lu_factor_ex(x)
    P, lower, upper = L.lu(x)
    return LU, pivots, info, P, lower, upper, torch.lu_unpack(LU, pivots, unpack_data=False)[0]


def inverses(x):
    inverse, info = L.inv_ex(x)
    return torch.where(info.view(*info.shape, 1, 1) == 0, inverse, 0.0), info


def qr_factors(x):
    return *L.qr(x), *L.qr(x, mode="complete"), *L.qr(x, mode="r"), *torch.geqrf(x), *x.qr()


def singular_values(x):
    U, S, Vh = L.svd(x, full_matrices=False)
    W, _, Zh = L.svd(x)
    return S, L.svdvals(x), (U * S.unsqueeze(-2)) @ Vh, W @ W.mT, Zh @ Zh.mT, L.pinv(x), L.matrix_rank(x)


def powers(x):
    return L.matrix_power(x, 3), x.matrix_power(1), torch.matrix_power(x, 0), L.matrix_power(x, 6), L.matrix_exp(x / 40)


def norms(x):
    plain = [L.matrix_norm(x, p) for p in ("fro", "nuc", 1, 2, math.inf)]
    kept = [L.matrix_norm(x, p, dim=(-1, 0), keepdim=True) for p in ("fro", "nuc", 1, 2, math.inf)]
    return plain, kept, L.norm(x), L.norm(x, 1, -1), L.norm(x, 2, (0, 1))


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", [determinants, lu_factors, inverses, qr_factors, singular_values, powers, norms])
def test_of_one_matrix(function: Callable[..., Any]) -> None:
    program = scriptc.compile(function, optimize=OPTIMIZE)
    wide = [made(3, 5), made(2, 9, 4), made(0, 3), made(3, 0), made(50, 20), made(20, 50)]
    more = wide if function in (lu_factors, qr_factors, singular_values) else []
    for x in (*SQUARE, *more):
        agree(function, program, call(x))


def agree(function: Callable[..., Any], program: Any, given: Any) -> None:
    """Strides of dims of one element, eager's functions choose as it comes: they are not compared."""
    expected = eager(function, given)
    for found in (compiled(program, given), interpreted(function, given, program)):
        assert_same(like(expected), like(found))
        if expected.error is not None:
            assert str(found.error).partition("\n  at ")[0] == str(expected.error)


def like(outcome: Any) -> Any:
    """The same outcome, with the strides alone that say where elements stand."""
    return type(outcome)(tuple(map(telling, outcome.args)), telling(outcome.result), outcome.error)


def telling(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        squeezed = value.detach().squeeze()
        return value.shape, squeezed if squeezed.numel() else torch.empty(0, dtype=value.dtype)
    return tuple(map(telling, value)) if isinstance(value, (tuple, list)) else value


def symmetric(x):
    values, V = L.eigh(x)
    from_upper, W = L.eigh(x, UPLO="U")
    return values, (V * values.unsqueeze(-2)) @ V.mT, from_upper, V.mT @ V, L.eigvalsh(x), (W * W).sum(-2)


def cholesky_factors(x):
    factor, upper = L.cholesky(x), L.cholesky(x, upper=True)
    first, info = L.cholesky_ex(x)
    return factor, upper, first, info, x.cholesky(), torch.cholesky_inverse(factor), torch.cholesky_inverse(upper, upper=True)


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", [symmetric, cholesky_factors])
def test_of_a_symmetric_matrix(function: Callable[..., Any]) -> None:
    program = scriptc.compile(function, optimize=OPTIMIZE)
    given = [positive(*x.shape) for x in SQUARE[:-1]]
    for x in (*given, torch.triu(positive(6, 6)).mT + 7 * torch.triu(torch.ones(6, 6, dtype=F64), 1), EYE):
        agree(function, program, call(x))


# ---- systems of equations ----


def solutions(x, b):
    found, info = L.solve_ex(x, b)
    return L.solve(x, b), found, info, x.inverse()


def by_factors(x, b):
    LU, pivots = L.lu_factor(x)
    return L.lu_solve(LU, pivots, b), L.lu_solve(LU, pivots, b, adjoint=True), torch.lu_solve(b, LU, pivots)


def triangles(x, b):
    upper = L.solve_triangular(x, b, upper=True)
    unit = L.solve_triangular(x, b, upper=False, unitriangular=True)
    return upper, unit, torch.triangular_solve(b, x, transpose=True), torch.triangular_solve(b, x, False, False, True)


def by_cholesky(x, b):
    factor = L.cholesky(x @ x.mT)
    return torch.cholesky_solve(b, factor), torch.cholesky_solve(b, factor.mT, upper=True)


SYSTEMS = [
    (A, made(4, 2)), (A.mT, made(2, 4).mT), (torch.stack([A, A + 1]), made(4, 4)), (A, made(3, 4, 5)), (A, made(4, 0)),
    (made(2, 1, 4, 4), made(3, 4, 1)), (made(0, 0), made(0, 2)), (made(0, 4, 4), made(4, 2)), (made(45, 45), made(45, 45)),
    (made(70, 70), made(70, 2)),
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", [solutions, by_factors, triangles, by_cholesky])
def test_systems(function: Callable[..., Any]) -> None:
    program = scriptc.compile(function, optimize=OPTIMIZE)
    for x, b in SYSTEMS:
        agree(function, program, call(x / 3 if function is triangles else x, b))


def from_the_right(x, b):
    LU, pivots = L.lu_factor(x)
    by_lu = L.lu_solve(LU, pivots, b, left=False), L.lu_solve(LU, pivots, b, left=False, adjoint=True)
    return L.solve(x, b, left=False), *by_lu, L.solve_triangular(x, b, upper=True, left=False)


def test_systems_from_the_right() -> None:
    program = scriptc.compile(from_the_right, optimize=OPTIMIZE)
    for x, b in ((A, made(2, 4)), (A, made(4, 2).mT), (made(2, 1, 3, 3), made(4, 2, 3)), (made(0, 0), made(2, 0))):
        agree(from_the_right, program, call(x, b))


def test_right_sides_that_are_vectors() -> None:
    def solve(x, b):
        return L.solve(x, b), L.solve_ex(x, b)[0]

    program = scriptc.compile(solve, optimize=OPTIMIZE)
    pairs = [(made(3, 4, 4), made(3, 4)), (made(2, 3, 4, 4), made(2, 3, 4))]
    for x, b in (*pairs, (A, made(4, 2)[:, 0]), (made(1, 1), made(1, 2)[:, 0])):
        agree(solve, program, call(x, b))


# ---- complex matrices ----


def turned(*size: int) -> torch.Tensor:
    """Return complex matrices, with pivots in some order."""
    parts = made(2, *size)
    return torch.complex(parts[0], parts[1]).flip(-1) if size[-1] == size[-2] else torch.complex(parts[0], parts[1])


def complex_factors(x):
    return lu_factors(x)


def complex_inverses(x):
    return *inverses(x), L.det(x)


def complex_solutions(x, b):
    LU, pivots = L.lu_factor(x)
    both = [L.lu_solve(LU, pivots, b, adjoint=adjoint) for adjoint in (False, True)]
    return L.solve(x, b), *L.solve_ex(x, b), *both


def complex_solutions_from_the_right(x, b):
    LU, pivots = L.lu_factor(x)
    both = [L.lu_solve(LU, pivots, b, left=False, adjoint=adjoint) for adjoint in (False, True)]
    return L.solve(x, b, left=False), *both


COMPLEX = (complex_factors, complex_inverses, complex_solutions, complex_solutions_from_the_right)


@pytest.mark.parametrize("function", sweep(COMPLEX, complex_inverses))
def test_complex_matrices(function: Any) -> None:
    square = [turned(4, 4), turned(2, 3, 3).mT, turned(1, 1), turned(0, 0), turned(0, 3, 3), turned(20, 20)]
    singular = torch.stack([turned(4, 4), SINGULAR + 0j, 1j * EYE, SINGULAR * 1j])
    given = {
        complex_factors: [(x,) for x in (*square, singular, turned(3, 5), turned(2, 6, 4), turned(0, 3))],
        complex_inverses: [(x,) for x in (*square, singular)],
        complex_solutions: [
            (turned(4, 4), turned(4, 2)), (turned(2, 1, 4, 4), turned(3, 4, 1)), (turned(0, 0), turned(0, 2)),
            (singular, turned(4, 2)),
        ],
        complex_solutions_from_the_right: [
            (turned(4, 4), turned(2, 4)), (turned(4, 4).conj_physical(), turned(4, 2).mT),
        ],
    }  # fmt: skip
    program = scriptc.compile(function, optimize=OPTIMIZE)
    for arguments in given[function]:
        agree(function, program, call(*arguments))


def tensors(x, b):
    inverse = L.tensorinv(x, ind=1)
    return inverse, L.tensorsolve(x, b), L.tensorsolve(x.permute(2, 0, 1), b, dims=(0,))


def reflections(x):
    factors, tau = torch.geqrf(x)
    turned = [torch.ormqr(factors, tau, x, transpose=t) for t in (False, True)]
    from_right = torch.ormqr(factors, tau, x.mT, left=False)
    return L.householder_product(factors, tau), torch.orgqr(factors, tau[..., :1]), turned, from_right


def least_squares(x, b):
    first, second, third = L.lstsq(x, b, driver="gels"), L.lstsq(x, b), L.lstsq(x, b, driver="gelsd")
    return *first, *second, *third, L.lstsq(x, b[..., 0]).solution


def conditions(x):
    return [L.cond(x, p) for p in (None, 2, -2, 1, -1, math.inf, "fro")], x.pinverse(), L.pinv(x, hermitian=True)


def test_what_is_made_of_them() -> None:
    for function, given in (
        (tensors, [call(made(6, 2, 3), made(6, 6)[0])]),
        (reflections, [call(made(6, 4)), call(made(2, 5, 3)), call(made(4, 4))]),
        (least_squares, [call(made(m, n), made(m, 2)) for m, n in ((7, 4), (4, 7), (4, 4))]),
        (conditions, [call(positive(4, 4)), call(positive(2, 3, 3)), call(SINGULAR), call(0 * EYE)]),
    ):
        program = scriptc.compile(function, optimize=OPTIMIZE)
        for arguments in given:
            agree(function, program, arguments)


def ranks(x, n: int):
    """The rank of m is known only when this runs."""
    m = x
    for _ in range(n):
        m = m[0]
    return L.inv(m), L.svdvals(m)


def test_of_a_rank_that_is_known_at_run_time() -> None:
    program = scriptc.compile(ranks, optimize=OPTIMIZE)
    for n in (0, 1, 2, 3):
        agree(ranks, program, call(made(2, 3, 4, 4), n))


# ---- errors ----

NAN = torch.full((3, 3), math.nan, dtype=F64)
NOT_POSITIVE = torch.diag(torch.tensor([1.0, 2.0, -1.0], dtype=F64))
FAILING = [
    (lambda x: L.inv(x), [SINGULAR, torch.stack([EYE, SINGULAR]), made(3, 4), made(3, 4)[0], NAN, SINGULAR.long(), A.half()]),
    (lambda x: L.inv_ex(x, check_errors=True), [SINGULAR, torch.stack([EYE, EYE, SINGULAR])]),
    (lambda x: torch.inverse(x), [SINGULAR, made(3, 4)]),
    (lambda x: L.solve(x, x[..., :1]), [SINGULAR, torch.stack([EYE, SINGULAR]), made(3, 4), A.half(), A.long()]),
    (lambda x: L.solve(x, x[:2]), [A]),
    (lambda x: L.solve(x, x.float()), [A]),
    (lambda x: L.solve(torch.stack([x, x]), torch.stack([x, x, x])), [A]),
    (lambda x: L.lu_factor(x), [SINGULAR, torch.stack([EYE, SINGULAR]), A[0], A.long()]),
    (lambda x: L.lu(x, pivot=False), [A]),
    (lambda x: L.lu_solve(x, torch.arange(3), x), [A]),
    (lambda x: L.lu_solve(x, torch.tensor([1, 2], dtype=torch.int32), x), [A]),
    (lambda x: L.det(x), [made(3, 4), A[0], A.long(), A.half()]),
    (lambda x: torch.logdet(x), [made(3, 4), A.long(), A.half()]),
    (lambda x: L.cholesky(x), [NOT_POSITIVE, torch.stack([EYE[:3, :3], NOT_POSITIVE]), NAN, made(3, 4), A[0], A.long()]),
    (lambda x: torch.cholesky(x, upper=True), [NOT_POSITIVE, made(3, 4)]),
    (lambda x: L.cholesky_ex(x, check_errors=True), [NOT_POSITIVE]),
    (lambda x: torch.cholesky_inverse(x), [SINGULAR, torch.stack([EYE, SINGULAR]), made(3, 4), A.long()]),
    (lambda x: torch.cholesky_solve(x[:2], x), [A, A.mT[0]]),
    (lambda x: L.solve_triangular(x, x[:2], upper=True), [A, made(3, 4)]),
    (lambda x: torch.triangular_solve(x[:2], x), [A]),
    (lambda x: L.qr(x, mode="x"), [A]),
    (lambda x: L.qr(x), [A[0], A.long(), A.half()]),
    (lambda x: L.householder_product(x, x[0]), [made(3, 4), A.float()]),
    (lambda x: L.eigvalsh(x), [NAN, made(3, 4), A[0], A.half()]),
    (lambda x: L.svdvals(x), [NAN, torch.stack([NAN, NAN]), A[0], A.long(), A.half()]),
    (lambda x: L.matrix_power(x, -2), [SINGULAR, made(3, 4), A.long()]),
    (lambda x: L.matrix_norm(x, 3), [A]),
    (lambda x: L.matrix_norm(x, dim=(0, -2)), [A]),
    (lambda x: L.norm(x, 2), [made(2, 2, 2)]),
    (lambda x: L.norm(x), [A.long()]),
    (lambda x: L.cond(x, 1), [made(3, 4)]),
    (lambda x: L.tensorinv(x, ind=0), [A]),
    (lambda x: L.tensorinv(x, ind=1), [made(3, 2, 2)]),
    (lambda x: L.tensorsolve(x, x[0]), [made(3, 4)]),
    (lambda x: L.lstsq(x, x[:, 0], driver="gels"), [torch.stack([0 * A[:, 0], A[:, 0]], 1)]),
    (lambda x: L.lstsq(x, x[:2]), [A]),
    (lambda x: L.lstsq(x, x, driver="x"), [A, A[0], A.half()]),
    (lambda x: L.matrix_exp(x), [made(3, 4), A.long()]),
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("index", range(len(FAILING)))
def test_errors(index: int) -> None:
    function, given = FAILING[index]
    program = scriptc.compile(function, optimize=OPTIMIZE)
    for x in given:
        agree(function, program, call(x))


def caught(x):
    try:
        return L.inv(x), "inverse"
    except L.LinAlgError as e:
        return x, str(e)


def caught_as_base(x):
    found = []
    for m in x:
        try:
            found.append(L.cholesky(m))
        except RuntimeError as e:
            if isinstance(e, L.LinAlgError):
                found.append(m * 0)
            else:
                raise
    return torch.stack(found)


@pytest.mark.parametrize("function", [caught, caught_as_base])
def test_exceptions_are_caught_by_their_class_and_its_base(function: Callable[..., Any]) -> None:
    program = scriptc.compile(function, optimize=OPTIMIZE)
    for x in (torch.stack([EYE, SINGULAR]), torch.stack([EYE, A @ A.mT]), A[:3]):
        expected, found = eager(function, call(x)), compiled(program, call(x))
        if expected.error is None and function is caught:  # messages carry the place
            assert found.result[1].startswith(expected.result[1])
            expected.result, found.result = expected.result[0], found.result[0]
        assert_same(expected, found)


@pytest.mark.usefixtures("compiles_once_in_test")
def test_errors_ahead_of_time(tmp_path: Path) -> None:
    """Without torch there is no LinAlgError: it is the RuntimeError that LinAlgError derives from."""

    def invert(x):
        return L.inv(x)

    scriptc.build(invert, A, out=tmp_path / "invert", optimize=OPTIMIZE, march="native")
    loaded = scriptc.load(tmp_path / "invert")
    torch.testing.assert_close(torch.from_numpy(loaded(A.numpy())), L.inv(A))
    with pytest.raises(RuntimeError, match="linalg.inv: The diagonal element 2 is zero, the inversion"):
        loaded(SINGULAR.numpy())


# ---- rounding, blocks and threads ----


def everything(x, b):
    s = x @ x.mT
    values, _ = L.eigh(s)
    return L.inv(x), L.solve(x, b), L.cholesky(s), L.qr(x)[0], L.qr(x)[1], values, L.svdvals(x), L.matrix_exp(x / x.size(-1))


@pytest.mark.parametrize("n", [1, 2, 8, 9, 16, 17, 33, 64, 130])
def test_float32_is_as_exact_as_eager(n: int) -> None:
    program = scriptc.compile(everything, optimize=3)
    x, b = made(n, n), made(n, n + 1)
    exact, rounded = everything(x, b), everything(x.float(), b.float())
    for found, own, truth in zip(program(x.float(), b.float()), rounded, exact, strict=True):
        error, allowed = (found - truth).abs().max(), 3 * (own - truth).abs().max()
        assert error <= torch.maximum(allowed, (n + 8) * torch.finfo(torch.float32).eps * truth.abs().max())


def test_products_deeper_than_a_panel() -> None:
    def solve(x, b):
        return L.solve(x, b), torch.cholesky_solve(b, L.cholesky(x @ x.mT))

    program = scriptc.compile(solve, optimize=3)
    x, b = made(1300, 1300), made(1300, 9)
    for found, expected in zip(program(x, b), solve(x, b), strict=True):
        torch.testing.assert_close(found, expected)


def test_batches_on_two_threads_are_the_same_to_the_bit() -> None:
    program = scriptc.compile(everything, optimize=3)
    x, b = made(40, 24, 24), made(40, 24, 25)
    before = torch.get_num_threads()
    try:
        found = []
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append(program(x, b))
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


# ---- products and statistics that such code is made of, in loops ----


def older_names(x, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        total = torch.addmm(total, x, torch.mm(x, x), beta=0.5) / 10 + torch.ger(x[i], x[0]) + torch.outer(x[0], x[i])
        total = total * torch.trace(x) + torch.block_diag(x[:2, :2], x[2:, 2:]) + torch.cov(x) + torch.corrcoef(x)
        total = torch.baddbmm(total[None], x[None], torch.cdist(x, x)[None])[0]
        total = total + torch.diag(torch.mv(x, x[i])) + torch.kron(x[:2, :2], x[:2, :2])
    return total, torch.addmv(x[0], x, x[1])


def test_older_names_in_loops() -> None:
    program = scriptc.compile(older_names, optimize=OPTIMIZE)
    for n in (0, 1, 3):
        agree(older_names, program, call(made(4, 4) / 10, n))


# ---- PyTorch's own samples ----


@pytest.mark.parametrize("group", sweep(range(4), 0, 2))
def test_samples(group: int, lasting_path: Path) -> None:
    names = (name for g in range(group, 16, 4) for name in entries(linalg.MEASURE, "float32", g))
    assert not failures(first_calls(linalg.MEASURE, "float32", names, lasting_path), lasting_path)
