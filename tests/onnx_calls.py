"""Models of many calls of operators, run by ONNX Runtime, in eager torch, and compiled in one unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper

import scriptc
from scriptc.onnx.backend import CompiledModel
from scriptc.onnx.reading import imported, read, written


@dataclass
class Calls:
    """The calls of one model. Arrays are inputs of the model, or initializers."""

    opset: int = 22
    ir_version: int = 10
    nodes: list[Any] = field(default_factory=list)
    inputs: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    outputs: list[tuple[str, int]] = field(default_factory=list)

    def add(
        self, op: str, inputs: list[Any], weights: tuple[int, ...] = (), outputs: int = 1, domain: str = "",
        dtypes: tuple[int, ...] = (), **attributes: Any,
    ) -> None:  # fmt: skip
        """Add a call. weights: the inputs that are initializers. dtypes: the element types of the outputs; float."""
        at = len(self.nodes)
        names = []
        for index, array in enumerate(inputs):
            name = "" if array is None else f"{op.lower()}_{at}_{index}"
            names.append(name)
            if array is not None:
                (self.weights if index in weights else self.inputs)[name] = array
        made = [f"{op.lower()}_{at}_out_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, names, made, domain=domain, **attributes))
        self.outputs += zip(made, dtypes or [onnx.TensorProto.FLOAT] * outputs, strict=True)

    def model(self) -> Any:
        def info(name: str, array: Any) -> Any:
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, dtype, array.shape)

        graph = helper.make_graph(
            self.nodes, "calls", [info(*item) for item in self.inputs.items()],
            [helper.make_tensor_value_info(name, dtype, None) for name, dtype in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )  # fmt: skip
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir_version)


def expected_of(calls: Calls) -> list[Any]:
    """Return what ONNX Runtime returns."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(calls.model().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, calls.inputs)


def check(calls: Calls, folder: Any, compiled: bool = True, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Compare the results of eager torch, and of compiled code, with those of ONNX Runtime."""
    torch.manual_seed(0)
    reading = read(calls.model(), "calls")
    path = folder / "calls.py"
    written(reading, path)
    module = imported(path, reading.class_name)
    expected = expected_of(calls)
    targets = [("eager", module)]
    if compiled:
        targets.append(("compiled", scriptc.compile(module, optimize=0)))
    wrong = []
    unknown = {name for node in calls.nodes if node.domain for name in node.output}
    for (name, _), value in zip(calls.outputs, expected, strict=True):
        kind = reading.outputs[name]
        known = zip(kind.dims or (), value.shape, strict=True) if name in unknown and kind.dims is not None else ()
        if any(size not in (None, actual) for size, actual in known):
            wrong.append(f"{name} has the shape {value.shape}, and {kind} in the file")
    for label, target in targets:
        made = CompiledModel(target, reading).run(list(calls.inputs.values()))
        for (name, _), ours, theirs in zip(calls.outputs, made, expected, strict=True):
            try:
                assert ours.dtype == theirs.dtype, (ours.dtype, theirs.dtype)
                np.testing.assert_allclose(np.asarray(ours, theirs.dtype), theirs, rtol, atol, err_msg=f"{name} {label}")
            except AssertionError as error:
                wrong.append(f"{name}, {label}: {error}")
    assert not wrong, "\n".join(wrong)
