"""Run ONNX's own backend tests and list those that fail. A skipped test counts as failed."""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections import Counter
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


def array_of(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def data_of(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """Return the model of a test and its data sets."""
    if case.data_sets is not None and case.model is not None:
        return case.model, [([array_of(v) for v in i], [array_of(v) for v in o]) for i, o in case.data_sets]
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


def run(case: Any, folder: Path, eager: bool) -> str:
    """Return why a test fails; "" if it passes."""
    if case.kind == "real":
        return "needs data that is not run here"
    try:
        model, sets = data_of(case)
        path = folder / f"{case.name}.py"
        reading = read(model, path.stem)
        written(reading, path)
        module = imported(path, reading.class_name)
        call = module if eager else scriptc.compile(module, optimize=0)
        model = CompiledModel(call, reading)
        for inputs, outputs in sets:
            Runner.assert_similar_outputs(outputs, model.run(inputs), case.rtol, case.atol)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return "" if sets else "no data"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_backend")
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--eager", action="store_true", help="run the Python in eager torch")
    parser.add_argument("--record", type=Path, help="a JSON file for the reasons of the failures")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failures: dict[str, str] = {}
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for kind in [options.kind] if options.kind else KINDS:
            for case in load_model_tests(kind=kind):
                if options.only not in case.name:
                    continue
                counts[kind] += 1
                why = run(case, Path(folder), options.eager)
                if why:
                    failures[case.name] = why
    for name, why in failures.items():
        print(f"{name}: {why}")
    total = sum(counts.values())
    print(f"{total - len(failures)} of {total} pass ({dict(counts)})")
    if options.record:
        options.record.write_text(json.dumps(failures, indent=1))


if __name__ == "__main__":
    main()
