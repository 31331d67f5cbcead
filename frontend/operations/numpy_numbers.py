"""Scalar results of NumPy's functions, which are Python numbers here.

The front end remembers which numbers come straight from NumPy, so that it understands `np.ceil(x).astype(int).item()`.
"""

from __future__ import annotations

from typing import Any

from scriptc.frontend.environment.host_objects import without_numpy
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, Native, RuntimeValue
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.verbs import materialize, type_of
from scriptc.ir.types import FLOAT, INT

_TO_PYTHON = ("item", "tolist")
_OF_NUMPY = frozenset(("astype", *_TO_PYTHON))


def made_by(reader: Reader, function: Any, av: AbstractValue) -> AbstractValue:
    """Note that a function of NumPy made a value, and return the value."""
    if (getattr(function, "__module__", None) or type(function).__module__) == "numpy":
        reader.environment.numpy_numbers[id(av)] = av
    return av


def as_python(reader: Reader, obj: Any) -> Known:
    """Return an object from outside, with NumPy numbers as Python numbers."""
    found = Known(without_numpy(obj))
    if found.obj is not obj:
        reader.environment.numpy_numbers[id(found)] = found
    return found


def numpy_attribute(reader: Reader, owner: AbstractValue, name: str) -> AbstractValue | None:
    """Return an attribute that NumPy numbers have and Python numbers lack; None for other attributes."""
    if name not in _OF_NUMPY or not reader.environment.numpy_numbers or type_of(owner) not in (INT, FLOAT):
        return None
    if id(owner) not in reader.environment.numpy_numbers:
        reader.reject("attribute_of_numpy_number", name=name)
    if name in _TO_PYTHON:
        return Native(
            lambda: Known(owner.obj) if is_known(owner) else RuntimeValue(materialize(reader, owner))
        )
    return Native(lambda dtype: numpy_converted(reader, owner, require_known(reader, dtype, "the dtype of astype()")))


def numpy_converted(reader: Reader, number: AbstractValue, dtype: Any) -> AbstractValue:
    import numpy

    kinds = {"int64": int, "float64": float}
    kind = kinds.get(numpy.dtype(dtype).name)
    if kind is None:
        reader.reject("attribute_of_numpy_number", name="astype")
    made = reader.call(Known(kind), [number], {})
    reader.environment.numpy_numbers[id(made)] = made
    return made
