"""Keep the systems of a benchmark from AVX-512, so that they run as on a processor that has AVX2, and check that they do.

| system | is kept from AVX-512 by |
|---|---|
| scriptc | a flag of its C compiler |
| torch, oneDNN, MKL | variables of the environment |
| torch.compile | the same, and the flag, which a script adds to the command of the C++ compiler |
| ONNX Runtime, OpenVINO | copies of their libraries in which `xgetbv` says that the system does not save AVX-512's registers |
| the C library | a tunable, since its copies of memory use registers that only AVX-512 has |

The check asks the processor which registers a call has used (XINUSE): a call that used AVX-512 leaves values in them.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import built

PATCHED = {"onnxruntime": ("onnxruntime_pybind11_state",), "openvino": ("libopenvino",)}  # packages, and begins of libraries
XGETBV, AVX_ONLY = b"\x0f\x01\xd0", b"\xb0\x07\x90"  # the latter: mov al, 7; nop. It says: x87, SSE and AVX are saved
VARIABLES = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512BW,-AVX512VL",
}
FLAG = "-mno-avx512f"  # and what depends on it
MARK = "SCRIPTC_BENCHMARK_FOLDER"

STATE = r"""
#include <immintrin.h>
#include <string.h>

enum { AVX512 = 7 << 5 }; /* masks, upper halves of zmm0 to zmm15, zmm16 to zmm31 */
static _Alignas(64) unsigned char area[1 << 14];

void forget(void) { memset(area + 512, 0, 64), _xrstor64(area, AVX512); }
int used(void) { return (int)_xgetbv(1) & AVX512; }
void use(void) { __asm__ volatile("vpternlogd $255, %zmm16, %zmm16, %zmm16"); }
"""


def is_possible() -> bool:
    """Return whether the processor has AVX-512, and tells which registers were used."""
    return {"avx512f", "xgetbv1"} <= set(Path("/proc/cpuinfo").read_text().split())


def is_active() -> bool:
    """Return whether this process was started by `run_again`."""
    return MARK in os.environ


def run_again() -> int:
    """Run this program again, with its arguments, in a process without AVX-512, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        compiler = Path(folder, "c++")
        compiler.write_text(f'#!/bin/sh\nexec g++ "$@" {FLAG}\n')
        compiler.chmod(0o755)
        for package, libraries in PATCHED.items():
            found = importlib.util.find_spec(package)
            if found is not None and found.origin is not None:
                _copy_package(Path(found.origin).parent, Path(folder, "packages", package), libraries)
        paths = [str(Path(folder, "packages")), os.environ.get("PYTHONPATH", "")]
        changed = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CC": f"gcc {FLAG}", "CXX": str(compiler), MARK: folder}
        changed["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder, "inductor"))
        command = [sys.executable, "-m", "benchmarks", *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, **VARIABLES, **changed}).returncode


def _copy_package(package: Path, copy: Path, libraries: tuple[str, ...]) -> None:
    """Link the files of a package into another folder, but for libraries that ask for the registers: these are patched."""
    for path in package.rglob("*"):
        target = copy / path.relative_to(package)
        if path.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes() if ".so" in path.suffixes and path.name.startswith(libraries) else b""
        if XGETBV in data:
            target.write_bytes(_patched(path, data))
        else:
            target.symlink_to(path)


def _patched(path: Path, data: bytes) -> bytes:
    """Return a library whose every `xgetbv` tells that the system saves the registers of AVX, and none larger.

    Only `al` is set, where the bits of AVX-512 are. The instructions have three bytes each, and neither touches the stack.
    """
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], check=True, capture_output=True, text=True)
    changed = bytearray(data)
    for found in re.finditer(r"^\s*([0-9a-f]+):\s+xgetbv", listing.stdout, re.M):
        at = _offset(data, int(found[1], 16))
        assert changed[at : at + 3] == XGETBV, f"{path}: no xgetbv at {found[1]}"
        changed[at : at + 3] = AVX_ONLY
    return bytes(changed)


def _offset(elf: bytes, address: int) -> int:
    """Return where the byte of an address stands in a 64-bit ELF file."""
    (table,), (size, count) = struct.unpack_from("<Q", elf, 32), struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", elf, table + i * size)
        if kind == 1 and start <= address < start + length:
            return offset + address - start
    raise ValueError(f"no segment holds the address {address:#x}")


@contextmanager
def checker() -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Yield a function that tells whether a call uses AVX-512 in its thread."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "state.c")
        source.write_text(STATE)
        with built(source, ["-O1", "-mxsave", "-shared", "-fPIC"]) as library:
            state = ctypes.CDLL(str(library))

            def uses_avx512(call: Callable[[], object]) -> bool:
                call()  # the first call may compile and load
                state.forget()
                call()
                return bool(state.used())

            assert not uses_avx512(lambda: None) and uses_avx512(state.use), "the check of AVX-512 does not work here"
            yield uses_avx512
