"""The programs of examples/aot: built and run by the commands of its README, without torch, and most without Python."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from test_aot import cmake_tool, environment

SOURCE = Path(__file__).parent.parent / "examples" / "aot"
STRICT = "-Wall -Wextra -Werror"


def commands(section: str) -> str:
    """Return the commands that README.md shows under a heading."""
    sections = re.split(r"(?m)^#+ (.*)\n", (SOURCE / "README.md").read_text())
    text = sections[sections.index(section) + 1]
    return "\n".join(re.findall(r"(?m)^    (.*)$", text))


def run(script: str, folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(["/bin/sh", "-ec", script], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("aot_build", SOURCE / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, compiles_once: None) -> dict[str, str]:
    """An environment with a C compiler, CMake and pkg-config, and without Python."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("environment")
    env = environment(folder, CFLAGS=STRICT, CXXFLAGS=STRICT)
    found = {"cmake": cmake_tool("cmake"), "ctest": cmake_tool("ctest"), "pkg-config": shutil.which("pkg-config")}
    for name, path in found.items():
        if path:
            Path(env["PATH"], name).symlink_to(path)
    assert not shutil.which("python3", path=env["PATH"])
    return env


@pytest.fixture(scope="module")
def built(tools: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example with its packages, built and installed."""
    folder = tmp_path_factory.mktemp("callers") / "aot"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("rnn", "gru", "build", "installed", "__pycache__"))
    load_example().build(folder, optimize=0, march="native")
    first, *rest = commands("Callers of models without Python").splitlines()
    assert first == "python build.py"
    out = run("\n".join(rest), folder, tools)
    assert "100% tests passed" in out and "rnn_pairs" in out and "gru_pairs" in out
    return folder


def alone(folder: Path, tools: dict[str, str], *packages: str) -> dict[str, str]:
    """Return an environment whose Python has some of the packages here, and no others."""
    venv.create(folder / "alone")
    (site,) = (folder / "alone").glob("lib/python*/site-packages")
    for package in packages:
        spec = importlib.util.find_spec(package)
        assert spec and spec.origin
        path = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        for part in (path, *path.parent.glob(f"{package}.libs")):
            (site / part.name).symlink_to(part)
    env = {**tools, "PATH": f"{folder / 'alone' / 'bin'}{os.pathsep}{tools['PATH']}"}
    code = "from importlib.util import find_spec; print(*[find_spec(name) for name in ('torch', 'scriptc', 'setuptools')])"
    assert run(f'python -c "{code}"', folder, env) == "None None None\n"
    return env


def eager_error(width: int) -> str:
    """Return the message of the GRU for a frame of another width."""
    with pytest.raises(RuntimeError) as raised:
        load_example().models()[1](torch.zeros(1, width))
    return str(raised.value)


def check_rnn(out: str) -> None:
    """Compare a line such as `[2, 32], first element 0.1` with eager, and the error behind it."""
    rnn, _ = load_example().models()
    first, error, *_ = out.splitlines()
    shape, number = first.split(", first element ")
    assert shape == "[2, 32]" and error == "IndexError: list index out of range"
    expected = rnn([torch.ones(2, 16)] * 5)[0, 0].item()
    assert float(number) == pytest.approx(expected, rel=1e-4)


def check_sequences(out: str) -> None:
    """Compare the scores of two sequences that were read in turns with those of eager, read one after the other."""
    _, gru = load_example().models()
    first, second, error, *_ = out.splitlines()
    for s, line in enumerate((first, second)):
        gru.h = torch.zeros(1, 32)
        for t in range(6):
            expected = gru(torch.full((1, 8), (s + 1) * 0.1 * t))
        name, numbers = line.split(": ")
        assert name == f"sequence {s}"
        np.testing.assert_allclose([float(x) for x in numbers.split()], expected[0].tolist(), atol=2e-5)
    assert error == f"RuntimeError: {eager_error(3)}"


@pytest.mark.parametrize("section", ["C", "C++", "find_package", "pkg-config"])
def test_c_and_cpp_programs(section: str, built: Path, tools: dict[str, str]) -> None:
    if section == "pkg-config" and not shutil.which(section):
        pytest.skip("no pkg-config")
    out = run(commands(section), built, tools)
    check_rnn(out[out.index("[2, ") :] if section == "find_package" else out)
    assert "build.py" in out, "the line of the Python source"


def check_server(out: str) -> None:
    error, *_, last = out.splitlines()
    assert error == f"request 199: RuntimeError: {eager_error(7)}"
    assert last == "199 answers of 4 threads are those of one thread, 1 is an error"


def test_server(built: Path, tools: dict[str, str]) -> None:
    check_server(run(commands("A server"), built, tools))


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_server_under_sanitizers(sanitizer: str, built: Path, tools: dict[str, str]) -> None:
    name = sanitizer.partition(",")[0]
    flags = f"-fsanitize={sanitizer} -fno-sanitize-recover=all -g"
    env = {**tools, "CFLAGS": flags, "CXXFLAGS": flags, "LDFLAGS": f"-fsanitize={sanitizer}"}
    run(f"cmake -B {name} -DBUILD_TESTING=OFF && cmake --build {name} --target server -j 2", built, env)
    check_server(run(f"./{name}/server", built, env))


@pytest.mark.parametrize(
    ("section", "packages"),
    [
        ("ctypes", ()),
        ("cffi", ("cffi", "_cffi_backend", "pycparser")),
        ("numpy", ("numpy",)),
        ("pybind11", ("numpy", "pybind11")),
    ],
)
def test_python_programs(
    section: str, packages: tuple[str, ...], built: Path, tools: dict[str, str], tmp_path: Path
) -> None:
    for package in packages:
        pytest.importorskip(package)
    out = run(commands(section), built, alone(tmp_path, tools, *packages))
    out = out[out.index("sequence 0") :] if section == "pybind11" else out  # behind what CMake prints
    (check_rnn if section == "ctypes" else check_sequences)(out)
