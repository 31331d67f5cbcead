"""NumPy's ufuncs and operators, with NumPy's promotion of dtypes.

NumPy itself says which loop the dtypes of the operands select (`ufunc.resolve_dtypes`). The operands are cast to the
dtypes of the loop, and a function of `ufuncs_decomposed.py` computes the loop on tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from scriptc.frontend.environment.host_objects import name_of_numpy_dtype, numpy_dtype
from scriptc.frontend.library.numpy import arrays_decomposed as arrays
from scriptc.frontend.library.numpy import numbers_decomposed as numbers  # noqa: F401
from scriptc.frontend.library.numpy import products_decomposed as products  # noqa: F401
from scriptc.frontend.library.numpy import ufuncs_decomposed as ufuncs  # noqa: F401
from scriptc.frontend.library.registry import DECOMPOSITIONS, FLOAT_LOOPS, FUNCTIONS, LOOPS
from scriptc.frontend.operations.arrays import (
    dtype_argument,
    elements_of,
    filled,
    is_number,
    known_scalar,
    memory_of,
    number_dtype,
    result_of,
)
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.logic import to_float, to_int
from scriptc.frontend.operations.writes import copy_into
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ArrayValue, Known, NumpyScalarValue, RuntimeValue
from scriptc.frontend.values.predicates import (
    is_array,
    is_known,
    is_none,
    is_numpy_scalar,
    is_object,
    is_sequence,
    is_tensor,
    is_text,
    tensor_type,
)
from scriptc.frontend.values.verbs import as_argument, describe, materialize, type_of
from scriptc.ir.dtypes import INEXACT, INTEGRAL, SIZES
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT, Type

OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mult": np.multiply, "Div": np.divide, "FloorDiv": np.floor_divide,
    "Mod": np.remainder, "Pow": np.power, "BitAnd": np.bitwise_and, "BitOr": np.bitwise_or, "BitXor": np.bitwise_xor,
    "LShift": np.left_shift, "RShift": np.right_shift, "MatMult": np.matmul, "Eq": np.equal, "NotEq": np.not_equal,
    "Lt": np.less, "LtE": np.less_equal, "Gt": np.greater, "GtE": np.greater_equal,
}  # fmt: skip
_COMPARISONS = {
    np.equal: "Eq", np.not_equal: "NotEq", np.less: "Lt", np.less_equal: "LtE", np.greater: "Gt", np.greater_equal: "GtE",
}  # fmt: skip
_OF_NUMBERS = {np.add: "Add", np.subtract: "Sub", np.multiply: "Mult"}
_POWERS = {2: np.square, 0.5: np.sqrt}  # what `**` of an array calls for these exponents
_WEAK: dict[Type | None, type] = {INT: int, FLOAT: float, COMPLEX: complex}


def numpy_operator(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return `a op b`, of which one operand is a NumPy array or scalar."""
    for one, other in ((a, b), (b, a)):
        if is_tensor(other):
            if is_array(one):
                reader.reject("array_with_tensor")
            return _of_python(reader, op, a, b)
        if is_object(other):
            return None
        if is_numpy_scalar(one) and (is_none(other) or is_text(other)):
            return _of_python(reader, op, a, b)
        if is_numpy_scalar(one) and is_sequence(other):
            if op != "Mult" or one.dtype not in INTEGRAL:
                reader.reject("array_of_other", what=describe(other))
            return _of_python(reader, op, a, b)
    if op == "Pow" and is_array(a) and is_known(b) and is_number(b) and b.obj in _POWERS:
        power = _POWERS[b.obj]
        if power is np.square or tensor_type(a.tensor).dtype in INEXACT:
            return call_ufunc(reader, power, [a])
    return call_ufunc(reader, OPERATORS[op], [a, b])


