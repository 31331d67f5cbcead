"""Functions of numbers: math, round, divmod, pow."""

from __future__ import annotations

import math

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python.builtins import float_
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, to_float
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue, is_tensor
from scriptc.frontend.values.verbs import class_name_of, materialize, python_class
from scriptc.ir.core import Value
from scriptc.ir.types import FLOAT, INT

UNARY = (
    "sqrt exp log sin cos tan tanh floor ceil trunc asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 "
    "fabs erf erfc gamma lgamma isnan isinf isfinite"
).split()
_BINARY = "atan2 copysign fmod pow hypot".split()


def _float(r: Reader, x: AbstractValue) -> Value:
    if is_tensor(x):
        return materialize(r, float_(r, x))
    value = materialize(r, x)
    if value.type not in (INT, FLOAT) and str(value.type) != "bool":
        r.emit.raise_error("TypeError", f"must be real number, not {class_name_of(r, x)}")
    return to_float(r, value)


def _math(name: str, arity: int) -> None:
    @serves(f"math.{name}")
    def handler(r: Reader, *args: AbstractValue) -> AbstractValue:
        if all(isinstance(a, Known) for a in args):
            return call_in_python(r, getattr(math, name), *(a.obj for a in args if isinstance(a, Known)))
        if name in ("floor", "ceil", "trunc") and not is_tensor(args[0]) and materialize(r, args[0]).type != FLOAT:
            return RuntimeValue(integer(r, args[0]))
        if name == "log" and len(args) == 2:
            logs = [RuntimeValue(r.emit.build("math.log", [_float(r, a)])) for a in args]
            return r.binary("Div", *logs)
        if len(args) != arity:
            r.emit.raise_error("TypeError", f"math.{name} expected {arity} arguments, got {len(args)}")
        return RuntimeValue(r.emit.build(f"math.{name}", [_float(r, a) for a in args]))


for _name in UNARY:
    _math(_name, 1)
for _name in _BINARY:
    _math(_name, 2)


@serves("builtins.divmod")
def divmod_(r: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if is_tensor(a) or is_tensor(b):
        names = " and ".join(f"'{class_name_of(r, av)}'" for av in (a, b))
        r.emit.raise_error("TypeError", f"unsupported operand type(s) for divmod(): {names}")
    if float in (python_class(r, a), python_class(r, b)) and {python_class(r, a), python_class(r, b)} <= {
        int,
        float,
        bool,
    }:
        check_that(r, r.compare("NotEq", b, Known(0)), "ZeroDivisionError", "float divmod()")
    return TupleValue([r.binary("FloorDiv", a, b), r.binary("Mod", a, b)])


@serves("builtins.pow")
def pow_(r: Reader, base: AbstractValue, exp: AbstractValue, mod: AbstractValue = Known(None)) -> AbstractValue:
    if isinstance(mod, Known) and mod.obj is None:
        return r.binary("Pow", base, exp)
    from scriptc.frontend.library.python import numbers_decomposed as numbers

    classes = [python_class(r, x) for x in (base, exp, mod)]
    if any(issubclass(c, float) for c in classes):
        r.emit.raise_error("TypeError", "pow() 3rd argument not allowed unless all arguments are integers")
    if not all(issubclass(c, int) for c in classes):
        names = ", ".join(f"'{c.__name__}'" for c in classes)
        r.emit.raise_error("TypeError", f"unsupported operand type(s) for ** or pow(): {names}")
    return r.call(Known(numbers.power_modulo), [base, exp, mod], {})


@serves("builtins.round")
def round_(r: Reader, x: AbstractValue, digits: AbstractValue = Known(None)) -> AbstractValue:
    if isinstance(x, Known) and isinstance(digits, Known):
        return call_in_python(r, lambda a, b: round(a) if b is None else round(a, b), x.obj, digits.obj)
    if is_tensor(x):
        r.reject("round_of_tensor")
    value = materialize(r, x)
    if isinstance(digits, Known) and digits.obj is None:
        return (
            RuntimeValue(r.emit.build("float.round", [value])) if value.type == FLOAT else RuntimeValue(integer(r, x))
        )
    if value.type == FLOAT:
        return RuntimeValue(r.emit.build("float.round_to", [value, integer(r, digits)]))
    from scriptc.frontend.library.python import numbers_decomposed as numbers

    return r.call(Known(numbers.round_int), [x, digits], {})
