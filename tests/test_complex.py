"""Complex tensors: eager, the interpreter and C give the same values, dtypes, strides and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from settings import sweep
from three_ways import Program, assert_same, call, compile_at, compiled, eager, interpreted

import scriptc

PROGRAMS: list[Program] = []


def numbers(*shape: int, dtype: torch.dtype = torch.complex64, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


X, Y = numbers(3, 4), numbers(3, 4, seed=1)
WIDE = numbers(3, 4, dtype=torch.complex128)
REAL, WHOLE = X.real.clone(), torch.arange(12).reshape(3, 4)


def program(*calls: tuple[Any, ...]) -> Callable[[Any], Any]:
    def listed(function: Any) -> Any:
        PROGRAMS.append(Program(function, [call(*c) for c in calls]))
        return function

    return listed


@program(
    (X, Y), (X.t(), Y.t()), (X[:, ::2], Y[:, 1::2]), (X[0], Y), (X[:0], Y[:0]), (WIDE, X), (X, REAL), (WHOLE, X),
    (X, WIDE[0, 0])
)  # fmt: skip
def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, -x, x.square(), torch.add(x, y, alpha=0.5), y - 2, 3 - y, y * 2, 1 / y, y / 4


@program((X,), (WIDE,), (REAL,), (WHOLE,), (REAL.double(),), (X[0, 0],))
def beside_numbers(x):
    return x + 1j, x * 2j, (1 - 2j) / (x + 3), (x + 1.5) * (0.5 + 0j), torch.where(x == x, x, 1j)


@program((X,), (WIDE,), (X.t(),), (X[1, 2],))
def parts(x):
    two = x.conj() * 1, x.conj().imag * 1, x.T.resolve_conj()
    return x.real, x.imag, two, torch.view_as_real(x), x.abs(), x.angle(), x.sgn()


@program((X, Y), (X.t(), X.t()))
def conjugates_beside_what_was_written(x, y):
    made = y.clone()
    made[0] += 1
    return torch.einsum("ab,ab->a", [x.conj(), made]), x[..., 0].conj() * 1


@program((X,), (WIDE,))
def functions(x):
    y = x * 0.5
    first = y.exp(), y.log(), y.sqrt(), y.rsqrt(), y.sin(), y.cos(), y.tan(), y.sinh(), y.cosh(), y.tanh(), y.sigmoid()
    return first, y**2, y**3, y**0.5, y**-1, y**1.5, y ** (1 + 1j), y**y, y.log2(), y.log1p(), y.expm1(), F.silu(y)


@program((X, Y), (X, X), (X, REAL))
def predicates(x, y):
    some = x == y, x != y, torch.isfinite(x), torch.isnan(x), torch.isinf(x), x.isreal(), x.bool(), x.logical_not()
    return some, x.is_complex(), torch.is_complex(REAL), x.is_floating_point(), x.any(), x.all(), x.is_conj(), x.dtype


@program((REAL, X.imag.clone()), (REAL.double(), WIDE.imag.clone()), (REAL[0], X.imag[:, :1].clone()))
def made_of_parts(a, b):
    return torch.complex(a, b), torch.polar(a, b), torch.view_as_complex(torch.stack((a + b, b + a), dim=-1))


@program((X,), (WIDE,), (X[:0],), (X.t(),))
def reductions(x):
    kept = x.sum(1, keepdim=True), x.sum((0, 1)), x.sum(dtype=torch.complex128), x.prod(1), x.cumprod(0), x.cumsum(-1)
    return kept, x.sum(), x.mean(0), x.mean(), x.norm(), torch.linalg.vector_norm(x, dim=1), x.count_nonzero()


@program((X, Y.t()), (WIDE, WIDE.t()), (X[0], Y[0]), (X, Y[0]), (numbers(2, 3, 4), numbers(2, 4, 2)), (X[:0], Y.t()))
def products(a, b):
    return a @ b, torch.matmul(a, b)


@program((X, Y.t().contiguous(), numbers(3), numbers(2, 3, 4), numbers(2, 4, 5)))
def named_products(a, b, bias, c, d):
    one = torch.mm(a, b), torch.bmm(c, d), torch.einsum("ij,jk->ik", a, b), torch.einsum("bij,bjk->bik", c, d), a.mv(a[0])
    two = torch.addmm(bias, a, b), F.linear(a, b.t(), bias), torch.outer(a[0], b[0]), torch.dot(a[0], a[1])
    return one, two, torch.vdot(a[0], a[1]), a.H * 1, a.mH @ a, torch.inner(a, a)


@program((X, Y), (X.t(), Y.t()), (X[:0], Y[:0]), (WIDE, WIDE + 1))
def moved(x, y):
    index = torch.tensor([1, 0, 1])
    one = torch.cat([x, y]), torch.stack([x, y], 1), x.flip(0), x.roll(1, 1), x.reshape(-1), x.repeat(2, 1), x.t().contiguous()
    two = x[:, :1].expand(-1, 3), x.clone(), x.to(torch.complex128), x.unsqueeze(0), x.chunk(2, 1)[1], x.diagonal(), x.tril()
    made = torch.zeros_like(x), x.new_ones(2), torch.ones(2, dtype=x.dtype), torch.zeros(2, dtype=torch.cfloat)
    return one, two, made, F.pad(x, (1, 1)), x.index_select(1, index[:2])


@program((X.clone(), Y), (WIDE.clone(), WIDE + 1))
def written(x, y):
    x.add_(y).mul_(1j)
    x[0] = 2 + 1j
    x[1, 1:3] = y[1, 1:3]
    x.real[2].zero_()
    x.imag.mul_(2)
    torch.view_as_real(x)[..., 0].add_(1)
    z = x.clone()
    z[:, torch.tensor([0, 2])] = 5j
    z.index_add_(0, torch.tensor([0, 0]), y[:2])
    z.copy_(z.real)
    return z


@program((REAL,), (WHOLE,), (X,), (REAL.half(),), (WHOLE == 3,))
def conversions(x):
    return x.to(torch.complex64), x.to(torch.complex128), x.cfloat(), x.cdouble(), (x.cfloat() + 0.5).real.to(torch.int32)


@program((X, 3), (X, 0))
def in_loops(x, n):
    h = torch.zeros(4, dtype=torch.complex64)
    outputs = []
    for i in range(n):
        h = (0.5 + 0.5j) * h + x[i]
        outputs.append(h)
    return h, torch.stack(outputs).real if n > 0 else h.imag


@program((X, Y))
def ordered(x, y):
    return x < y


@program((X, REAL))
def matmul_of_two_dtypes(x, y):
    return x @ y.t()


@program((REAL,), (X,))
def imaginary_part(x):
    return torch.imag(x)


@program((REAL, REAL.double()), (WHOLE, WHOLE))
def complex_of_two_dtypes(a, b):
    return torch.complex(a, b)


@program(
    (torch.zeros(3, 3),), (torch.zeros(2, 3)[:, :2],), (torch.zeros(4, 4)[:, 1:3],), (torch.zeros(2, 3).t(),), (WHOLE,),
    (torch.tensor(1.0),)
)  # fmt: skip
def pairs_that_are_none(x):
    return torch.view_as_complex(x)


@program((X,))
def real_view_of_a_conjugate(x):
    return torch.view_as_real(x.conj())


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", sweep([0, 3], 0))
@pytest.mark.parametrize("given", PROGRAMS, ids=lambda p: p.name)
def test_three_ways_agree(given: Program, optimize: int) -> None:
    target = compile_at(given.target, optimize)
    for one in given.calls:
        assert_same(eager(given.target, one), compiled(target, one))
        if optimize == 0:
            assert_same(eager(given.target, one), interpreted(given.target, one, target))


def sorts(x):
    return x.sort()


def rounds(x):
    return x.floor()


def decomposes(x):
    return torch.linalg.cholesky(x @ x.mH)


def half(x):
    return x.real.half() * 1j


def conjugate_of_what_is_written(x):
    y = x.conj()
    x.add_(1)
    return y


def writes_to_a_conjugate(x):
    y = x.conj()
    y.add_(1)
    return x


def conjugate_of_an_item_that_is_written(x):
    made, found = x * 2, [x]
    for i in range(x.shape[0]):
        found.append(made if i % 2 else x)
    y = found[-1].conj()
    made.add_(1)
    return y, found


REFUSED = [
    decomposes, half, conjugate_of_what_is_written, writes_to_a_conjugate, conjugate_of_an_item_that_is_written,
]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED)
def test_refused_where_it_stands(refused: Any) -> None:
    with pytest.raises(scriptc.CompileError, match=r"test_complex\.py:\d+"):
        scriptc.compile(refused)(X.clone())


@pytest.mark.parametrize("refused", [sorts, rounds])
def test_refused_as_in_eager(refused: Any) -> None:
    expected = eager(refused, call(X))
    assert expected.error is not None
    assert_same(expected, compiled(scriptc.compile(refused), call(X)))


def doubled(x):
    return x * 2


@pytest.mark.parametrize("lazy", [X.conj(), X.conj().imag])
def test_lazy_arguments_are_refused_by_name(lazy: torch.Tensor) -> None:
    with pytest.raises(TypeError, match=r"'x'.*resolve_(conj|neg)"):
        scriptc.compile(doubled)(lazy)
    built = scriptc.compile(doubled)
    built(lazy.resolve_conj().resolve_neg())
    with pytest.raises(TypeError, match=r"'x'.*resolve_(conj|neg)"):
        built(lazy)


def views(x):
    return x.real, x.imag, torch.view_as_real(x)


def as_complex(x):
    return torch.view_as_complex(x)


def test_views_of_arguments_share_their_memory() -> None:
    x = X.clone()
    for view in scriptc.compile(views)(x):
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    pairs = torch.zeros(5, 3, 2)
    scriptc.compile(as_complex)(pairs[2:])[1, 2] = 3 + 4j
    assert pairs[3, 2].tolist() == [3.0, 4.0]
