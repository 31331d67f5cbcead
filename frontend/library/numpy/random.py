"""Random numbers of NumPy's global generator, `np.random`."""

from __future__ import annotations

import numpy as np

from scriptc.frontend.library.numpy import random_decomposed as random
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import shape_tuple
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.verbs import materialize


def _empty(r: Reader, size: AbstractValue, dtype: str) -> AbstractValue:
    return apply_op(r, "empty", shape_tuple(r, tuple(r.iterate(size))), dtype=dtype)


def _filled(r: Reader, size: AbstractValue, bounds: tuple[AbstractValue, ...], normals: bool) -> AbstractValue:
    made = _empty(r, size, "f64")
    r.emit.effect("numpy.fill", [materialize(r, x) for x in (made, *bounds)], normals=normals)
    return made


@serves(random.uniforms)
def uniforms(r: Reader, size: AbstractValue, low: AbstractValue, scale: AbstractValue) -> AbstractValue:
    return _filled(r, size, (low, scale), False)


@serves(random.normals)
def normals(r: Reader, size: AbstractValue, loc: AbstractValue, scale: AbstractValue) -> AbstractValue:
    return _filled(r, size, (loc, scale), True)


@serves(random.integers)
def integers(r: Reader, low: AbstractValue, high: AbstractValue, size: AbstractValue) -> AbstractValue:
    made = _empty(r, size, "i64")
    r.emit.effect("numpy.ints", [materialize(r, made), integer(r, low), integer(r, high)])
    return made


@serves(random.shuffled)
def shuffled(r: Reader, n: AbstractValue) -> AbstractValue:
    made = apply_op(r, "empty", shape_tuple(r, (n,)), dtype="i64")
    r.emit.effect("numpy.shuffle", [materialize(r, made)])
    return made


@serves("numpy.random.seed", "numpy.random.set_state")
def seeds(r: Reader, *args: AbstractValue) -> AbstractValue:
    r.reject("generator_seeded")


_OTHERS = (
    "beta binomial bytes chisquare default_rng dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic "
    "lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto poisson "
    "power random_integers rayleigh standard_cauchy standard_exponential standard_gamma standard_t triangular vonmises wald "
    "weibull zipf"
).split()


def _refuse(name: str) -> None:
    @serves(f"numpy.random.{name}")
    def handler(r: Reader, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
        r.reject("numpy_random", name=name)


for _name in _OTHERS:
    if hasattr(np.random, _name):
        _refuse(_name)
