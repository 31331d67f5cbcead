"""Elementwise ops: one row each. `c` computes one element: {0}, {1} are the operands in the compute dtype, {t} is f32
or f64.

Half types compute in f32 and round after every op, as eager does op by op. Integer arithmetic wraps (sc_wrap_*). Complex
elements ({t} is c64 or c128) are C's; products and quotients are those of runtime/include/sc_complex.h, as C's own treat
infinities in a way of their own. All tensor operands have one dtype (the front end casts them by torch.result_type);
Python numbers are operands too.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.dtypes import PARTS
from scriptc.ir.opdef import Infer, OpDef, Raises, Samples, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, broadcast_dims, elementwise, predicate, real_part, tensor, tensors_of
from scriptc.ir.types import TensorType, Type

_TRAITS = frozenset({"PURE", "ELEMENTWISE"})
_COMMUTES = _TRAITS | {"COMMUTATIVE"}
_WIDE = frozenset({"WIDE_NUMBER"})
_FLOATING = frozenset({"FLOATING"})
_TENSOR = frozenset({"tensor"})
UNARY_SHAPES = (((3, 5),), ((),), ((0, 2),), ((1, 17),))
BINARY_SHAPES = (((3, 5), (3, 5)), ((3, 1), (5,)), ((), (4,)), ((0, 2), (2,)), ((2, 1, 3), (4, 1)))
# The error for shapes that do not broadcast.
BROADCAST_ERRORS = (
    Raises("RuntimeError", "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
           shapes=((2, 3), (4,))),
)  # fmt: skip
_FLOATS = ("f32", "f64", "f16", "bf16")
_COMPLEX = ("c64", "c128")
_INEXACT = (*_FLOATS, *_COMPLEX)
_ALL = (*_FLOATS, "u8", "i8", "i16", "i32", "i64", "bool")
_NUMBERS = tuple(d for d in _ALL if d != "bool")
_EVERY = (*_ALL, *_COMPLEX)
_INTS = ("u8", "i8", "i16", "i32", "i64", "bool")
# Aliases of functions. A name with a dot is in torch alone; the others are methods of Tensor too.
_ALIASES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "erf": "special.erf", "exp2": "special.exp2", "expm1": "special.expm1", "log1p": "special.log1p",
    "sigmoid": "special.expit", "trunc": "fix",
}  # fmt: skip


def _names(name: str, *more: str, method: bool = True) -> tuple[str, ...]:
    aliases = [_ALIASES[name]] if name in _ALIASES else []
    methods = [f"Tensor.{n}" for n in (name, *aliases) if method and "." not in n]
    return (f"torch.{name}", *methods, *(f"torch.{n}" for n in aliases), *more)


def unary(
    name: str, c: str | Mapping[str, str], *more: str, low: float = -3.0, high: float = 3.0,
    dtypes: tuple[str, ...] = _FLOATS, infer: Infer = elementwise, ulp: float = 4.0, method: bool = True,
    floating: bool = False, finite: bool = False, takes: tuple[str, ...] = (), gradient: tuple[str, ...] | None = None,
) -> OpDef:  # fmt: skip
    """Return a function of one tensor. A mapping in `c` gives expressions for the kinds float, int and bool."""
    samples = Samples(UNARY_SHAPES, low, high, dtypes, finite=finite)
    return OpDef(
        name, "(Tensor self) -> Tensor", infer, _TRAITS | {"FLOATING"} if floating else _TRAITS,
        _names(name, *more, method=method), reads=_TENSOR, c=c, samples=samples, tolerance_ulp=ulp,
        takes=takes, gradient=gradient,
    )  # fmt: skip


def binary(
    name: str, c: str | Mapping[str, str], *more: str, dtypes: tuple[str, ...] = _NUMBERS, infer: Infer = elementwise,
    commutes: bool = False, low: float = -3.0, high: float = 3.0, ulp: float = 0.0, method: bool = True,
    ref: str | None = None, traits: frozenset[str] = frozenset(), takes: tuple[str, ...] = (),
    gradient: tuple[str, ...] | None = None,
) -> OpDef:  # fmt: skip
    """Return a function of two tensors, or of a tensor and a number in either order."""
    return OpDef(
        name, "(Operand self, Operand other) -> Tensor", infer, (_COMMUTES if commutes else _TRAITS) | traits,
        _names(name, *more, method=method), ref, reads=_TENSOR, check="broadcast", c=c,
        samples=Samples(BINARY_SHAPES, low, high, dtypes), errors=BROADCAST_ERRORS, tolerance_ulp=ulp, takes=takes,
        gradient=gradient,
    )  # fmt: skip


def _float(names: str, dtypes: tuple[str, ...] = _INEXACT, **options: float) -> list[OpDef]:
    """Return rows of functions that sc_math.h and sc_complex.h compute under the same name."""
    return [unary(n, f"sc_{n}_{{t}}({{0}})", floating=True, dtypes=dtypes, gradient=("self",), **options)  # type: ignore[arg-type]
            for n in names.split()]  # fmt: skip


def _complex(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    (t,) = elementwise(operands, attrs)
    assert isinstance(t, TensorType)
    made = {part: dtype for dtype, part in PARTS.items()}.get(t.dtype)
    if made is None:
        raise TypeRuleError("Expected both inputs to be Half, Float or Double tensors")
    return (TensorType(made, t.dims),)


def _where(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    condition, *rest = operands
    values = tensors_of(rest)
    if tensor(condition).dtype != "bool":
        raise TypeRuleError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.type}"
        )
    dtype = values[0].dtype if values else attrs["dtype"]
    return (TensorType(dtype, broadcast_dims([t.dims for t in (tensor(condition), *values)])),)


_FLOOR = {"float": "sc_floordiv_{t}({0}, {1})", "int": "sc_wrap_floordiv({0}, {1})"}

ROWS = [
    *_float("tanh sigmoid exp expm1 exp2 sin cos tan asin acos atan sinh cosh asinh atanh", low=-0.99, high=0.99),
    *_float("erf", _FLOATS, low=-0.99, high=0.99),
    *_float("log log2 log10 sqrt rsqrt", low=0.01, high=9.0),
    # Complex elements are not sampled: eager uses several formulas, which differ at infinities.
    unary("log1p", "sc_log1p_{t}({0})", dtypes=_FLOATS, takes=_INEXACT, low=0.01, high=9.0, floating=True,
          gradient=("self",)),
    *_float("acosh", low=1.0, high=9.0),
    *(unary(n, {"float": f"sc_{n}_{{t}}({{0}})", "int": "{0}"}, dtypes=_NUMBERS, ulp=0.0,
             gradient=())
      for n in ("floor", "ceil", "trunc", "round")),
    unary("reciprocal", {"float": "(1 / {0})", "complex": "sc_div_{t}(1, {0})"}, dtypes=_INEXACT, low=0.5, floating=True,
          gradient=("self",)),
    unary("neg", {"float": "-{0}", "int": "sc_wrap_neg({0})", "complex": "-{0}"},
          "torch.negative", "Tensor.negative", gradient=("self",), dtypes=(*_NUMBERS, *_COMPLEX), ulp=0.0),
    unary("abs", {"float": "sc_abs_{t}({0})", "int": "sc_wrap_abs({0})", "complex": "sc_abs_{t}({0})"},
          "torch.absolute", "Tensor.absolute", dtypes=(*_NUMBERS, *_COMPLEX), infer=real_part, ulp=0.0, gradient=("self",)),
    unary("relu", {"float": "({0} < 0 ? 0 : {0})", "int": "({0} > 0 ? {0} : 0)"}, gradient=("self",), dtypes=_NUMBERS, ulp=0.0),
    unary("sign", {"float": "(({0} > 0) - ({0} < 0))", "int": "(({0} > 0) - !(({0} > 0) | ({0} == 0)))", "bool": "{0}"},
          dtypes=_ALL, ulp=0.0, gradient=()),
    unary("isnan", {"float": "({0} != {0})", "int": "false", "bool": "false", "complex": "({0} != {0})"},
          dtypes=_EVERY, infer=predicate, ulp=0.0),
    unary("isinf", {"float": "(sc_abs_{t}({0}) == (1.0f / 0.0f))", "int": "false", "bool": "false",
                    "complex": "(sc_abs_{t}({0}) == (1.0f / 0.0f))"}, dtypes=_EVERY, infer=predicate, ulp=0.0),
    unary("isfinite", {"float": "(({0} - {0}) == 0)", "int": "true", "bool": "true", "complex": "(({0} - {0}) == 0)"},
          dtypes=_EVERY, infer=predicate, ulp=0.0),
    unary("logical_not", "!{0}", dtypes=_EVERY, infer=predicate, ulp=0.0),
    unary("bitwise_not", {"int": "~{0}", "bool": "!{0}"}, dtypes=_INTS, ulp=0.0),
    unary("signbit", {"float": "(__builtin_signbit({0}) != 0)", "int": "(({0} < 1) & ({0} != 0))", "bool": "false"},
          dtypes=_ALL, infer=predicate, ulp=0.0),
    unary("isposinf", {"float": "({0} == (1.0f / 0.0f))", "int": "false", "bool": "false"},
          dtypes=_ALL, infer=predicate, ulp=0.0),
    unary("isneginf", {"float": "({0} == (-1.0f / 0.0f))", "int": "false", "bool": "false"},
          dtypes=_ALL, infer=predicate, ulp=0.0),
    unary("frac", "({0} - sc_trunc_{t}({0}))", ulp=0.0, gradient=("self",)),
    unary("deg2rad", "({0} * ({T})0.017453292519943295)", floating=True, gradient=("self",)),
    unary("rad2deg", "({0} * ({T})57.29577951308232)", floating=True, gradient=("self",)),
    unary("angle", {"float": "({0} != {0} ? {0} : {0} < 0 ? ({T})3.141592653589793 : 0)", "complex": "sc_angle_{t}({0})"},
          dtypes=_INEXACT, infer=real_part, floating=True, gradient=("self",)),
    unary("sgn", {"complex": "sc_sgn_{t}({0})"}, dtypes=_COMPLEX, finite=True, gradient=("self",)),  # of others it is `sign`
    unary("conj_physical", {"complex": "~{0}"}, dtypes=_COMPLEX, ulp=0.0,
          gradient=("self",)),  # of others the tensor itself
    # Eager returns a view that conjugates at each read. The front end rejects programs that write to either tensor.
    OpDef("conj", "(Tensor self) -> Tensor", elementwise, _TRAITS, ref="torch.conj_physical", reads=_TENSOR, c="~{0}",
          samples=Samples(UNARY_SHAPES, dtypes=_COMPLEX), gradient=("self",)),
    OpDef("complex", "(Tensor self, Tensor other) -> Tensor", _complex, _TRAITS, ref="torch.complex", reads=_TENSOR,
          check="broadcast", c="__builtin_complex({0}, {1})", samples=Samples(BINARY_SHAPES, dtypes=("f32", "f64")),
          errors=BROADCAST_ERRORS, gradient=("self", "other")),
    unary("sinc", {"float": "({0} == 0 ? 1 : sc_sin_{t}({0} * ({T})3.141592653589793) / ({0} * ({T})3.141592653589793))",
                   "complex": "sc_sinc_{t}({0})"}, "torch.special.sinc", dtypes=_INEXACT, floating=True,
          gradient=("self",)),
    # frexp(x) is mantissa * 2 ** exponent. Returns the exponent as a whole number in x's dtype.
    OpDef("frexp.exponent", "(Tensor self) -> Tensor", elementwise, _TRAITS, ref="frexp_exponent", reads=_TENSOR,
          c="sc_exponent_{t}({0})", samples=Samples(UNARY_SHAPES, dtypes=_FLOATS), gradient=()),
    OpDef("frexp.mantissa", "(Tensor self) -> Tensor", elementwise, _TRAITS, ref="frexp_mantissa", reads=_TENSOR,
          c="sc_mantissa_{t}({0})", samples=Samples(UNARY_SHAPES, dtypes=_FLOATS), gradient=("self",)),
    binary("add", {"float": "({0} + {1})", "int": "sc_wrap_add({0}, {1})", "bool": "({0} | {1})",
            "complex": "sc_add_{t}({0}, {1}, 1)"}, method=False, dtypes=_EVERY, commutes=True,
           gradient=("self", "other")),
    binary("sub", {"float": "({0} - {1})", "int": "sc_wrap_sub({0}, {1})", "complex": "sc_add_{t}({0}, {1}, -1)"}, method=False,
           gradient=("self", "other"), dtypes=(*_NUMBERS, *_COMPLEX)),
    binary("mul", {"float": "({0} * {1})", "int": "sc_wrap_mul({0}, {1})", "bool": "({0} & {1})",
            "complex": "sc_mul_{t}({0}, {1})"}, "torch.multiply", "Tensor.multiply", dtypes=_EVERY, commutes=True,
           traits=_WIDE, gradient=("self", "other")),
    binary("div", {"float": "({0} / {1})", "complex": "sc_div_{t}({0}, {1})"}, method=False, dtypes=_INEXACT,
           traits=_WIDE | _FLOATING, gradient=("self", "other")),
    binary("remainder", {"float": "sc_remainder_{t}({0}, {1})", "int": "sc_wrap_mod({0}, {1})"},
           dtypes=_FLOATS, takes=_NUMBERS, ulp=1.0, gradient=("self", "other")),
    binary("fmod", {"float": "sc_fmod_{t}({0}, {1})", "int": "sc_wrap_rem({0}, {1})"}, dtypes=_FLOATS, takes=_NUMBERS,
           gradient=("self", "other")),
    binary("floor_divide", _FLOOR, method=False, dtypes=_FLOATS, takes=_NUMBERS, ref="torch.floor_divide", traits=_WIDE),
    # torch.div that rounds: autograd gives zeros for it, but has no derivative of floor_divide
    binary("floor_div", _FLOOR, method=False, dtypes=_FLOATS, takes=_NUMBERS, ref="floor_div", traits=_WIDE, gradient=()),
    binary("trunc_div", {"float": "sc_trunc_{t}({0} / {1})", "int": "sc_wrap_div({0}, {1})"}, method=False,
           dtypes=_FLOATS, takes=_NUMBERS, ref="trunc_div", traits=_WIDE, gradient=()),
    binary("copysign", "__builtin_copysign({0}, {1})", dtypes=_FLOATS, traits=_FLOATING, gradient=("self", "other")),
    binary("fmax", {"float": "sc_fmax_{t}({0}, {1})", "int": "({0} > {1} ? {0} : {1})", "bool": "({0} | {1})"},
           dtypes=_ALL, ulp=1.0, gradient=("self", "other")),
    binary("fmin", {"float": "sc_fmin_{t}({0}, {1})", "int": "({0} < {1} ? {0} : {1})", "bool": "({0} & {1})"},
           dtypes=_ALL, ulp=1.0, gradient=("self", "other")),
    binary("hypot", "({T})hypot((double){0}, (double){1})", dtypes=_FLOATS, ulp=2.0, gradient=("self", "other")),
    binary("nextafter", {"float": "sc_nextafter_{t}({0}, {1})"}, dtypes=("f32", "f64"), gradient=("self", "other")),
    binary("heaviside", {"float": "({0} == 0 ? {1} : {0} > 0 ? 1 : 0)", "int": "({0} == 0 ? {1} : {0} > 0 ? 1 : 0)",
           "bool": "({0} | {1})"}, dtypes=_ALL, ref="heaviside"),
    binary("logaddexp", "sc_logaddexp_{t}({0}, {1})", dtypes=_FLOATS, ulp=8.0, gradient=("self", "other")),
    binary("logaddexp2", "sc_logaddexp2_{t}({0}, {1})", dtypes=_FLOATS, ulp=8.0, gradient=("self", "other")),
    binary("xlogy", "({1} != {1} ? {1} : {0} == 0 ? 0 : {0} * sc_log_{t}({1}))", "torch.special.xlogy", dtypes=_FLOATS,
           low=0.1, ulp=4.0, traits=_FLOATING, gradient=("self", "other")),
    binary("xlog1py", "({1} != {1} ? {1} : {0} == 0 ? 0 : {0} * sc_log1p_{t}({1}))", "torch.special.xlog1py",
           dtypes=_FLOATS, low=0.1, ulp=4.0, traits=_FLOATING, method=False, ref="torch.special.xlog1py",
           gradient=("self", "other")),
    binary("bitwise_left_shift", {"int": "sc_wrap_shl({0}, {1})"}, "Tensor.__lshift__", dtypes=_INTS[:-1], low=0.0),
    binary("bitwise_right_shift", {"int": "sc_wrap_shr({0}, {1})"}, "Tensor.__rshift__", dtypes=_INTS[:-1], low=0.0),
    binary("gcd", {"int": "sc_wrap_gcd({0}, {1})"}, dtypes=_INTS[:-1], commutes=True),
    binary("lcm", {"int": "sc_wrap_lcm({0}, {1})"}, dtypes=_INTS[:-1], commutes=True),
    binary("pow", {"float": "sc_pow_{t}({0}, {1})", "int": "sc_wrap_pow({0}, {1})", "complex": "sc_pow_{t}({0}, {1})"},
           dtypes=_INEXACT, takes=(*_NUMBERS, *_COMPLEX), low=0.1, ulp=2.0, ref="power",
           gradient=("self", "other")),
    # For a run-time number. Eager takes a root for the exponent 0.5, which differs at -0 and infinities.
    OpDef("pow.number", "(Tensor self, Scalar exponent) -> Tensor", elementwise, _TRAITS, ref="torch.pow", reads=_TENSOR,
          c="sc_pow_number_{t}({0}, {1})", tolerance_ulp=2.0,
          samples=Samples(UNARY_SHAPES, low=0.1, dtypes=("f32", "f64", "bf16"), extra=((0.5,), (-0.5,), (2.5,))),
          gradient=("self",)),
    binary("maximum", {"float": "sc_max_{t}({0}, {1})", "int": "({0} > {1} ? {0} : {1})", "bool": "({0} | {1})"},
           dtypes=_ALL, commutes=True, ref="maximum", gradient=("self", "other")),
    binary("minimum", {"float": "sc_min_{t}({0}, {1})", "int": "({0} < {1} ? {0} : {1})", "bool": "({0} & {1})"},
           dtypes=_ALL, commutes=True, ref="minimum", gradient=("self", "other")),
    # Bounds of `clamp`, which give way to equal elements in gradients.
    binary("clamp.min", {"float": "sc_max_{t}({0}, {1})", "int": "({0} > {1} ? {0} : {1})", "bool": "({0} | {1})"},
           dtypes=_ALL, method=False, ref="maximum", gradient=("self", "other")),
    binary("clamp.max", {"float": "sc_min_{t}({0}, {1})", "int": "({0} < {1} ? {0} : {1})", "bool": "({0} & {1})"},
           dtypes=_ALL, method=False, ref="minimum", gradient=("self", "other")),
    binary("atan2", "sc_atan2_{t}({0}, {1})", dtypes=_FLOATS, ulp=2.0, traits=_FLOATING, gradient=("self", "other")),
    # Gradients of functions: of the gradient of the result, and the result.
    *(OpDef(f"{n}_backward", "(Tensor grad_output, Tensor output) -> Tensor", elementwise, _TRAITS, (f"aten.{n}_backward",),
            f"torch.ops.aten.{n}_backward", reads=_TENSOR, check="broadcast", c=c,
            samples=Samples(BINARY_SHAPES, -0.99, 0.99, _FLOATS), errors=BROADCAST_ERRORS, tolerance_ulp=4.0)
      for n, c in (("tanh", "({0} * (1 - {1} * {1}))"), ("sigmoid", "({0} * (1 - {1}) * {1})"))),
    *(binary(n, f"({{0}} {sign} {{1}})", f"torch.{long}", f"Tensor.{long}", dtypes=_EVERY if n in ("eq", "ne") else _ALL,
             infer=predicate, commutes=n in ("eq", "ne"))
      for n, sign, long in (("eq", "==", "eq"), ("ne", "!=", "not_equal"), ("lt", "<", "less"), ("le", "<=", "less_equal"),
                            ("gt", ">", "greater"), ("ge", ">=", "greater_equal"))),
    binary("logical_and", "(({0} != 0) & ({1} != 0))", dtypes=_EVERY, infer=predicate, commutes=True),
    binary("logical_or", "(({0} != 0) | ({1} != 0))", dtypes=_EVERY, infer=predicate, commutes=True),
    binary("logical_xor", "(({0} != 0) != ({1} != 0))", dtypes=_EVERY, infer=predicate, commutes=True),
    *(binary(f"bitwise_{n}", f"({{0}} {sign} {{1}})", dtypes=_INTS, commutes=True)
      for n, sign in (("and", "&"), ("or", "|"), ("xor", "^"))),
    # Returns the number in the shape and strides of the tensor.
    OpDef("fill", "(Tensor self, Scalar value) -> Tensor", elementwise, _TRAITS, ref="torch.full_like", c="{1}",
          samples=Samples((((3, 5),), ((),), ((0, 2),)), dtypes=_EVERY, extra=((1,), (0.0,))), gradient=()),
    # `dtype` is the result's dtype if both values are numbers.
    OpDef("where", "(Tensor condition, Operand self, Operand other, *, ScalarType dtype) -> Tensor", _where, _TRAITS,
          gradient=("self", "other"), ref="where", reads=_TENSOR, check="broadcast", c="({0} ? {1} : {2})",
          samples=Samples((((3, 4), (4,), (3, 1)), ((), (2,), (2,))), dtypes=_EVERY, kinds=("bool",)),
          errors=(Raises("RuntimeError",
                         "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
                         shapes=((3,), (4,), (1,))),)),
]  # fmt: skip
