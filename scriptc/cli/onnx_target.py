"""An ONNX file as the target of a command."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

from scriptc.cli.target_argument import Call, UserError, evaluated


def is_onnx(text: str) -> bool:
    return text.endswith(".onnx")


def needs_onnx() -> None:
    """Raise UserError if the package `onnx` is not installed."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise UserError("ONNX files need the package onnx: pip install 'scriptc[onnx]'") from error


class OnnxTarget:
    """The module that `scriptc.from_onnx` makes of a file. `inputs` are the arrays of the example, once it is made."""

    def __init__(self, path: str, sizes: str | None):
        needs_onnx()
        from scriptc.onnx.reading import imported, read, written
        from scriptc.onnx.reading.errors import OnnxError
        from scriptc.onnx.reading.files import load
        from scriptc.onnx.reading.names import identifier

        folder = Path(tempfile.mkdtemp(prefix="scriptc_onnx_"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        source = folder / f"{identifier(Path(path).stem, 'model')}.py"
        try:
            self.proto = load(path)[0]
            self.reading = read(path, source.stem)
        except OnnxError as error:
            raise UserError(f"{path}: {error}") from error
        written(self.reading, source)
        self.path = path
        self.sizes = sizes_of(sizes)
        self.found = imported(source, self.reading.class_name)
        self.inputs: list[Any] = []

    def model(self, init: str | None, evaluation: bool) -> Any:
        """Return the module, which is in evaluation mode."""
        if init is not None:
            raise UserError("--init is for classes; an ONNX file gives a module")
        return self.found

    def arguments(self, expression: str | None) -> Call:
        """Return the arguments in `expression`, or else random ones of the declared types and sizes."""
        from scriptc.onnx.backend import argument
        from scriptc.onnx.examples import as_array, declared_dims, example_inputs
        from scriptc.onnx.reading.errors import OnnxError

        names, kinds = list(self.reading.inputs), list(self.reading.inputs.values())
        if expression is not None:
            args, kwargs = evaluated(expression, "--args", {})
            if kwargs or len(args) != len(names):
                raise UserError(f"--args gives {len(args)} arguments, and the model takes {', '.join(names)}, by position")
            self.inputs = [as_array(*pair) for pair in zip(args, kinds, strict=True)]
            return args, {}
        try:
            self.inputs = example_inputs(self.reading, declared_dims(self.proto), self.sizes)
        except OnnxError as error:
            raise UserError(f"{self.path}: {error}") from error
        given = zip(self.inputs, self.reading.forms, kinds, names, strict=True)
        return tuple(argument(*each) for each in given), {}

    def elsewhere(self, compiled: Any, args: tuple[Any, ...]) -> list[Any]:
        """Return rows that compare a compiled call with ONNX Runtime or the reference evaluator."""
        import torch

        from scriptc.inspect.comparison_report import Row
        from scriptc.onnx.backend import result
        from scriptc.onnx.runtimes import compared, run_elsewhere

        with torch.no_grad():
            made = compiled(*args)
        kinds = self.reading.outputs
        values = [result(*pair) for pair in zip(made if isinstance(made, tuple) else (made,), kinds.values(), strict=True)]
        try:
            runtime, expected = run_elsewhere(self.path, dict(zip(self.reading.inputs, self.inputs, strict=True)))
        except RuntimeError as error:
            return [Row("another runtime", "-", f"not run: {error}", True)]
        rows = zip(kinds, values, expected, kinds.values(), strict=True)
        return [row for name, actual, other, kind in rows for row in compared(name, runtime, actual, other, kind)]

    def entries(self, model: Any, texts: list[str]) -> Any:
        raise UserError("an ONNX file has one entry; --entry is for Python")


def sizes_of(text: str | None) -> dict[str, int]:
    """Return the sizes in a text such as `n=4,t=16`."""
    made = {}
    for part in (text or "").split(",") if text else ():
        name, equals, size = part.partition("=")
        if not equals or not size.strip().isdigit():
            raise UserError(f"--dims takes names and sizes, such as n=4,t=16, not {text!r}")
        made[name.strip()] = int(size)
    return made
