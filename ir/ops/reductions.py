"""Reductions over dims. `dim` is the tuple of reduced dims, from the front; `dtype` the result's element type."""

from __future__ import annotations

from scriptc.ir.opdef import OpDef, Raises, Samples
from scriptc.ir.ops.rules import Attrs, Operands, normal_dim, tensor
from scriptc.ir.types import Dim, TensorType, Type

_PURE = frozenset({"PURE"})
_TENSOR = frozenset({"tensor"})
_FLOATS = ("f32", "f64", "f16", "bf16")
# whether the gradient goes to the first of equal extremes, or is shared by all; whether NaN equals NaN there
_TIES = ", bool first=False, bool equal_nan=False"
_DIMS = (((0,), False), ((1,), True), ((0, 1), False), ((0, 1), True))


def _dims(dims: tuple[Dim, ...], reduced: tuple[int, ...], keepdim: bool) -> tuple[Dim, ...]:
    return tuple(1 if i in reduced else d for i, d in enumerate(dims) if keepdim or i not in reduced)


def _reduce(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x = tensor(operands[0])
    assert x.dims is not None
    reduced = tuple(normal_dim(d, x.rank) for d in attrs["dim"])
    return (TensorType(attrs["dtype"], _dims(x.dims, reduced, attrs["keepdim"])),)


def _arg(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    x = tensor(operands[0])
    assert x.dims is not None
    reduced = tuple(range(x.rank)) if attrs["dim"] is None else (normal_dim(attrs["dim"], x.rank),)
    return (TensorType("i64", _dims(x.dims, reduced, attrs["keepdim"])),)


def _row(
    name: str, dtypes: tuple[str, ...], *, raises: bool = False, ulp: float = 0.0, traits: frozenset[str] = frozenset(),
    gradient: tuple[str, ...] | None = None, more: str = "",
) -> OpDef:  # fmt: skip
    """Return the row of a reduction. raises: an empty reduction has no value."""
    schema = f"(Tensor self, int[] dim, bool keepdim, *, ScalarType dtype{more}) -> Tensor"
    samples = Samples((((3, 5),), ((4, 130),)), dtypes=dtypes, extra=_DIMS)
    message = f"{name}(): Expected reduction dim 0 to have non-zero size."
    errors = (Raises("IndexError", message, shapes=((0, 3),), extra=((0,), False)),) if raises else ()
    return OpDef(
        name, schema, _reduce, _PURE | {"PLAIN"} | traits, ref=f"reduce:{name}", reads=_TENSOR, raises=raises, emit="reduce",
        samples=samples, errors=errors, tolerance_ulp=ulp, gradient=gradient,
    )  # fmt: skip


def _arg_row(name: str) -> OpDef:
    schema = "(Tensor self, int? dim, bool keepdim) -> Tensor"
    samples = Samples((((3, 5),),), dtypes=("f32", "f64", "i64"), extra=((0, False), (1, True), (None, False)))
    errors = (
        Raises("IndexError", f"{name}(): Expected reduction dim 0 to have non-zero size.", shapes=((0, 3),), extra=(0, False)),
        Raises("IndexError", f"{name}(): Expected reduction dim to be specified for input.numel() == 0.", shapes=((0, 3),),
               extra=(None, False)),
    )  # fmt: skip
    return OpDef(
        name, schema, _arg, _PURE, ref=f"torch.{name}", reads=_TENSOR, raises=True, emit="arg_reduce", samples=samples,
        errors=errors,
    )  # fmt: skip


ROWS = [
    _row("sum", (*_FLOATS, "i64"), ulp=64, gradient=("self",)),
    _row("mean", _FLOATS, ulp=64, gradient=("self",)),
    _row("sum_squares", _FLOATS, ulp=64, gradient=("self",)),
    _row("prod", ("f32", "f64", "i64"), ulp=64, gradient=("self",)),
    _row("amax", (*_FLOATS, "i64", "u8"), raises=True, gradient=("self",), more=_TIES),
    _row("amin", (*_FLOATS, "i64", "u8"), raises=True, gradient=("self",), more=_TIES),
    _row("all", ("bool",), traits=frozenset({"ANY_DTYPE"})),
    _row("any", ("bool",), traits=frozenset({"ANY_DTYPE"})),
    _arg_row("argmax"),
    _arg_row("argmin"),
]
