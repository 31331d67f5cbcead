"""The C kernels against plain loops, under sanitizers, and the error of the float functions."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scriptc.backend_c.package.manifest import X86_LEVELS
from scriptc.backend_c.toolchain import cpu_identity, find_compiler

ROOT = Path(__file__).resolve().parent.parent
COMPILER = os.environ.get("CC", "gcc")
FLAGS = ["-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=object-size"]


def run(*command: str | Path) -> str:
    """The output of a command; a failing one fails the test with all that it said."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.slow
def test_contractions_convolution_and_pooling(tmp_path: Path) -> None:
    """Every kernel over edge sizes, layouts and dtypes; addresses and undefined behaviour watched."""
    sources = sorted(p for p in (ROOT / "runtime/src").glob("*.c") if p.name != "sc_all.c")
    tests = [ROOT / f"tests/runtime/{name}.c" for name in ("test_gemm", "test_gradients")]

    def build(source: Path) -> Path:
        target = tmp_path / f"{source.stem}.o"
        run(COMPILER, *FLAGS, *WARNINGS, *SANITIZERS, "-O0", "-march=native", "-c", source, "-o", target)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(build, sources + tests))
    for test, main in zip(tests, objects[len(sources) :], strict=True):
        program = tmp_path / test.stem
        run(COMPILER, *SANITIZERS, *objects[: len(sources)], main, "-o", program, "-lm")
        assert ", 0 failed" in run(program)


def test_float_functions_are_accurate(tmp_path: Path) -> None:
    """A sample of all float inputs; `make ulp` measures every one."""
    program = tmp_path / "ulp"
    source = ROOT / "tests/runtime/ulp.c"
    run(COMPILER, *FLAGS, *WARNINGS, "-O3", "-march=native", f"-I{ROOT}/runtime/include", source, "-o", program, "-lm")
    assert "sigmoid" in run(program, "4999")


def vectorised(tmp_path: Path, names: list[str], *flags: str) -> list[int]:
    """The bytes of GCC's vectors in loops over these functions, and in what such loops leave over."""
    if "Free Software Foundation" not in run(COMPILER, "--version") or os.uname().machine != "x86_64":
        pytest.skip("reads GCC's report on x86")
    source = tmp_path / "loops.c"
    source.write_text(
        '#include "sc_math.h"\n'
        + "".join(
            f"void loop_{name}(float *restrict y, const float *restrict a, const float *restrict b, long n)\n"
            f"{{ for (long i = 0; i < n; i++) y[i] = sc_{name}_f32(a[i] + b[i]); }}\n"
            for name in names
        )
    )
    include = f"-I{ROOT}/runtime/include"
    command = [COMPILER, *FLAGS, "-O3", *flags, "-fopt-info-vec-optimized", include, "-c", source]
    report = run(*command, "-o", tmp_path / "loops.o")
    return [int(width) for width in re.findall(r"loop vectorized using (\d+) byte vectors", report)]


def test_float_functions_vectorise(tmp_path: Path) -> None:
    """Loops over them become vector code of the full width; GCC says so."""
    names = ["exp", "log", "tanh", "sigmoid", "erf", "log1p", "expm1", "round", "relu"]
    flags = ("-march=x86-64-v4", "-mprefer-vector-width=512")
    assert vectorised(tmp_path, names, *flags).count(64) == len(names)


@pytest.mark.parametrize("level", ["avx2", "avx512", "native"])
def test_functions_that_read_a_table_vectorise(tmp_path: Path, level: str) -> None:
    """For every level of a package, and for this machine whether the compiler knows its CPU or not."""
    names = ["sin", "cos", "tan"]
    flags = X86_LEVELS.get(level, find_compiler().native)
    if level == "native" and "avx2" not in cpu_identity():
        pytest.skip("no gathers here")
    widths = vectorised(tmp_path, names, *flags)
    assert widths.count(64 if level == "avx512" else max(widths, default=0)) == len(names)
