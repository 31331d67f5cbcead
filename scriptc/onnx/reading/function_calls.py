"""Functions of the model, and operators that `onnx` defines as functions, as methods of the generated module."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.checks import checked, inferred, opsets_of
from scriptc.onnx.reading.element_types import NUMBERS
from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.graph import Constant, Graph, GraphReader, Model, Node, ValueType
from scriptc.onnx.reading.names import docstring
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.values import Value


def function_of(model: Model, operation: Operation) -> Any:
    """Return the FunctionProto that defines an operator, of the model or of its schema; None if there is none."""
    from onnx import defs

    node = operation.node
    for key, function in model.functions.items():
        if key[:2] == (node.domain, node.op):
            return function
    if model.functions and not node.domain:
        from scriptc.onnx.reading.registry import row_of

        if row_of(node.domain, node.op, node.version) is not None:
            return None
    try:
        schema: Any = defs.get_schema(node.op, max(node.version, 1), node.domain)
    except defs.SchemaError:
        return None
    if schema.has_function:
        return schema.function_body
    if schema.has_context_dependent_function:
        types = [_type_proto(value.type if value else None).SerializeToString() for value in operation.values]
        import onnx

        content = schema.get_context_dependent_function(_node_proto(node).SerializeToString(), types)
        if content:
            return onnx.FunctionProto.FromString(content)
    return None


def call_of_function(module: Any, operation: Operation, function: Any) -> Any:
    """Return the results of a call of a function, whose method is written at the first call of this kind."""
    node = operation.node
    forms = [_form(value) for value in operation.values]
    attributes = sorted((k, repr(v)) for k, v in node.attributes.items())
    key = (node.domain, node.op, repr(attributes), repr(forms), tuple(map(bool, node.outputs)))
    if key not in module.made:
        graph = _body(module.model, operation, function)
        writer = type(operation.writer)(module)
        writer.types = [graph.types]
        parameters = []
        for name, value in zip(graph.inputs, [*operation.values, *[None] * len(graph.inputs)], strict=False):
            if value is None:
                writer.scopes[-1][name] = Value("None", "other")
                continue
            text = writer.fresh(name)
            parameters.append(text)
            if value.form == "constant":
                value = Value("", "tensor", value.type)
            items = [f"{text}[{i}]" for i in range(len(value.items))] if value.items is not None else None
            writer.scopes[-1][name] = Value(text, value.form, value.type, items)
        writer.constants(graph)
        writer.nodes(graph)
        unused = [len(node.outputs) > 1 and not name for name in node.outputs]
        made = iter(graph.outputs)
        results = [Value("None", "other") if skipped else writer.lookup(next(made)) for skipped in unused]
        writer.emit("return " + ", ".join(writer.tensor(value) for value in results))
        method = module.method_names.fresh(node.op)
        about = docstring(graph.doc)
        head = [f"    def {method}({', '.join(['self', *parameters])}):"]
        module.methods.append([*head, *([f'        """{about}"""'] if about else []), *writer.lines])
        module.made[key] = method, results
    method, results = module.made[key]
    given = [value for value in operation.values if value is not None]
    python = ("ints", "int", "bool", "float")
    texts = [value.text if value.form in python else operation.writer.tensor(value) for value in given]
    return f"self.{method}({', '.join(texts)})"


def _form(value: Value | None) -> Any:
    if value is None:
        return None
    return value.form.replace("constant", "tensor"), str(value.type), value.items and len(value.items)


def _body(model: Model, operation: Operation, function: Any) -> Graph:
    """Return the body of a function as a graph, with the attributes and types of the call."""
    import onnx

    node = operation.node
    given = {attribute.name: attribute for attribute in _node_proto(node, model).attribute}
    for default in function.attribute_proto:
        given.setdefault(default.name, default)
    if (node.domain, node.op) not in {key[:2] for key in model.functions} and onnx.defs.has(node.op, node.domain):
        schema = onnx.defs.get_schema(node.op, max(node.version, 1), node.domain)
        for name, attribute in schema.attributes.items():
            if attribute.default_value.type:
                given.setdefault(name, attribute.default_value)
    graph = onnx.GraphProto(name=function.name, doc_string=function.doc_string)
    graph.node.extend(function.node)
    for inner in graph.node:
        _fill_attributes(inner, given)
    for index, name in enumerate(function.input):
        value = operation.values[index] if index < len(operation.values) else None
        info = graph.input.add(name=name)
        if value is not None:
            info.type.CopyFrom(_type_proto(value.type))
    for name, used in zip(function.output, node.outputs or [""], strict=False):
        if used or len(node.outputs) <= 1:
            graph.output.add(name=name)
    _drop_absent(graph, {n for i, n in enumerate(function.input) if i >= len(operation.values) or operation.values[i] is None})
    opsets = {**model.opsets, **(opsets_of(function, f"function {function.name!r}") if function.opset_import else {})}
    proto = onnx.ModelProto(ir_version=10, graph=graph, functions=list(model.functions.values()))
    for domain, version in opsets.items():
        proto.opset_import.add(domain=domain, version=max(version, 1))
    try:
        proto = inferred(proto)
    except OnnxError:
        pass  # the types of the call are an aid; the body of a function has been checked with the model
    return checked(GraphReader(model.tensors, opsets).graph(proto.graph))


def _drop_absent(graph: Any, absent: set[str]) -> None:
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name in absent:
                node.input[index] = ""


def _fill_attributes(node: Any, given: dict[str, Any]) -> None:
    kept = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            name = attribute.name
            attribute.CopyFrom(given[attribute.ref_attr_name])
            attribute.name = name
        for inner in attribute.g.node:
            _fill_attributes(inner, given)
        kept.append(attribute)
    if len(kept) != len(node.attribute):
        copies = [type(a).FromString(a.SerializeToString()) for a in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def _type_proto(kind: ValueType | None) -> Any:
    import onnx

    proto = onnx.TypeProto()
    if kind is None:
        return proto
    if kind.kind == "tensor":
        proto.tensor_type.elem_type = NUMBERS.get(kind.dtype or "", 0)
        if kind.dims is not None:
            proto.tensor_type.shape.SetInParent()
            for size in kind.dims:
                dim = proto.tensor_type.shape.dim.add()
                if size is not None:
                    dim.dim_value = size
    elif kind.kind == "sequence":
        proto.sequence_type.elem_type.CopyFrom(_type_proto(kind.element))
    elif kind.kind == "optional":
        proto.optional_type.elem_type.CopyFrom(_type_proto(kind.element))
    return proto


def _node_proto(node: Node, model: Model | None = None) -> Any:
    from onnx import helper, numpy_helper

    proto = helper.make_node(node.op, node.inputs, node.outputs, name=node.name, domain=node.domain)
    for name, value in node.attributes.items():
        if isinstance(value, Constant):
            value = numpy_helper.from_array(value.array)
        if isinstance(value, Graph):
            value = _graph_proto(value)
        if isinstance(value, ValueType):
            value = _type_proto(value)
        if value == []:
            continue
        proto.attribute.append(helper.make_attribute(name, value))
    return proto


def _graph_proto(graph: Graph) -> Any:
    import onnx
    from onnx import numpy_helper

    proto = onnx.GraphProto(name=graph.name)
    for names, values in ((graph.inputs, proto.input), (graph.outputs, proto.output)):
        for name in names:
            values.add(name=name).type.CopyFrom(_type_proto(graph.types.get(name)))
    proto.initializer.extend(numpy_helper.from_array(array, name) for name, array in graph.constants.items())
    proto.node.extend(_node_proto(node) for node in graph.nodes)
    return proto
