"""The C compiler: finding it, its flags, and running it."""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from . import processes
from .cache import cache_key, cached

_logger = logging.getLogger("scriptc")
CANDIDATES = ("cc", "gcc", "clang")
JOBS = 2  # the most compilers that run at a time
BASE_FLAGS = (
    "-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-fPIC",
    "-fvisibility=hidden", "-ffunction-sections", "-Wall", "-Wextra",
)  # fmt: skip
NATIVE_FLAGS = ("-march=native", "-mprefer-vector-width=512")
# sin reads a table. GCC vectorizes that only if its tuning favors gathers: not under the generic tuning that
# `native` means on a CPU newer than the compiler, nor under that of some CPUs. Scalar code takes nine times as long.
# The first flag is GCC 12.4's.
GATHER_FLAGS = ("-mgather", "-mtune-ctrl=use_gather_2parts,use_gather_4parts,use_gather")
# GCC's, for generated code. A failing check is no call after which the loop might go on, so its loads are hoisted.
# Registers are allocated for the whole function: by loop, pointers of inner loops are spilled to vector registers.
# Loops and branch targets are aligned to 32 bytes; unaligned, the same short loop takes up to 1.4 times as long.
PROGRAM_FLAGS = ("-fno-partial-inlining", "-fira-region=one", "-falign-loops=32", "-falign-jumps=32")
SANITIZE_FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")
# Unreferenced sections are dropped, so a library keeps only the kernels that it calls.
# Code and constants share a segment: a process can have only 65,530 maps, and each segment of a library is one.
LINK_FLAGS = (
    ("-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-z,noseparate-code", "-Wl,-z,norelro") if sys.platform == "linux" else ()
)
INSTALL_ADVICE = "install one (Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install)"


class ToolchainError(RuntimeError):
    """No C compiler works on this machine, or a compiler took too long. The message says what to install or change."""


class BuildError(RuntimeError):
    """The C compiler refused generated C, which is a bug in scriptc.

    command: the command line that failed.
    stderr: the messages of the C compiler.
    source: the path of the C file, which is kept.
    """

    def __init__(self, command: Sequence[str], stderr: str, source: Path) -> None:
        super().__init__(
            f"internal scriptc error: the C compiler failed\n  C kept at: {source}\n  command: {shlex.join(command)}\n"
            + stderr.strip()
        )
        self.command = tuple(command)
        self.stderr = stderr
        self.source = source


@dataclass(frozen=True)
class Compiler:
    """A compiler that was asked what it is."""

    command: tuple[str, ...]
    version: str  # first line of --version
    target: str  # triple, as in x86_64-linux-gnu
    native: tuple[str, ...]  # the NATIVE_FLAGS and GATHER_FLAGS that the compiler accepts
    program: tuple[str, ...]  # the PROGRAM_FLAGS that it accepts

    @property
    def identity(self) -> str:
        return "\n".join((*self.command, self.version, self.target))

    @property
    def is_gcc(self) -> bool:
        """Return whether this is GCC, which alone accepts PROGRAM_FLAGS."""
        return bool(self.program)


def find_compiler() -> Compiler:
    """Return the compiler that CC names, or else the first of cc, gcc and clang on the path."""
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        try:
            command = shlex.split(chosen)
        except ValueError as error:
            raise ToolchainError(
                f"CC is {chosen!r}, which is no command ({error}): unset CC, or mend its quotes"
            ) from None
        path = shutil.which(command[0])
        if path is None:
            raise ToolchainError(f"CC names a compiler that does not exist, {chosen!r}: unset CC, or {INSTALL_ADVICE}")
        return _identify(path, tuple(command[1:]), cpu_identity())
    for name in CANDIDATES:
        path = shutil.which(name)
        if path is not None:
            return _identify(path, (), cpu_identity())
    raise ToolchainError(f"no C compiler found (looked for {', '.join(CANDIDATES)}): {INSTALL_ADVICE}")


def compile_flags(optimize: int, debug: bool) -> list[str]:
    """Return the flags that generated code and runtime share. SCRIPTC_SANITIZE=1 adds the sanitizers."""
    flags = [*BASE_FLAGS, f"-O{optimize}"]
    if optimize == 3:
        flags += find_compiler().native
    if debug:
        flags.append("-g")
    if sanitizing():
        flags += SANITIZE_FLAGS
    return flags


def program_flags(optimize: int, debug: bool) -> list[str]:
    """Return the flags for generated code."""
    return [*compile_flags(optimize, debug), *(find_compiler().program if optimize > 1 else ())]


def sanitizing() -> bool:
    return os.environ.get("SCRIPTC_SANITIZE", "") not in ("", "0")


