"""Random numbers: torch's functions over the default generator of the CPU."""

from __future__ import annotations

from scriptc.frontend.decompositions import random
from scriptc.frontend.library import serves
from scriptc.frontend.library.creation import as_dtype, full_like, size_items
from scriptc.frontend.options import options
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Known, is_tensor, tensor_type
from scriptc.ir.dtypes import FLOATING

_NONE, _ZERO, _ONE = Known(None), Known(0), Known(1)


def _fill(r: Reader, dst: AV, kind: str, a: AV, b: AV = _ZERO) -> AV:
    if kind != "bernoulli" and tensor_type(dst).dtype not in FLOATING:
        r.fail("random_of_dtype", dtype=tensor_type(dst).dtype)
    numbers = [r.to_float(r.value(x)) for x in (a, b)]
    r.effect("random.fill", [r.value(dst), *numbers], kind=kind)
    return dst


def _empty(r: Reader, size: list[AV], dtype: str) -> AV:
    return r.op("empty", r.shape_tuple(tuple(size)), dtype=dtype)


def _made(name: str, kind: str, a: AV, b: AV) -> None:
    @serves(f"torch.{name}")
    def plain(r: Reader, *size: AV, dtype: AV = _NONE, **kwargs: AV) -> AV:
        named = (kwargs.pop("size"),) if "size" in kwargs else size
        options(r, kwargs)
        return _fill(r, _empty(r, size_items(r, named), as_dtype(r, dtype, r.default_dtype)), kind, a, b)

    @serves(f"torch.{name}_like")
    def like(r: Reader, input: AV, *, dtype: AV = _NONE, **kwargs: AV) -> AV:
        return _fill(r, full_like(r, input, _ZERO, dtype, **kwargs), kind, a, b)


_made("rand", "uniform", _ZERO, _ONE)
_made("randn", "normal", _ZERO, _ONE)


# ---- in place ----
@serves("Tensor.uniform_")
def uniform_(r: Reader, self: AV, low: AV = _ZERO, high: AV = _ONE, *, generator: AV = _NONE, **bounds: AV) -> AV:
    options(r, {"generator": generator})
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    r.check_that(r.compare("LtE", low, high), "RuntimeError", "uniform_ expects to return a [from, to) range, but from > to")
    return _fill(r, self, "uniform", low, high)


@serves("Tensor.normal_")
def normal_(r: Reader, self: AV, mean: AV = _ZERO, std: AV = _ONE, *, generator: AV = _NONE) -> AV:
    options(r, {"generator": generator})
    r.check_that(r.compare("GtE", std, _ZERO), "RuntimeError", "normal expects std >= 0.0")
    return _fill(r, self, "normal", mean, std)


@serves("Tensor.exponential_")
def exponential_(r: Reader, self: AV, lambd: AV = _ONE, *, generator: AV = _NONE) -> AV:
    options(r, {"generator": generator})
    r.check_that(r.compare("Gt", lambd, _ZERO), "RuntimeError", "exponential_ expects lambda > 0.0")
    return _fill(r, self, "exponential", lambd)


@serves("Tensor.bernoulli_")
def bernoulli_(r: Reader, self: AV, p: AV = Known(0.5), *, generator: AV = _NONE) -> AV:  # noqa: B008
    options(r, {"generator": generator})
    if is_tensor(p):
        r.effect("random.bernoulli", [r.value(self), r.value(p)])
        return self
    inside = r.both(r.compare("GtE", p, _ZERO), r.compare("LtE", p, _ONE))
    r.check_that(inside, "RuntimeError", "bernoulli_ expects p to be in [0, 1]")
    return _fill(r, self, "bernoulli", p)


