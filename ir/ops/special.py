"""Special functions: elementwise rows over sc_special.h, which computes in double for all dtypes."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Samples
from scriptc.ir.ops.pointwise import BINARY_SHAPES, BROADCAST_ERRORS, UNARY_SHAPES
from scriptc.ir.ops.rules import elementwise

_TRAITS = frozenset({"PURE", "ELEMENTWISE", "FLOATING"})
_TENSOR = frozenset({"tensor"})
_DTYPES = ("f32", "f64")  # only these are sampled: in half types, eager composes some functions and is less exact
_HALF_TOO = (*_DTYPES, "f16", "bf16")


def _unary(
    name: str, c: str, *names: str, low: float = -3.0, high: float = 3.0, finite: bool = False,
    takes: tuple[str, ...] = _DTYPES, gradient: tuple[str, ...] | None = None,
) -> OpDef:  # fmt: skip
    return OpDef(
        name, "(Tensor self) -> Tensor", elementwise, _TRAITS, names or (f"torch.special.{name}",), reads=_TENSOR,
        c=f"({{T}}){c}((double){{0}})", samples=Samples(UNARY_SHAPES, low, high, _DTYPES, finite=finite),
        tolerance_ulp=16, takes=takes, gradient=gradient,
    )  # fmt: skip


def _binary(
    name: str, c: str, *names: str, low: float = -3.0, high: float = 3.0, finite: bool = False,
    takes: tuple[str, ...] = _DTYPES, traits: frozenset[str] = _TRAITS,
    gradient: tuple[str, ...] | None = None,
) -> OpDef:  # fmt: skip
    return OpDef(
        name, "(Operand self, Operand other) -> Tensor", elementwise, traits, names or (f"torch.special.{name}",),
        reads=_TENSOR, check="broadcast", c=f"({{T}}){c}((double){{0}}, (double){{1}})",
        samples=Samples(BINARY_SHAPES, low, high, _DTYPES, finite=finite), errors=BROADCAST_ERRORS, tolerance_ulp=16,
        takes=takes, gradient=gradient,
    )  # fmt: skip


def _aliases(name: str, *special: str) -> tuple[str, ...]:
    return (f"torch.{name}", f"Tensor.{name}", *(f"torch.special.{s}" for s in special))


def _polynomial(name: str, c: str) -> OpDef:
    """Return the row of a polynomial. NaN is not sampled, since some of eager's functions read uninitialized memory
    for it."""
    return _binary(name, f"sc_{c}", low=0.0, high=6.0, finite=True)


ROWS = [
    _unary(
        "lgamma", "sc_lgamma", *_aliases("lgamma", "gammaln"), low=0.1, high=9.0, takes=_HALF_TOO, gradient=("self",)
    ),
    _unary(
        "digamma",
        "sc_digamma",
        *_aliases("digamma", "digamma", "psi"),
        low=0.1,
        high=9.0,
        takes=_HALF_TOO,
        gradient=("self",),
    ),
    _unary(
        "erfinv", "sc_erfinv", *_aliases("erfinv", "erfinv"), low=-0.99, high=0.99, takes=_HALF_TOO, gradient=("self",)
    ),
    _unary("erfc", "erfc", *_aliases("erfc", "erfc"), takes=_HALF_TOO, gradient=("self",)),
    _unary("i0", "sc_bessel_i0", *_aliases("i0", "i0"), takes=_HALF_TOO, gradient=("self",)),
    _unary("i0e", "sc_bessel_i0e", takes=_HALF_TOO, gradient=("self",)),
    _unary("i1", "sc_bessel_i1", takes=_HALF_TOO, gradient=("self",)),
    _unary("i1e", "sc_bessel_i1e", takes=_HALF_TOO, gradient=("self",)),
    _unary("ndtr", "sc_ndtr", takes=_HALF_TOO, gradient=("self",)),
    _unary("ndtri", "sc_ndtri", low=0.01, high=0.99, gradient=("self",)),
    _unary("log_ndtr", "sc_log_ndtr", gradient=("self",)),
    _unary("erfcx", "sc_erfcx", gradient=("self",)),
    _unary("airy_ai", "sc_airy_ai", low=-9.0, high=9.0, finite=True),
    _unary("bessel_j0", "sc_bessel_j0"),
    _unary("bessel_j1", "sc_bessel_j1"),
    _unary("bessel_y0", "sc_bessel_y0", low=0.1),
    _unary("bessel_y1", "sc_bessel_y1", low=0.1),
    _unary("modified_bessel_i0", "sc_bessel_i0"),
    _unary("modified_bessel_i1", "sc_bessel_i1"),
    _unary("modified_bessel_k0", "sc_bessel_k0", low=0.1),
    _unary("modified_bessel_k1", "sc_bessel_k1", low=0.1),
    _unary("scaled_modified_bessel_k0", "sc_bessel_k0e", low=0.1),
    _unary("scaled_modified_bessel_k1", "sc_bessel_k1e", low=0.1),
    _binary("zeta", "sc_zeta", low=1.1, high=6.0, gradient=("other",)),
    _binary(
        "igamma",
        "sc_igamma",
        *_aliases("igamma", "gammainc"),
        low=0.1,
        high=6.0,
        finite=True,
        takes=_HALF_TOO,
        traits=_TRAITS - {"FLOATING"},
        gradient=("other",),
    ),
    _binary(
        "igammac",
        "sc_igammac",
        *_aliases("igammac", "gammaincc"),
        low=0.1,
        high=6.0,
        finite=True,
        takes=_HALF_TOO,
        traits=_TRAITS - {"FLOATING"},
        gradient=("other",),
    ),
    *(_polynomial(f"chebyshev_polynomial_{k}", f"chebyshev_{k}") for k in "tuvw"),
    _polynomial("hermite_polynomial_h", "hermite_h"),
    _polynomial("hermite_polynomial_he", "hermite_he"),
    _polynomial("laguerre_polynomial_l", "laguerre_l"),
    _polynomial("legendre_polynomial_p", "legendre_p"),
]
