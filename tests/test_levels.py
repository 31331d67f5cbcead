"""Every ISA level that this machine has, or an emulator of another one: kernels, and packages with their recorded calls."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch
from settings import sweep
from test_aot import cmake_build, cmake_tool, environment, run
from test_memory_plan import Elman

import scriptc
from scriptc import runtime
from scriptc.runtime.kernels import FILES

pytestmark = pytest.mark.usefixtures("compiles_once")

RUNTIME_TESTS = Path(__file__).parent / "runtime"
TESTS = ("test_argmax", "test_gemm", "test_gradients", "test_integers", "test_prologue", "test_signs", "test_team")
FLAGS = ("-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-Og", "-pthread")
AVX2 = ("-mavx2", "-mfma", "-mf16c")
AVX512 = (*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512")
ARM_COMPILER, ARM_EMULATOR, ARM_LIBRARIES = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"


def cpu_has(*flags: str) -> bool:
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return set(flags) <= words


def arm() -> None:
    if not (shutil.which(ARM_COMPILER) and shutil.which(ARM_EMULATOR) and Path(ARM_LIBRARIES).exists()):
        pytest.skip("needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user")


def x86(*flags: str) -> None:
    if not cpu_has(*flags):
        pytest.skip(f"this machine has no {', '.join(flags)}")


LEVELS = {
    "portable": (lambda: None, "cc", ["-DSC_PORTABLE"], []),
    "baseline": (lambda: x86("sse2"), "cc", ["-march=x86-64"], []),
    "avx2": (lambda: x86("avx2", "fma"), "cc", ["-march=x86-64", *AVX2], []),
    "avx512": (lambda: x86("avx512f", "avx512bw", "avx512dq", "avx512vl"), "cc", ["-march=x86-64", *AVX512], []),
    "neon": (arm, ARM_COMPILER, [], [ARM_EMULATOR, "-L", ARM_LIBRARIES]),
}


def _called(*tests: str) -> set[str]:
    """Return the functions of the runtime that C tests name."""
    words = {word for test in tests for word in re.findall(r"\w+", (RUNTIME_TESTS / f"{test}.c").read_text())}
    return words & FILES.keys()


@pytest.mark.parametrize("level", sweep(LEVELS, "avx2", "neon"))
def test_kernels(level: str, tmp_path: Path, compilers_once: dict[str, str]) -> None:
    """Contractions, convolution and pooling over edge sizes, layouts and dtypes, and the pool of threads."""
    needs, compiler, flags, emulator = LEVELS[level]
    needs()
    compiler = compilers_once["CC"] if compiler == "cc" else compiler
    objects = []
    for source in runtime.needed_sources(_called(*TESTS)):
        objects.append(tmp_path / f"{source.stem}.o")
        run(compiler, *FLAGS, *flags, "-c", source, "-o", objects[-1])
    for test in TESTS:
        program, source = tmp_path / test, RUNTIME_TESTS / f"{test}.c"
        run(compiler, *FLAGS, *flags, *objects, source, "-o", program, "-lm")
        assert ", 0 failed" in (report := run(*emulator, program)) or report == "ok\n"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("levels") / "net"
    torch.manual_seed(0)
    return scriptc.build(Elman(20, 70), [torch.randn(5, 20)] * 6, out=folder, weights="bfloat16", flush_denormals=True)


def test_a_package_on_arm(package: Path, tmp_path: Path) -> None:
    arm()
    emulator = f"{shutil.which(ARM_EMULATOR)};-L;{ARM_LIBRARIES}"
    env = environment(tmp_path)
    options = [
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        f"-DCMAKE_C_COMPILER={shutil.which(ARM_COMPILER)}",
        f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}",
    ]
    cmake_build(package, tmp_path / "build", env, *options)
    assert "100% tests passed" in run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", env=env)


@pytest.mark.slow
def test_a_package_without_vectors(package: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    cmake_build(package, tmp_path / "build", env, "-DCMAKE_C_FLAGS=-DSC_PORTABLE", "-DSC_MARCH=x86-64")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", env=env)
