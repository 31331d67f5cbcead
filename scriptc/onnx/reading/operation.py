"""One call of an operator, as its row sees it: inputs as Python of the form that the row asks for, and attributes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import INTEGERS, carrier, of_number
from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.graph import Constant, Graph, Node, ValueType
from scriptc.onnx.reading.values import Value, number_text

_WORDS = re.compile(r"[\w ,.>-]*")


class Operation:
    """A node and its inputs. `out_types` are the types of its outputs, None where they are not known."""

    def __init__(self, writer: Any, node: Node, values: list[Value | None], out_types: list[ValueType | None]):
        self.writer = writer
        self.node = node
        self.values = values
        self.out_types = out_types
        self.version = node.version

    # attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default. A text has no character that ends a literal or calls a function."""
        found = self.node.attributes.get(name, default)
        if isinstance(found, str) and not _WORDS.fullmatch(found):
            raise OnnxError(f"attribute {name!r} of {self.node} has characters that no operator uses: {found!r}")
        return found

    def need(self, name: str) -> Any:
        """Return an attribute that the operator requires."""
        if name not in self.node.attributes:
            raise OnnxError(f"{self.node} has no attribute {name!r}")
        return self.attr(name)

    def graph(self, name: str) -> Graph:
        """Return the graph in an attribute."""
        found = self.need(name)
        if not isinstance(found, Graph):
            raise OnnxError(f"attribute {name!r} of {self.node} is no graph")
        return found

    def attr_dtype(self, name: str, default: str) -> str:
        """Return the element type whose number an attribute holds."""
        number = self.attr(name)
        if not number:
            return default
        dtype = of_number(number)
        if dtype is None:
            raise OnnxError(f"attribute {name!r} of {self.node} is no element type: {number}")
        return dtype

    # inputs

    def has(self, index: int) -> bool:
        """Return whether the call gives an input, which may be optional."""
        return index < len(self.values) and self.values[index] is not None

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def outputs(self) -> int:
        return len(self.node.outputs)

    def value(self, index: int) -> Value:
        if not self.has(index):
            raise OnnxError(f"{self.node} lacks its input {index}")
        found = self.values[index]
        assert found is not None
        return found

    def __getitem__(self, index: int) -> str:
        """Return an input as a tensor, or as the sequence, string or optional that it is."""
        return self.writer.tensor(self.value(index))

    def optional(self, index: int) -> str:
        """Return an input as a tensor, or "None" if the call does not give it."""
        return self[index] if self.has(index) else "None"

    def number(self, index: int) -> str:
        """Return an input as a Python number if it is a constant without dims, else as a tensor."""
        value = self.value(index)
        if value.form == "constant" and np.ndim(value.array) == 0 and value.dtype not in (None, "string"):
            return number_text(value.array, value.dtype or "")
        return self[index]

    def known(self, index: int) -> Array:
        """Return the array of an input that is a constant, else None."""
        return self.values[index].array if self.has(index) else None  # type: ignore[union-attr]

    def known_text(self, index: int) -> str | None:
        """Return a constant string."""
        array = self.known(index)
        return None if array is None else str(np.reshape(array, -1)[0])

    def ints(self, index: int) -> str:
        """Return an input with one dim as a list or tuple of ints."""
        return self.writer.ints(self.value(index)).text

    def items(self, index: int) -> list[str] | None:
        """Return the texts of the ints of an input, if their number is known."""
        return self.writer.ints(self.value(index)).items

    def known_ints(self, index: int) -> list[int] | None:
        """Return the ints of an input that is a constant, else None."""
        array = self.known(index)
        return None if array is None else [int(i) for i in np.reshape(array, -1)]

    def int_text(self, index: int) -> str:
        """Return an input of one element as an int."""
        return self.writer.int_text(self.value(index))

    def float_text(self, index: int) -> str:
        """Return an input of one element as a float."""
        return self.writer.float_text(self.value(index))

    def bool_text(self, index: int) -> str:
        """Return an input of one element as a bool."""
        return self.writer.bool_text(self.value(index))

    def is_host(self, index: int) -> bool:
        """Return whether an input is ints or an int, or a constant that can be."""
        value = self.value(index)
        if value.form == "constant":
            return value.dtype in INTEGERS and np.ndim(value.array) <= 1 and np.size(value.array) <= 64
        return value.form in ("ints", "int")

    def all_host(self) -> bool:
        """Return whether all inputs are ints, and at least one is no constant."""
        given = [i for i in range(self.count) if self.has(i)]
        return all(self.is_host(i) for i in given) and any(self.value(i).form != "constant" for i in given)

    # types

    def dtype(self, index: int) -> str | None:
        """Return the element type of an input, or of what its sequence holds."""
        if not self.has(index):
            return None
        found = self.value(index).type
        while found is not None and found.kind in ("sequence", "optional"):
            found = found.element
        return found.dtype if found is not None else None

    def dims(self, index: int) -> tuple[int | None, ...] | None:
        found = self.value(index).type
        return found.dims if found is not None and found.kind == "tensor" else None

    def rank(self, index: int) -> int | None:
        dims = self.dims(index)
        return None if dims is None else len(dims)

    def need_rank(self, index: int) -> int:
        rank = self.rank(index)
        if rank is None:
            raise self.unsupported(f"the rank of its input {index} must be known from the file")
        return rank

    def out_dtype(self, index: int = 0) -> str | None:
        found = self.out_types[index] if index < len(self.out_types) else None
        while found is not None and found.kind in ("sequence", "optional"):
            found = found.element
        return found.dtype if found is not None else None

    def out_dims(self, index: int = 0) -> tuple[int | None, ...] | None:
        found = self.out_types[index] if index < len(self.out_types) else None
        return found.dims if found is not None and found.kind == "tensor" else None

    def torch_dtype(self, dtype: str | None) -> str:
        """Return the Python of the dtype that carries elements of a type."""
        if dtype is None:
            raise self.unsupported("its element type cannot be told from the file")
        return f"torch.{carrier(dtype)}"

    # Python

    def emit(self, line: str) -> None:
        """Write a statement in front of the result."""
        self.writer.emit(line)

    def fresh(self, name: str) -> str:
        """Return a free name like `name`."""
        return self.writer.fresh(name)

    def named(self, name: str, text: str) -> str:
        """Assign `text` to a fresh name, and return the name."""
        fresh = self.fresh(name)
        self.emit(f"{fresh} = {text}")
        return fresh

    def constant(self, name: str) -> Constant | None:
        """Return the tensor in an attribute."""
        found = self.attr(name)
        return found if isinstance(found, Constant) else None

    def unsupported(self, why: str) -> OnnxError:
        return OnnxError(f"{self.node} cannot be read: {why}")
