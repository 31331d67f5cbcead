"""scriptc as a backend of ONNX: compiled models behind `onnx.backend.base.Backend`.

ONNX's own tests drive this module: `onnx.backend.test.BackendTest(scriptc.onnx.backend, __name__)`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.base import Backend, BackendRep, namedtupledict

from scriptc.onnx.reading import Reading, imported, read, written
from scriptc.onnx.reading.element_types import numpy_dtype, to_numpy, to_torch
from scriptc.onnx.reading.errors import OnnxError


def argument(value: Any, form: str, kind: Any, name: str = "") -> Any:
    """Return an input of the model as `forward` takes it. `name` is that of the input, for errors."""
    if value is None or isinstance(value, list) and kind is not None and kind.kind != "tensor":
        inner = kind.element if kind is not None and kind.kind in ("sequence", "optional") else kind
        return None if value is None else [argument(item, "tensor", inner, name) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    while kind is not None and kind.kind != "tensor":
        kind = kind.element
    array = checked_array(value, kind, name)
    if form == "ints":
        return tuple(int(i) for i in np.reshape(array, -1))
    if form == "int":
        return int(np.reshape(array, -1)[0])
    return array.tolist() if kind.dtype == "string" else to_torch(array, kind.dtype)


def checked_array(value: Any, kind: Any, name: str) -> Any:
    """Return an input as an array; raise if an array has another element type or other sizes than the model declares."""
    if kind.dtype == "string":
        return np.asarray(value, dtype=object)
    wanted = numpy_dtype(kind.dtype)
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value, dtype=wanted)
    if value.dtype != wanted:
        raise TypeError(f"input {name!r} has elements of {value.dtype}, and the model declares {kind.dtype}")
    sizes = kind.dims
    if sizes is not None and (
        len(sizes) != value.ndim or any(s is not None and s != n for s, n in zip(sizes, value.shape, strict=True))
    ):
        raise ValueError(f"input {name!r} has the sizes {list(value.shape)}, and the model declares {kind}")
    return value


def result(value: Any, kind: Any) -> Any:
    """Return a result as an array, or a list of arrays."""
    import torch

    if isinstance(value, list) and kind is not None and kind.kind in ("sequence", "optional"):
        return [result(item, kind.element) for item in value]
    if isinstance(value, dict):
        return value
    while kind is not None and kind.kind != "tensor":
        kind = kind.element
    if not isinstance(value, torch.Tensor):
        array = np.array(value, dtype=object)
        if array.size == 0 and kind is not None and kind.dims is not None:  # a list has no sizes behind a size of 0
            array = array.reshape([size or 0 for size in kind.dims])
        return array
    dtype = kind.dtype if kind is not None else None
    return to_numpy(value, dtype or str(value.dtype).removeprefix("torch."))


class CompiledModel(BackendRep):
    """A compiled model. `run` takes and returns numpy arrays."""

    def __init__(self, call: Any, reading: Reading):
        self.call = call
        self.reading = reading

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the results, which a name of an output indexes too.

        inputs: in the order of the model or by name; one array if the model has one input.
        """
        import torch

        names = list(self.reading.inputs)
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        elif isinstance(inputs, Mapping):
            if inputs.keys() != set(names):
                raise ValueError(f"the model takes the inputs {names}, but {sorted(inputs)} are given")
            inputs = [inputs[name] for name in names]
        if len(inputs) != len(names):
            raise ValueError(f"the model takes {len(names)} inputs, but {len(inputs)} are given")
        kinds = self.reading.inputs.values()
        args = [argument(*each) for each in zip(inputs, self.reading.forms, kinds, names, strict=True)]
        with torch.set_grad_enabled(self.reading.gradients):
            made = self.call(*args)
        made = made if isinstance(made, tuple) else (made,)
        arrays = [result(*each) for each in zip(made, self.reading.outputs.values(), strict=True)]
        return namedtupledict("Outputs", list(self.reading.outputs))(*arrays)


