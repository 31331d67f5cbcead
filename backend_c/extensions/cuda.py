"""NVIDIA's compiler, for extensions that are built with_cuda.

nvcc compiles sources whose names end in .cu. The C compiler compiles the others, with CUDA's headers on its path.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from scriptc import runtime
from scriptc.backend_c.extensions.errors import ExtensionError
from scriptc.backend_c.toolchain import run_compiler

SUPPORT = runtime.SOURCE_DIR / "extension" / "sc_thc.cu"
MACRO = "-DSC_WITH_CUDA"
_FLAGS = ("-O2", "-std=c++17", "-Xcompiler", "-fPIC,-fvisibility=hidden", MACRO)


@dataclass(frozen=True)
class Toolkit:
    """nvcc, with the options by which a C compiler finds CUDA's headers and libraries."""

    nvcc: str
    version: str
    include: tuple[str, ...]
    link: tuple[str, ...]

    def preprocess(self, source: Path, flags: Sequence[str]) -> str:
        return run_compiler([self.nvcc, *_FLAGS, *flags, "-E", str(source)], source)

    def compile(self, source: Path, flags: Sequence[str], out: Path) -> None:
        run_compiler([self.nvcc, *_FLAGS, *flags, "-c", str(source), "-o", str(out)], source)


def find_nvcc() -> str | None:
    return shutil.which("nvcc")


def toolkit(name: str) -> Toolkit:
    """Return CUDA's toolkit. Raise ExtensionError, which names the extension, if there is none."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise ExtensionError(
            f"the extension {name} cannot be built: with_cuda needs nvcc, the compiler of NVIDIA's CUDA toolkit, which is not "
            "on the path. Install the toolkit, or leave with_cuda and the sources for CUDA out"
        )
    return _ask(nvcc)


@lru_cache(maxsize=4)
def _ask(nvcc: str) -> Toolkit:
    version = run_compiler([nvcc, "--version"], Path(nvcc))
    told = run_compiler([nvcc, "-dryrun", "-E", "-x", "cu", "/dev/null"], Path(nvcc), errors=True)
    rows = dict(re.findall(r"^#\$ (INCLUDES|LIBRARIES)=(.*)$", told, re.M))
    include, folders = (shlex.split(rows.get(name, "")) for name in ("INCLUDES", "LIBRARIES"))
    link = (*folders, "-lcudart_static", "-lstdc++", "-lrt", "-ldl", "-Wl,--exclude-libs,ALL")
    return Toolkit(nvcc, version, tuple(f"-isystem{flag.removeprefix('-I')}" for flag in include), link)
