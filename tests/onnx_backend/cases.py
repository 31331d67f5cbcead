"""ONNX's own backend tests: their models and data, and one run of a test."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import scriptc
from scriptc.onnx.backend import CompiledModel
from scriptc.onnx.reading import imported, read, written

KINDS = ("node", "simple", "real", "pytorch-converted", "pytorch-operator")


def all_cases(kind: str | None = None) -> dict[str, Any]:
    """Return the tests of one kind, or of all, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx makes data with infinities
        return {case.name: case for each in ([kind] if kind else KINDS) for case in load_model_tests(kind=each)}


def array_of(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def data_of(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """Return the model of a test and its data sets."""
    if case.data_sets is not None and case.model is not None:
        return case.model, [([array_of(v) for v in i], [array_of(v) for v in o]) for i, o in case.data_sets]
    if case.kind == "real":
        return real_data_of(case)
    model = onnx.load(Path(case.model_dir) / "model.onnx")
    sets = []
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        sides = []
        for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
            files = [folder / f"{side}_{i}.pb" for i in range(len(list(folder.glob(f"{side}_*.pb"))))]
            values: list[Any] = []
            for file, info in zip(files, infos, strict=False):
                sequence = info.type.WhichOneof("value") == "sequence_type"
                proto = (onnx.SequenceProto if sequence else onnx.TensorProto).FromString(file.read_bytes())
                values.append(numpy_helper.to_list(proto) if sequence else numpy_helper.to_array(proto))
            sides.append(values)
        sets.append((sides[0], sides[1]))
    return model, sets


def real_data_of(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """Return a whole net from the package `onnx`, whose weights are constants; the inputs are those of ONNX's runner."""
    path = Path(onnx.__file__).parent.parent / case.url
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(value) for value in model.graph.input if value.name not in weights]
    files = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    outputs = [numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())) for file in files]
    return model, [(inputs, outputs)]


def flat(values: Any) -> list[Any]:
    """Return the arrays of sequences, one after the other. The runner of onnx cannot compare sequences of scalars."""
    return [array for value in values for array in (flat(value) if isinstance(value, list) else [value])]


def run(case: Any, folder: Path, eager: bool) -> str:
    """Return why a test fails; "" if it passes. A whole net is compiled with all optimizations."""
    try:
        model, sets = data_of(case)
        path = folder / f"{case.name}.py"
        reading = read(model, path.stem)
        written(reading, path)
        module = imported(path, reading.class_name)
        call = module if eager else scriptc.compile(module, optimize=3 if case.kind == "real" else 0)
        model = CompiledModel(call, reading)
        for inputs, outputs in sets:
            Runner.assert_similar_outputs(flat(outputs), flat(model.run(inputs)), case.rtol, case.atol)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    return "" if sets else "no data"
