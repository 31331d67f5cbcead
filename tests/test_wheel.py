"""The source distribution holds what the tests need; the wheel that is made of it works in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion, Symbol
from bridge_support import library_fixture  # noqa: F401  (fixture)
from readme_program import first_program

ROOT = Path(__file__).parent.parent
# What is distributed; a checkout holds caches and builds beside it.
PARTS = ["scriptc", "frontend", "ir", "backend_c", "runtime", "tests", "examples", "benchmarks", "docs"]
PARTS += ["Makefile", "MANIFEST.in", "setup.py", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"]
STAGES = ["frontend", "ir", "ir.passes", "backend_c.build", "runtime"]
MODULES = ["scriptc", *(f"scriptc.{stage}" for stage in STAGES)]
PROGRAM = f"""
import importlib.metadata, importlib.util, sys
from pathlib import Path
print(importlib.metadata.version("scriptc"))
for name in {MODULES}:
    print(Path(importlib.util.find_spec(name).origin).is_relative_to(sys.prefix))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    tmp = tmp_path_factory.mktemp("sdist")
    unwanted = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "build")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tmp / "checkout" / part, ignore=unwanted)
        else:
            shutil.copy(ROOT / part, tmp / "checkout" / part)
    call([sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(tmp)], cwd=tmp / "checkout")
    (archive,) = tmp.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp / "unpacked")
    (folder,) = (tmp / "unpacked").iterdir()
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel of the source distribution."""
    options = ["--no-deps", "--no-index", "--no-build-isolation", "-w", str(source.parent.parent)]
    call([sys.executable, "-m", "pip", "-q", "wheel", *options, str(source)])
    (wheel,) = source.parent.parent.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The interpreter of an environment that holds the wheel, and of its dependencies none."""
    made = wheel.parent / "venv" / "bin" / "python"
    call([sys.executable, "-m", "venv", "--without-pip", str(wheel.parent / "venv")])
    options = ["--no-deps", "--no-index", "--no-compile"]
    call([sys.executable, "-m", "pip", "-q", "--python", str(made), "install", *options, str(wheel)])
    return made


def call(command: list[str], cwd: str | Path = "/") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_one_wheel_serves_every_version_of_python(wheel: Path) -> None:
    assert wheel.name.startswith("scriptc-0.1.0-cp310-abi3-")
    with zipfile.ZipFile(wheel) as opened:
        assert [name for name in opened.namelist() if name.endswith(".so")] == ["scriptc/runtime/_bridge.abi3.so"]


def test_the_bridge_links_the_stable_abi_alone(python: Path) -> None:
    """Every symbol of Python's is in the stable ABI of the oldest version that the wheel serves."""
    (bridge,) = python.parent.parent.glob("lib/python*/site-packages/scriptc/runtime/_bridge.abi3.so")
    symbols = [line.split()[-1] for line in call(["nm", "-D", "--undefined-only", str(bridge)]).splitlines()]
    used = [name for name in symbols if name.startswith(("Py", "_Py"))]
    stable = {**FUNCTIONS, **DATAS}
    entries = {name: stable.get(Symbol(name)) for name in used}
    assert used and [name for name, entry in entries.items() if entry is None or entry.added > PyVersion(3, 10)] == []


def other_pythons() -> list[str]:
    """Interpreters of other versions that have cffi: those on the path, and those that SCRIPTC_PYTHONS names."""
    named = os.environ.get("SCRIPTC_PYTHONS", "").split(os.pathsep)
    found = named + [shutil.which(f"python3.{minor}") or "" for minor in range(10, 20) if minor != sys.version_info.minor]
    return [path for path in found if path and subprocess.run([path, "-c", "import cffi"], capture_output=True).returncode == 0]


