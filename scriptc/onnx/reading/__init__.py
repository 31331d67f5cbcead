"""Turn ONNX models into Python modules."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scriptc.onnx.reading.errors import OnnxError as OnnxError


@dataclass
class Reading:
    """A model as Python.

    source: the text of the module, with the class `class_name`.
    weights: the tensors that the module loads, by attribute, and the states of its layers.
    inputs, outputs: the names in the file, with their types (None where the file gives none).
    forms: how `forward` takes each input: "tensor", "ints", "int" or "other".
    gradients: the model computes gradients, so that compiled code of it must be called in grad mode.
    """

    source: str
    class_name: str
    weights: dict[str, Any]
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    forms: list[str]
    gradients: bool = False


def read(model: Any, stem: str = "model", problems: list[str] | None = None) -> Reading:
    """Read a model from a path, bytes or a ModelProto.

    stem: the name of the file to write, without `.py`.
    problems: if given, takes the error of each node that cannot be read; reading goes on behind the node.
    """
    from scriptc.onnx.reading.checks import check_declared_types, check_texts, checked, inferred, opsets_of
    from scriptc.onnx.reading.files import TensorReader, load, parsed
    from scriptc.onnx.reading.graph import GraphReader, Model
    from scriptc.onnx.reading.names import identifier
    from scriptc.onnx.reading.python_source import ModuleWriter

    folder = None
    if isinstance(model, (str, os.PathLike)):
        model, folder = load(model)
    elif isinstance(model, (bytes, bytearray)):
        model = parsed(bytes(model), "the model")
    check_texts(model)
    opsets = opsets_of(model)
    check_declared_types(model.graph)
    tensors = TensorReader(folder)
    checked(GraphReader(tensors, opsets).graph(model.graph))
    graph = checked(GraphReader(tensors, opsets).graph(inferred(model).graph))
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    record = Model(graph, functions, opsets, model.doc_string, tensors)
    writer = ModuleWriter(record, problems)
    name = identifier(graph.name or "Model", "Model")
    class_name = "".join(part[:1].upper() + part[1:] for part in name.split("_")) or "Model"
    if class_name in ("Path",):
        class_name += "Model"
    source, parameters = writer.source(class_name, stem)
    return Reading(
        source,
        class_name,
        {**writer.weights.tensors, **{name: state for name, (_, state) in writer.weights.layers.items()}},
        {n: graph.types.get(n) for n in graph.inputs},
        {n: graph.types.get(n) for n in graph.outputs},
        [p.form for p in parameters],
        any(node.op == "Gradient" for node in graph.nodes),
    )


def written(reading: Reading, path: Path) -> None:
    """Write the module of a reading to `path`, and its weights beside it."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    if reading.weights:
        torch.save(reading.weights, path.with_suffix(".pt"))
    path.write_text(reading.source, encoding="utf-8")


def imported(path: Path, class_name: str) -> Any:
    """Import a written module, and return an instance of its class."""
    name = f"scriptc_onnx_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, class_name)()


def from_onnx(model: Any, *, path: str | os.PathLike[str] | None = None) -> Any:
    """Turn an ONNX model into an `nn.Module` whose `forward` is readable Python.

    model: the path of an ONNX file, its bytes, or an `onnx.ModelProto`. External data is read from files inside the folder
        of the ONNX file only.
    path: where to write the Python file; the weights are written beside it, with the ending `.pt`. Default: a file in a
        new temporary folder.

    Returns an instance of the class in the file, in evaluation mode. Raises OnnxError, a ValueError, for a model that
    cannot be read. The message names the node.
    """
    from scriptc.onnx.reading.names import identifier

    if path is None:
        stem = identifier(Path(model).stem, "model") if isinstance(model, (str, os.PathLike)) else "model"
        target = Path(tempfile.mkdtemp(prefix="scriptc_onnx_")) / f"{stem}.py"
    else:
        target = Path(path)
    reading = read(model, target.stem)
    written(reading, target)
    return imported(target, reading.class_name)
