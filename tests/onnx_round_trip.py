"""Write models to ONNX, read them back, and compare: `python -m tests.onnx_round_trip [NAME ...]`, all programs and the zoo.

The module that `from_onnx` writes must equal the model in eager and compiled, for all calls.
"""

from __future__ import annotations

import copy
import inspect
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import scriptc  # noqa: E402
from benchmarks.onnx_programs import PROGRAMS, Program, differ, made, zoo  # noqa: E402


def as_parameters(back: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return arguments as the written module takes them: parts one by one, numbers as tensors where it says so."""
    sequences = [p.annotation for p in inspect.signature(back.forward).parameters.values()]
    flat: list[Any] = []
    for arg in args:
        flat += arg if isinstance(arg, tuple) or (isinstance(arg, list) and len(sequences) > len(args)) else [arg]
    is_tensor = [kind in (torch.Tensor, "torch.Tensor") for kind in sequences]
    return [torch.tensor(a) if t and isinstance(a, (int, float)) else a for a, t in zip(flat, is_tensor, strict=True)]


def round_trip(program: Program, folder: Path, *, compiles: bool = True) -> str:
    """Return the first difference between a model and what was read back; empty if all calls are equal."""
    model, calls = made(program)
    scriptc.to_onnx(model, *copy.deepcopy(calls[0]), path=folder / "model.onnx")
    back = scriptc.from_onnx(str(folder / "model.onnx"), path=str(folder / "model.py"))
    sides = [("eager", model, back)]
    if compiles:
        sides.append(("compiled", scriptc.compile(model), scriptc.compile(back)))
    with torch.no_grad():
        for number, args in enumerate(calls):
            for side, original, copied in sides:
                wanted = original(*copy.deepcopy(args))
                got = copied(*copy.deepcopy(as_parameters(back, args)))
                if found := differ(got, wanted):
                    return f"{side}, call {number}: {found}"
    return ""


def main() -> None:
    failed = 0
    for program in [*PROGRAMS, *zoo()]:
        if len(sys.argv) > 1 and not any(text in program.name for text in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = round_trip(program, Path(folder))
            except Exception as e:
                found = f"{type(e).__name__}: {str(e)[:300]}"
        failed += bool(found)
        print(f"{program.name}: {found or 'equal'}", flush=True)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
