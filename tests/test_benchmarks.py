"""The benchmarks run. What they measure is for docs/guide/benchmarks.md, but no memory may be lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import fresh_python
import pytest
import torch
from settings import without_asan

import scriptc
from benchmarks import without_avx512
from benchmarks.decoder_models import CASES

ROOT = Path(__file__).parent.parent


def bench(*arguments: str) -> str:
    done = fresh_python.run(["-m", "benchmarks", *arguments], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_rnn(tmp_path: Path) -> None:
    saved = tmp_path / "rnn.json"
    out = bench("rnn", "--no-compile", "--sizes", "0", "--samples", "3", "--json", str(saved))
    assert "jit frozen / scriptc" in out
    (times,) = json.loads(saved.read_text())["results"].values()
    assert {"eager", "jit frozen", "scriptc", "scriptc frozen", "in C", "by hand"} <= set(times)


@pytest.mark.slow
def test_convolutions() -> None:
    """Compares the gradients with eager's before it measures."""
    assert "eager / scriptc" in bench("convolutions", "--only", "conv1d 8", "average pool", "denoiser", "--samples", "1")


@pytest.mark.slow
def test_lstm() -> None:
    assert "in C / by hand" in bench("lstm", "--no-compile", "--sizes", "0", "--samples", "3")


@pytest.mark.slow
def test_cells(tmp_path: Path) -> None:
    """Each compares eager, torch.jit, scriptc and the cell by hand before it measures."""
    saved = tmp_path / "cells.json"
    bench("cells", "--hidden", "64", "--steps", "10", "--samples", "3", "--json", str(saved))
    assert len(json.loads(saved.read_text())["results"]) == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_a_decoder_gives_eagers_result(name: str) -> None:
    model, inputs, _ = CASES[name].build(tiny=True)
    result = scriptc.compile(model, freeze=True)(*inputs)
    torch.testing.assert_close(result, model(*inputs), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_decoders(tmp_path: Path) -> None:
    """Each compares eager, torch.jit, scriptc and the decoder by hand before it measures."""
    saved = tmp_path / "decoders.json"
    bench("decoders", "--tiny", "--no-compile", "--samples", "1", "--json", str(saved))
    rows = json.loads(saved.read_text())["results"]
    assert len(rows) == 5
    for times in rows.values():
        assert {"eager", "scriptc frozen", "frozen in C", "by hand"} <= set(times)


@pytest.mark.slow
def test_generate(tmp_path: Path) -> None:
    """Each compares eager, ONNX Runtime where it is installed, and a package in C before it measures."""
    pytest.importorskip("transformers")
    saved = tmp_path / "generate.json"
    bench("generate", "--tiny", "--no-compile", "--tokens", "6", "--samples", "1", "--json", str(saved))
    rows = json.loads(saved.read_text())["results"]
    assert len(rows) == 2
    for times in rows.values():
        assert {"eager", "scriptc, in C"} <= set(times)


@pytest.mark.slow
@without_asan
def test_training(tmp_path: Path) -> None:
    """JAX is compared where it is installed."""
    saved = tmp_path / "training.json"
    small = ("--hidden", "64", "--batch", "1", "--steps", "10", "--samples", "3")
    bench("training", "--no-compile", *small, "--json", str(saved))
    rows = json.loads(saved.read_text())["results"]
    assert len(rows) == 9
    for row in rows.values():
        assert {"eager", "scriptc", "scriptc forward"} <= set(row["seconds"])
        assert set(row["peak KiB"]) == {"eager", "scriptc"}


@pytest.mark.slow
@without_asan
def test_memory_is_flat(tmp_path: Path) -> None:
    saved = tmp_path / "memory.json"
    bench("memory", "--calls", "3000", "--iterations", "200000", "--json", str(saved))
    for before, after, _ in json.loads(saved.read_text())["results"].values():
        assert after - before < 2048, "KiB"


@pytest.mark.slow
@without_asan
def test_memory_of_nets(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    saved = tmp_path / "memory.json"
    bench("nets", "--memory", "--nets", "SqueezeNet", "--json", str(saved))
    ((onnx, package, _, _),) = json.loads(saved.read_text())["results"].values()
    assert package < 1.2 * onnx


@pytest.mark.slow
@without_asan
@pytest.mark.skipif(not without_avx512.is_possible(), reason="the processor has no AVX-512")
@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump")
def test_nets_without_avx512() -> None:
    """Each call is checked before it is measured, ONNX Runtime's too."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    out = bench("nets", "--level", "avx2", "--nets", "SqueezeNet", "--rivals", "ONNX Runtime", "--samples", "1")
    assert "no AVX-512" in out


def test_ulp() -> None:
    assert "sigmoid" in bench("ulp", "--only", "sigmoid", "--step", "131071")


@pytest.mark.parametrize("name", ["startup", "threads", "dynamo"])  # the others are run
def test_help(name: str) -> None:
    assert name in bench(name, "--help")


@pytest.mark.slow
def test_onnx() -> None:
    """Each part compares the results before it measures."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    out = bench("onnx", "--samples", "1", "--only", "while on data", "GRU, 4")
    assert "ONNX Runtime / scriptc" in out
    assert "scriptc.to_onnx: right" in out
