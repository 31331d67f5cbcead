"""Smaller graphs of the same meaning: nodes of constants computed, equal nodes merged, dead nodes dropped.

Names are unique in a model, so a node of a graph may stand for an equal one of a nested graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

# Nodes that are computed from constants, without their attributes. The results of others, such as Exp, might differ in the
# last bit.
_COMPUTED: dict[str, Callable[..., Any]] = {
    "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "Sqrt": numpy.sqrt, "Neg": numpy.negative,
    "Reciprocal": lambda x: numpy.ones((), x.dtype) / x, "Abs": numpy.abs, "Equal": numpy.equal, "Less": numpy.less,
    "LessOrEqual": numpy.less_equal, "Greater": numpy.greater, "GreaterOrEqual": numpy.greater_equal,
    "And": numpy.logical_and, "Or": numpy.logical_or, "Not": numpy.logical_not, "Max": numpy.maximum, "Min": numpy.minimum,
    "Where": numpy.where, "Unsqueeze": lambda x, dims: numpy.expand_dims(x, tuple(dims.tolist())),
    "Squeeze": lambda x, dims: numpy.squeeze(x, tuple(dims.tolist())),
}  # fmt: skip
_CAST: dict[int, Any] = {
    TensorProto.INT64: numpy.dtype("int64"), TensorProto.INT32: numpy.dtype("int32"), TensorProto.FLOAT: numpy.dtype("float32"),
    TensorProto.DOUBLE: numpy.dtype("float64"), TensorProto.BOOL: numpy.dtype("bool"),
}  # fmt: skip
_CLIPPED = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32)
_MOST = 1 << 16  # elements of a constant that is computed


def tidy(graph: GraphProto) -> None:
    """Make a graph smaller, with the graphs nested in it."""
    _Tidying(graph).run()


class _Tidying:
    def __init__(self, graph: GraphProto):
        self.graph = graph
        uses = Counter(name for node in nodes_of(graph) for name in node.input)
        # A large weight is changed only where nothing else reads it, so that the model does not grow.
        self.constants: dict[str, Any] = {
            t.name: t for t in graph.initializer
            if t.data_type != TensorProto.BFLOAT16 and (uses[t.name] == 1 or _elements(t) <= _MOST)
        }  # fmt: skip
        self.splits: dict[str, NodeProto] = {}  # by result: the splits of tensors into their items
        self.renamed: dict[str, str] = {}  # the name to use in place of another one

    def run(self) -> None:
        self.merge(self.graph, {})
        used = self.drop(self.graph)
        kept = [t for t in self.graph.initializer if t.name in used]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)

    # ---- equal nodes ----

    def merge(self, graph: GraphProto, outer: dict[tuple[Any, ...], list[str]]) -> None:
        """Compute and merge nodes. outer: the results of nodes of enclosing graphs, by what the nodes compute."""
        found = dict(outer)
        makers: dict[str, NodeProto] = {}
        results = {output.name for output in graph.output}
        nodes = []
        for node in graph.node:
            for i, name in enumerate(node.input):
                if name in self.renamed:
                    node.input[i] = self.renamed[name]
            self.clip(node, makers)
            self.activate(node, makers)
            makers.update(dict.fromkeys(node.output, node))
            nested = [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]
            for inner in nested:
                self.merge(inner, found)
            if results.intersection(node.output) or nested:
                nodes.append(node)
                continue
            if node.op_type == "Identity":
                self.renamed[node.output[0]] = node.input[0]
                continue
            if self.compute(node) or self.join(node):
                continue
            key = (node.op_type, *node.input, *sorted(a.SerializeToString() for a in node.attribute))
            if key in found:
                self.renamed.update(zip(node.output, found[key], strict=True))
                continue
            found[key] = list(node.output)
            nodes.append(node)
        self.rename_results(nodes, graph)
        del graph.node[:]
        graph.node.extend(nodes)

    def rename_results(self, nodes: list[NodeProto], graph: GraphProto) -> None:
        """Give the results of a graph their names where they are computed, in place of by an Identity behind."""
        makers = {name: node for node in nodes for name in node.output}
        results = {output.name for output in graph.output}
        for node in list(nodes):
            made = node.input[0] if node.op_type == "Identity" else ""
            if not results.intersection(node.output) or made not in makers or made in results:
                continue
            maker, name = makers[made], node.output[0]
            maker.output[list(maker.output).index(made)] = name
            nodes.remove(node)
            makers[name] = maker
            for user in nodes:
                _rename_inputs(user, made, name)

    def clip(self, node: NodeProto, makers: dict[str, NodeProto]) -> None:
        """Make the smaller of a number and the larger of a number and a tensor a `Clip`, which runtimes fuse."""
        maker = makers.get(node.input[0]) if node.op_type == "Min" and len(node.input) == 2 else None
        if maker is None or maker.op_type != "Max" or len(maker.input) != 2:
            return
        low, high = (self.constants.get(n.input[1]) for n in (maker, node))
        if low is None or high is None or low.dims or high.dims or low.data_type not in _CLIPPED:
            return
        if numpy_helper.to_array(low) <= numpy_helper.to_array(high):
            node.op_type = "Clip"
            node.input[:] = [maker.input[0], maker.input[1], node.input[1]]

    def activate(self, node: NodeProto, makers: dict[str, NodeProto]) -> None:
        """Make nodes of an activation one node, which runtimes fuse with a convolution."""
        if node.op_type == "Where":
            test, scaled = (makers.get(node.input[i]) for i in (0, 2))
            x = node.input[1]
            if test is None or scaled is None or (test.op_type, scaled.op_type) != ("Greater", "Mul"):
                return
            slope = self.number(scaled.input[1])
            if list(test.input[:1]) == [x] == list(scaled.input[:1]) and self.number(test.input[1]) == 0 and slope is not None:
                _become(node, "LeakyRelu", [x], alpha=slope)
        elif node.op_type == "Div" and self.number(node.input[1]) == 6:
            made = makers.get(node.input[0])
            swish = made is not None and made.op_type == "Mul"
            clip = makers.get(made.input[1]) if made is not None and swish else made
            total = makers.get(clip.input[0]) if clip is not None and clip.op_type == "Clip" else None
            if clip is None or total is None or made is None or total.op_type != "Add":
                return
            x = total.input[0]
            if [self.number(n) for n in (total.input[1], *clip.input[1:])] != [3, 0, 6] or (swish and made.input[0] != x):
                return
            if swish:
                _become(node, "HardSwish", [x])
            else:
                _become(node, "HardSigmoid", [x], alpha=1 / 6)

    def number(self, name: str) -> float | None:
        """Return a float32 constant without dims; None for other values."""
        made = self.constants.get(name)
        if made is None or made.dims or made.data_type != TensorProto.FLOAT:
            return None
        return float(numpy_helper.to_array(made))

    def join(self, node: NodeProto) -> bool:
        """Replace a join of all parts of a tensor by the tensor; return whether the node is such a join."""
        split = self.splits.get(node.input[0]) if node.input else None
        if node.op_type == "SplitToSequence" and len(node.input) == 1:
            self.splits[node.output[0]] = node
        if node.op_type != "ConcatFromSequence" or split is None:
            return False
        joins, splits = ({a.name: a.i for a in n.attribute} for n in (node, split))
        if joins != {"axis": 0, "new_axis": 1} or splits != {"axis": 0, "keepdims": 0}:
            return False
        self.renamed[node.output[0]] = split.input[0]
        return True

    def compute(self, node: NodeProto) -> bool:
        """Make the result of a node of constants a constant; return whether it is one."""
        if not node.input or not all(n in self.constants for n in node.input):
            return False
        inputs = [numpy_helper.to_array(self.constants[n]) for n in node.input]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        try:
            with numpy.errstate(all="ignore"):
                value = _value_of(node.op_type, inputs, attributes)
        except (ValueError, IndexError):  # the runtime raises an error, if the node is reached
            return False
        most = max(_MOST, *(x.size for x in inputs))
        if not isinstance(value, (numpy.ndarray, numpy.generic)) or value.size > most:
            return False
        made = numpy_helper.from_array(numpy.ascontiguousarray(value).reshape(value.shape), node.output[0])
        self.graph.initializer.append(made)
        self.constants[made.name] = made
        return True

    # ---- dead nodes ----

    def drop(self, graph: GraphProto) -> set[str]:
        """Drop nodes whose results nothing reads; return the names that the rest of the graph reads."""
        used = {output.name for output in graph.output}
        kept = []
        for node in reversed(graph.node):
            if used.intersection(node.output):
                kept.append(node)
                used.update(node.input)
                for attribute in node.attribute:
                    if attribute.type == AttributeProto.GRAPH:
                        used |= self.drop(attribute.g)
        del graph.node[:]
        graph.node.extend(reversed(kept))
        return used


def _become(node: NodeProto, op: str, inputs: list[str], **attributes: float) -> None:
    """Make a node another one with the same results."""
    node.op_type = op
    node.input[:] = inputs
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())


def _elements(tensor: TensorProto) -> int:
    return int(numpy.prod(tensor.dims, dtype=numpy.int64))


def _value_of(op: str, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    """Return the result of a node, or None if it is not computed here."""
    if op in _COMPUTED and not attributes:
        return _COMPUTED[op](*inputs)
    if op == "Reshape" and all(inputs[1] != 0):
        return inputs[0].reshape(inputs[1])
    if op == "Concat":
        return numpy.concatenate(inputs, attributes["axis"])
    if op == "Transpose":
        return inputs[0].transpose(attributes["perm"])
    if op == "Gather":
        return inputs[0].take(inputs[1], attributes["axis"])
    dtype = _CAST.get(attributes.get("to", 0))
    if op == "Cast" and dtype is not None and (inputs[0].dtype.kind != "f" or dtype.kind == "f"):
        return inputs[0].astype(dtype)
    return None


def _rename_inputs(node: NodeProto, old: str, new: str) -> None:
    for i, name in enumerate(node.input):
        if name == old:
            node.input[i] = new
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _rename_inputs(inner, old, new)


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of the graphs nested in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)
