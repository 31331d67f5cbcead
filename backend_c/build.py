"""From C text to a shared library in the cache."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scriptc import runtime

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

LAYOUT = 3  # counts changes of what an entry holds
# Files that loop over elements, slowest to compile first. In the others -O3 makes nothing faster but takes longer.
HOT = ("sc_gemm", "sc_reduce", "sc_convert", "sc_planes", "sc_pool", "sc_copy", "sc_stage", "sc_index", "sc_norm",
       "sc_scan", "sc_sort", "sc_resample", "sc_move", "sc_join", "sc_pad", "sc_peaks")


def runtime_object(source: Path, optimize: int, debug: bool) -> Path:
    """The object file of one of the runtime's sources, compiled once per set of flags."""
    level = optimize if source.stem in HOT else min(optimize, 2)
    flags = [*compile_flags(optimize, debug), f"-O{level}", f"-I{runtime.INCLUDE_DIR}", f"-I{runtime.SOURCE_DIR}"]
    key = cache_key("runtime", source.name, level, _environment_key(optimize, debug))
    name = f"{source.stem}.o"
    return cached(key, lambda directory: compile_object(source, flags, directory / name)) / name


def build_library(
    c_source: str, name: str, *, optimize: int, debug: bool, building: Callable[[str], object] | None = None
) -> Path:
    """Compiles one generated file, links what it needs of the runtime in, and returns the library. `<name>.c` is kept
    beside it. building: is called with its name where the cache does not have it."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)[:100]
    key = cache_key("library", stem, c_source, _environment_key(optimize, debug))

    def produce(directory: Path) -> None:
        if building is not None:
            building(stem)
        # The entry moves when it is complete: debug information names the place where the C will be.
        final = directory.with_suffix("")
        flags = [*program_flags(optimize, debug), f"-I{runtime.INCLUDE_DIR}", f"-ffile-prefix-map={directory}={final}"]
        source, own = directory / f"{stem}.c", directory / f"{stem}.o"
        source.write_text(c_source, encoding="utf-8")
        needed = sorted(runtime.needed_sources(c_source), key=_by_compile_time)
        try:
            with ThreadPoolExecutor(JOBS) as pool, ended_on_interrupt():
                compiled = pool.submit(compile_object, source, flags, own)
                objects = list(pool.map(lambda path: runtime_object(path, optimize, debug), needed))
                compiled.result()
            link_shared([own, *objects], directory / f"{stem}.so")
        except BuildError as error:
            raise BuildError(error.command, error.stderr, _keep(source)) from None
        own.unlink()

    return cached(key, produce) / f"{stem}.so"


def _by_compile_time(source: Path) -> int:
    return HOT.index(source.stem) if source.stem in HOT else len(HOT)


def _environment_key(optimize: int, debug: bool) -> list[object]:
    """Everything but the program itself that decides what the compiler makes."""
    folders = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR)
    files = sorted(path for folder in folders for path in folder.glob("*") if path.suffix in (".c", ".h", ".inc"))
    contents = [(path.name, path.read_bytes()) for path in files]
    return [LAYOUT, find_compiler().identity, program_flags(optimize, debug), cpu_identity(), contents]


def _keep(source: Path) -> Path:
    """The cache forgets failed builds; whoever reports one needs the C."""
    return Path(shutil.copy(source, tempfile.mkdtemp(prefix="scriptc-failed-")))