def _of_python(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    a, b = as_argument(reader, a), as_argument(reader, b)
    return reader.compare(op, a, b) if op in _COMPARISONS.values() else reader.binary(op, a, b)


def call_ufunc(
    reader: Reader, ufunc: Any, operands: Sequence[AbstractValue], dtype: str | None = None
) -> AbstractValue:
    """Return `ufunc(*operands)`: a scalar if no operand has dims."""
    if ufunc is np.matmul:
        return reader.call(Known(np.matmul), operands, {})
    operands = [_operand(reader, av) for av in operands]
    loop = _loop(reader, ufunc, operands, dtype)
    if not any(map(is_array, operands)):
        return _of_scalars(reader, ufunc, operands, loop)
    return result_of(reader, _computed(reader, ufunc, operands, loop))


def inplace_ufunc(reader: Reader, op: str, array: ArrayValue, value: AbstractValue) -> AbstractValue:
    """Execute `array op= value`."""
    if is_tensor(value):
        reader.reject("array_with_tensor")
    if op == "MatMult":
        reader.reject("array_of_other", what="an operand of @=")
    operands = [array, _operand(reader, value)]
    ufunc, own = OPERATORS[op], tensor_type(array.tensor).dtype
    loop = _loop(reader, ufunc, operands, None, output=own)
    target = memory_of(reader, array)
    found = cast_to(reader, _computed(reader, ufunc, operands, loop), own)
    if tensor_type(found).rank or tensor_type(target).rank:
        reader.call(Known(arrays.check_output), [target, found], {})
    copy_into(reader, target, found)
    return array


def _operand(reader: Reader, av: AbstractValue) -> AbstractValue:
    """Return an operand of a ufunc as an array, a NumPy scalar or a Python number."""
    if is_array(av) or is_numpy_scalar(av) or is_number(av):
        return av
    return ArrayValue(elements_of(reader, av))


def _dtype_of(av: AbstractValue) -> Any:
    """Return the dtype of an operand, or the class of a Python number, which adapts to other operands."""
    if is_array(av):
        return numpy_dtype(tensor_type(av.tensor).dtype)
    if is_numpy_scalar(av):
        return numpy_dtype(av.dtype)
    return _WEAK.get(type_of(av), np.dtype(bool)) if type_of(av) != BOOL else np.dtype(bool)


@functools.cache
def _resolved(ufunc: Any, dtypes: tuple[Any, ...], output: Any, wanted: Any) -> tuple[Any, ...] | Exception:
    chosen = {} if wanted is None else {"signature": (*(None for _ in dtypes), wanted)}
    try:
        return tuple(ufunc.resolve_dtypes((*dtypes, output), casting="same_kind", **chosen))
    except TypeError as e:
        return e


def _loop(
    reader: Reader, ufunc: Any, operands: Sequence[AbstractValue], dtype: str | None, output: str | None = None
) -> list[str]:
    """Return the dtypes of the loop of a ufunc: those of the operands, then that of the result."""
    if len(operands) == ufunc.nin + 1:
        refuse_options(reader, ufunc.__name__, {"out": operands[-1]})
    if len(operands) != ufunc.nin:
        takes = f"from {ufunc.nin} to {ufunc.nin + 1} positional arguments"
        message = f"{ufunc.__name__}() takes {takes} but {len(operands)} were given"
        reader.emit.raise_error("TypeError", message)
    if ufunc not in LOOPS:
        reader.reject("numpy_function", name=ufunc.__name__)
    dtypes = tuple(map(_dtype_of, operands))
    if (
        ufunc in _COMPARISONS
        and int in dtypes
        and all(d is int or getattr(d, "kind", "") in ("i", "u") for d in dtypes)
    ):
        if any(d is int and is_known(av) and not -(2**63) <= av.obj < 2**63 for av, d in zip(operands, dtypes, strict=True)):
            reader.reject("int_of_more_than_64_bits")
        dtypes = tuple(np.dtype("int64") for _ in dtypes)  # ints beyond the dtype of the other operand are compared
    found = _resolved(
        ufunc, dtypes, None if output is None else numpy_dtype(output), None if dtype is None else numpy_dtype(dtype)
    )
    if isinstance(found, Exception):
        reader.emit.raise_error("TypeError", str(found))
    names = [name_of_numpy_dtype(d) for d in found]
    if None in names:
        reader.reject("numpy_function", name=ufunc.__name__)
    return [name for name in names if name is not None]


def _computed(reader: Reader, ufunc: Any, operands: Sequence[AbstractValue], loop: Sequence[str]) -> AbstractValue:
    """Return the tensor that a loop makes."""
    tensors = [_cast(reader, av, dtype) for av, dtype in zip(operands, loop, strict=False)]
    check_broadcast(reader, tensors)
    return cast_to(reader, reader.call(Known(LOOPS[ufunc]), tensors, {}), loop[-1])


def check_broadcast(reader: Reader, tensors: Sequence[AbstractValue]) -> None:
    """Raise ValueError for shapes that do not broadcast."""
    wide = [t for t in tensors if tensor_type(t).rank]
    known = [tensor_type(t).dims for t in wide]
    if len(wide) < 2 or all(t is wide[0] for t in wide):
        return
    if known[0] != known[1] or any(not isinstance(n, int) for n in known[0] or ()) or len(wide) > 2:
        reader.call(Known(arrays.check_broadcast), tensors, {})


def _cast(reader: Reader, av: AbstractValue, dtype: str) -> AbstractValue:
    """Return an operand as a tensor of a dtype. A Python int must fit the dtype."""
    if not is_number(av):
        return cast_to(reader, elements_of(reader, av), dtype)
    if number_dtype(av) == "i64" and dtype in INTEGRAL and (is_known(av) or SIZES[dtype] < 8):
        reader.call(Known(arrays.check_held), [av, Known(dtype)], {})
    return filled(reader, (), av, dtype)


def _of_scalars(reader: Reader, ufunc: Any, operands: Sequence[AbstractValue], loop: Sequence[str]) -> AbstractValue:
    """Return the result of a ufunc for scalars and numbers."""
    objects = [known_scalar(av) for av in operands]
    if all(obj is not None for obj in objects):
        with np.errstate(all="ignore"):
            try:
                found = ufunc(*objects)
            except (OverflowError, ValueError) as e:
                reader.emit.raise_error(type(e).__name__, str(e))
        return NumpyScalarValue(Known(found.item()), loop[-1])
    if loop[-1] == "bool" and ufunc in _COMPARISONS:
        return NumpyScalarValue(reader.compare(_COMPARISONS[ufunc], *(_number(av) for av in operands)), "bool")
    if {*loop} == {"f64"}:
        floats = [RuntimeValue(to_float(reader, materialize(reader, av))) for av in operands]
        if ufunc in _OF_NUMBERS:
            return NumpyScalarValue(reader.binary(_OF_NUMBERS[ufunc], *floats), "f64")
        if ufunc in FLOAT_LOOPS:
            made = reader.call(Known(FLOAT_LOOPS[ufunc]), floats, {})
            return NumpyScalarValue(RuntimeValue(to_float(reader, materialize(reader, made))), "f64")
    if {*loop} == {"i64"} and ufunc in _OF_NUMBERS:
        ints = [RuntimeValue(to_int(reader, materialize(reader, av))) for av in operands]
        return NumpyScalarValue(reader.binary(_OF_NUMBERS[ufunc], *ints), "i64")
    return result_of(reader, _computed(reader, ufunc, operands, loop))


def _number(av: AbstractValue) -> AbstractValue:
    return av.number if is_numpy_scalar(av) else av


def _handler(ufunc: Any) -> Callable[..., AbstractValue]:
    def handler(
        r: Reader, *operands: AbstractValue, dtype: AbstractValue = Known(None), **options: AbstractValue
    ) -> AbstractValue:
        if options:
            refuse_options(r, ufunc.__name__, options)
        return call_ufunc(r, ufunc, operands, dtype_argument(r, dtype))

    return handler


def refuse_options(r: Reader, name: str, options: dict[str, AbstractValue]) -> NoReturn:
    r.reject("form_of_call", name=f"numpy.{name}", why=f"the argument {next(iter(options))} is not supported")


_UFUNCS = {f for f in vars(np).values() if isinstance(f, np.ufunc)} - DECOMPOSITIONS.keys()
FUNCTIONS.update({ufunc: _handler(ufunc) for ufunc in _UFUNCS})
