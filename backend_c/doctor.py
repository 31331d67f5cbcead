"""The state of a machine for building: the rows that `scriptc doctor` prints."""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import cache
from .toolchain import NATIVE_FLAGS, ToolchainError, compile_flags, cpu_identity, find_compiler

# In order of preference: the first of these flags in /proc/cpuinfo gives the vector width.
VECTOR_ISAS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "asimd": "NEON", "sse2": "SSE2"}


@dataclass(frozen=True)
class Row:
    """One finding about the machine; `advice` is empty when all is well."""

    check: str
    value: str
    ok: bool
    advice: str = ""


def examine() -> list[Row]:
    """Return the findings about this machine; no fault of the machine raises."""
    checks: tuple[Callable[[], Iterator[Row]], ...] = (_python, _compiler, _vectors, _cache, _torch, _cmake)
    return [row for check in checks for row in check()]


def _python() -> Iterator[Row]:
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    advice = "install Python's headers (Debian and Ubuntu: apt install python3-dev)"
    yield Row("Python", f"{platform.python_version()} at {sys.executable}", True)
    yield Row("Python headers", str(header), header.exists(), "" if header.exists() else advice)


def _compiler() -> Iterator[Row]:
    try:
        compiler = find_compiler()
    except ToolchainError as error:
        yield Row("C compiler", "none", False, str(error))
        return
    yield Row("C compiler", f"{compiler.version} for {compiler.target} at {' '.join(compiler.command)}", True)
    yield Row("flags", " ".join(compile_flags(3, False)), True)
    missing = [flag for flag in NATIVE_FLAGS if flag not in compiler.native]
    if missing and compiler.target.startswith("x86_64"):
        yield Row("native code", "not accepted: " + " ".join(missing), False, "a newer gcc or clang makes faster code")


def _vectors() -> Iterator[Row]:
    words = set(cpu_identity().split())
    name = next((title for flag, title in VECTOR_ISAS.items() if flag in words), "")
    yield Row("vector ISA", name or "none found", bool(name), "" if name else "kernels run, but as scalar code")


def _cache() -> Iterator[Row]:
    used = cache.current()
    size = f"{used.size() / 2**20:.1f} MB"
    if used.private:
        advice = f"{cache.cache_directory()} cannot be used: every process builds again"
        yield Row("cache", f"temporary {used.root}, {size}", False, advice)
    else:
        yield Row("cache", f"{used.root}, {size}", True)


def _torch() -> Iterator[Row]:
    try:
        import torch
    except ImportError:
        yield Row("torch", "not installed", False, "pip install 'torch>=2.10' (only scriptc.load works without)")
        return
    yield Row("torch", torch.__version__, True)
    exchange = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    advice = "" if exchange else "torch 2.10 or newer passes tensors faster"
    yield Row("DLPack exchange API", "present" if exchange else "missing", exchange, advice)


def _cmake() -> Iterator[Row]:
    path = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    advice = "pip install cmake (to build what scriptc.build writes)"
    yield Row("cmake", path or "not found", path is not None, "" if path else advice)
