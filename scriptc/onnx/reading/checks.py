"""Check a model before it is read. Each error names the node, the value or the initializer at fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.graph import Graph, Node, named


def opsets_of(model: Any, what: str = "the model") -> dict[str, int]:
    """Return the versions of the operator sets of a model or function by domain.

    Raises OnnxError for versions that `onnx` does not know.
    """
    from onnx import defs

    versions: dict[str, int] = {}
    for entry in model.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if versions.setdefault(domain, entry.version) != entry.version:
            raise OnnxError(f"{what} imports two versions of the operator set {domain or 'ai.onnx'!r}")
        if not 1 <= entry.version < 2**31:
            raise OnnxError(f"the operator set {domain or 'ai.onnx'!r} has no version {entry.version}")
    newest = defs.onnx_opset_version()
    if versions.get("", 1) > newest:
        raise OnnxError(
            f"{what} uses opset {versions['']} of ai.onnx, and the newest that the installed onnx has is {newest}"
        )
    if not versions:
        versions[""] = 1
    return versions


def check_texts(message: Any, place: str = "the model") -> None:
    """Raise OnnxError for a name or text that is no UTF-8, which protobuf gives as bytes."""
    name = getattr(message, "name", "")
    here = f"{type(message).__name__} {name!r}" if isinstance(name, str) and name else place
    for field in _text_fields(message.DESCRIPTOR):
        value = getattr(message, field.name)
        if field.message_type is None:
            for text in value if field.is_repeated else (value,):
                if isinstance(text, bytes):
                    raise OnnxError(f"{here} has a text that is no UTF-8: {field.name} is {text[:40]!r}")
        elif field.is_repeated:
            for item in value:
                check_texts(item, here)
        elif message.HasField(field.name):
            check_texts(value, here)


@cache
def _text_fields(descriptor: Any) -> list[Any]:
    """Return the fields of a kind of message that hold texts or messages."""
    return [field for field in descriptor.fields if field.type in (field.TYPE_STRING, field.TYPE_MESSAGE)]


def check_declared_types(graph: Any) -> None:
    """Check the sizes that the inputs, outputs and values of a GraphProto declare."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.WhichOneof("value") != "tensor_type" or not value.type.tensor_type.HasField("shape"):
            continue
        dims = value.type.tensor_type.shape.dim
        if any(dim.HasField("dim_value") and dim.dim_value < 0 for dim in dims):
            raise OnnxError(f"value {value.name!r} has a negative size")


@dataclass(frozen=True)
class Schema:
    """The schema that `onnx` has of an operator.

    kinds: the types of the attributes. inputs, outputs: the most that a node may have. optional: the inputs that a node may
    leave out with an empty name.
    """

    kinds: dict[str, int]
    inputs: int
    outputs: int
    optional: frozenset[int]


@cache
def schema_of(op: str, version: int, domain: str) -> Schema | None:
    """Return the schema of an operator in a version of its operator set; None if `onnx` has none."""
    from onnx import defs

    try:
        found: Any = defs.get_schema(op, max(version, 1), domain)
    except defs.SchemaError:
        return None
    kinds = {name: int(attribute.type) for name, attribute in found.attributes.items()}
    optional = (i for i, given in enumerate(found.inputs) if given.option == defs.OpSchema.FormalParameterOption.Optional)
    return Schema(kinds, found.max_input, found.max_output, frozenset(optional))


def _check_nodes(model: Any) -> None:
    """Raise OnnxError for nodes of a ModelProto that do not fit the schema of their operator. Its message has a line for each.

    Shape inference crashes for some attributes of a wrong type, and for inputs that are missing.
    """
    functions = {(function.domain, function.name) for function in model.functions}
    found: list[str] = []

    def check(nodes: Iterable[Any], opsets: dict[str, int]) -> None:
        for node in nodes:
            domain = "" if node.domain == "ai.onnx" else node.domain
            schema = schema_of(node.op_type, opsets.get(domain, 1), domain)
            if schema is not None and (domain, node.op_type) not in functions:
                what = named(node.op_type, domain, node.name, node.output)
                found.extend(f"{what} {wrong}" for wrong in _misfits(node, schema, opsets.get(domain, 1)))
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    check(graph.node, opsets)

    check(model.graph.node, opsets_of(model))
    for function in model.functions:
        check(function.node, opsets_of(function, f"function {function.name!r}"))
    if found:
        raise OnnxError("\n".join(found))


# The texts of attributes for which shape inference ends; it has no end for others.
_PATTERNS = {("Einsum", "equation"): re.compile(rb"[A-Za-z,. ]*(-> *[A-Za-z. ]*)?")}