@pytest.mark.parametrize("form", ["as found", "alone"])
def test_other_versions_of_python_call_the_bridge(wheel: Path, library: Path, tmp_path: Path, form: str) -> None:
    """Without torch: scalars, texts and containers go in and out, and guards see every change."""
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other version of Python with cffi; SCRIPTC_PYTHONS may name some")
    call([sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path)])
    program = [str(ROOT / "tests" / "data" / "bridge_without_torch.py"), str(library), *(["alone"] if form == "alone" else [])]
    for interpreter in pythons:
        found = call(["env", f"PYTHONPATH={tmp_path}", interpreter, *program], cwd=tmp_path)
        assert found.strip() == "sets" if form == "alone" else "types, dicts" in found


def test_a_build_for_one_version_is_removed(source: Path, tmp_path: Path) -> None:
    """It would be loaded instead of the build that serves all versions."""
    checkout = tmp_path / "checkout"
    shutil.copytree(source, checkout)
    stale = checkout / "runtime" / "_bridge.cpython-311-x86_64-linux-gnu.so"
    stale.write_bytes(b"")
    call([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=checkout)
    assert [path.name for path in (checkout / "runtime").glob("*.so")] == ["_bridge.abi3.so"]


def test_modules_come_from_the_environment(python: Path) -> None:
    version, *found = call([str(python), "-c", PROGRAM]).split()
    assert version == "0.1.0"
    assert found == ["True"] * len(MODULES)


def test_everything_beside_the_modules_is_there(python: Path) -> None:
    (installed,) = python.parent.parent.glob("lib/python*/site-packages/scriptc")
    sources = [path for path in (ROOT / "runtime").rglob("*") if path.suffix in (".c", ".h", ".inc")]
    wanted = [
        "py.typed",
        *(f"backend_c/templates/{path.name}" for path in (ROOT / "backend_c" / "templates").glob("*")),
        *(f"ir/{path.name}" for path in (ROOT / "ir").glob("*.lark")),
        *(str(path.relative_to(ROOT)) for path in sources if path.relative_to(ROOT).parts[1] in ("src", "include")),
    ]
    assert [name for name in wanted if not (installed / name).is_file()] == []


def test_only_one_name_is_installed(python: Path) -> None:
    (packages,) = python.parent.parent.glob("lib/python*/site-packages")
    assert sorted(path.name for path in packages.iterdir()) == ["scriptc", "scriptc-0.1.0.dist-info"]


@pytest.mark.usefixtures("compiles_once_in_test")
def test_the_wheel_compiles_builds_and_loads(python: Path, tmp_path: Path) -> None:
    """Its dependencies come from the environment that runs the tests."""
    program, output = first_program()
    dependencies = Path(torch.__file__).parents[1]
    begin = f"import sys\nsys.path.append({str(dependencies)!r})\n"
    end = """
import numpy, scriptc
assert scriptc.__file__.startswith(sys.prefix)
folder = scriptc.build(net, [torch.randn(8)] * 3, out="net", march="native", optimize=0)
xs = [torch.randn(8) for _ in range(5)]
numpy.testing.assert_allclose(scriptc.load(folder)([x.numpy() for x in xs]), net(xs).detach(), rtol=1e-5, atol=1e-6)
"""
    (tmp_path / "first.py").write_text(begin + program + end)
    assert call([str(python), "first.py"], cwd=tmp_path) == output


def test_the_source_distribution_holds_what_the_checkout_holds(source: Path) -> None:
    def files(root: Path) -> set[str]:
        parts = [root / part for part in PARTS]
        found = [path for part in parts for path in ([part] if part.is_file() else part.rglob("*"))]
        ours = [path for path in found if path.is_file() and path.suffix not in (".pyc", ".so")]
        return {path.relative_to(root).as_posix() for path in ours if not {"build", "scriptc.egg-info"} & set(path.parts)}

    assert files(ROOT) - files(source) == set()


@pytest.mark.slow
def test_tests_of_the_source_distribution_are_collected(source: Path) -> None:
    told = call([sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"], cwd=source)
    assert "tests collected" in told
