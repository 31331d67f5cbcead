"""A builder of ONNX graphs: nodes, constants and nested graphs with unique names."""

from __future__ import annotations

from typing import Any

import numpy
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, defs, helper, numpy_helper

from scriptc.ir.loc import Loc
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, ListType, TensorType, Type

ELEMENT_TYPES = {
    "bool": TensorProto.BOOL, "u8": TensorProto.UINT8, "i8": TensorProto.INT8, "i16": TensorProto.INT16,
    "i32": TensorProto.INT32, "i64": TensorProto.INT64, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
    "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE,
}  # fmt: skip
SCALARS = {INT: "i64", FLOAT: "f64", BOOL: "bool"}
_NUMPY = {
    "bool": numpy.bool_, "u8": numpy.uint8, "i8": numpy.int8, "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64,
    "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64,
}  # fmt: skip


class Unsupported(Exception):
    """Say that a value or an op has no ONNX form. hint: what to write instead."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.message, self.hint = message, hint


def dtype_of(t: Type) -> str:
    """Return the element type of a tensor, or of the 0-d tensor that stands for a number."""
    dtype = t.dtype if isinstance(t, TensorType) else SCALARS.get(t)  # type: ignore[call-overload]
    if dtype not in ELEMENT_TYPES:
        raise Unsupported(f"a value of type {t} has no ONNX form", "use tensors, ints, floats, bools and lists of these")
    return str(dtype)


def type_proto(t: Type, dims: tuple[int | str | None, ...] | None = None) -> TypeProto:
    """Return the ONNX type of a leaf. dims: the sizes of a tensor; None if its rank is left open."""
    if isinstance(t, ListType):
        elem: Type = t.elem
        if elem == NEVER:
            elem = TensorType("f32", None)
        if isinstance(elem, ListType):
            raise Unsupported("a list of lists has no ONNX form", "use one list of tensors, or a tensor with one more dim")
        return helper.make_sequence_type_proto(type_proto(elem))
    shape = () if not isinstance(t, TensorType) else dims
    return helper.make_tensor_type_proto(ELEMENT_TYPES[dtype_of(t)], shape)


class Builder:
    """Add nodes to one graph. Nested graphs share the names and the initializers of the outermost one."""

    def __init__(self, outer: Builder | None = None, opset: int = 0):
        self.nodes: list[NodeProto] = []
        self.outer = outer
        self.root: Builder = self if outer is None else outer.root
        if outer is None:
            self.used: set[str] = set()
            self.initializers: dict[str, TensorProto] = {}
            self.constants: dict[tuple[Any, ...], str] = {}
            self.loc: Loc | None = None
            self.opset = opset

    def fresh(self, wanted: str) -> str:
        """Return a name of the model that nothing has."""
        used, name, count = self.root.used, wanted, 1
        while name in used:
            name, count = f"{wanted}_{count}", count + 1
        used.add(name)
        return name

    def nodes_of(self, op: str, inputs: list[str], count: int, name: str = "", **attributes: Any) -> list[str]:
        """Add a node; return the names of its `count` results."""
        if not defs.has(op, self.root.opset):
            raise Unsupported(f"this needs {op}, which ONNX has from opset {defs.get_schema(op).since_version} on",
                              "write a newer opset")  # fmt: skip
        outputs = [self.fresh(name or op.lower()) for _ in range(count)]
        node = helper.make_node(op, inputs, outputs, **attributes)
        if self.root.loc is not None:
            node.doc_string = f"{self.root.loc.file.replace(chr(92), '/').rpartition('/')[2]}:{self.root.loc.line}"
        self.nodes.append(node)
        return outputs

    def node(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node with one result; return the name of the result."""
        return self.nodes_of(op, list(inputs), 1, name, **attributes)[0]

    def identity(self, name: str, result: str) -> None:
        """Give a value the name of a result, which is of this graph alone."""
        self.nodes.append(helper.make_node("Identity", [name], [result]))

    def reduce(self, op: str, x: str, dims: list[int] | None = None, *, keepdims: int) -> str:
        """Add a reduction over dims, or over all of them."""
        if dims is None:
            return self.node(op, x, keepdims=keepdims)
        if self.root.opset < 18 and op != "ReduceSum":  # dims became an input, of ReduceSum in opset 13
            return self.node(op, x, axes=dims, keepdims=keepdims)
        return self.node(op, x, self.ints(*dims), keepdims=keepdims)

    def constant(self, value: Any, dtype: str) -> str:
        """Return the name of an initializer with these elements, the same one for equal constants."""
        if dtype == "bf16":
            return self.cast(self.constant(value, "f32"), "bf16")
        with numpy.errstate(all="ignore"):
            array: Any = numpy.array(value, dtype=_NUMPY[dtype])
        key = (dtype, array.shape, array.tobytes())
        if key not in self.root.constants:
            name = self.fresh("const")
            self.root.initializers[name] = numpy_helper.from_array(array, name)
            self.root.constants[key] = name
        return self.root.constants[key]

    def ints(self, *values: int) -> str:
        return self.constant(list(values), "i64")

    def cast(self, name: str, dtype: str) -> str:
        return self.node("Cast", name, to=ELEMENT_TYPES[dtype])

    def vector(self, names: list[str]) -> str:
        """Return 0-d numbers as one vector of int64."""
        if not names:
            return self.ints()
        arrays = [self.root.initializers.get(n) for n in names]
        known = [int(numpy_helper.to_array(a)) for a in arrays if a is not None]
        if len(known) == len(names):
            return self.ints(*known)
        parts = [self.node("Unsqueeze", n, self.ints(0)) for n in names]
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0)

    def known(self, name: str) -> Any:
        """Return the number that a name stands for; None if it is not a constant."""
        array = self.root.initializers.get(name)
        return None if array is None else numpy_helper.to_array(array)[()]

    def is_empty_sequence(self, name: str) -> bool:
        """Return whether a name is that of a new empty sequence of this graph."""
        return any(node.op_type == "SequenceEmpty" and name in node.output for node in self.nodes)

    def size(self, name: str, dim: int) -> str:
        return self.node("Gather", self.node("Shape", name), self.constant(dim, "i64"), axis=0)

    def branch(self, names: list[str], dtypes: list[str]) -> GraphProto:
        """Return the graph as a branch of an `If`. names: results, each of a node of this graph."""
        types = [helper.make_tensor_type_proto(ELEMENT_TYPES[dtype], None) for dtype in dtypes]
        return self.graph("branch", [], [helper.make_value_info(n, t) for n, t in zip(names, types, strict=True)])

    def graph(self, name: str, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> GraphProto:
        weights = list(self.initializers.values()) if self.outer is None else []
        return helper.make_graph(self.nodes, name, inputs, outputs, weights)
