"""The record of a model: graphs, nodes, types and constants, as the writer of Python takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scriptc.onnx.reading.element_types import of_number
from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.files import Array, TensorReader

MAX_DEPTH = 50  # of graphs in graphs


@dataclass(frozen=True)
class ValueType:
    """The type of a value.

    kind: "tensor", "sequence", "optional" or "map".
    dtype: the element type of a tensor, or the type of the keys of a map; None if it is not known.
    dims: the sizes of a tensor, None for each that is not known; None if the rank is not known.
    element: the type of what a sequence, an optional or a map holds.
    """

    kind: str
    dtype: str | None = None
    dims: tuple[int | None, ...] | None = None
    element: ValueType | None = None

    def __str__(self) -> str:
        if self.kind == "tensor":
            dims = "*" if self.dims is None else ", ".join("?" if d is None else str(d) for d in self.dims)
            return f"{self.dtype}[{dims}]"
        return f"{self.kind}({self.element})"


def named(op: str, domain: str, name: str, outputs: Iterable[str]) -> str:
    """Return how errors name a node."""
    full = f"{domain}.{op}" if domain else op
    return f"node {name!r} ({full})" if name else f"the {full} that makes {next(iter(outputs), '')!r}"


@dataclass
class Node:
    """One call of an operator. Attributes are Python values; graphs in them are `Graph`s."""

    op: str
    domain: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    doc: str
    version: int  # of the operator set

    def __str__(self) -> str:
        return named(self.op, self.domain, self.name, self.outputs)

    def graphs(self) -> Iterator[Graph]:
        return (value for value in self.attributes.values() if isinstance(value, Graph))


@dataclass
class Graph:
    """A graph: that of the model, the body of a function, or a branch or body in an attribute."""

    name: str
    doc: str
    inputs: list[str]
    outputs: list[str]
    constants: dict[str, Array]
    types: dict[str, ValueType]
    nodes: list[Node]
    docs: dict[str, str] = field(default_factory=dict)

    def reads(self) -> set[str]:
        """Return the names that the graph reads and does not define, such as those that a loop's body captures."""
        defined = {*self.inputs, *self.constants}
        found: set[str] = set(self.outputs)
        for node in self.nodes:
            found.update(name for name in node.inputs if name)
            for inner in node.graphs():
                found |= inner.reads()
            defined.update(node.outputs)
        return found - defined


@dataclass
class Model:
    """A model. `functions` holds the FunctionProtos by domain, name and overload."""

    graph: Graph
    functions: dict[tuple[str, str, str], Any]
    opsets: dict[str, int]
    doc: str
    tensors: TensorReader


def type_of(proto: Any) -> ValueType | None:
    """Return the type that a TypeProto declares; None if it declares none."""
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(proto, kind)
        dtype = of_number(tensor.elem_type)
        dims = None
        if tensor.HasField("shape"):
            dims = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
        return ValueType("tensor", dtype, dims)
    if kind == "sequence_type":
        return ValueType("sequence", element=type_of(proto.sequence_type.elem_type))
    if kind == "optional_type":
        return ValueType("optional", element=type_of(proto.optional_type.elem_type))
    if kind == "map_type":
        return ValueType("map", of_number(proto.map_type.key_type), element=type_of(proto.map_type.value_type))
    return None


class GraphReader:
    """Turns protos into records. `opsets` are the versions of the operator sets by domain."""

    def __init__(self, tensors: TensorReader, opsets: dict[str, int]):
        self.tensors = tensors
        self.opsets = opsets

    def graph(self, proto: Any, depth: int = 0) -> Graph:
        """Return the record of a GraphProto."""
        if depth > MAX_DEPTH:
            raise OnnxError(f"graph {proto.name!r} is more than {MAX_DEPTH} graphs deep")
        made = Graph(proto.name, proto.doc_string, [], [v.name for v in proto.output], {}, {}, [])
        for value in (*proto.value_info, *proto.output, *proto.input):
            kind = type_of(value.type)
            if kind is not None:
                made.types[value.name] = kind
            if value.doc_string:
                made.docs[value.name] = value.doc_string
        for tensor in proto.initializer:
            self._add_constant(made, tensor.name, self.tensors.array(tensor, f"initializer {tensor.name!r}"))
            made.types[tensor.name] = ValueType("tensor", of_number(tensor.data_type), tuple(tensor.dims))
        for sparse in proto.sparse_initializer:
            name = sparse.values.name
            self._add_constant(made, name, self.tensors.dense(sparse, f"initializer {name!r}"))
            made.types[name] = ValueType("tensor", of_number(sparse.values.data_type), tuple(sparse.dims))
        made.inputs = [v.name for v in proto.input if v.name not in made.constants]
        made.nodes = [self.node(node, depth) for node in proto.node]
        return made

    def _add_constant(self, graph: Graph, name: str, value: Array) -> None:
        if name in graph.constants:
            raise OnnxError(f"graph {graph.name!r} has two initializers {name!r}")
        graph.constants[name] = value

    def node(self, proto: Any, depth: int = 0) -> Node:
        """Return the record of a NodeProto."""
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        made = Node(proto.op_type, domain, proto.name, list(proto.input), list(proto.output), {}, proto.doc_string, 0)
        made.version = self.opsets.get(domain, 0)
        for attribute in proto.attribute:
            if attribute.name in made.attributes:
                raise OnnxError(f"{made} has two attributes {attribute.name!r}")
            made.attributes[attribute.name] = self._attribute(attribute, made, depth)
        return made

    def _attribute(self, proto: Any, node: Node, depth: int) -> Any:
        from onnx import AttributeProto

        kind = proto.type
        what = f"attribute {proto.name!r} of {node}"
        if proto.ref_attr_name:
            raise OnnxError(f"{what} refers to an attribute of a function, but the node is in none")
        if kind == AttributeProto.FLOAT:
            return float(proto.f)
        if kind == AttributeProto.INT:
            return int(proto.i)
        if kind == AttributeProto.STRING:
            return proto.s.decode("utf-8", "replace")
        if kind == AttributeProto.FLOATS:
            return [float(f) for f in proto.floats]
        if kind == AttributeProto.INTS:
            return [int(i) for i in proto.ints]
        if kind == AttributeProto.STRINGS:
            return [s.decode("utf-8", "replace") for s in proto.strings]
        if kind == AttributeProto.TENSOR:
            return Constant(self.tensors.array(proto.t, what), of_number(proto.t.data_type) or "")
        if kind == AttributeProto.SPARSE_TENSOR:
            sparse = proto.sparse_tensor
            return Constant(self.tensors.dense(sparse, what), of_number(sparse.values.data_type) or "")
        if kind == AttributeProto.GRAPH:
            return self.graph(proto.g, depth + 1)
        if kind == AttributeProto.TYPE_PROTO:
            return type_of(proto.tp)
        raise OnnxError(f"{what} has the type {kind}, which cannot be read")


@dataclass
class Constant:
    """The tensor in an attribute, with the name of its element type."""

    array: Array
    dtype: str
