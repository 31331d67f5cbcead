"""Packages of code that calls C extensions: the sources travel along, and CMake and the Python loader compile them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_aot import cmake_tool
from test_extension import write_sources
from torch import Tensor

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, lasting_path: Path) -> tuple[Path, Any]:
    """Return a package, and the function that it was built from."""
    folder, home = tmp_path_factory.mktemp("extension"), lasting_path / "extension"
    (home / "elsewhere").mkdir(parents=True, exist_ok=True)
    given = write_sources(home / "sources")
    (home / "sources" / "more.h").rename(home / "elsewhere" / "more.h")
    macros = [("WITH_SCALE", "3"), ("LABEL", '"a b"')]
    ext: Any = scriptc.extension("checked", include_dirs=["../elsewhere"], define_macros=macros, libraries=["m"], **given)

    @ext.add.meta
    def sizes(a: Tensor, b: Tensor, factor: float, out: Tensor) -> dict[str, Any]:
        return {"out": a.shape}

    def net(a: Tensor, b: Tensor, factor: float) -> Tensor:
        out = a.new()
        ext.add(a, b, factor, out)
        ext.twice(out)
        return out * ext.scale()

    scriptc.build(net, torch.randn(2, 3), torch.randn(2, 3), 0.5, out=folder / "extnet", optimize=0, march="native")
    return folder / "extnet", net


def test_sources_are_in_the_package(package: tuple[Path, Any]) -> None:
    folder, _ = package
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "extension" in path.as_posix()}
    wanted = {"src/extensions/checked/scriptc_calls.c", "runtime/include/extension/scriptc_extension.h"}
    assert wanted | {"runtime/src/extension/sc_th.inc"} <= found
    assert {Path(name).name for name in found} >= {"checked.c", "checked.h", "more.h"}
    assert json.loads((folder / "manifest.json").read_text())["build"]["libraries"] == ["-lm"]


def test_the_loader_builds_it(package: tuple[Path, Any], tmp_path: Path) -> None:
    folder, net = package
    a, b = torch.randn(4, 3), torch.randn(4, 3)
    code = f"""
import sys; sys.path.insert(0, {str(folder / "python")!r})
import extnet, numpy as np
a, b = np.load({str(tmp_path / "a.npy")!r}), np.load({str(tmp_path / "b.npy")!r})
model = extnet.Model()
np.save({str(tmp_path / "y.npy")!r}, model.net(a, b, 2.0))
try:
    model.net(a, b[:2], 2.0)
except RuntimeError as e:
    print(e)
assert "torch" not in sys.modules
"""
    np.save(tmp_path / "a.npy", a.numpy())
    np.save(tmp_path / "b.npy", b.numpy())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a and b have different sizes: [4, 3] and [2, 3]")
    torch.testing.assert_close(torch.from_numpy(np.load(tmp_path / "y.npy")), net(a, b, 2.0))


@pytest.mark.slow
def test_cmake_builds_it(package: tuple[Path, Any], tmp_path: Path) -> None:
    """Under the sanitizers, the package replays its recorded calls."""
    folder, _ = package
    cmake, made = cmake_tool("cmake"), tmp_path / "made"
    options = ["-DSC_OPTIMIZE=1", "-DSC_SANITIZE=ON"]
    subprocess.run([cmake, "-S", folder, "-B", made, *options], check=True, capture_output=True)
    subprocess.run([cmake, "--build", made, "-j2"], check=True, capture_output=True)
    subprocess.run([cmake_tool("ctest"), "--test-dir", made], check=True, capture_output=True)


def test_two_extensions_of_one_name_are_refused(tmp_path: Path) -> None:
    first: Any = scriptc.extension("checked", **write_sources(tmp_path / "a", "int f(void) { return 1; }\n", "int f(void);\n"))
    other: Any = scriptc.extension("other", **write_sources(tmp_path / "b", "int f(void) { return 2; }\n", "int f(void);\n"))

    def both(x: Tensor) -> Tensor:
        return x * first.f() + other.f()

    assert scriptc.compile(both)(torch.ones(1)) == 3  # two libraries, each with its own function
    with pytest.raises(ValueError, match="calls two extensions that have a function f"):
        scriptc.build(both, torch.ones(1), out=tmp_path / "both_nets")
