"""Builds ahead of time: what cmake and ctest make of them without Python, what Python makes of them without torch."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from settings import sweep
from torch import Tensor, nn

import scriptc
from scriptc.backend_c.package.directory import check_replaceable

pytestmark = pytest.mark.usefixtures("compiles_once")

X86 = platform.machine() in ("x86_64", "AMD64")


class RNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(6, 8)
        self.b = nn.Linear(8, 8, bias=False)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        h = torch.zeros(inputs[0].size(0), 8)
        for x in inputs:
            h = torch.tanh(self.a(x) + self.b(h))
        return h


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 5 * 5, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.max_pool2d(torch.relu(self.conv(x)), 2)
        return torch.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)


def repeat(x: Tensor, n: int, scale: float = 0.5, mode: str = "sum"):  # type: ignore[no-untyped-def]
    parts = []
    total = x
    for i in range(n):
        total = total + x * i * scale
        parts.append(total)
    x.add_(1.0)
    return parts, n + x.size(0), {"total": total, "mode": mode}


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """Without Python on the path, and without what a sanitized run of these tests preloads."""
    tools = tmp_path / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in ("cc", "gcc", "g++", "c++", "make", "as", "ld", "ar", "ranlib", "nm", "strip", "sh", "uname"):
            if path := shutil.which(os.environ.get({"cc": "CC", "c++": "CXX"}.get(name, ""), name)):
                (tools / name).symlink_to(path)
    return {"PATH": str(tools), "LC_ALL": "C", **more}


def cmake_tool(name: str) -> str:
    """The program itself: what PyPI's cmake puts on the path is a Python script."""
    try:
        import cmake
    except ImportError:
        found = shutil.which(name)
    else:
        found = shutil.which(name, path=cmake.CMAKE_BIN_DIR)
    return found or pytest.skip("no cmake")


