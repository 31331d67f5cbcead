"""Numbers that ATen converts to the dtype of a function's tensors. Other numbers take part in type promotion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from scriptc.frontend.library.torch import schemas as aten
from scriptc.frontend.operations.casts import cast_to, dtype_of_result
from scriptc.frontend.operations.complexes import complex_parts
from scriptc.frontend.operations.logic import check_that, logical_and, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import shape_tuple
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import is_complex_number, is_known, is_tensor, tensor_type
from scriptc.frontend.values.verbs import materialize, type_of
from scriptc.ir.dtypes import COMPLEX, FLOATING, INEXACT, INTEGRAL, NUMBER_TYPES, PARTS, compute_dtype, held, promote
from scriptc.ir.types import BOOL, FLOAT, INT

_CONVERTED = frozenset(
    (
        "alpha",
        "beta",
        "input_scale",
        "lambd",
        "max_val",
        "min_val",
        "negative_slope",
        "scale",
        "threshold",
        "value",
        "weight",
    )
)
# By function: one more parameter that is converted.
_CONVERTED_BY = {"hinge_embedding_loss": "margin", "logit": "eps", "special_logit": "eps"}
_AS_GIVEN = frozenset(("smooth_l1_loss", "softshrink"))  # these do not convert the number
_REAL = frozenset(("maxnorm", "ord", "p"))
# These compute in the compute dtype of half types. For all other functions, the number must fit the half type.
_WIDE = frozenset(("addbmm", "addcdiv", "addcmul", "addmm", "baddbmm", "celu", "elu", "leaky_relu", "lerp", "softplus"))
# These check the kind of the number before they convert it.
_STRICT = frozenset(("add", "addr", "rsub", "sub", "subtract"))
_SUBTRACTING = frozenset(("rsub", "sub", "subtract"))  # these negate alpha before they convert it
# These accept a tensor without dims in place of a number.
FILLING = frozenset(("fill", "index_fill", "masked_fill"))
_OF_FIRST = FILLING | {"index_add", "scatter"}  # the dtype is the first tensor's, since other tensors may be indices


def with_numbers(
    reader: Reader, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:  # fmt: skip
    """Return the arguments of an ATen function with its numbers converted. Raise eager's RuntimeError for an
    unsuitable number."""
    tensors = [av for av in (*args, *kwargs.values()) if is_tensor(av)]
    if not tensors or len(tensors) == len(args) + len(kwargs) and name not in FILLING:
        return args, kwargs
    types = _parameters(name, len(args), frozenset(kwargs))
    operands = dict(zip(types, args, strict=False)) | kwargs
    # An added number takes part in promotion, and alpha is converted to the promoted dtype.
    added = [operands["other"]] if name in _STRICT and is_plain_number(operands.get("other", Known(None))) else []
    first = tensors[0]
    dtype = tensor_type(first).dtype if name in _OF_FIRST else dtype_of_result(reader, *tensors, *added)
    given = [as_parameter(reader, name, p, av, dtype, types, first) for p, av in zip(types, args, strict=False)]
    rest = {p: as_parameter(reader, name, p, av, dtype, types, first) for p, av in kwargs.items()}
    return [*given, *args[len(given) :]], rest


def as_parameter(
    reader: Reader,
    name: str,
    parameter: str,
    av: AbstractValue,
    dtype: str,
    types: dict[str, str],
    first: AbstractValue,
) -> AbstractValue:
    """Return an argument as ATen takes it. `first`: the first tensor of the call; `dtype`: what numbers become."""
    if types.get(parameter) == "float" and type_of(av) in (INT, BOOL):
        av = reader.call(Known(float), [av], {})
    if name in FILLING and parameter == "value" and is_tensor(av) and not tensor_type(av).rank:
        own = tensor_type(av).dtype
        if promote(own, dtype) != dtype:
            item = item_of(reader, av)
            if name != "fill" and own in FLOATING and dtype in FLOATING:
                converted(reader, item, dtype)  # raises if it does not fit
                return cast_to(reader, av, dtype)  # has the gradient, which the item lacks
            av = item
    if not is_plain_number(av):
        return av
    if parameter in _REAL and is_complex_number(av):
        reader.emit.raise_error("RuntimeError", f"{name}: {parameter} must be real-valued")
    if (parameter not in _CONVERTED and parameter != _CONVERTED_BY.get(name)) or name in _AS_GIVEN:
        return av
    if name in _STRICT:
        check_kind(reader, name, parameter, av, dtype)
    if name in _SUBTRACTING:
        return av
    if name == "index_fill" and is_complex_number(av) and dtype not in COMPLEX:
        message = "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        reader.emit.raise_error("RuntimeError", message)
    if name == "hardtanh":  # truncated toward zero; clamp checks whether the dtype holds it
        return converted(reader, av, "i64") if dtype in INTEGRAL else av
    if parameter == "eps" and dtype not in INEXACT:
        dtype = reader.environment.default_dtype
    if name in ("fill", "fill_"):
        return filling(reader, first, av, dtype)
    return converted(reader, av, compute_dtype(dtype) if name in _WIDE or parameter == "threshold" else dtype)


def item_of(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return the element of a tensor without dims."""
    return reader.call(reader.attribute(tensor, "item"), [], {})


