"""Optimizers and gradients of `ai.onnx.preview.training`."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.graph import Graph, Node
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value

DOMAIN = "ai.onnx.preview.training"


def updated(op: Operation, function: str, kinds: int, options: str) -> Any:
    """Write one call for each tensor that the optimizer updates; inputs and outputs are grouped by their kind."""
    count = (op.count - 2) // kinds
    names = [op.fresh(name or "unused") for name in op.node.outputs]
    for k in range(count):
        targets = ", ".join(names[k::count])
        given = ", ".join(op[2 + k + kind * count] for kind in range(kinds))
        op.emit(f"{targets} = ox.{function}({op[0]}, {op[1]}, {given}, {options})")
    return tuple(Value(name) for name in names)


@operator("Momentum", domain=DOMAIN)
def momentum(op: Operation) -> Any:
    numbers = ", ".join(repr(op.need(name)) for name in ("alpha", "beta", "norm_coefficient"))
    return updated(op, "momentum", 3, f"{numbers}, {op.need('mode') == 'nesterov'}")


@operator("Adagrad", domain=DOMAIN)
def adagrad(op: Operation) -> Any:
    options = (("decay_factor", 0.0), ("epsilon", 1e-6), ("norm_coefficient", 0.0))
    return updated(op, "adagrad", 3, ", ".join(repr(op.attr(*option)) for option in options))


@operator("Adam", domain=DOMAIN)
def adam(op: Operation) -> Any:
    options = (("alpha", 0.9), ("beta", 0.999), ("epsilon", 1e-6), ("norm_coefficient", 0.0), ("norm_coefficient_post", 0.0))
    return updated(op, "adam", 4, ", ".join(repr(op.attr(*option)) for option in options))


@operator("Gradient", domain=DOMAIN)
def gradient(op: Operation) -> Any:
    """Write the nodes between the inputs and `y` once more, on tensors that record gradients."""
    writer, graph = op.writer, op.writer.module.model.graph
    names, y = [*op.need("xs"), *(op.attr("zs") or [])], op.need("y")
    if len(names) != op.count:
        raise op.unsupported(f"it names {len(names)} tensors and has {op.count} inputs")
    needed = {y}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs) or set(node.outputs) & set(names):
            continue
        nodes.insert(0, node)
        needed.update(name for name in node.inputs if name)
        for inner in node.graphs():
            needed |= inner.reads()
    leaves: list[Value] = []

    def write() -> None:
        for index, name in enumerate(names):
            text = f"{op[index]}.detach().requires_grad_()" if index < len(op.need("xs")) else op[index]
            leaves.append(Value(op.named(name, text), "tensor", op.value(index).type))
        writer.scopes.append(dict(zip(names, leaves, strict=True)))
        writer.nodes(Graph(graph.name, "", names, [y], {}, graph.types, nodes))
        made = writer.tensor(writer.lookup(y))
        writer.scopes.pop()
        targets = [op.fresh(name or "unused") for name in op.node.outputs]
        sources = ", ".join(leaf.text for leaf in leaves[: len(targets)])
        op.emit(f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = "
                f"torch.autograd.grad({made}, [{sources}], torch.ones_like({made}))")  # fmt: skip
        leaves[:] = [Value(target) for target in targets]

    op.emit("with torch.enable_grad():")
    writer.block(write)
    return tuple(leaves)
