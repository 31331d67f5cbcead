"""Decoders, recurrent layers and the zoo as ONNX models: ONNX Runtime over several sizes, and the way back to Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.onnx_programs import DECODERS, PROGRAMS, Program, differ, made, zoo

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_export import run, session_of  # noqa: E402
from onnx_round_trip import round_trip  # noqa: E402

from scriptc.onnx.writing.model import model_of  # noqa: E402


def check(program: Program) -> None:
    model, calls = made(program)
    exported, entry = model_of(model, calls[0], {}, None)
    session = session_of(exported)
    for args in calls:
        with torch.no_grad():
            wanted = model(*args)
        flat: list[Any] = []
        for arg in args:
            flat += arg if isinstance(arg, list) and len(session.get_inputs()) > len(args) else [arg]
        assert not differ(run(session, flat), wanted)


@pytest.mark.parametrize("program", DECODERS, ids=lambda p: p.name)
def test_decoders(program: Program) -> None:
    check(program)


def test_round_trip_of_a_decoder(tmp_path: Path) -> None:
    (program,) = (p for p in PROGRAMS if p.name == "beam search")
    assert not round_trip(program, tmp_path, compiles=False)


@pytest.mark.slow
@pytest.mark.parametrize("program", zoo(), ids=lambda p: p.name)
def test_zoo(program: Program) -> None:
    check(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", [*PROGRAMS, *zoo()], ids=lambda p: p.name)
def test_round_trip(program: Program, tmp_path: Path) -> None:
    assert not round_trip(program, tmp_path)
