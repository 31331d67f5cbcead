"""Python numbers: 64-bit ints that raise OverflowError, floats, bools; Python's results, not C's.

`c` is a C expression; `kernel` a function of runtime/include/sc_scalar.h that may raise and writes its result last. Where a
row has both, `emit` chooses: the expression where the result is known to fit.
"""

from __future__ import annotations

from scriptc.ir.opdef import Infer, OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, numbers
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT, Type

_PURE = frozenset({"PURE"})


def _rule(result: Type) -> Infer:
    def infer(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
        numbers(operands)
        return (result,)

    return infer


def _rounded(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if [v.type for v in operands] != [FLOAT, INT]:
        raise TypeRuleError("a float is rounded to a whole number of digits")
    return (FLOAT,)


def _row(
    name: str, arity: int, result: Type, ref: str, *, c: str | None = None, kernel: str | None = None, emit: str | None = None
) -> OpDef:
    schema = "(" + ", ".join(f"Scalar {x}" for x in "abc"[:arity]) + ") -> Scalar"
    return OpDef(name, schema, _rule(result), _PURE, ref=ref, c=c, kernel=kernel, emit=emit, raises=kernel is not None)


def _binary(names: str, result: Type, prefix: str, c: str) -> list[OpDef]:
    """Rows for `name=C operator` pairs."""
    pairs = (pair.split("=", 1) for pair in names.split())
    return [_row(f"{prefix}.{n}", 2, result, f"operator.{n}", c=c.replace("@", sign)) for n, sign in pairs]


_MATH = "sqrt exp log sin cos tan tanh asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 erf erfc gamma lgamma"
_COMPARE = "eq=== ne=!= lt=< le=<= gt=> ge=>="

ROWS = [
    *(_row(f"int.{n}", 2, INT, f"operator.{n}", kernel=f"sc_int_{n}")
      for n in ("floordiv", "mod", "lshift", "rshift")),
    *(_row(f"int.{n}", 2, INT, f"operator.{n}", c=f"({{0}} {sign} {{1}})", kernel=f"sc_int_{n}", emit="checked")
      for n, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))),
    _row("int.pow", 2, INT, "operator.pow", kernel="sc_int_pow"),
    _row("int.neg", 1, INT, "operator.neg", kernel="sc_int_neg"),
    _row("int.abs", 1, INT, "operator.abs", kernel="sc_int_abs"),
    _row("int.truediv", 2, FLOAT, "operator.truediv", kernel="sc_int_truediv"),
    _row("int.invert", 1, INT, "operator.invert", c="~{0}"),
    *_binary("and_=& or_=| xor=^", INT, "int", "({0} @ {1})"),
    *_binary(_COMPARE, BOOL, "int", "({0} @ {1})"),
    _row("int.min", 2, INT, "builtins.min", c="({1} < {0} ? {1} : {0})"),
    _row("int.max", 2, INT, "builtins.max", c="({1} > {0} ? {1} : {0})"),
    _row("int.to_float", 1, FLOAT, "builtins.float", c="(double){0}"),
    _row("int.to_bool", 1, BOOL, "builtins.bool", c="({0} != 0)"),
    *_binary("add=+ sub=-", FLOAT, "float", "({0} @ {1})"),
    _row("float.mul", 2, FLOAT, "operator.mul", c="SC_ROUNDED({0} * {1})"),
    *(_row(f"float.{n}", 2, FLOAT, f"operator.{n}", kernel=f"sc_float_{n}") for n in ("truediv", "floordiv", "mod")),
    _row("float.pow", 2, FLOAT, "operator.pow", kernel="sc_float_pow"),
    _row("float.neg", 1, FLOAT, "operator.neg", c="-{0}"),
    _row("float.abs", 1, FLOAT, "operator.abs", c="__builtin_fabs({0})"),
    *_binary(_COMPARE, BOOL, "float", "({0} @ {1})"),
    _row("float.min", 2, FLOAT, "builtins.min", c="({1} < {0} ? {1} : {0})"),
    _row("float.max", 2, FLOAT, "builtins.max", c="({1} > {0} ? {1} : {0})"),
    _row("float.to_int", 1, INT, "builtins.int", kernel="sc_float_to_int"),
    _row("float.to_bool", 1, BOOL, "builtins.bool", c="({0} != 0)"),
    _row("complex.make", 2, COMPLEX, "builtins.complex", c="__builtin_complex({0}, {1})"),
    _row("bool.not", 1, BOOL, "operator.not_", c="!{0}"),
    *_binary(_COMPARE, BOOL, "mixed", "((long double){0} @ (long double){1})"),  # an int and a float, without rounding
    *_binary("and_=& or_=| xor=!= eq=== ne=!=", BOOL, "bool", "({0} @ {1})"),
    # C compilers warn of comparisons of a truth value, converted or not, with a number that it never is.
    _row("bool.to_int", 1, INT, "builtins.int", c="(int64_t)({0} ? 1 : 0)"),
    _row("bool.to_float", 1, FLOAT, "builtins.float", c="(double){0}"),
    *(_row(f"math.{n}", 1, FLOAT, f"math.{n}", kernel=f"sc_math_{n}") for n in _MATH.split()),
    *(_row(f"math.{n}", 1, INT, f"math.{n}", kernel=f"sc_math_{n}") for n in ("floor", "ceil", "trunc")),
    *(_row(f"math.{n}", 2, FLOAT, f"math.{n}", kernel=f"sc_math_{n}") for n in ("fmod", "pow")),
    *(_row(f"math.{n}", 2, FLOAT, f"math.{n}", c=f"{n}({{0}}, {{1}})") for n in ("atan2", "copysign", "hypot")),
    *(_row(f"math.{n}", 1, BOOL, f"math.{n}", c=f"(bool){n}({{0}})") for n in ("isnan", "isinf", "isfinite")),
    _row("math.fabs", 1, FLOAT, "math.fabs", c="__builtin_fabs({0})"),
    _row("float.round", 1, INT, "builtins.round", kernel="sc_float_round"),
    OpDef("float.round_to", "(Scalar a, SymInt digits) -> Scalar", _rounded, _PURE, ref="builtins.round",
          kernel="sc_float_round_to", raises=True),
]  # fmt: skip
