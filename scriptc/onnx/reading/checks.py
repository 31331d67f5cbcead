"""Check a model before it is read. Each error names the node, the value or the initializer at fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.graph import Graph, Node


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


@cache
def _declared(op: str, version: int, domain: str) -> tuple[dict[str, int], int, int] | None:
    """Return the types of the attributes of an operator, and the most inputs and outputs; None if `onnx` has no schema."""
    from onnx import defs

    try:
        schema: Any = defs.get_schema(op, max(version, 1), domain)
    except defs.SchemaError:
        return None
    kinds = {name: int(attribute.type) for name, attribute in schema.attributes.items()}
    return kinds, schema.max_input, schema.max_output


def check_call(node: Node) -> None:
    """Raise OnnxError for attributes, inputs or outputs that the schema of the operator does not have."""
    declared = _declared(node.op, node.version, node.domain)
    if declared is None:
        return
    kinds, inputs, outputs = declared
    for name, kind in node.kinds.items():
        if name not in kinds:
            raise OnnxError(f"{node} has an attribute {name!r}, which version {node.version} of the operator does not have")
        if kind != kinds[name]:
            raise OnnxError(f"attribute {name!r} of {node} has the type {kind}, and the operator takes the type {kinds[name]}")
    if len(node.inputs) > inputs or len(node.outputs) > outputs:
        given = f"{len(node.inputs)} inputs and {len(node.outputs)} outputs"
        raise OnnxError(f"{node} has {given}, and the operator at most {inputs} and {outputs}")


def inferred(model: Any) -> Any:
    """Return the model with the types that `onnx` infers; raise OnnxError where types or shapes contradict."""
    from google.protobuf.message import DecodeError, EncodeError
    from onnx import checker, shape_inference

    try:
        return shape_inference.infer_shapes(model, check_type=True, strict_mode=False, data_prop=True)
    except (shape_inference.InferenceError, checker.ValidationError) as error:
        raise OnnxError(f"types or shapes of the model contradict: {_one_line(error)}") from error
    except (RuntimeError, ValueError, TypeError, EncodeError, DecodeError, MemoryError) as error:
        raise OnnxError(f"the model cannot be checked: {_one_line(error)}") from error


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
