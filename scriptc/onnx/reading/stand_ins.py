"""Types behind operators that `onnx` does not know.

Shape inference stops at an operator of com.microsoft. So it sees standard operators in its place, whose outputs have the
names and the types of the operator's outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MARK = "scriptc: the place of node "


class Place:
    """A node to stand in for. `constants` are the initializers of the graphs around it, `opset` the version of ai.onnx."""

    def __init__(self, node: Any, constants: dict[str, Any], opset: int):
        self.node = node
        self.constants = constants
        self.opset = opset
        self.made: list[Any] = []

    def input(self, index: int) -> str:
        return self.node.input[index] if index < len(self.node.input) else ""

    def output(self, index: int) -> str:
        return self.node.output[index] if index < len(self.node.output) else ""

    def attr(self, name: str, default: Any = None) -> Any:
        from onnx import helper

        return next((helper.get_attribute_value(a) for a in self.node.attribute if a.name == name), default)

    def copied(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the attributes of the node that are among `names`."""
        return {name: self.attr(name) for name in names if self.attr(name) is not None}

    def add(self, op: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add a call; return its output, which has a fresh name unless `output` is given."""
        from onnx import helper

        name = output or f"{self.node.output[0]}/{len(self.made)}"
        self.made.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, numbers: list[int]) -> str:
        return self.add("Constant", [], value_ints=numbers)


TABLE: dict[str, Callable[[Place], None]] = {}


def stands_for(*names: str) -> Any:
    def register(write: Callable[[Place], None]) -> Callable[[Place], None]:
        TABLE.update(dict.fromkeys(names, write))
        return write

    return register


@stands_for(
    "Gelu", "FastGelu", "QuickGelu", "RotaryEmbedding", "SimplifiedLayerNormalization", "BiasAdd", "QLinearSigmoid",
    "QLinearLeakyRelu", "QLinearSoftmax",
)  # fmt: skip
def like_first(place: Place) -> None:
    place.add("Identity", [place.input(0)], place.output(0))


@stands_for("BiasGelu")
def like_sum(place: Place) -> None:
    place.add("Add", [place.input(0), place.input(1)], place.output(0))


@stands_for("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def like_sums(place: Place) -> None:
    for index in (0, 3):
        if place.output(index):
            place.add("Add", [place.input(0), place.input(1)], place.output(index))


@stands_for("EmbedLayerNormalization")
def embedding(place: Place) -> None:
    for index in (0, 2):
        if place.output(index):
            place.add("Gather", [place.input(2), place.input(0)], place.output(index))


@stands_for("FusedMatMul", "TransposeMatMul")
def matmul(place: Place) -> None:
    if not any(place.attr(name) for name in ("transA", "transB", "transBatchA", "transBatchB")):
        place.add("MatMul", [place.input(0), place.input(1)], place.output(0))


@stands_for("FusedGemm")
def gemm(place: Place) -> None:
    given = [name for name in place.node.input if name]
    place.add("Gemm", given, place.output(0), **place.copied(("alpha", "beta", "transA", "transB")))


@stands_for("FusedConv")
def conv(place: Place) -> None:
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    place.add("Conv", list(place.node.input[:3]), place.output(0), **place.copied(names))


@stands_for("NhwcMaxPool")
def pool_of_last_dim(place: Place) -> None:
    names = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")
    moved = place.add("Transpose", [place.input(0)], perm=[0, 3, 1, 2])
    made = place.add("MaxPool", [moved], **place.copied(names))
    place.add("Transpose", [made], place.output(0), perm=[0, 2, 3, 1])


@stands_for("MatMulNBits")
def packed_matmul(place: Place) -> None:
    if place.opset < 15:
        return
    weight = place.add("ConstantOfShape", [place.constant([place.attr("K"), place.attr("N")])])
    place.add("MatMul", [place.input(0), place.add("CastLike", [weight, place.input(0)])], place.output(0))


@stands_for("DynamicQuantizeMatMul", "MatMulIntegerToFloat")
def float_matmul(place: Place) -> None:
    left = place.input(0) if place.node.op_type == "DynamicQuantizeMatMul" else place.add("Cast", [place.input(0)], to=1)
    place.add("MatMul", [left, place.add("Cast", [place.input(1)], to=1)], place.output(0))


@stands_for("Attention", "QAttention")
def attention(place: Place) -> None:
    weight = place.constants.get(place.input(1))
    if weight is None or len(weight.dims) != 2:
        return
    sizes = place.attr("qkv_hidden_sizes") or [weight.dims[1] // 3] * 3
    value = place.add("ConstantOfShape", [place.constant([weight.dims[0], sizes[2]])])
    x = place.add("Cast", [place.input(0)], to=1) if place.node.op_type == "QAttention" else place.input(0)
    if place.opset >= 15:
        value = place.add("CastLike", [value, x])
    place.add("MatMul", [x, value], place.output(0))


@stands_for("MultiHeadAttention")
def multi_head_attention(place: Place) -> None:
    if place.input(2) and place.opset >= 12:
        place.add("Einsum", [place.input(0), place.input(2)], place.output(0), equation="bsh,blv->bsv")


@stands_for("GroupQueryAttention")
def grouped_query_attention(place: Place) -> None:
    if place.input(1):
        place.add("Identity", [place.input(0)], place.output(0))


@stands_for("QLinearAdd", "QLinearMul")
def quantized_sum(place: Place) -> None:
    place.add("Expand", [place.input(0), place.add("Shape", [place.input(3)])], place.output(0))


@stands_for("QLinearConcat")
def quantized_concat(place: Place) -> None:
    place.add("Concat", list(place.node.input[2::3]), place.output(0), axis=place.attr("axis"))


@stands_for("QLinearGlobalAveragePool", "QLinearAveragePool")
def quantized_pool(place: Place) -> None:
    zero = place.constants.get(place.input(2))
    if zero is None or place.attr("channels_last"):
        return
    names = ("auto_pad", "ceil_mode", "kernel_shape", "pads", "strides")
    op = place.node.op_type.removeprefix("QLinear")
    made = place.add(op, [place.add("Cast", [place.input(0)], to=1)], **(place.copied(names) if op == "AveragePool" else {}))
    place.add("Cast", [made], place.output(0), to=zero.data_type)


@stands_for("QuantizeLinear", "DequantizeLinear")
def converted(place: Place) -> None:
    tensor = place.constants.get(place.input(2 if place.node.op_type == "QuantizeLinear" else 1))
    if tensor is not None:
        place.add("Cast", [place.input(0)], place.output(0), to=tensor.data_type)


def stand_in_of(node: Any) -> Callable[[Place], None] | None:
    """Return what writes the stand-in of a node; None if `onnx` knows the operator, or there is none."""
    if node.domain == "com.microsoft" or node.op_type == "SimplifiedLayerNormalization":
        return TABLE.get(node.op_type)
    return None


def has_unknown(graph: Any) -> bool:
    """Return whether a GraphProto, or a graph in it, has nodes with stand-ins."""
    inner = (attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g"))
    return any(stand_in_of(node) is not None for node in graph.node) or any(map(has_unknown, inner))


def replace(graph: Any, opset: int, outer: dict[str, Any]) -> None:
    """Put stand-ins into a GraphProto and the graphs in it. `outer` are the initializers of the graphs around it."""
    constants = {**outer, **{tensor.name: tensor for tensor in graph.initializer}}
    nodes: list[Any] = []
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                replace(attribute.g, opset, constants)
        write, place = stand_in_of(node), Place(node, constants, opset)
        if write is not None and node.output and node.output[0]:
            write(place)
        for made in place.made:
            made.doc_string = f"{MARK}{index}"
        nodes += place.made or [node]
    _set_nodes(graph, nodes)


def _set_nodes(graph: Any, nodes: list[Any]) -> None:
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def restore(graph: Any, original: Any) -> None:
    """Put the nodes of `original` back in place of the stand-ins for them."""
    nodes: list[Any] = []
    last = ""
    by_output = {name: node for node in original.node for name in node.output if name}
    for node in graph.node:
        if node.doc_string.startswith(MARK):
            if node.doc_string != last:
                last = node.doc_string
                nodes.append(original.node[int(last.removeprefix(MARK))])
            continue
        source = next((by_output[name] for name in node.output if name in by_output), None)
        for attribute in node.attribute:
            if attribute.HasField("g") and source is not None:
                restore(attribute.g, next(a.g for a in source.attribute if a.name == attribute.name))
        nodes.append(node)
    _set_nodes(graph, nodes)