class ScriptcBackend(Backend):
    """Reads a model, compiles it and runs it on the CPU."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Return whether scriptc can read a model. Sizes that do not fit may still raise when it runs."""
        try:
            read(model)
        except OnnxError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> CompiledModel:
        """Read a model, which is compiled when it first runs.

        model: a ModelProto, its bytes, or the path of a file.
        kwargs: options of `scriptc.compile`.
        """
        import scriptc

        if not cls.supports_device(device):
            raise ValueError(f"scriptc has no device {device!r} for ONNX models")
        options = {key: value for key, value in kwargs.items() if key not in ("rtol", "atol")}  # of ONNX's runner
        folder = Path(tempfile.mkdtemp(prefix="scriptc_onnx_"))
        try:
            path = folder / "model.py"
            reading = read(model, path.stem)
            written(reading, path)
            module = imported(path, reading.class_name)
            made = CompiledModel(scriptc.compile(module, **options), reading)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(made, _forget, folder, type(module).__module__)
        return made

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Compile and run one node.

        inputs: the arrays of the inputs that the node has, in its order or by name.
        outputs_info: the element type and sizes of each output, which are inferred otherwise.
        kwargs: `opset_version`, the version of the operator set of the node (default: the newest), and options of
            `scriptc.compile`.
        """
        version = kwargs.pop("opset_version", None)
        names = list(dict.fromkeys(name for name in node.input if name))
        if isinstance(inputs, Mapping):
            inputs = [inputs[name] for name in names]
        model = model_of_node(node, dict(zip(names, inputs, strict=True)), outputs_info, version)
        return cls.run_model(model, inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device in ("CPU", "CPU:0")


def _forget(folder: Path, module: str) -> None:
    """Remove the files and the module of a prepared model that is no longer in use."""
    sys.modules.pop(module, None)
    shutil.rmtree(folder, ignore_errors=True)


def model_of_node(node: Any, inputs: dict[str, Any], outputs_info: Any, version: int | None) -> Any:
    """Return a model with one node. Its inputs have the types and sizes of the arrays."""
    from onnx import checker, defs, helper

    infos = [helper.make_value_info(name, _type_of(value)) for name, value in inputs.items()]
    names = [name for name in node.output if name]
    if outputs_info is None:
        outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    else:
        kinds = [helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(d)), s) for d, s in outputs_info]
        outputs = [helper.make_value_info(*each) for each in zip(names, kinds, strict=True)]
    if version is None:
        known = {domain: number for domain, number in _newest() if domain == node.domain}
        version = known.get(node.domain, 1)
    opsets = {node.domain: version, **({} if node.domain in ("", "ai.onnx") else {"": defs.onnx_opset_version()})}
    imports = [helper.make_opsetid(domain, number) for domain, number in opsets.items()]
    graph = helper.make_graph([node], node.op_type, infos, outputs)
    model = helper.make_model(graph, opset_imports=imports)
    try:
        context = checker.C.CheckerContext()
        context.ir_version, context.opset_imports = model.ir_version, opsets
        checker.check_node(node, context)
    except checker.ValidationError as error:
        raise OnnxError(f"the node {node.op_type} is not valid: {error}") from error
    return model


def _newest() -> list[tuple[str, int]]:
    from onnx import helper

    rows = zip(("", "ai.onnx.ml", "ai.onnx.preview.training"), helper.VERSION_TABLE[-1][2:5], strict=False)
    return [(domain, int(number)) for domain, number in rows]


def _type_of(value: Any) -> Any:
    """Return the TypeProto of an array, a list of arrays, or None."""
    from onnx import helper

    if isinstance(value, list):
        if not value:
            raise ValueError("an empty sequence tells no type of its elements; use run_model")
        return helper.make_sequence_type_proto(_type_of(value[0]))
    array = np.asarray(value)
    is_text = array.dtype == object or array.dtype.kind in "US"
    number = 8 if is_text else helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_type_proto(number, array.shape)


prepare = ScriptcBackend.prepare
run_model = ScriptcBackend.run_model
run_node = ScriptcBackend.run_node
is_compatible = ScriptcBackend.is_compatible
supports_device = ScriptcBackend.supports_device
