"""Write a model as a Python module: a class whose `forward` is plain torch code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import scriptc.onnx.reading.operators  # noqa: F401  registers all rows
from scriptc.onnx import functions
from scriptc.onnx.reading.element_types import INTEGERS
from scriptc.onnx.reading.errors import OnnxError
from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.folding import folded
from scriptc.onnx.reading.graph import Graph, Model, Node, ValueType
from scriptc.onnx.reading.names import Names, comment, docstring, identifier
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import row_of
from scriptc.onnx.reading.restricted_types import check_strings, check_uint64
from scriptc.onnx.reading.values import Value, Weights, constant, int_list, ints, literal, number_text

MAX_LITERAL = 8  # elements of a constant of ints or bools that stands in the code
MAX_ITEMS = 64  # ints of an argument that have texts of their own
MAX_EXPANSIONS = 20  # functions in functions
SIMPLE = re.compile(r"-?[\w.]+|\w+(\.shape)?\[-?\d+\]")


class FunctionWriter:
    """Writes the nodes of a graph as the statements of one Python function."""

    def __init__(self, module: ModuleWriter, names: Names | None = None, depth: int = 0):
        self.module = module
        self.names = names or Names()
        self.lines: list[str] = []
        self.indent = 2
        self.scopes: list[dict[str, Value]] = [{}]
        self.types: list[dict[str, ValueType]] = [{}]
        self.depth = depth
        self.current: Node | None = None  # the node being written

    # statements

    def note(self, line: str) -> None:
        """Write a comment, but not what the line before says already."""
        if not self.lines or self.lines[-1].strip() != line:
            self.emit(line)

    def emit(self, line: str) -> None:
        for name in re.findall(r"\box\.(\w+)", line):
            if not hasattr(functions, name):
                raise OnnxError(f"{self.current} cannot be read: scriptc has no function {name!r} for it yet")
        self.lines.append("    " * self.indent + line)

    def fresh(self, name: str) -> str:
        return self.names.fresh(name)

    def block(self, write: Callable[[], None]) -> None:
        """Write an indented block; `pass` if `write` writes nothing."""
        self.indent += 1
        before = len(self.lines)
        write()
        if len(self.lines) == before:
            self.emit("pass")
        self.indent -= 1

    # values

    def lookup(self, name: str) -> Value:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise OnnxError(f"nothing makes {name!r}")

    def type_of(self, name: str) -> ValueType | None:
        for types in reversed(self.types):
            if name in types:
                return types[name]
        return None

    def tensor(self, value: Value) -> str:
        """Return a value as a tensor, sequence, string or optional."""
        if value.form == "constant":
            dtype = value.dtype or "float32"
            if _is_literal(value.array, dtype):
                return literal(value.array, dtype)
            if not value.text:
                value.text = f"self.{self.module.weights.attribute(value.array, dtype, 'constant')}"
            return value.text
        if value.form in ("ints", "int"):
            return f"torch.tensor({value.text}, dtype=torch.int64)"
        if value.form in ("float", "bool"):
            return f"torch.tensor({value.text})"
        return value.text

    def ints(self, value: Value) -> Value:
        """Return a value as ints."""
        if value.form == "ints":
            return value
        if value.form == "int":
            return ints([value.text])
        if value.form == "constant":
            return ints([str(int(i)) for i in np.reshape(value.array, -1)])
        dims = value.type.dims if value.type is not None else None
        if dims is not None and len(dims) == 0:
            return ints([f"int({value.text})"])
        if dims is not None and len(dims) == 1 and dims[0] is not None and dims[0] <= 8:
            return ints([f"int({value.text}[{i}])" for i in range(dims[0])])
        return int_list(f"{value.text}.tolist()")

    def int_text(self, value: Value) -> str:
        if value.form == "ints":
            return value.items[0] if value.items else f"{value.text}[0]"
        if value.form == "constant":
            return str(int(np.reshape(value.array, -1)[0]))
        return value.text if value.form == "int" else f"int({value.text})"

    def float_text(self, value: Value) -> str:
        if value.form == "constant":
            return number_text(np.reshape(value.array, -1)[0], value.dtype or "float32")
        return value.text if value.form == "float" else f"float({value.text})"

    def bool_text(self, value: Value) -> str:
        if value.form == "constant":
            return str(bool(np.reshape(value.array, -1)[0]))
        return value.text if value.form == "bool" else f"bool({value.text})"

    # nodes

    def nodes(self, graph: Graph, needed: set[str] | None = None) -> None:
        """Write the nodes of a graph whose results are used."""
        used = set(graph.outputs) if needed is None else set(needed)
        live: list[Node] = []
        for node in reversed(graph.nodes):
            if used.isdisjoint(node.outputs):
                continue
            live.append(node)
            used.update(name for name in node.inputs if name)
            for inner in node.graphs():
                used |= inner.reads()
        for node in reversed(live):
            self.node(node, used)

    def node(self, node: Node, used: set[str]) -> None:
        values = [self.lookup(name) if name else None for name in node.inputs]
        while values and values[-1] is None:
            values.pop()
        types = [self.type_of(name) if name else None for name in node.outputs]
        operation = Operation(self, node, values, types)
        self.current = node
        before = len(self.lines), self.indent, len(self.scopes)
        try:
            made = self.module.written(operation)
        except OnnxError as error:
            if self.module.problems is None:
                raise
            self.module.problems.append(str(error))
            del self.lines[before[0] :], self.scopes[before[2] :], self.types[before[2] :]
            self.indent = before[1]
            named = zip(node.outputs, types, strict=True)
            made = tuple(Value(self.fresh(name or "unread"), "tensor", kind) for name, kind in named)
        if made is None:
            return
        if node.doc:
            for line in node.doc.strip().splitlines():
                self.note(f"# {comment(line)}"[:118])
        outputs = node.outputs
        while outputs and (not outputs[-1] or outputs[-1] not in used) and not isinstance(made, tuple) and len(outputs) > 1:
            if isinstance(made, str):
                break
            outputs = outputs[:-1]
        if isinstance(made, tuple):
            for name, part in zip(outputs, made, strict=False):
                if name:
                    self.bind(name, part)
        elif isinstance(made, str) and len(outputs) > 1:
            targets = [self.fresh(name) if name and name in used else "_" for name in outputs]
            self.emit(f"{', '.join(targets)} = {made}")
            for name, target in zip(outputs, targets, strict=True):
                if name:
                    self.define(name, Value(target))
        else:
            self.bind(outputs[0], made)

    def bind(self, name: str, made: str | Value) -> None:
        """Give the result of a node its name; write an assignment unless the text is as short as a name."""
        value = made if isinstance(made, Value) else Value(made)
        if value.form == "constant":
            pass
        elif value.form == "ints" and value.items is not None:
            items = []
            for item in value.items:
                if not SIMPLE.fullmatch(item):
                    fresh = self.fresh(name)
                    self.emit(f"{fresh} = {item}")
                    item = fresh
                items.append(item)
            value = ints(items)
        elif not SIMPLE.fullmatch(value.text):
            fresh = self.fresh(name)
            self.emit(f"{fresh} = {value.text}")
            value = Value(fresh, value.form, value.type, value.items)
        self.define(name, value)

    def define(self, name: str, value: Value) -> None:
        kind = self.type_of(name)
        if value.form in ("tensor", "other") and kind is not None:
            merged = kind
            if value.type is not None and value.type.kind == "tensor" and kind.kind == "tensor" and kind.dims is None:
                merged = ValueType("tensor", kind.dtype or value.type.dtype, value.type.dims)
            value = Value(value.text, value.form, merged, value.items, value.array)
        self.scopes[-1][name] = value

    def enter(self, graph: Graph, inputs: list[Value]) -> None:
        """Open the scope of a graph in an attribute, whose inputs are `inputs`."""
        self.scopes.append(dict(zip(graph.inputs, inputs, strict=False)))
        self.types.append(graph.types)
        self.constants(graph)

    def leave(self) -> None:
        self.scopes.pop()
        self.types.pop()

    def constants(self, graph: Graph) -> None:
        """Define the initializers of a graph."""
        for name, array in graph.constants.items():
            value = constant(array, graph.types[name].dtype or "float32")
            if not _is_literal(array, value.dtype or ""):
                value.text = f"self.{self.module.weights.attribute(array, value.dtype or '', identifier(name, 'w'))}"
            self.scopes[-1][name] = value


def _is_literal(array: Array, dtype: str) -> bool:
    """Return whether a constant stands in the code. Floats with dims are weights, which compiled code packs and folds."""
    if dtype == "string" or np.ndim(array) == 0:
        return True
    return np.size(array) <= (MAX_LITERAL if dtype == "bool" or dtype in INTEGERS else 0)


class ModuleWriter:
    """Writes a module, with one method for each function of the model and the types it is called with."""

    def __init__(self, model: Model, problems: list[str] | None = None):
        self.model = model
        self.problems = problems
        self.weights = Weights()
        self.methods: list[list[str]] = []
        self.method_names = self.weights.attributes
        self.method_names.used |= {"forward", "inputs", "outputs", *vars(torch.nn.Module()), *dir(torch.nn.Module)}
        self.made: dict[Any, tuple[str, list[Value]]] = {}
        self.depth = 0

    def written(self, operation: Operation) -> Any:
        """Return the result of the row of an operator, or of a call of the function that defines it."""
        try:
            return self._written(operation)
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, AssertionError) as error:
            if isinstance(error, OnnxError):
                raise
            raise OnnxError(f"{operation.node} has inputs or attributes that do not fit: {error}") from error

    def _written(self, operation: Operation) -> Any:
        from scriptc.onnx.reading.function_calls import call_of_function, function_of

        node = operation.node
        function = function_of(self.model, operation) if self.model.functions else None
        if function is None:
            row = row_of(node.domain, node.op, node.version)
            if row is not None:
                check_uint64(operation)
                check_strings(operation)
                made = folded(operation)
                made = row.write(operation) if made is None else made
                if made is not NotImplemented:
                    return made
            function = function_of(self.model, operation)
        if function is None:
            raise OnnxError(_unknown(operation))
        if self.depth >= MAX_EXPANSIONS:
            raise OnnxError(f"{node} calls a function that calls itself, or more than {MAX_EXPANSIONS} functions in functions")
        self.depth += 1
        try:
            return call_of_function(self, operation, function)
        finally:
            self.depth -= 1

    def forward(self) -> tuple[list[str], list[Value], list[Value]]:
        """Return the lines of `forward`, its parameters and its results."""
        graph = self.model.graph
        writer = FunctionWriter(self)
        writer.types = [graph.types]
        as_ints = int_inputs(graph)
        parameters: list[Value] = []
        for name in graph.inputs:
            kind = graph.types.get(name)
            text = writer.fresh(name)
            value = Value(text, "tensor", kind)
            if name in as_ints:
                dims = kind.dims if kind is not None else None
                if dims is not None and not dims:
                    value = Value(text, "int", kind)
                elif dims is not None and dims[0] is not None and dims[0] <= MAX_ITEMS:
                    value = Value(text, "ints", kind, [f"{text}[{i}]" for i in range(dims[0])])
                else:
                    value = Value(text, "ints", kind)
            parameters.append(value)
            writer.scopes[-1][name] = value
        writer.constants(graph)
        writer.nodes(graph)
        results = [writer.lookup(name) for name in graph.outputs]
        texts = [writer.tensor(value) for value in results]
        writer.emit(f"return {', '.join(texts)}" if len(texts) > 1 else f"return {texts[0]}" if texts else "return ()")
        return writer.lines, parameters, results

    def drop_unread_weights(self, lines: list[str]) -> None:
        """Drop the weights that no line reads, such as those that a layer of torch holds."""
        read = {name for part in (lines, *self.methods) for line in part for name in re.findall(r"\bself\.(\w+)", line)}
        self.weights.tensors = {name: tensor for name, tensor in self.weights.tensors.items() if name in read}

    def source(self, class_name: str, file_stem: str) -> tuple[str, list[Value]]:
        """Return the text of the module, and the parameters of `forward`."""
        graph = self.model.graph
        lines, parameters, _ = self.forward()
        named = zip(graph.inputs, parameters, strict=True)
        declared = ", ".join(["self", *(_declared(value, graph.types.get(name)) for name, value in named)])
        about = docstring(graph.doc or self.model.doc or f"The graph {graph.name!r}.")
        out = ['"""Written by scriptc.from_onnx. The code may be edited."""', ""]
        out += ["from pathlib import Path", "", "import torch", "from torch import nn"]
        out += ["from torch.nn import functional as F", ""]
        out += ["from scriptc.onnx import functions as ox", "", ""]
        out += [f"class {class_name}(nn.Module):", f'    """{about}"""', ""]
        out += ["    def __init__(self):", "        super().__init__()"]
        self.drop_unread_weights(lines)
        if self.weights.tensors or self.weights.layers:
            out.append(f'        weights = torch.load(Path(__file__).with_name("{file_stem}.pt"), weights_only=True)')
        for name, tensor in self.weights.tensors.items():
            if tensor.is_floating_point() and tensor.dim() > 0:
                out.append(f'        self.{name} = nn.Parameter(weights["{name}"])')
            else:
                out.append(f'        self.register_buffer("{name}", weights["{name}"])')
        for name, (made, _) in self.weights.layers.items():
            out.append(f"        self.{name} = {made}")
            out.append(f'        self.{name}.load_state_dict(weights["{name}"])')
        out.append("        self.eval()")
        for method in self.methods:
            out += ["", *method]
        out += ["", f"    def forward({declared}):", *lines, ""]
        return "\n".join(out), parameters


def _declared(value: Value, kind: ValueType | None) -> str:
    if value.form == "ints":
        return f"{value.text}: tuple[int, ...]"
    if value.form == "int":
        return f"{value.text}: int"
    is_tensor = kind is not None and kind.kind == "tensor" and kind.dtype != "string"
    return f"{value.text}: torch.Tensor" if is_tensor else value.text


def int_inputs(graph: Graph) -> set[str]:
    """Return the inputs of a graph that all their readers take as ints, such as a shape."""
    candidates = set()
    for name in graph.inputs:
        kind = graph.types.get(name)
        if kind is not None and kind.kind == "tensor" and kind.dtype in ("int64", "int32") and len(kind.dims or (0,)) <= 1:
            candidates.add(name)
    candidates -= set(graph.outputs)
    read: set[str] = set()

    def visit(inner: Graph) -> None:
        for node in inner.nodes:
            row = row_of(node.domain, node.op, node.version)
            taken = row.ints if row is not None else ()
            for index, name in enumerate(node.inputs):
                if name in candidates:
                    read.add(name)
                    if index not in taken:
                        candidates.discard(name)
            for body in node.graphs():
                candidates.difference_update(body.outputs)
                visit(body)

    visit(graph)
    return candidates & read


def _unknown(operation: Operation) -> str:
    from onnx import defs

    node = operation.node
    domain = node.domain or "ai.onnx"
    if node.domain in ("", "ai.onnx.ml") and defs.has(node.op, node.domain):
        return f"{node} cannot be read: scriptc has no row for it in version {node.version} of {domain}"
    return f"{node}: the operator set {domain!r} of version {node.version} has no operator {node.op!r} that scriptc knows"


