"""From C text to a shared library in the cache."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from scriptc import runtime

from .cache import cache_key, cached
from .toolchain import BuildError, compile_flags, compile_objects, cpu_identity, find_compiler, link_shared

LAYOUT = 1  # counts changes of what an entry holds


def runtime_objects(optimize: int, debug: bool) -> list[Path]:
    """The runtime's object files, compiled once per set of flags."""
    flags = [*compile_flags(optimize, debug), f"-I{runtime.INCLUDE_DIR}", f"-I{runtime.SOURCE_DIR}"]
    sources = runtime.c_sources()
    key = cache_key("runtime", _environment_key(optimize, debug))
    entry = cached(key, lambda directory: _compile_runtime(sources, flags, directory))
    return [entry / f"{source.stem}.o" for source in sources]


def build_library(c_source: str, name: str, *, optimize: int, debug: bool) -> Path:
    """Compiles one generated file, links the runtime in, and returns the library. `<name>.c` is kept beside it."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)[:100]
    key = cache_key("library", stem, c_source, _environment_key(optimize, debug))

    def produce(directory: Path) -> None:
        # The entry moves when it is complete: debug information names the place where the C will be.
        final = directory.with_suffix("")
        flags = [*compile_flags(optimize, debug), f"-I{runtime.INCLUDE_DIR}", f"-ffile-prefix-map={directory}={final}"]
        source = directory / f"{stem}.c"
        source.write_text(c_source)
        try:
            objects = compile_objects([source], flags, directory)
            link_shared([*objects, *runtime_objects(optimize, debug)], directory / f"{stem}.so")
        except BuildError as error:
            raise BuildError(error.command, error.stderr, _keep(source)) from None
        for path in objects:
            path.unlink()

    return cached(key, produce) / f"{stem}.so"


def _compile_runtime(sources: list[Path], flags: list[str], directory: Path) -> None:
    compile_objects(sources, flags, directory)


def _environment_key(optimize: int, debug: bool) -> list[object]:
    """Everything but the program itself that decides what the compiler makes."""
    folders = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR)
    files = sorted(path for folder in folders for path in folder.glob("*") if path.suffix in (".c", ".h", ".inc"))
    contents = [(path.name, path.read_bytes()) for path in files]
    return [LAYOUT, find_compiler().identity, compile_flags(optimize, debug), cpu_identity(), contents]


def _keep(source: Path) -> Path:
    """The cache forgets failed builds; whoever reports one needs the C."""
    return Path(shutil.copy(source, tempfile.mkdtemp(prefix="scriptc-failed-")))