def _misfits(node: Any, schema: Schema, version: int) -> Iterator[str]:
    """Yield what of a NodeProto does not fit the schema of the operator."""
    for attribute in node.attribute:
        name, kind = attribute.name, attribute.type
        if name not in schema.kinds:
            yield f"has an attribute {name!r}, which version {version} of the operator does not have"
        elif kind != schema.kinds[name]:
            yield f"has an attribute {name!r} of the type {kind}, and the operator takes the type {schema.kinds[name]}"
        elif (node.op_type, name) in _PATTERNS and not _PATTERNS[node.op_type, name].fullmatch(attribute.s):
            yield f"has an attribute {name!r} with the text {attribute.s[:80]!r}"
    if len(node.input) > schema.inputs or len(node.output) > schema.outputs:
        given = f"{len(node.input)} inputs and {len(node.output)} outputs"
        yield f"has {given}, and the operator at most {schema.inputs} and {schema.outputs}"
    for index, name in enumerate(node.input):
        if not name and index not in schema.optional:
            yield f"lacks its input {index}"


def inferred(model: Any) -> Any:
    """Return the model with the types that `onnx` infers; raise OnnxError where types or shapes contradict."""
    from google.protobuf.message import DecodeError, EncodeError
    from onnx import checker, shape_inference

    _check_nodes(model)
    try:
        return _inferred_around_unknown(model, shape_inference)
    except (shape_inference.InferenceError, checker.ValidationError) as error:
        raise OnnxError(f"types or shapes of the model contradict: {_one_line(error)}") from error
    except (RuntimeError, ValueError, TypeError, EncodeError, DecodeError, MemoryError) as error:
        raise OnnxError(f"the model cannot be checked: {_one_line(error)}") from error


def _inferred_around_unknown(model: Any, shape_inference: Any) -> Any:
    """Return the model with types, also those behind operators that `onnx` does not know."""
    from scriptc.onnx.reading.stand_ins import has_unknown, replace, restore

    def infer(proto: Any) -> Any:
        return shape_inference.infer_shapes(proto, check_type=True, strict_mode=False, data_prop=True)

    if not has_unknown(model.graph):
        return infer(model)
    known = type(model)()
    known.CopyFrom(model)
    replace(known.graph, opsets_of(model).get("", 1), {})
    try:
        made = infer(known)
    except shape_inference.InferenceError:  # a stand-in is stricter than the operator
        return infer(model)
    restore(made.graph, model.graph)
    return made


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:1000]


def checked(graph: Graph, outer: Iterable[str] = ()) -> Graph:
    """Return the graph with its nodes in an order in which each reads what earlier ones made.

    outer: the names of the graphs around it, which it may read too.
    """
    known = {*outer, *graph.inputs, *graph.constants}
    if len(set(graph.inputs)) != len(graph.inputs):
        raise OnnxError(f"two inputs of graph {graph.name!r} have one name")
    makers: dict[str, Node] = {}
    for node in graph.nodes:
        for name in node.outputs:
            if name and (name in makers or name in graph.inputs or name in graph.constants):
                raise OnnxError(f"{node} makes {name!r}, which another node, input or initializer makes too")
            if name:
                makers[name] = node
    graph.nodes = _sorted(graph, known, makers)
    known.update(makers)
    for name in graph.outputs:
        if name not in known:
            raise OnnxError(f"graph {graph.name!r} returns {name!r}, which nothing makes")
    names = set(known)
    for node in graph.nodes:
        for inner in node.graphs():
            checked(inner, names)
    return graph


def _sorted(graph: Graph, known: set[str], makers: dict[str, Node]) -> list[Node]:
    done: dict[int, bool] = {}  # by id of the node: False while its inputs are walked
    order: list[Node] = []

    def reads(node: Node) -> Iterator[str]:
        yield from (name for name in node.inputs if name)
        for inner in node.graphs():
            yield from sorted(inner.reads())

    for first in graph.nodes:
        if id(first) in done:
            continue
        done[id(first)] = False
        stack = [(first, reads(first))]
        while stack:
            node, names = stack[-1]
            for name in names:
                maker = makers.get(name)
                if maker is None and name not in known:
                    raise OnnxError(f"{node} reads {name!r}, which nothing makes")
                if maker is None or name in known and name not in makers:
                    continue
                if id(maker) not in done:
                    done[id(maker)] = False
                    stack.append((maker, reads(maker)))
                    break
                if not done[id(maker)]:
                    raise OnnxError(f"{node} is part of a cycle: it reads {name!r}, which depends on {node}")
            else:
                stack.pop()
                done[id(node)] = True
                order.append(node)
    return order