def is_plain_number(av: AbstractValue) -> bool:
    return is_complex_number(av) or type_of(av) in (INT, FLOAT, BOOL)


def check_kind(reader: Reader, name: str, parameter: str, number: AbstractValue, dtype: str) -> None:
    message = None
    if is_complex_number(number) and dtype not in COMPLEX and name != "addr":
        message = f"For non-complex input tensors, argument {parameter} must not be a complex number."
    elif type_of(number) == FLOAT and dtype not in INEXACT:
        message = f"For integral input tensors, argument {parameter} must not be a floating point number."
    elif type_of(number) == BOOL and dtype != "bool":
        message = f"Boolean {parameter} only supported for Boolean results."
    if message is not None:
        reader.emit.raise_error("RuntimeError", message)


def converted(reader: Reader, number: AbstractValue, dtype: str) -> AbstractValue:
    """Return a number as an element of a dtype holds it. Raise RuntimeError if the number does not fit."""
    if dtype == "bool":
        return reader.truth(number)
    message = f"value cannot be converted to type {NUMBER_TYPES[dtype]} without overflow"
    if dtype in COMPLEX:
        if is_complex_number(number):
            return number
        dtype = PARTS[dtype]
    parts = complex_parts(reader, number) if is_complex_number(number) else None
    if parts is not None:
        check_that(reader, reader.compare("Eq", parts[1], Known(0.0)), "RuntimeError", message)
        number = parts[0]
    if is_known(number):
        low, high = held(dtype, isinstance(number.obj, float))
        floats = dtype in FLOATING
        if not (low <= number.obj <= high or floats and not math.isfinite(number.obj)):
            reader.emit.raise_error("RuntimeError", message)
        return number if floats else Known(-(2**63) if number.obj == 2**63 else int(number.obj))
    kind = type_of(number)
    if kind != BOOL and dtype not in (("f64", "f32") if kind == INT else ("f64",)):
        check_that(reader, fits_dtype(reader, number, dtype), "RuntimeError", message)
    if kind != FLOAT or dtype not in INTEGRAL:
        return number
    if dtype == "i64":
        wraps = reader.compare("Eq", number, Known(2.0**63))
        number = reader.choose(wraps, lambda: Known(-(2.0**63)), lambda: number)
    return RuntimeValue(reader.emit.build("float.to_int", [materialize(reader, number)]))


def filling(reader: Reader, tensor: AbstractValue, number: AbstractValue, dtype: str) -> AbstractValue:
    """Return the number that fills a tensor. Eager fills one element of a half type without a check: with infinity."""
    if dtype not in ("f16", "bf16") or is_complex_number(number):
        return converted(reader, number, dtype)

    def check() -> AbstractValue:
        converted(reader, number, dtype)
        return Known(None)

    is_one = reader.compare("Eq", reader.call(reader.attribute(tensor, "numel"), [], {}), Known(1))
    reader.choose(reader.truth(is_one), lambda: Known(None), check)
    return number


def fits_dtype(reader: Reader, number: AbstractValue, dtype: str) -> AbstractValue:
    """Return whether a computed number fits a dtype. Infinity and NaN fit all floating dtypes."""
    low, high = (Known(bound) for bound in held(dtype, type_of(number) == FLOAT))
    if dtype in INTEGRAL:
        return logical_and(reader, reader.compare("LtE", low, number), reader.compare("LtE", number, high))
    if type_of(number) == INT:
        low, high = (Known(max(min(int(b.obj), 2**63 - 1), -(2**63))) for b in (low, high))
        return logical_and(reader, reader.compare("LtE", low, number), reader.compare("LtE", number, high))
    size = reader.call(Known(abs), [number], {})
    return negated(
        reader, logical_and(reader, reader.compare("Lt", high, size), reader.compare("Lt", size, Known(math.inf)))
    )


@cache
def _parameters(name: str, count: int, keywords: frozenset[str]) -> dict[str, str]:
    """Return the names of a function's parameters with their types, positional ones first.

    A type is "" if overloads of the same length differ.
    """
    packet: Any = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):  # an attribute, but no function of ATen
        return {}
    chosen = aten.overload_of(packet, count, keywords)._schema.arguments
    schemas = [getattr(packet, overload)._schema.arguments for overload in packet.overloads()]
    columns = zip(*(s for s in schemas if len(s) == len(chosen)), strict=True)
    types = [{str(a.type) for a in column} for column in columns]
    return {a.name: found.pop() if len(found) == 1 else "" for a, found in zip(chosen, types, strict=True)}


def new_filled(reader: Reader, size: Sequence[AbstractValue], number: AbstractValue, dtype: str) -> AbstractValue:
    """Return a new tensor that is filled with a number."""
    shape = shape_tuple(reader, tuple(size))
    if is_complex_number(number):
        number = converted(reader, number, dtype)
    if not is_complex_number(number):
        return apply_op(reader, "full", shape, number, dtype=dtype)
    return apply_op(reader, "fill", apply_op(reader, "full", shape, Known(0), dtype=dtype), number)
