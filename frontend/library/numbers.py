"""Functions of numbers: math, round, divmod, pow."""

from __future__ import annotations

import math

from scriptc.frontend.library import serves
from scriptc.frontend.library.builtin import float_
from scriptc.frontend.reader_api import Reader
from scriptc.frontend.values import AV, Dyn, Known, Tup, is_tensor
from scriptc.ir.core import Value
from scriptc.ir.types import FLOAT, INT

UNARY = (
    "sqrt exp log sin cos tan tanh floor ceil trunc asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 "
    "fabs erf erfc gamma lgamma isnan isinf isfinite"
).split()
_BINARY = "atan2 copysign fmod pow hypot".split()


def _float(r: Reader, x: AV) -> Value:
    if is_tensor(x):
        return r.value(float_(r, x))
    value = r.value(x)
    if value.type not in (INT, FLOAT) and str(value.type) != "bool":
        r.raises_at_run_time("TypeError", f"must be real number, not {r.type_name(x)}")
    return r.to_float(value)


def _math(name: str, arity: int) -> None:
    @serves(f"math.{name}")
    def handler(r: Reader, *args: AV) -> AV:
        if all(isinstance(a, Known) for a in args):
            return r.evaluate(getattr(math, name), *(a.obj for a in args if isinstance(a, Known)))
        if name in ("floor", "ceil", "trunc") and not is_tensor(args[0]) and r.value(args[0]).type != FLOAT:
            return Dyn(r.integer(args[0]))
        if name == "log" and len(args) == 2:
            logs = [Dyn(r.build("math.log", [_float(r, a)])) for a in args]
            return r.binary("Div", *logs)
        if len(args) != arity:
            r.raises_at_run_time("TypeError", f"math.{name} expected {arity} arguments, got {len(args)}")
        return Dyn(r.build(f"math.{name}", [_float(r, a) for a in args]))


for _name in UNARY:
    _math(_name, 1)
for _name in _BINARY:
    _math(_name, 2)


@serves("builtins.divmod")
def divmod_(r: Reader, a: AV, b: AV) -> AV:
    if is_tensor(a) or is_tensor(b):
        names = " and ".join(f"'{r.type_name(av)}'" for av in (a, b))
        r.raises_at_run_time("TypeError", f"unsupported operand type(s) for divmod(): {names}")
    if float in (r.python_class(a), r.python_class(b)) and {r.python_class(a), r.python_class(b)} <= {int, float, bool}:
        r.check_that(r.compare("NotEq", b, Known(0)), "ZeroDivisionError", "float divmod()")
    return Tup([r.binary("FloorDiv", a, b), r.binary("Mod", a, b)])


@serves("builtins.pow")
def pow_(r: Reader, base: AV, exp: AV, mod: AV = Known(None)) -> AV:  # noqa: B008
    if isinstance(mod, Known) and mod.obj is None:
        return r.binary("Pow", base, exp)
    from scriptc.frontend.decompositions import numbers

    classes = [r.python_class(x) for x in (base, exp, mod)]
    if any(issubclass(c, float) for c in classes):
        r.raises_at_run_time("TypeError", "pow() 3rd argument not allowed unless all arguments are integers")
    if not all(issubclass(c, int) for c in classes):
        names = ", ".join(f"'{c.__name__}'" for c in classes)
        r.raises_at_run_time("TypeError", f"unsupported operand type(s) for ** or pow(): {names}")
    return r.call(Known(numbers.power_modulo), [base, exp, mod], {})


@serves("builtins.round")
def round_(r: Reader, x: AV, digits: AV = Known(None)) -> AV:  # noqa: B008
    if isinstance(x, Known) and isinstance(digits, Known):
        return r.evaluate(lambda a, b: round(a) if b is None else round(a, b), x.obj, digits.obj)
    if is_tensor(x):
        r.fail("round_of_tensor")
    value = r.value(x)
    if isinstance(digits, Known) and digits.obj is None:
        return Dyn(r.build("float.round", [value])) if value.type == FLOAT else Dyn(r.integer(x))
    if value.type == FLOAT:
        return Dyn(r.build("float.round_to", [value, r.integer(digits)]))
    from scriptc.frontend.decompositions import numbers

    return r.call(Known(numbers.round_int), [x, digits], {})