def compile_object(source: Path, flags: Sequence[str], out: Path) -> None:
    run_compiler([*find_compiler().command, *flags, "-c", str(source), "-o", str(out)], source)


def preprocess(source: Path, flags: Sequence[str], text: str | None = None) -> str:
    """Return what the preprocessor makes of a C file. text: what is read in place of the file, which need not exist."""
    command = [*find_compiler().command, *flags, "-E", "-x", "c", "-" if text is not None else str(source)]
    return run_compiler(command, source, text)


def link_shared(objects: Sequence[Path], out: Path, flags: Sequence[str] = ()) -> Path:
    """Link a shared library. Undefined symbols are an error here, not at load."""
    sanitize = SANITIZE_FLAGS if sanitizing() else ()
    command = [*find_compiler().command, "-shared", *sanitize, *LINK_FLAGS, *map(str, objects), *flags, "-o", str(out)]
    run_compiler([*command, "-lm", "-pthread"], out)
    return out


@lru_cache(maxsize=1)
def cpu_identity() -> str:
    """Return the vendor, model and flags of the first CPU, on which -march=native depends."""
    wanted = {"vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU part"}
    lines = [platform.machine()]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
            for line in info:
                if not line.strip():
                    break  # the end of the first CPU
                if line.partition(":")[0].strip() in wanted:
                    lines.append(line.strip())
    except OSError:
        lines.append(platform.processor())
    return "\n".join(lines)


def _identify(path: str, arguments: tuple[str, ...], cpu: str) -> Compiler:
    info = os.stat(path)
    return _probe((path, *arguments), info.st_size, info.st_mtime_ns, cpu)


@lru_cache(maxsize=8)
def _probe(command: tuple[str, ...], size: int, modified: int, cpu: str) -> Compiler:
    """Probe the compiler once per machine, not once per process: its four runs cost as much as a warm start."""

    def ask(directory: Path) -> None:
        version = (_ask([*command, "--version"]).splitlines() or ["unknown"])[0]
        target = _ask([*command, "-dumpmachine"]).strip()
        x86 = target.startswith(("x86_64", "i686", "i386", "amd64"))
        native = tuple(flag for flag in (*NATIVE_FLAGS, *GATHER_FLAGS) if x86 and _accepts(command, flag))
        program = tuple(flag for flag in PROGRAM_FLAGS if _accepts(command, flag))
        asked = asdict(Compiler(command, version, target, native, program))
        (directory / "probe.json").write_text(json.dumps(asked), encoding="utf-8")

    key = cache_key("probe 3", command, size, modified, cpu)
    try:
        return _read_probe(cached(key, ask))
    except (ValueError, LookupError, TypeError):  # not in the format that scriptc writes
        return _read_probe(cached(key, ask, again=True))


def _read_probe(entry: Path) -> Compiler:
    fields = json.loads((entry / "probe.json").read_text(encoding="utf-8"))
    return Compiler(
        tuple(fields["command"]), fields["version"], fields["target"], tuple(fields["native"]), tuple(fields["program"])
    )


def _ask(command: Sequence[str]) -> str:
    try:
        done = processes.run(command, _environment())
        done.check_returncode()
        return done.stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{shlex.join(command)} does not work ({error}): {INSTALL_ADVICE}") from error


def _accepts(command: Sequence[str], flag: str) -> bool:
    # -c to a file: clang diagnoses some -m flags only when it generates code.
    arguments = [*command, "-Werror", flag, "-x", "c", "-c", "-o", os.devnull, "-"]
    done = processes.run(arguments, _environment(), "int scriptc_probe;\n")
    return done.returncode == 0


def run_compiler(command: Sequence[str], source: Path, text: str | None = None, *, errors: bool = False) -> str:
    """Run a compiler and return its output. Raise BuildError if it fails.

    text: the input. source: the file that errors name. errors: return what the compiler writes to stderr instead.
    """
    _logger.debug("running %s", shlex.join(command))
    try:
        done = processes.run(command, _environment(), text)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"{command[0]} took longer than {error.timeout:g} seconds ({processes.TIME_LIMIT})") from error
    except FileNotFoundError as error:
        raise ToolchainError(f"{command[0]} has gone: {INSTALL_ADVICE}") from error
    if done.returncode == 0:
        return done.stderr if errors else done.stdout
    if os.strerror(errno.ENOSPC) in done.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))
    raise BuildError(command, done.stderr, source)


def _environment() -> dict[str, str]:
    # _run parses messages, so they must be in English. A preloaded libasan is for this process, not for the compiler.
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"} | {"LC_ALL": "C"}
