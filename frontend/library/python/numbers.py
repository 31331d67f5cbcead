"""Numbers: int(), float(), bool(), round() and their like, and the math module."""

from __future__ import annotations

import math
import operator

import numpy as np

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import complexes_decomposed as complexes
from scriptc.frontend.library.python.numbers_decomposed import norm_of
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.arrays import element_of
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.indices import integer
from scriptc.frontend.operations.logic import check_that, to_float
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.objects import special
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ComplexValue,
    DictValue,
    Known,
    ListValue,
    ObjectValue,
    RangeValue,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.predicates import (
    is_array,
    is_dict,
    is_known,
    is_none,
    is_object,
    is_of_numpy,
    is_set,
    is_tensor,
    is_text,
    known_objects,
)
from scriptc.frontend.values.verbs import as_argument, class_name_of, materialize, python_class
from scriptc.ir.core import Value
from scriptc.ir.types import FLOAT, INT

UNARY = (
    "sqrt exp log sin cos tan tanh floor ceil trunc asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 "
    "fabs erf erfc gamma lgamma isnan isinf isfinite"
).split()
_BINARY = "atan2 copysign fmod pow remainder nextafter".split()


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
        if (known := known_objects(args)) is not None:
            return call_in_python(r, getattr(math, name), *known)
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


@serves("math.ldexp")
def ldexp(r: Reader, x: AbstractValue, i: AbstractValue, /) -> AbstractValue:
    if python_class(r, i) not in (int, bool):
        r.emit.raise_error("TypeError", "Expected an int as second argument to ldexp.")
    return RuntimeValue(r.emit.build("math.ldexp", [_float(r, x), integer(r, i)]))


@serves("math.hypot")
def hypot(r: Reader, *coordinates: AbstractValue) -> AbstractValue:
    numbers = [RuntimeValue(_float(r, x)) for x in coordinates]
    if len(numbers) == 2:
        return RuntimeValue(r.emit.build("math.hypot", [n.value for n in numbers]))
    return r.call(Known(norm_of), [TupleValue(numbers)], {})


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
    if is_none(mod):
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
    if is_of_numpy(x) and (is_array(x) or not is_none(digits)):
        return r.call(Known(np.round), [x, Known(0) if is_none(digits) else digits], {})
    x = as_argument(r, x)
    if is_known(x) and is_known(digits):
        return call_in_python(r, lambda a, b: round(a) if b is None else round(a, b), x.obj, digits.obj)
    if is_tensor(x):
        r.reject("round_of_tensor")
    value = materialize(r, x)
    if is_none(digits):
        return (
            RuntimeValue(r.emit.build("float.round", [value])) if value.type == FLOAT else RuntimeValue(integer(r, x))
        )
    if value.type == FLOAT:
        return RuntimeValue(r.emit.build("float.round_to", [value, integer(r, digits)]))
    from scriptc.frontend.library.python import numbers_decomposed as numbers

    return r.call(Known(numbers.round_int), [x, digits], {})


@serves("operator.index")
def index(r: Reader, x: AbstractValue) -> AbstractValue:
    if is_known(x):
        return call_in_python(r, operator.index, x.obj)
    if (found := special(r, x, "__index__", [])) is not None:
        return found
    return RuntimeValue(integer(r, x))


def refuse_others(r: Reader, name: str, x: AbstractValue) -> None:
    """Raise the TypeError of int() and float() for a container or a complex number."""
    if isinstance(x, (ComplexValue, TupleValue, ListValue, DictValue, RangeValue)) or is_dict(x) or is_set(x):
        what = "a string, a bytes-like object or a real number" if name == "int" else "a string or a real number"
        r.emit.raise_error("TypeError", f"{name}() argument must be {what}, not '{python_class(r, x).__name__}'")


@serves("builtins.int", "Tensor.__int__")
def int_(r: Reader, x: AbstractValue = Known(0), base: AbstractValue | None = None) -> AbstractValue:
    if is_known(x) and (base is None or is_known(base)):
        return call_in_python(r, int, x.obj, *([] if base is None else [base.obj]))
    if base is None and is_object(x):
        return number_of(r, "int", x, ["__int__", "__index__"])
    if is_text(x):
        return RuntimeValue(
            r.emit.build("parse.int", [materialize(r, x), r.emit.const(10) if base is None else integer(r, base)])
        )
    if base is not None:
        r.emit.raise_error("TypeError", "int() can't convert non-string with explicit base")
    if is_array(x):
        return r.call(Known(int), [element_of(r, x)], {})
    if is_tensor(x):
        _check_one_element(r, x)
        return RuntimeValue(r.emit.build("item.int", [materialize(r, x)]))
    refuse_others(r, "int", x)
    value = materialize(r, x)
    return (
        RuntimeValue(value)
        if value.type == INT
        else apply_op(r, "float.to_int" if value.type == FLOAT else "bool.to_int", x)
    )


@serves("builtins.float", "Tensor.__float__")
def float_(r: Reader, x: AbstractValue = Known(0.0)) -> AbstractValue:
    if is_known(x):
        return call_in_python(r, float, x.obj)
    if is_object(x):
        return number_of(r, "float", x, ["__float__", "__index__"])
    if is_text(x):
        return apply_op(r, "parse.float", x)
    refuse_others(r, "float", x)
    if is_array(x):
        return r.call(Known(float), [element_of(r, x)], {})
    if is_tensor(x):
        _check_one_element(r, x)
        return RuntimeValue(r.emit.build("item.float", [materialize(r, x)]))
    return RuntimeValue(to_float(r, materialize(r, x)))


def number_of(r: Reader, name: str, x: ObjectValue, methods: list[str]) -> AbstractValue:
    """Return the number that an object's `__int__`, `__float__` or `__index__` returns."""
    for method in methods:
        if (found := special(r, x, method, [])) is not None:
            cls = python_class(r, found)
            if cls is not (float if method == "__float__" else int):
                wanted = "float" if method == "__float__" else "int"
                r.emit.raise_error("TypeError", f"{method} returned non-{wanted} (type {cls.__name__})")
            return found if cls.__name__ == name else float_(r, found)
    r.emit.raise_error("TypeError", f"{name}() argument must be a string or a real number, not '{x.cls.__name__}'")


def _check_one_element(r: Reader, x: AbstractValue) -> None:
    """Check that a tensor has one element. The error differs from that of `t.item()`."""
    count = r.call(r.attribute(x, "numel"), [], {})
    message = "only one element tensors can be converted to Python scalars"
    check_that(r, r.compare("Eq", count, Known(1)), "ValueError", message)


@serves("builtins.bool", "Tensor.__bool__")
def bool_(r: Reader, x: AbstractValue = Known(False)) -> AbstractValue:
    return r.truth(x)


@serves("builtins.abs")
def abs_(r: Reader, x: AbstractValue) -> AbstractValue:
    if is_of_numpy(x):
        return r.call(Known(np.absolute), [x], {})
    if is_known(x):
        return call_in_python(r, abs, x.obj)
    if (found := special(r, x, "__abs__", [])) is not None:
        return found
    if is_tensor(x):
        return elementwise(r, "abs", x)
    if isinstance(x, ComplexValue):
        return r.call(Known(complexes.magnitude), [x.real, x.imag], {})
    return (
        RuntimeValue(r.emit.build("float.abs", [materialize(r, x)]))
        if materialize(r, x).type == FLOAT
        else RuntimeValue(r.emit.build("int.abs", [integer(r, x)]))
    )
