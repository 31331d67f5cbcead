"""Values of a graph as Python: the text of each, and the form that the text has."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import CARRIERS, FLOATS, carrier
from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.graph import ValueType
from scriptc.onnx.reading.names import Names


@dataclass
class Value:
    """A value of the graph.

    text: the Python of the value; "" for a constant that is not written yet.
    form: "tensor"; "ints", a list or tuple of ints in place of a tensor with one dim; "int", "float" or "bool" in place
        of a tensor without dims; "constant", which `array` holds; "other" for sequences, strings, None and dicts.
    items: the texts of the items of "ints", if their number is known.
    """

    text: str
    form: str = "tensor"
    type: ValueType | None = None
    items: list[str] | None = None
    array: Array = None

    @property
    def dtype(self) -> str | None:
        return self.type.dtype if self.type is not None and self.type.kind == "tensor" else None


def ints(items: list[str]) -> Value:
    """Return ints of a known number."""
    return Value(f"[{', '.join(items)}]", "ints", ValueType("tensor", "int64", (len(items),)), items)


def int_list(text: str) -> Value:
    """Return ints of an unknown number."""
    return Value(text, "ints", ValueType("tensor", "int64", (None,)))


def int_value(text: str) -> Value:
    return Value(text, "int", ValueType("tensor", "int64", ()))


def bool_value(text: str) -> Value:
    return Value(text, "bool", ValueType("tensor", "bool", ()))


def other(text: str) -> Value:
    return Value(text, "other")


def constant(array: Array, dtype: str) -> Value:
    """Return a constant with elements of the type `dtype`."""
    return Value("", "constant", ValueType("tensor", dtype, tuple(np.shape(array))), array=array)


@dataclass
class Weights:
    """The constants that the generated module keeps as parameters and buffers, by attribute.

    attributes: the names of all attributes of the module.
    layers: the layers of torch by attribute: the Python that makes each, and its state.
    """

    attributes: Names = field(default_factory=Names)
    tensors: dict[str, Any] = field(default_factory=dict)
    layers: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # by id of the array
    arrays: list[Array] = field(default_factory=list)  # keeps the ids alive

    def attribute(self, array: Array, dtype: str, name: str) -> str:
        """Return the attribute that holds an array; `name` is the one to use if it is free."""
        from scriptc.onnx.reading.element_types import to_torch

        if id(array) in self.names:
            return self.names[id(array)]
        free = self.attributes.fresh(name)
        self.names[id(array)] = free
        self.arrays.append(array)
        self.tensors[free] = to_torch(array, dtype)
        return free

    def layer(self, name: str, made: str, state: dict[str, Any]) -> str:
        """Return the attribute of a layer of torch that the expression `made` makes, with the weights `state`."""
        free = self.attributes.fresh(name)
        self.layers[free] = made, state
        return free


def number_text(number: Any, dtype: str) -> str:
    """Return the shortest Python of a number that converts to the same element of `dtype`."""
    if dtype == "bool":
        return str(bool(number))
    if dtype in FLOATS or dtype.startswith("float"):
        as_float = float(number)
        if math.isnan(as_float):
            return 'float("nan")'
        if math.isinf(as_float):
            return 'float("inf")' if as_float > 0 else '-float("inf")'
        short = float(str(np.float32(as_float))) if dtype != "float64" and abs(as_float) < 3.4e38 else as_float
        return repr(short if np.float32(short) == np.float32(as_float) and dtype != "float64" else as_float)
    if dtype.startswith("complex"):
        return repr(complex(number))
    if dtype == "uint64" and int(number) >= 2**63:
        return str(int(number) - 2**64)
    return str(int(number))


def literal(array: Array, dtype: str) -> str:
    """Return the Python of a constant: a `torch.tensor` call, or a nested list of strings."""

    def nested(part: Any) -> str:
        if np.ndim(part) == 0:
            item = part.item() if isinstance(part, np.ndarray) and dtype == "string" else part
            return repr(str(item)) if dtype == "string" else number_text(part, dtype)
        return "[" + ", ".join(nested(p) for p in part) + "]"

    text = nested(array)
    if dtype == "string":
        return text
    if 0 in np.shape(array):
        return f"torch.zeros({list(np.shape(array))}, dtype=torch.{carrier(dtype)})"
    return f"torch.tensor({text}, dtype=torch.{carrier(dtype)})"


def is_carried(dtype: str | None) -> bool:
    """Return whether a wider dtype of torch carries elements of this type."""
    return dtype in CARRIERS