@serves("Tensor.random_")
def random_(r: Reader, self: AV, *bounds: AV, generator: AV = _NONE) -> AV:
    options(r, {"generator": generator})
    if not bounds:
        r.fail("random_without_bounds")
    low, high = (_ZERO, *bounds)[-2:]
    message = "random_ expects 'from' to be less than 'to'"
    r.check_that(r.compare("Lt", low, high), "RuntimeError", message)
    r.effect("random.ints", [r.value(self), r.integer(low), r.integer(high)])
    return self


# ---- new tensors ----
@serves("torch.randint")
def randint(r: Reader, *args: AV, dtype: AV = _NONE, **kwargs: AV) -> AV:
    named = [kwargs.pop(name) for name in ("low", "high", "size") if name in kwargs]
    options(r, kwargs)
    *bounds, size = [*args, *named]
    return random_(r, _empty(r, r.iterate(size), as_dtype(r, dtype, "i64")), *bounds)


@serves("torch.randint_like")
def randint_like(r: Reader, input: AV, *bounds: AV, dtype: AV = _NONE, **kwargs: AV) -> AV:
    named = [kwargs.pop(name) for name in ("low", "high") if name in kwargs]
    return random_(r, full_like(r, input, _ZERO, dtype, **kwargs), *bounds, *named)


@serves("torch.randperm")
def randperm(r: Reader, n: AV, *, dtype: AV = _NONE, **kwargs: AV) -> AV:
    options(r, kwargs)
    made = _empty(r, [n], "i64")
    r.effect("random.permute", [r.value(made)])
    return r.cast(made, as_dtype(r, dtype, "i64"))


@serves("torch.bernoulli", "Tensor.bernoulli")
def bernoulli(r: Reader, input: AV, p: AV = _NONE, *, generator: AV = _NONE) -> AV:
    drawn = full_like(r, input, _ZERO)
    return bernoulli_(r, drawn, input if isinstance(p, Known) and p.obj is None else p, generator=generator)


@serves("torch.normal")
def normal(r: Reader, mean: AV, std: AV = _ONE, size: AV = _NONE, *, dtype: AV = _NONE, generator: AV = _NONE) -> AV:
    """Standard normal numbers, scaled and moved."""
    options(r, {"generator": generator})
    if not is_tensor(mean) and not is_tensor(std):
        return normal_(r, _empty(r, r.iterate(size), as_dtype(r, dtype, r.default_dtype)), mean, std)
    if not is_tensor(mean):
        shaped: AV = std
    elif not is_tensor(std):
        return r.write(drawn := normal_(r, full_like(r, mean, _ZERO), _ZERO, std), r.elementwise("add", drawn, mean))
    else:
        shaped = r.elementwise("add", mean, std)
    drawn = normal_(r, full_like(r, shaped, _ZERO))
    return r.elementwise("add", r.elementwise("mul", drawn, std), mean)


@serves(f"{random.__name__}.slopes_of")
def slopes_of(r: Reader, x: AV, lower: AV, upper: AV) -> AV:
    whole = r.op("contiguous", x)
    made = full_like(r, whole, _ONE)
    bounds = [r.to_float(r.value(b)) for b in (lower, upper)]
    r.effect("random.slopes", [r.value(made), r.value(whole), *bounds])
    return made


@serves(f"{random.__name__}.places_in")
def places_in(r: Reader, sums: AV, rows: AV, count: AV) -> AV:
    size = [count] if tensor_type(sums).rank == 1 else [rows, count]
    made = _empty(r, size, "i64")
    r.effect("random.places", [r.value(made), r.value(r.op("contiguous", sums))])
    return made


# ---- Python's ----
@serves("random.random")
def python_random(r: Reader) -> AV:
    return r.op("python.random")


@serves("random.getrandbits")
def getrandbits(r: Reader, k: AV) -> AV:
    """What the module's other functions, which are written in Python, are made of."""
    return r.op("python.bits", k)


@serves("torch.manual_seed", "torch.seed", "torch.random.manual_seed", "torch.set_rng_state", "random.seed", "random.setstate")
def seeds(r: Reader, *args: AV) -> AV:
    r.fail("generator_seeded")