def run(*command: object, env: dict[str, str] | None = None, cwd: Path | None = None, fails: bool = False) -> str:
    done = subprocess.run(
        [str(part) for part in command], env=env, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def cmake_build(source: Path, build: Path, env: dict[str, str], *options: str) -> None:
    run(cmake_tool("cmake"), "-S", source, "-B", build, *options, env=env)
    run(cmake_tool("cmake"), "--build", build, "-j", "2", env=env)


def sequence(n: int, batch: int) -> list[Tensor]:
    return [torch.randn(batch, 6) for _ in range(n)]


def without_torch(folder: Path, code: str) -> str:
    """Runs Python code on `model`, loaded from the folder, and checks that torch is not imported."""
    head = f"import sys, numpy as np, scriptc\nmodel = scriptc.load({str(folder)!r})\n"
    script = f"{head}{code}\nassert 'torch' not in sys.modules"
    return run(sys.executable, "-c", script)


@pytest.fixture(scope="module")
def rnn(tmp_path_factory: pytest.TempPathFactory) -> tuple[RNN, Path]:
    torch.manual_seed(0)
    model = RNN()
    return model, scriptc.build(model, sequence(10, 4), out=tmp_path_factory.mktemp("rnn") / "rnn", optimize=0)


CONSUMER = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(rnn REQUIRED)
add_executable(consumer main.cpp)
target_compile_options(consumer PRIVATE -Wall -Wextra -Werror)
target_link_libraries(consumer PRIVATE rnn::rnn)
""",
    "main.cpp": """
#include <cstdio>
#include "rnn.hpp"

int main(int, char **argv)
{
    rnn::Model model(argv[1]);
    rnn::Context context(model);
    std::vector<float> data(3 * 6, 0.5f);
    rnn::View x(data.data(), {3, 6}), wrong(data.data(), {6, 3});
    for (float value : context.forward({&x, &x}).values<float>()) std::printf("%.9g ", value);
    try {
        context.forward({&x, &wrong});
    } catch (const rnn::Error &error) {
        std::printf("\\n%s\\n", error.what());
    }
    try {
        rnn::Model none(std::string("nowhere"));
    } catch (const std::runtime_error &error) {
        std::printf("%s\\n", error.what());
    }
}
""",
}


def test_cmake_ctest_and_an_installed_cpp_program(rnn: tuple[RNN, Path], tmp_path: Path) -> None:
    model, folder = rnn
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    env = environment(tmp_path, CFLAGS="-Wall -Wextra -Werror")
    cmake_build(folder, build, env)
    report = run(cmake_tool("ctest"), "--test-dir", build, "-V", env=env)
    assert "100% tests passed" in report
    assert report.count("8 of 8 equal") >= 1
    assert all(f"pairs_{level}" in report for level in (("baseline", "avx2", "avx512") if X86 else ("native",)))
    assert "10 x f32[4, 6]" in report and "1 x f32[2, 6]" in report

    run(cmake_tool("cmake"), "--install", build, "--prefix", prefix, env=env)
    if shutil.which("pkg-config"):  # the prefix was chosen after the configuration
        (found,) = prefix.rglob("rnn.pc")
        env_pc = {**os.environ, "PKG_CONFIG_PATH": str(found.parent)}
        assert "-lrnn" in run("pkg-config", "--libs", "rnn", env=env_pc)
        for variable, file in (("includedir", "rnn.h"), ("libdir", "librnn.so"), ("weights", "")):
            folder_of = Path(run("pkg-config", f"--variable={variable}", "rnn", env=env_pc).strip())
            assert (folder_of / file).exists() and folder_of.resolve().is_relative_to(prefix)
    consumer = tmp_path / "consumer"
    consumer.mkdir()
    for name, text in CONSUMER.items():
        (consumer / name).write_text(text)
    cmake_build(consumer, tmp_path / "out", environment(tmp_path), f"-DCMAKE_PREFIX_PATH={prefix}")
    lines = run(tmp_path / "out" / "consumer", prefix / "share" / "rnn" / "rnn.safetensors").splitlines()
    expected = model([torch.full((3, 6), 0.5)] * 2).detach().flatten()
    torch.testing.assert_close(torch.tensor([float(value) for value in lines[0].split()]), expected)
    assert lines[1].startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    assert any("test_aot.py" in line and "self.a(x)" in line for line in lines)
    assert lines[-1] == "cannot open weights 'nowhere': No such file or directory"


@pytest.mark.slow
def test_the_driver_runs_clean_under_sanitizers(rnn: tuple[RNN, Path], tmp_path: Path) -> None:
    env = environment(tmp_path)
    cmake_build(rnn[1], tmp_path / "build", env, "-DSC_SANITIZE=ON", "-DSC_MARCH=native", "-DSC_OPTIMIZE=0")
    report = run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", "-V", env=env)
    assert "100% tests passed" in report and "native" in report


def test_load_runs_without_torch(rnn: tuple[RNN, Path], tmp_path: Path) -> None:
    model, folder = rnn
    torch.manual_seed(1)
    inputs = sequence(7, 3)
    np.savez(tmp_path / "inputs.npz", *[x.numpy() for x in inputs])
    code = (
        f"loaded = np.load({str(tmp_path / 'inputs.npz')!r})\n"
        "inputs = [loaded[f'arr_{i}'] for i in range(len(loaded))]\n"
        f"np.save({str(tmp_path / 'result.npy')!r}, model(inputs))\n"
        "assert (model.forward(inputs=inputs[:1]) == model(inputs[:1])).all()"
    )
    without_torch(folder, code)
    torch.testing.assert_close(torch.from_numpy(np.load(tmp_path / "result.npy")), model(inputs).detach())


def test_load_raises_what_eager_raises(rnn: tuple[RNN, Path]) -> None:
    loaded = scriptc.load(rnn[1])
    with pytest.raises(IndexError, match="list index out of range\n.*test_aot.py:"):
        loaded([])
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"):
        loaded([np.zeros((2, 5), np.float32)])
    with pytest.raises(TypeError, match=r"'inputs\[0\]': expected dtype float32, got float64"):
        loaded([np.zeros((2, 6))])
    with pytest.raises(TypeError, match="expected a list"):
        loaded(np.zeros((2, 6), np.float32))
    with pytest.raises(TypeError, match="missing a required argument"):
        loaded()
    with pytest.raises(ValueError, match="a stride is negative"):
        loaded([np.zeros((2, 6), np.float32)[::-1]])


def test_damaged_weights_are_refused(rnn: tuple[RNN, Path], tmp_path: Path) -> None:
    content = (rnn[1] / "rnn.safetensors").read_bytes()
    damaged = tmp_path / "damaged.safetensors"
    for bad, why in (
        (content[:-5], "is the file complete"),
        (content[:-1] + bytes([content[-1] ^ 1]), "the data is damaged"),
        (content.replace(b'"F32"', b'"F16"', 1), "has dtype F16, compiled for F32"),
        (content.replace(b"[8,8]", b"[4,8]"), "size 4 in dimension 0, compiled for 8"),
        (content.replace(b"a.bias", b"c.bias"), "unknown tensor 'c.bias'"),
        (b"", "too short"),
        (b"\xff" * 64, "the header is longer than the file"),
    ):
        damaged.write_bytes(bad)
        with pytest.raises(RuntimeError, match=why):
            scriptc.load(rnn[1], damaged)


def test_weights_are_a_safetensors_file(rnn: tuple[RNN, Path]) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    stored = safetensors.load_file(rnn[1] / "rnn.safetensors")
    expected = rnn[0].state_dict()
    assert stored.keys() == expected.keys()
    assert all(torch.equal(stored[name], expected[name]) for name in stored)


def test_net_with_embedded_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Net().eval()
    x = torch.randn(2, 1, 12, 12)
    folder = scriptc.build(model, x, out=tmp_path / "net", embed_weights=True, optimize=0, march="native")
    assert not (folder / "net.safetensors").exists()
    loaded = scriptc.load(folder)
    assert loaded.level == "native"
    for batch in (1, 64):
        x = torch.randn(batch, 1, 12, 12)
        torch.testing.assert_close(torch.from_numpy(loaded(x.numpy())), model(x).detach())
    env = environment(tmp_path)
    cmake_build(folder, tmp_path / "build", env)
    assert "100% tests passed" in run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", env=env)


@pytest.mark.parametrize("sanitize", sweep(["OFF", "ON"], "OFF"))
def test_numbers_lists_dicts_and_writes(sanitize: str, tmp_path: Path) -> None:
    folder = scriptc.build(repeat, torch.arange(6.0).reshape(3, 2), 4, out=tmp_path / "rep", optimize=0, march="native")
    loaded = scriptc.load(folder)
    x = torch.randn(5, 2)
    mine = x.numpy().copy()
    parts, total, rest = loaded(mine, 3, scale=0.25)
    expected, expected_total, expected_rest = repeat(x, 3, scale=0.25)
    assert (type(parts), total, rest["mode"]) == (list, expected_total, "sum")
    for got, want in zip([*parts, rest["total"], mine], [*expected, expected_rest["total"], x], strict=True):
        torch.testing.assert_close(torch.from_numpy(got), want)
    assert loaded(mine, 3, mode="mean")[2]["mode"] == "mean"
    with pytest.raises(TypeError, match="argument 'n': expected int, got float"):
        loaded(mine, 3.0)
    mine.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        loaded(mine, 3)
    env = environment(tmp_path)
    cmake_build(folder, tmp_path / "build", env, f"-DSC_SANITIZE={sanitize}")
    report = run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", "-V", env=env)
    assert "100% tests passed" in report and "17, 0.5" in report


def test_threads_share_a_model(rnn: tuple[RNN, Path]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model, folder = rnn
    loaded = scriptc.load(folder)
    inputs = [sequence(n, n) for n in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda xs: loaded([x.numpy() for x in xs]), inputs * 20))
    for xs, result in zip(inputs * 20, results, strict=True):
        torch.testing.assert_close(torch.from_numpy(result), model(xs).detach())


def test_a_build_replaces_a_build_and_nothing_else(rnn: tuple[RNN, Path], tmp_path: Path) -> None:
    model, folder = rnn
    again = scriptc.build(model, sequence(10, 4), out=tmp_path / "rnn", optimize=0)
    old, new = (json.loads((f / "manifest.json").read_text()) for f in (folder, again))
    assert old["build_id"] == new["build_id"]  # the same source and weights give the same package
    check_replaceable(tmp_path / "not there")
    (tmp_path / "mine").mkdir()
    check_replaceable(tmp_path / "mine")
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="was not made by scriptc.build"):
        scriptc.build(model, sequence(2, 2), out=tmp_path / "mine")
    assert os.listdir(tmp_path / "mine") == ["thesis.tex"]


listed = [torch.zeros(2)]


def nested(x: list[list[Tensor]]) -> Tensor:
    return x[0][0]


def test_what_cannot_be_built_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    x = torch.ones(2)
    with pytest.raises(scriptc.CompileError, match="list of lists of containers"):
        scriptc.build(nested, [[(x, 1)]], out=out)
    with pytest.raises(scriptc.CompileError, match="list of lists of containers"):
        scriptc.build({"a": (repeat, (x, 1)), "b": (nested, ([[(x, 1)]],))}, out=out)
    for name in ("int", "2x", "a-b", "m", "class", "test", "errno", "time", "index", "json", "numpy", "sc", "sc_x", "size_t"):
        with pytest.raises(ValueError, match="cannot name a library"):
            scriptc.build(repeat, x, 1, out=out, name=name)
    with pytest.raises(TypeError, match="no option 'optimise'"):
        scriptc.build(repeat, x, 1, out=out, optimise=3)
    assert not list(tmp_path.iterdir())


def test_load_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="was not made by scriptc.build"):
        scriptc.load(tmp_path)
