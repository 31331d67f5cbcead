"""From C text to a shared library in the cache."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from scriptc import runtime
from scriptc.ir.extern import LIBRARIES
from scriptc.runtime.kernels import SOURCES

from .cache import cache_key, cached
from .processes import ended_on_interrupt
from .toolchain import (
    JOBS,
    BuildError,
    compile_flags,
    compile_object,
    cpu_identity,
    find_compiler,
    link_shared,
    program_flags,
)

LAYOUT = 4  # the version of the layout of entries
PRECOMPILED = "headers.h"
_FIRST_INCLUDES = re.compile(r'(?:#include "\w+\.h"\n)+')


def runtime_object(source: Path, optimize: int, debug: bool, environment: str = "") -> Path:
    """Return the object file of one of the runtime's sources, compiled once per set of flags.

    The runtime is compiled in two ways at most: as it stands for optimize=0, else for this machine.
    environment: what `_environment_key` returns, from a caller that has it.
    """
    machine = 3 if optimize else 0
    level = machine if SOURCES[source.stem].hot else min(machine, 2)  # elsewhere -O3 gains nothing but takes longer
    flags = [*compile_flags(machine, debug), f"-O{level}"]
    folders = [f"-I{runtime.INCLUDE_DIR}", f"-I{runtime.SOURCE_DIR}"]
    key = cache_key("runtime", source.name, flags, environment or _environment_key())
    name = f"{source.stem}.o"
    return cached(key, lambda directory: compile_object(source, [*flags, *folders], directory / name)) / name


def build_runtime() -> int:
    """Compile the whole runtime for this machine into the cache, so that no first call does. Return the number of files."""
    from .emit import include_lines

    sources, environment = sorted(runtime.c_sources(), key=_by_compile_time), _environment_key()
    with ThreadPoolExecutor(JOBS) as pool, ended_on_interrupt():
        headers = pool.map(lambda o: header_flags(include_lines(), program_flags(o, debug=False), environment), (1, 2, 3))
        objects = pool.map(lambda path: runtime_object(path, 3, False, environment), sources)
        list(headers)  # raise what they raised
        return len(list(objects))


def build_library(
    c_source: str, name: str, *, optimize: int, debug: bool, kernels: Iterable[str] = (), extensions: Iterable[str] = (),
    building: Callable[[str], object] | None = None, meanwhile: Callable[[Path], object] | None = None,
) -> Path:  # fmt: skip
    """Compile a generated file into a library, beside which `<name>.c` is kept, and return its path.

    kernels: functions of the runtime that the file calls, whose files are linked in.
    extensions: keys of the libraries that the file calls. This process has loaded them, and the library finds them by their
        names, which are in the file.
    building: is called with the library's name where the cache does not have the library.
    meanwhile: is called, while the compiler runs, with the path that the library will have.
    """
    stem, flags, environment = _stem(name), program_flags(optimize, debug), _environment_key()

    def produce(directory: Path) -> None:
        if building is not None:
            building(stem)
        # A complete entry is moved, so debug information names the path that the C will have then.
        final = directory.with_suffix("")
        headers = header_flags(c_source, flags, environment)
        given = [*flags, f"-I{runtime.INCLUDE_DIR}", *headers, f"-ffile-prefix-map={directory}={final}"]
        source, own = directory / f"{stem}.c", directory / f"{stem}.o"
        source.write_text(c_source, encoding="utf-8")
        needed = sorted(runtime.needed_sources(kernels), key=_by_compile_time)
        try:
            with ThreadPoolExecutor(JOBS) as pool, ended_on_interrupt():
                compiled = pool.submit(compile_object, source, given, own)
                objects = pool.map(lambda path: runtime_object(path, optimize, debug, environment), needed)
                if meanwhile is not None:
                    meanwhile(final / f"{stem}.so")
                compiled.result()
            link_shared([own, *objects, *(LIBRARIES[key].path for key in extensions)], directory / f"{stem}.so")
        except BuildError as error:
            raise BuildError(error.command, error.stderr, _keep(source)) from None
        own.unlink()

    return cached(library_key(c_source, name, environment, optimize=optimize, debug=debug), produce) / f"{stem}.so"


def library_key(c_source: str, name: str, environment: str = "", *, optimize: int, debug: bool) -> str:
    """Return the key of a library in the cache. environment: as of `runtime_object`."""
    return cache_key("library", _stem(name), c_source, program_flags(optimize, debug), environment or _environment_key())


def _stem(name: str) -> str:
    """Return the name of a library's files."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)[:100]


def header_flags(c_source: str, flags: Sequence[str], environment: str = "") -> Sequence[str]:
    """Return the flags that make a text use precompiled headers, which the cache keeps for each set of flags.

    GCC reads the headers themselves if it cannot use an entry; clang would fail, since it compares the times of
    headers. Debug information names the paths of headers, and the sanitizers need it, so such texts are compiled
    without an entry. environment: as of `runtime_object`.
    """
    first = _FIRST_INCLUDES.match(c_source)
    if first is None or "-g" in flags or not find_compiler().is_gcc:
        return ()

    def produce(directory: Path) -> None:
        header = directory / PRECOMPILED
        header.write_text(first[0], encoding="utf-8")
        compile_object(header, [*flags, f"-I{runtime.INCLUDE_DIR}", "-x", "c-header"], header.with_suffix(".h.gch"))

    try:
        key = cache_key("headers", first[0], flags, environment or _environment_key())
        return ("-include", str(cached(key, produce) / PRECOMPILED))
    except BuildError:  # the compilation of the whole text will report the error
        return ()


def _by_compile_time(source: Path) -> int:
    return SOURCES[source.stem].hot or len(SOURCES)


def _environment_key() -> str:
    """Return a hash of everything but the program and the flags that decides what the compiler makes."""
    states = []
    for folder in (runtime.INCLUDE_DIR, runtime.SOURCE_DIR):
        with os.scandir(folder) as items:
            for item in items:
                if item.name.endswith((".c", ".h", ".inc")):
                    info = item.stat()
                    states.append((item.path, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    return _hash_of_environment(find_compiler().identity, cpu_identity(), tuple(sorted(states)))


@lru_cache(maxsize=8)
def _hash_of_environment(compiler: str, cpu: str, states: tuple[tuple[str, int, int, int], ...]) -> str:
    """Return the hash of a compiler, a CPU and the texts of files. `states` change when the texts do."""
    files = [Path(path) for path, *_ in states]
    return cache_key(LAYOUT, compiler, cpu, [(path.name, path.read_bytes()) for path in files])


def _keep(source: Path) -> Path:
    """Copy the C of a failed build, which the cache forgets, to a directory that a bug report can name."""
    return Path(shutil.copy(source, tempfile.mkdtemp(prefix="scriptc-failed-")))
