"""Numbers that ATen converts to the dtype of a function's tensors, where other numbers take part in type promotion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from scriptc.frontend import aten
from scriptc.frontend.context import Context
from scriptc.frontend.values import AV, Dyn, Known, is_complex_number, is_tensor, tensor_type
from scriptc.ir.dtypes import COMPLEX, FLOATING, INEXACT, INTEGRAL, NUMBER_TYPES, PARTS, compute_dtype, held, promote
from scriptc.ir.types import BOOL, FLOAT, INT

_CONVERTED = frozenset(
    ("alpha", "beta", "input_scale", "lambd", "max_val", "min_val", "negative_slope", "scale", "threshold", "value", "weight")
)
# One more that a function converts.
_CONVERTED_BY = {"hinge_embedding_loss": "margin", "logit": "eps", "special_logit": "eps"}
_AS_GIVEN = frozenset(("smooth_l1_loss", "softshrink"))  # these compute with it as it is, or say themselves what fits
_REAL = frozenset(("maxnorm", "ord", "p"))
# These compute with it in the dtype that half types are computed in; what others convert must fit a half type.
_WIDE = frozenset(("addbmm", "addcdiv", "addcmul", "addmm", "baddbmm", "celu", "elu", "leaky_relu", "lerp", "softplus"))
# These look at the kind of the number before they convert it.
_STRICT = frozenset(("add", "addr", "rsub", "sub", "subtract"))
_SUBTRACTING = frozenset(("rsub", "sub", "subtract"))  # these negate alpha first
# These take a tensor without dims as a number.
FILLING = frozenset(("fill", "index_fill", "masked_fill"))
_OF_FIRST = FILLING | {"index_add", "scatter"}  # other tensors than the first may be indices


class Scalars(Context):
    """Mixin: conversions of numbers."""

    def with_numbers(
        self, name: str, args: Sequence[AV], kwargs: dict[str, AV]
    ) -> tuple[Sequence[AV], dict[str, AV]]:  # fmt: skip
        """The arguments of an ATen function, with its numbers converted; RuntimeError where eager raises it."""
        tensors = [av for av in (*args, *kwargs.values()) if is_tensor(av)]
        if not tensors or len(tensors) == len(args) + len(kwargs) and name not in FILLING:
            return args, kwargs
        types = _parameters(name, len(args), frozenset(kwargs))
        operands = dict(zip(types, args, strict=False)) | kwargs
        # A number that is added takes part in promotion, and alpha is converted to what comes of that.
        added = [operands["other"]] if name in _STRICT and self.is_number(operands.get("other", Known(None))) else []
        dtype = tensor_type(tensors[0]).dtype if name in _OF_FIRST else self.result_dtype(*tensors, *added)
        given = [self.as_parameter(name, p, av, dtype, types) for p, av in zip(types, args, strict=False)]
        rest = {p: self.as_parameter(name, p, av, dtype, types) for p, av in kwargs.items()}
        return [*given, *args[len(given) :]], rest

    def as_parameter(self, name: str, parameter: str, av: AV, dtype: str, types: dict[str, str]) -> AV:
        if types.get(parameter) == "float" and self.type_of(av) in (INT, BOOL):
            av = self.call(Known(float), [av], {})
        if name in FILLING and parameter == "value" and is_tensor(av) and not tensor_type(av).rank:
            av = self.item(av) if promote(tensor_type(av).dtype, dtype) != dtype else av
        if not self.is_number(av):
            return av
        if parameter in _REAL and is_complex_number(av):
            self.raises_at_run_time("RuntimeError", f"{name}: {parameter} must be real-valued")
        if (parameter not in _CONVERTED and parameter != _CONVERTED_BY.get(name)) or name in _AS_GIVEN:
            return av
        if name in _STRICT:
            self.check_kind(name, parameter, av, dtype)
        if name in _SUBTRACTING:
            return av
        if name == "index_fill" and is_complex_number(av) and dtype not in COMPLEX:
            message = "index_fill_(): Converting complex Scalar to non-complex type is not supported"
            self.raises_at_run_time("RuntimeError", message)
        if name == "hardtanh" and dtype in INTEGRAL:
            av = self.converted(av, "i64")  # without what stands behind the point
        if parameter == "eps" and dtype not in INEXACT:
            dtype = self.default_dtype
        return self.converted(av, compute_dtype(dtype) if name in _WIDE or parameter == "threshold" else dtype)

    def item(self, tensor: AV) -> AV:
        """The element of a tensor without dims."""
        return self.call(self.attribute(tensor, "item"), [], {})

    def is_number(self, av: AV) -> bool:
        return is_complex_number(av) or self.type_of(av) in (INT, FLOAT, BOOL)

    def check_kind(self, name: str, parameter: str, number: AV, dtype: str) -> None:
        message = None
        if is_complex_number(number) and dtype not in COMPLEX and name != "addr":
            message = f"For non-complex input tensors, argument {parameter} must not be a complex number."
        elif self.type_of(number) == FLOAT and dtype not in INEXACT:
            message = f"For integral input tensors, argument {parameter} must not be a floating point number."
        elif self.type_of(number) == BOOL and dtype != "bool":
            message = f"Boolean {parameter} only supported for Boolean results."
        if message is not None:
            self.raises_at_run_time("RuntimeError", message)

    def converted(self, number: AV, dtype: str) -> AV:
        """The number as an element of the dtype would be read again; RuntimeError where it does not fit."""
        if dtype == "bool":
            return self.truth(number)
        message = f"value cannot be converted to type {NUMBER_TYPES[dtype]} without overflow"
        if dtype in COMPLEX:
            if is_complex_number(number):
                return number
            dtype = PARTS[dtype]
        parts = self.complex_parts(number) if is_complex_number(number) else None
        if parts is not None:
            self.check_that(self.compare("Eq", parts[1], Known(0.0)), "RuntimeError", message)
            number = parts[0]
        if isinstance(number, Known):
            low, high = held(dtype, isinstance(number.obj, float))
            floats = dtype in FLOATING
            if not (low <= number.obj <= high or floats and not math.isfinite(number.obj)):
                self.raises_at_run_time("RuntimeError", message)
            return number if floats else Known(int(number.obj))
        kind = self.type_of(number)
        if kind != BOOL and dtype not in (("f64", "f32") if kind == INT else ("f64",)):
            self.check_that(self.is_held(number, dtype), "RuntimeError", message)
        return Dyn(self.build("float.to_int", [self.value(number)])) if kind == FLOAT and dtype in INTEGRAL else number

    def is_held(self, number: AV, dtype: str) -> AV:
        """Whether a number that the program computes fits a dtype; infinity and NaN fit all that float."""
        low, high = (Known(bound) for bound in held(dtype, self.type_of(number) == FLOAT))
        if dtype in INTEGRAL:
            return self.both(self.compare("LtE", low, number), self.compare("LtE", number, high))
        if self.type_of(number) == INT:
            low, high = (Known(max(min(int(b.obj), 2**63 - 1), -(2**63))) for b in (low, high))
            return self.both(self.compare("LtE", low, number), self.compare("LtE", number, high))
        size = self.call(Known(abs), [number], {})
        return self.negate(self.both(self.compare("Lt", high, size), self.compare("Lt", size, Known(math.inf))))


@cache
def _parameters(name: str, count: int, keywords: frozenset[str]) -> dict[str, str]:
    """What a function calls its arguments, and their types, "" where overloads differ that take as many; first those that are
    given by position."""
    packet: Any = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):  # another function, or what all objects have
        return {}
    chosen = aten.overload_of(packet, count, keywords)._schema.arguments
    schemas = [getattr(packet, overload)._schema.arguments for overload in packet.overloads()]
    columns = zip(*(s for s in schemas if len(s) == len(chosen)), strict=True)
    types = [{str(a.type) for a in column} for column in columns]
    return {a.name: found.pop() if len(found) == 1 else "" for a, found in zip(chosen, types, strict=True)}
