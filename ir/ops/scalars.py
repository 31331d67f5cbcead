"""Python numbers: 64-bit ints that raise OverflowError, floats and bools. Results are Python's, not C's.

`c` is a C expression; `kernel` is a function of runtime/include/sc_scalar.h that may raise and writes its result last.
If a row has both, `emit` chooses the expression if the result is known to fit.
"""

from __future__ import annotations

from math import inf, nan

from scriptc.ir.opdef import NO_ERROR, Infer, OpDef, Raises, TypeRuleError, calls
from scriptc.ir.ops.rules import Attrs, Operands, numbers
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT, Type

_PURE = frozenset({"PURE"})
Calls = tuple[tuple[int | float, ...], ...]
_MIN, _MAX = -(2**63), 2**63 - 1

# Sample arguments, by the operands of a row.
_A_INT: Calls = ((0,), (1,), (-7,), (_MAX,), (_MIN + 1,))
_INTS: Calls = ((7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (0, 5), (_MAX // 3, 2), (_MIN // 3, -2))
_SHIFTS: Calls = ((5, 0), (5, 3), (-5, 1), (0, 99), (1, 62), (-1, 63))
_POWERS: Calls = ((3, 0), (0, 0), (-2, 3), (7, 5), (2, 62), (-2, 63))
_COMPARED_INTS: Calls = ((1, 2), (2, 1), (3, 3), (-1, 1), (_MIN, _MAX))
_A_FLOAT: Calls = ((0.0,), (-0.0,), (0.5,), (-2.5,), (1e300,), (inf,), (-inf,), (nan,))
_FINITE: Calls = ((0.0,), (-0.0,), (0.5,), (-0.25,), (0.875,))  # in the domain of each function that is defined at 0
_POSITIVE: Calls = ((0.25,), (1.0,), (2.5,), (1e300,), (inf,), (nan,))
_FLOATS: Calls = ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-0.0, 3.0), (1e308, 10.0), (inf, 2.0), (2.0, inf), (nan, 1.0))
_COMPARED: Calls = ((1.0, 2.0), (2.0, 1.0), (0.0, -0.0), (inf, inf), (nan, 1.0), (1.0, nan))
_MIXED: Calls = ((1, 1.5), (2, 2.0), (_MAX, 2.0**63), (_MIN, -(2.0**63)), (2**53 + 1, 2.0**53), (0, nan))
_BOOLS: Calls = ((False, False), (False, True), (True, False), (True, True))
_A_BOOL: Calls = ((False,), (True,))


def _overflow(*call: int | float) -> Raises:
    return Raises("OverflowError", "Python int too large to convert to C long", call)


def _domain(*call: float) -> Raises:
    return Raises("ValueError", "math domain error", call)


def _range(*call: float) -> Raises:
    return Raises("OverflowError", "math range error", call)


def _no_int(*huge: float) -> tuple[Raises, ...]:
    """Return the errors of a function from floats to ints."""
    return (
        Raises("ValueError", "cannot convert float NaN to integer", (nan,)),
        Raises("OverflowError", "cannot convert float infinity to integer", (inf,)),
        *map(_overflow, huge),
    )


def _rule(result: Type) -> Infer:
    def infer(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
        numbers(operands)
        return (result,)

    return infer


def _rounded(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if [v.type for v in operands] != [FLOAT, INT]:
        raise TypeRuleError("a float is rounded to a whole number of digits")
    return (FLOAT,)


def _scaled(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    if [v.type for v in operands] != [FLOAT, INT]:
        raise TypeRuleError("a float is scaled by a whole power of two")
    return (FLOAT,)


def _row(
    name: str, result: Type, ref: str, sampled: Calls, *errors: Raises, c: str | None = None, kernel: str | None = None,
    emit: str | None = None, ulp: float = 0.0,
) -> OpDef:  # fmt: skip
    """Return a row for numbers. A row with a kernel may raise."""
    schema = "(" + ", ".join(f"Scalar {x}" for x in "abc"[: len(sampled[0])]) + ") -> Scalar"
    return OpDef(
        name, schema, _rule(result), _PURE, ref=ref, c=c, kernel=kernel, emit=emit, raises=kernel is not None,
        samples=calls(*sampled), errors=errors, tolerance_ulp=ulp,
    )  # fmt: skip


def _binary(signs: dict[str, str], result: Type, prefix: str, c: str, sampled: Calls) -> list[OpDef]:
    """Return rows for functions of `operator` and the C operators that compute them."""
    return [_row(f"{prefix}.{n}", result, f"operator.{n}", sampled, c=c.replace("@", s)) for n, s in signs.items()]


def _math(name: str, sampled: Calls, *errors: Raises, result: Type = FLOAT, ulp: float = 2.0) -> OpDef:
    """Return the row of a function of `math` with a kernel. ulp: the tolerance, since Python computes some functions
    itself."""
    return _row(f"math.{name}", result, f"math.{name}", sampled, *errors, kernel=f"sc_math_{name}", ulp=ulp)


_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BITS = {"and_": "&", "or_": "|", "xor": "^"}
_NEGATIVE_SHIFT = Raises("ValueError", "negative shift count", (1, -1))
_BY_ZERO = (1.0, 0.0)

ROWS = [
    _row("int.floordiv", INT, "operator.floordiv", _INTS,
         Raises("ZeroDivisionError", "integer division or modulo by zero", (1, 0)), _overflow(_MIN, -1),
         kernel="sc_int_floordiv"),
    _row("int.mod", INT, "operator.mod", _INTS, Raises("ZeroDivisionError", "integer modulo by zero", (1, 0)),
         kernel="sc_int_mod"),
    _row("int.lshift", INT, "operator.lshift", _SHIFTS, _NEGATIVE_SHIFT, _overflow(1, 63), kernel="sc_int_lshift"),
    _row("int.rshift", INT, "operator.rshift", _SHIFTS, _NEGATIVE_SHIFT, kernel="sc_int_rshift"),
    *(_row(f"int.{n}", INT, f"operator.{n}", _INTS, _overflow(*large), c=f"({{0}} {sign} {{1}})", kernel=f"sc_int_{n}",
           emit="checked")
      for n, sign, large in (("add", "+", (_MAX, 1)), ("sub", "-", (_MIN, 1)), ("mul", "*", (2**40, 2**40)))),
    _row("int.pow", INT, "operator.pow", _POWERS, _overflow(2, 63),
         Raises("RuntimeError", "scriptc: an int to a negative power is a float", (2, -1)), kernel="sc_int_pow"),
    _row("int.neg", INT, "operator.neg", _A_INT, _overflow(_MIN), kernel="sc_int_neg"),
    _row("int.abs", INT, "operator.abs", _A_INT, _overflow(_MIN), kernel="sc_int_abs"),
    _row("int.truediv", FLOAT, "operator.truediv", _INTS, Raises("ZeroDivisionError", "division by zero", (1, 0)),
         kernel="sc_int_truediv"),
    _row("int.invert", INT, "operator.invert", _A_INT, c="~{0}"),
    *_binary(_BITS, INT, "int", "({0} @ {1})", _INTS),
    *_binary(_COMPARE, BOOL, "int", "({0} @ {1})", _COMPARED_INTS),
    _row("int.min", INT, "builtins.min", _COMPARED_INTS, c="({1} < {0} ? {1} : {0})"),
    _row("int.max", INT, "builtins.max", _COMPARED_INTS, c="({1} > {0} ? {1} : {0})"),
    _row("int.to_float", FLOAT, "builtins.float", _A_INT, c="(double){0}"),
    _row("int.to_bool", BOOL, "builtins.bool", _A_INT, c="({0} != 0)"),
    *_binary({"add": "+", "sub": "-"}, FLOAT, "float", "({0} @ {1})", _FLOATS),
    _row("float.mul", FLOAT, "operator.mul", _FLOATS, c="SC_ROUNDED({0} * {1})"),
    *(_row(f"float.{n}", FLOAT, f"operator.{n}", _FLOATS, Raises("ZeroDivisionError", words, _BY_ZERO),
           kernel=f"sc_float_{n}")
      for n, words in (("truediv", "float division by zero"), ("floordiv", "float floor division by zero"),
                       ("mod", "float modulo"))),
    _row("float.pow", FLOAT, "operator.pow", ((2.0, 0.5), (-2.0, 3.0), (0.0, 0.0), (inf, -1.0), (nan, 0.0)),
         Raises("ZeroDivisionError", "0.0 cannot be raised to a negative power", (0.0, -1.0)),
         Raises("ValueError", "scriptc: a negative number to a fractional power is complex", (-2.0, 0.5)),
         Raises("OverflowError", "(34, 'Numerical result out of range')", (1e300, 2.0)), kernel="sc_float_pow"),
    _row("float.neg", FLOAT, "operator.neg", _A_FLOAT, c="-{0}"),
    _row("float.abs", FLOAT, "operator.abs", _A_FLOAT, c="__builtin_fabs({0})"),
    *_binary(_COMPARE, BOOL, "float", "({0} @ {1})", _COMPARED),
    _row("float.min", FLOAT, "builtins.min", _COMPARED, c="({1} < {0} ? {1} : {0})"),
    _row("float.max", FLOAT, "builtins.max", _COMPARED, c="({1} > {0} ? {1} : {0})"),
    _row("float.to_int", INT, "builtins.int", ((2.9,), (-2.9,), (-0.0,), (1e15,)), *_no_int(1e19, -1e19),
         kernel="sc_float_to_int"),
    _row("float.to_bool", BOOL, "builtins.bool", _A_FLOAT, c="({0} != 0)"),
    OpDef("complex.make", "(Scalar a, Scalar b) -> Scalar", _rule(COMPLEX), _PURE, ref="builtins.complex",
          c="__builtin_complex({0}, {1})"),
    _row("bool.not", BOOL, "operator.not_", _A_BOOL, c="!{0}"),
    *_binary(_COMPARE, BOOL, "mixed", "((long double){0} @ (long double){1})", _MIXED),  # an int and a float, exactly
    *_binary({"and_": "&", "or_": "|", "xor": "!=", "eq": "==", "ne": "!="}, BOOL, "bool", "({0} @ {1})", _BOOLS),
    # C compilers warn if a truth value, even converted, is compared with a number other than 0 and 1.
    _row("bool.to_int", INT, "builtins.int", _A_BOOL, c="(int64_t)({0} ? 1 : 0)"),
    _row("bool.to_float", FLOAT, "builtins.float", _A_BOOL, c="(double){0}"),
    _math("sqrt", ((0.0,), (-0.0,), (2.0,), (inf,)), _domain(-1.0)),
    _math("exp", _A_FLOAT[:4], _range(1000.0)),
    _math("log", _POSITIVE, _domain(0.0)),
    *(_math(n, _FINITE, _domain(inf)) for n in ("sin", "cos", "tan")),
    _math("tanh", _A_FLOAT, NO_ERROR),
    *(_math(n, _FINITE, _domain(2.0)) for n in ("asin", "acos")),
    _math("atan", _A_FLOAT, NO_ERROR),
    *(_math(n, _FINITE, _range(1000.0)) for n in ("sinh", "cosh")),
    _math("asinh", _A_FLOAT, NO_ERROR),
    _math("acosh", ((1.0,), (2.5,), (inf,)), _domain(0.5)),
    _math("atanh", _FINITE, _domain(1.0)),
    _math("expm1", _A_FLOAT[:4], _range(1000.0)),
    _math("log1p", (*_FINITE, *_POSITIVE), _domain(-1.0)),
    *(_math(n, _POSITIVE, _domain(0.0)) for n in ("log2", "log10")),
    *(_math(n, _A_FLOAT, NO_ERROR) for n in ("erf", "erfc")),
    _math("gamma", ((0.5,), (5.0,), (-1.5,), (inf,)), _domain(0.0), _range(200.0), ulp=16.0),
    _math("lgamma", ((0.5,), (5.0,), (-1.5,), (inf,)), _domain(-1.0), _range(1e308), ulp=16.0),
    *(_math(n, ((2.5,), (-2.5,), (-0.0,), (1e15,)), *_no_int(1e19), result=INT, ulp=0.0)
      for n in ("floor", "ceil", "trunc")),
    _math("fmod", _FLOATS, _domain(1.0, 0.0), _domain(inf, 1.0), ulp=0.0),
    _math("remainder", _FLOATS, _domain(1.0, 0.0), _domain(inf, 1.0), ulp=0.0),
    _row("math.nextafter", FLOAT, "math.nextafter", _FLOATS, c="nextafter({0}, {1})"),
    OpDef("math.ldexp", "(Scalar a, SymInt exponent) -> Scalar", _scaled, _PURE, ref="math.ldexp", kernel="sc_math_ldexp",
          raises=True, samples=calls((0.75, 3), (-1.5, -1074), (inf, 5), (0.0, 1 << 40), (1.0, -(1 << 40))),
          errors=(Raises("OverflowError", "math range error", (1.0, 1024)),)),
    _math("pow", _FLOATS[1:4], _domain(0.0, -1.0), _domain(-2.0, 0.5), _range(1e300, 2.0)),
    *(_row(f"math.{n}", FLOAT, f"math.{n}", _FLOATS, c=f"{n}({{0}}, {{1}})", ulp=2.0)
      for n in ("atan2", "copysign", "hypot")),
    *(_row(f"math.{n}", BOOL, f"math.{n}", _A_FLOAT, c=f"(bool){n}({{0}})") for n in ("isnan", "isinf", "isfinite")),
    _row("float.log_sum_exp", FLOAT, "log_sum_exp", (*_FLOATS, (-inf, 2.0), (-inf, -inf), (0.5, 0.25), (-0.0, -inf)),
         c="sc_log_sum_exp({0}, {1})", ulp=2.0),
    _row("float.log_sum_exp_3", FLOAT, "log_sum_exp", ((-inf, 2.0, -inf), (-inf, 0.25, 0.5), (1.0, 2.0, 3.0), (nan, 1.0, -inf),
         (inf, 0.0, -inf), (-inf, -inf, -inf), (7.0, 7.0, -inf), (-inf, 3.0, nan)),
         c="sc_log_sum_exp_3({0}, {1}, {2})", ulp=2.0),
    _row("math.fabs", FLOAT, "math.fabs", _A_FLOAT, c="__builtin_fabs({0})"),
    _row("float.round", INT, "builtins.round", ((2.5,), (3.5,), (-0.5,), (1e15,)), *_no_int(1e19), kernel="sc_float_round"),
    OpDef("float.round_to", "(Scalar a, SymInt digits) -> Scalar", _rounded, _PURE, ref="builtins.round",
          kernel="sc_float_round_to", raises=True,
          samples=calls((2.675, 2), (0.5, 0), (-1234.5, -2), (1e300, 400), (nan, 1), (1.5, -400)),
          errors=(Raises("OverflowError", "rounded value too large to represent", (1.7e308, -308)),)),
]  # fmt: skip
