"""If, Loop, Scan, sequences and optionals."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import carrier
from scriptc.onnx.reading.graph import Graph, ValueType
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, bool_value, int_value, other


@operator("If")
def branch(op: Operation) -> Any:
    writer = op.writer
    names = [writer.fresh(name or "unused") for name in op.node.outputs]

    def write(graph: Graph) -> None:
        writer.enter(graph, [])
        writer.nodes(graph)
        for name, result in zip(names, graph.outputs, strict=True):
            writer.emit(f"{name} = {writer.tensor(writer.lookup(result))}")
        writer.leave()

    writer.emit(f"if {op.bool_text(0) if op.value(0).form != 'tensor' else op[0]}:")
    writer.block(lambda: write(op.graph("then_branch")))
    writer.emit("else:")
    writer.block(lambda: write(op.graph("else_branch")))
    return tuple(Value(name, "tensor", kind) for name, kind in zip(names, op.out_types, strict=True))


def stacked(op: Operation, name: str, kind: ValueType | None, axis: int = 0) -> str:
    """Return the Python that stacks a list of scan outputs, of which there may be none."""
    at = "" if axis == 0 else f", {axis}"
    if kind is None or kind.dtype is None or kind.dims is None:
        return f"torch.stack({name}{at})"
    dims = [0 if d is None else d for d in kind.dims]
    dims.insert(axis if axis >= 0 else len(dims) + 1 + axis, 0)
    return f"torch.stack({name}{at}) if {name} else torch.zeros({dims}, dtype=torch.{carrier(kind.dtype)})"


@operator("Loop", ints=(0,))
def loop(op: Operation) -> Any:
    writer, body = op.writer, op.graph("body")
    count = len(body.inputs) - 2
    carried = []
    for index in range(count):
        name = writer.fresh(op.node.outputs[index] or body.inputs[index + 2])
        writer.emit(f"{name} = {op[index + 2]}")
        kind = body.types.get(body.inputs[index + 2]) or op.value(index + 2).type
        if kind is not None and kind.dims is not None and None in kind.dims:
            kind = ValueType("tensor", kind.dtype, tuple(None for _ in kind.dims))
        carried.append(Value(name, "tensor", kind))
    scans = [writer.fresh(f"{name or 'scan'}_items") for name in op.node.outputs[count:]]
    for name in scans:
        writer.emit(f"{name} = []")
    limited = op.has(0)
    condition = None
    if op.has(1) and not (op.known(1) is not None and bool(np.reshape(op.known(1), -1)[0])):
        condition = op.bool_text(1)
    changing = not _always(body)
    going = ""
    if condition is not None or changing:
        going = op.named("going", condition or "True")
    counter = writer.fresh(body.inputs[0] or "i")
    reads_counter = any(body.inputs[0] in node.inputs for node in body.nodes) or body.inputs[0] in _captured(body)
    if limited:
        writer.emit(f"for {counter} in range({op.int_text(0)}):")
    else:
        if reads_counter:
            writer.emit(f"{counter} = 0")
        writer.emit(f"while {going or 'True'}:")

    def write() -> None:
        if limited and going:
            writer.emit(f"if not {going}:")
            writer.emit("    break")
        writer.enter(body, [int_value(counter), bool_value(going or "True"), *carried])
        writer.nodes(body)
        results = [writer.lookup(name) for name in body.outputs]
        for name, value in zip(scans, results[count + 1 :], strict=True):
            writer.emit(f"{name}.append({writer.tensor(value)})")
        if changing and going:
            writer.emit(f"{going} = {writer.bool_text(results[0])}")
        _assign(op, carried, results[1 : count + 1])
        if not limited and reads_counter:
            writer.emit(f"{counter} += 1")
        writer.leave()

    writer.block(write)
    kinds = [body.types.get(name) for name in body.outputs[count + 1 :]]
    texts = zip(op.node.outputs[count:], scans, kinds, strict=True)
    made = [op.named(name, stacked(op, items, kind)) for name, items, kind in texts]
    outputs = [Value(c.text, "tensor", t) for c, t in zip(carried, op.out_types, strict=False)]
    return (*outputs, *(Value(text) for text in made))


def _captured(body: Graph) -> set[str]:
    found = set(body.outputs)
    for node in body.nodes:
        for inner in node.graphs():
            found |= inner.reads()
    return found


def _always(body: Graph) -> bool:
    """Return whether the body of a loop leaves its condition as it was, or makes it true."""
    name = body.outputs[0]
    for _ in range(len(body.nodes)):
        if name == body.inputs[1]:
            return True
        maker = next((node for node in body.nodes if name in node.outputs), None)
        if maker is None or maker.op not in ("Identity", "Constant"):
            return False
        if maker.op == "Constant":
            value = maker.attributes.get("value")
            return value is not None and bool(np.reshape(value.array, -1)[0])
        name = maker.inputs[0]
    return name == body.inputs[1]


def _assign(op: Operation, carried: list[Value], results: list[Value]) -> None:
    writer = op.writer
    pairs = [(c.text, writer.tensor(r)) for c, r in zip(carried, results, strict=True)]
    pairs = [(a, b) for a, b in pairs if a != b]
    if pairs:
        writer.emit(f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}")


@operator("Scan", since=9)
def scan(op: Operation) -> Any:
    writer, body = op.writer, op.graph("body")
    over = op.need("num_scan_inputs")
    states = op.count - over
    in_axes = op.attr("scan_input_axes") or [0] * over
    in_back = op.attr("scan_input_directions") or [0] * over
    outs = len(body.outputs) - states
    out_axes = op.attr("scan_output_axes") or [0] * outs
    out_back = op.attr("scan_output_directions") or [0] * outs
    carried = []
    for index in range(states):
        name = writer.fresh(op.node.outputs[index] or body.inputs[index])
        writer.emit(f"{name} = {op[index]}")
        carried.append(Value(name, "tensor", body.types.get(body.inputs[index]) or op.value(index).type))
    scans = [writer.fresh(f"{name or 'scan'}_items") for name in op.node.outputs[states:]]
    for name in scans:
        writer.emit(f"{name} = []")
    counter = writer.fresh("step")
    first = op[states]
    size = f"{first}.shape[{in_axes[0]}]"
    writer.emit(f"for {counter} in range({size}):")

    def write() -> None:
        slices = []
        for k in range(over):
            source = op[states + k]
            at = f"{source}.shape[{in_axes[k]}] - 1 - {counter}" if in_back[k] else counter
            name = writer.fresh(body.inputs[states + k])
            text = f"{source}[{at}]" if in_axes[k] == 0 else f"torch.select({source}, {in_axes[k]}, {at})"
            writer.emit(f"{name} = {text}")
            slices.append(Value(name, "tensor", body.types.get(body.inputs[states + k])))
        writer.enter(body, [*carried, *slices])
        writer.nodes(body)
        results = [writer.lookup(name) for name in body.outputs]
        for name, value, back in zip(scans, results[states:], out_back, strict=True):
            text = writer.tensor(value)
            writer.emit(f"{name}.insert(0, {text})" if back else f"{name}.append({text})")
        _assign(op, carried, results[:states])
        writer.leave()

    writer.block(write)
    kinds = [body.types.get(name) for name in body.outputs[states:]]
    texts = zip(op.node.outputs[states:], scans, kinds, out_axes, strict=True)
    made = [op.named(name, stacked(op, items, kind, axis)) for name, items, kind, axis in texts]
    return (*carried, *(Value(text) for text in made))


@operator("Scan", until=8)
def scan_batched(op: Operation) -> Any:
    """Opset 8: a batch dim in front of each state and sequence, and an optional input of lengths."""
    writer, body = op.writer, op.graph("body")
    if op.has(0):
        raise op.unsupported("Scan of opset 8 with sequence lengths")
    over = op.need("num_scan_inputs")
    values = op.values[1:]
    states = len(values) - over
    batch, step = writer.fresh("batch"), writer.fresh("step")
    columns = [writer.fresh(f"{name or 'out'}_items") for name in op.node.outputs]
    for name in columns:
        writer.emit(f"{name} = []")
    writer.emit(f"for {batch} in range({op[1]}.shape[0]):")

    def one() -> None:
        carried = []
        for k in range(states):
            name = writer.fresh(body.inputs[k])
            writer.emit(f"{name} = {op[1 + k]}[{batch}]")
            carried.append(Value(name, "tensor", body.types.get(body.inputs[k])))
        scans = [writer.fresh(f"{name or 'scan'}_steps") for name in op.node.outputs[states:]]
        for name in scans:
            writer.emit(f"{name} = []")
        writer.emit(f"for {step} in range({op[1 + states]}.shape[1]):")

        def inner() -> None:
            slices = []
            for k in range(over):
                name = writer.fresh(body.inputs[states + k])
                writer.emit(f"{name} = {op[1 + states + k]}[{batch}, {step}]")
                slices.append(Value(name, "tensor", body.types.get(body.inputs[states + k])))
            writer.enter(body, [*carried, *slices])
            writer.nodes(body)
            results = [writer.lookup(name) for name in body.outputs]
            for name, value in zip(scans, results[states:], strict=True):
                writer.emit(f"{name}.append({writer.tensor(value)})")
            _assign(op, carried, results[:states])
            writer.leave()

        writer.block(inner)
        for name, value in zip(columns, carried, strict=False):
            writer.emit(f"{name}.append({value.text})")
        for name, items in zip(columns[states:], scans, strict=True):
            writer.emit(f"{name}.append(torch.stack({items}))")

    writer.block(one)
    return tuple(Value(op.named(name, f"torch.stack({items})")) for name, items in zip(op.node.outputs, columns, strict=True))


@operator("SequenceConstruct")
def sequence_construct(op: Operation) -> Any:
    return other(f"[{', '.join(op[i] for i in range(op.count))}]")


@operator("SequenceEmpty")
def sequence_empty(op: Operation) -> Any:
    return other("[]")


@operator("SequenceLength")
def sequence_length(op: Operation) -> Any:
    return int_value(f"len({op[0]})")


@operator("SequenceAt", ints=(1,))
def sequence_at(op: Operation) -> Any:
    return f"{op[0]}[{op.int_text(1)}]"


@operator("SequenceInsert", ints=(2,))
def sequence_insert(op: Operation) -> Any:
    if not op.has(2):
        return other(f"{op[0]} + [{op[1]}]")
    return other(f"{op[0]}[:{op.int_text(2)}] + [{op[1]}] + {op[0]}[{op.int_text(2)}:]")


@operator("SequenceErase", ints=(1,))
def sequence_erase(op: Operation) -> Any:
    return other(f"ox.without({op[0]}, {op.int_text(1)})" if op.has(1) else f"{op[0]}[:-1]")


@operator("SplitToSequence", ints=(1,))
def split_to_sequence(op: Operation) -> Any:
    axis = op.attr("axis", 0)
    if not op.has(1):
        keep = op.attr("keepdims", 1)
        return other(f"list(torch.split({op[0]}, 1, {axis}))" if keep else f"list(torch.unbind({op[0]}, {axis}))")
    if op.rank(1) == 0:
        return other(f"list(torch.split({op[0]}, {op.int_text(1)}, {axis}))")
    return other(f"list(torch.split({op[0]}, {op.ints(1)}, {axis}))")


@operator("ConcatFromSequence")
def concat_from_sequence(op: Operation) -> Any:
    name = "stack" if op.attr("new_axis", 0) else "cat"
    return f"torch.{name}({op[0]}, {op.need('axis')})"


@operator("Optional")
def optional(op: Operation) -> Any:
    return op.value(0) if op.has(0) else other("None")


@operator("OptionalHasElement")
def optional_has_element(op: Operation) -> Any:
    if not op.has(0):
        return bool_value("False")
    kind = op.value(0).type
    return bool_value("True") if kind is not None and kind.kind != "optional" else bool_value(f"{op[0]} is not None")


@operator("OptionalGetElement")
def optional_get_element(op: Operation) -> Any:
    return Value(op[0])
