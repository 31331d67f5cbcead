"""scriptc as a backend of ONNX: compiled models behind `onnx.backend.base.Backend`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.base import Backend, BackendRep

from scriptc.onnx.reading import Reading, imported, read, written
from scriptc.onnx.reading.element_types import to_numpy, to_torch


def argument(value: Any, form: str, kind: Any) -> Any:
    """Return an input of the model as `forward` takes it."""
    if value is None or isinstance(value, list):
        inner = kind.element if kind is not None and kind.kind in ("sequence", "optional") else kind
        return None if value is None else [argument(item, "tensor", inner) for item in value]
    if form == "ints":
        return tuple(int(i) for i in np.reshape(value, -1))
    if form == "int":
        return int(np.reshape(value, -1)[0])
    while kind is not None and kind.kind != "tensor":
        kind = kind.element
    return value.tolist() if kind.dtype == "string" else to_torch(value, kind.dtype)


def result(value: Any, kind: Any) -> Any:
    """Return a result as an array, or a list of arrays."""
    import torch

    if isinstance(value, list) and kind is not None and kind.kind in ("sequence", "optional"):
        return [result(item, kind.element) for item in value]
    while kind is not None and kind.kind != "tensor":
        kind = kind.element
    return to_numpy(value, kind.dtype) if isinstance(value, torch.Tensor) else np.array(value, dtype=object)


class CompiledModel(BackendRep):
    """A compiled model. `run` takes and returns numpy arrays."""

    def __init__(self, call: Any, reading: Reading):
        self.call = call
        self.reading = reading

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        import torch

        if len(inputs) != len(self.reading.forms):
            raise ValueError(f"the model takes {len(self.reading.forms)} inputs, but {len(inputs)} are given")
        kinds = self.reading.inputs.values()
        args = [argument(*each) for each in zip(inputs, self.reading.forms, kinds, strict=True)]
        with torch.no_grad():
            made = self.call(*args)
        made = made if isinstance(made, tuple) else (made,)
        return tuple(result(*each) for each in zip(made, self.reading.outputs.values(), strict=True))


class ScriptcBackend(Backend):
    """Reads a model, compiles it and runs it on the CPU."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> CompiledModel:
        import scriptc

        if not cls.supports_device(device):
            raise ValueError(f"scriptc has no device {device!r} for ONNX models")
        path = Path(tempfile.mkdtemp(prefix="scriptc_onnx_")) / "model.py"
        reading = read(model, path.stem)
        written(reading, path)
        return CompiledModel(scriptc.compile(imported(path, reading.class_name), **kwargs), reading)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError("scriptc runs models; make a model of the node")

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"


prepare = ScriptcBackend.prepare
run_model = ScriptcBackend.run_model
supports_device = ScriptcBackend.supports_device
