"""Build the library of an extension through the disk cache.

The key of a library has the preprocessed text of every source, so no file that a source includes can change unseen.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scriptc import runtime
from scriptc.backend_c.cache import cache_key, cached
from scriptc.backend_c.extensions import cuda
from scriptc.backend_c.extensions.errors import ExtensionError
from scriptc.backend_c.extensions.prototypes import PARSER_MACROS, read_prototypes, unescaped
from scriptc.backend_c.extensions.trampolines import trampolines
from scriptc.backend_c.processes import ended_on_interrupt
from scriptc.backend_c.toolchain import (
    JOBS,
    SANITIZE_FLAGS,
    BuildError,
    compile_object,
    find_compiler,
    link_shared,
    preprocess,
    sanitizing,
)
from scriptc.ir.extern import ExternLibrary, ExternSources

INCLUDE_DIR = runtime.INCLUDE_DIR / "extension"
SUPPORT = tuple(runtime.SOURCE_DIR / "extension" / f"{name}.c" for name in ("sc_extension", "sc_th"))
_LAYOUT = 1  # of the entries of the cache
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-Werror=implicit-function-declaration")
_SUPPORT_FLAGS = ("-ffunction-sections", "-fdata-sections")
_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"((?: \d+)*)$', re.M)


@dataclass(frozen=True)
class Description:
    """The description of an extension, as the user gave it.

    base: the folder that relative names begin at. define_macros: names with their values, or None.
    """

    name: str
    base: Path
    headers: tuple[str, ...]
    sources: tuple[str, ...]
    define_macros: tuple[tuple[str, str | None], ...] = ()
    include_dirs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    extra_compile_args: tuple[str, ...] = ()
    extra_link_args: tuple[str, ...] = ()
    with_cuda: bool = False

    def path(self, name: str) -> Path:
        return Path(os.path.abspath(self.base / name))

    @property
    def macros(self) -> tuple[str, ...]:
        return tuple(f"-D{name}" if value is None else f"-D{name}={value}" for name, value in self.define_macros)

    @property
    def link_flags(self) -> tuple[str, ...]:
        return (
            *(f"-L{self.path(folder)}" for folder in self.library_dirs),
            *(f"-Wl,-rpath,{self.path(folder)}" for folder in self.library_dirs),
            *(f"-l{name}" for name in self.libraries),
            *self.extra_link_args,
        )


def build_extension(given: Description) -> ExternLibrary:
    """Build an extension, unless the cache has it. Raise ExtensionError if that is not possible."""
    headers, sources = [_existing(given, h) for h in given.headers], [_existing(given, s) for s in given.sources]
    if not sources or not headers:
        raise ExtensionError(f"the extension {given.name} needs a header and a source at least")
    compiler = _Compiler(given)
    for source in sources:
        compiler.check_kind(source)

    def read_header() -> str:
        includes = "".join(f'#include "{header}"\n' for header in headers)
        macros = [*given.macros, *PARSER_MACROS, f"-isystem{INCLUDE_DIR}"]
        return preprocess(headers[0], [*macros, *compiler.folders], includes)

    with _refused(given.name), ThreadPoolExecutor(JOBS) as pool, ended_on_interrupt():
        declared = pool.submit(read_header)
        texts = list(pool.map(compiler.preprocess, sources))
        declarations = declared.result()
    prototypes = read_prototypes(declarations, headers)
    if not prototypes:
        raise ExtensionError(f"the headers of the extension {given.name} declare no function")
    names = [str(header) for header in headers]
    calls = trampolines(prototypes, names, "", with_cuda=given.with_cuda)
    support = [path.read_text(encoding="utf-8") for path in (*compiler.support, *sorted(INCLUDE_DIR.glob("*.h")))]
    linked = [_state_of(path) for path in _library_files(given)]
    key = cache_key("extension", _LAYOUT, given.name, texts, declarations, calls, support, compiler.flags, given.link_flags,
                    linked, compiler.identity)  # fmt: skip
    file = f"{library_stem(given.name)}-{key[:16]}.so"

    def produce(directory: Path) -> None:
        text = trampolines(prototypes, names, key, with_cuda=given.with_cuda)
        with _refused(given.name):
            _compile(directory, file, sources, text, compiler)

    path = cached(key, produce) / file
    files = _files(given, headers, sources, [declarations, *texts])
    return ExternLibrary(given.name, key, path, prototypes, given.with_cuda, files)


class _Compiler:
    """The compilers of an extension, and their flags."""

    def __init__(self, given: Description) -> None:
        self.given = given
        self.cuda = cuda.toolkit(given.name) if given.with_cuda else None
        self.folders = [f"-I{given.path(folder)}" for folder in given.include_dirs]
        self.flags = [*_FLAGS, *given.macros, f"-I{INCLUDE_DIR}", *self.folders]
        self.flags += [*(SANITIZE_FLAGS if sanitizing() else ()), *given.extra_compile_args]
        if self.cuda is not None:
            self.flags += [cuda.MACRO, *self.cuda.include]
        self.cuda_flags = [*given.macros, f"-I{INCLUDE_DIR}", *self.folders]
        self.identity = find_compiler().identity + (self.cuda.version if self.cuda is not None else "")
        self.support = [*SUPPORT, *([cuda.SUPPORT] if self.cuda is not None else [])]
        self.link_flags = [*given.link_flags, *(self.cuda.link if self.cuda is not None else ())]

    def check_kind(self, source: Path) -> None:
        if source.suffix == ".cu" and self.cuda is None:
            raise ExtensionError(f"the source {source} of the extension {self.given.name} is CUDA: give with_cuda=True")
        if source.suffix not in (".c", ".cu"):
            raise ExtensionError(f"the source {source} of the extension {self.given.name} is no C file, whose name ends in .c")

    def preprocess(self, source: Path) -> str:
        if source.suffix == ".cu" and self.cuda is not None:
            return self.cuda.preprocess(source, self.cuda_flags)
        return preprocess(source, self.flags)

    def compile(self, source: Path, out: Path) -> None:
        if source.suffix == ".cu" and self.cuda is not None:
            self.cuda.compile(source, self.cuda_flags, out)
        else:
            compile_object(source, self.flags, out)

    def support_object(self, source: Path) -> Path:
        """Return the object file of one of scriptc's own sources."""
        flags = [*_FLAGS, *_SUPPORT_FLAGS, f"-I{INCLUDE_DIR}", *(SANITIZE_FLAGS if sanitizing() else ())]
        files = sorted({source, *INCLUDE_DIR.glob("*.h"), *source.parent.glob("*.inc")})
        texts = [path.read_text(encoding="utf-8") for path in files]
        key, name = cache_key("extension support", texts, flags, self.identity), f"{source.stem}.o"

        def produce(directory: Path) -> None:
            if source.suffix == ".cu" and self.cuda is not None:
                self.cuda.compile(source, [f"-I{INCLUDE_DIR}"], directory / name)
            else:
                compile_object(source, flags, directory / name)

        return cached(key, produce) / name


def library_stem(name: str) -> str:
    return "libscriptc-" + re.sub(r"\W", "_", name, flags=re.ASCII)


def _existing(given: Description, name: str) -> Path:
    path = given.path(name)
    if not path.is_file():
        raise ExtensionError(f"the extension {given.name} names {name}, but there is no file {path}")
    if '"' in str(path) or "\n" in str(path):
        raise ExtensionError(f"the path {path} has a character that C cannot include")
    return path


class _refused:
    """Turn the error of a compiler into an ExtensionError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, BuildError):
            told = f"{error.stderr.strip()}\ncommand: {shlex.join(error.command)}"
            raise ExtensionError(f"the extension {self.name} does not compile:\n{told}") from None


def _compile(directory: Path, file: str, sources: Sequence[Path], calls: str, compiler: _Compiler) -> None:
    own = directory / "calls.c"
    own.write_text(calls, encoding="utf-8", errors="surrogateescape")
    objects = [directory / f"{i}.o" for i in range(len(sources) + 1)]
    with ThreadPoolExecutor(JOBS) as pool, ended_on_interrupt():
        list(pool.map(compiler.compile, [*sources, own], objects))
        support = list(pool.map(compiler.support_object, compiler.support))
    # The name by which libraries of compiled code, which are linked with this one, find it in the process.
    final = directory.with_suffix("") / file
    name = f"-Wl,-install_name,{final}" if sys.platform == "darwin" else f"-Wl,-soname,{file}"
    link_shared([*objects, *support], directory / file, [name, *compiler.link_flags])
    for path in (*objects, own):
        path.unlink()


def _library_files(given: Description) -> list[Path]:
    """Return the files of libraries in the given folders, which are linked in if they are static."""
    folders = [given.path(folder) for folder in given.library_dirs]
    found = [folder / f"lib{name}{end}" for folder in folders for name in given.libraries for end in (".a", ".so")]
    return [path for path in found if path.exists()]


def _state_of(path: Path) -> tuple[str, int, int]:
    info = path.stat()
    return str(path), info.st_size, info.st_mtime_ns


# ---- the files that packages take along ----


def _files(given: Description, headers: Sequence[Path], sources: Sequence[Path], texts: Iterable[str]) -> ExternSources:
    """Return the extension's own files by names in one folder, in which includes find each other."""
    base, include_dirs = given.path("."), [given.path(folder) for folder in given.include_dirs]
    paths = dict.fromkeys([*headers, *sources, *(path for text in texts for path in _included(text))])
    outside = [path.parent for path in paths if not _is_in(path, base) and not any(_is_in(path, d) for d in include_dirs)]
    root = Path(os.path.commonpath([base, *outside]))

    def place(path: Path) -> str:
        for number, folder in enumerate(include_dirs):
            if _is_in(path, folder) and not _is_in(path, root):
                return f"include{number}/{path.relative_to(folder).as_posix()}"
        return path.relative_to(root).as_posix()

    files = tuple((place(path), path.read_text(encoding="utf-8", errors="surrogateescape")) for path in paths)
    folders = tuple(
        folder.relative_to(root).as_posix() if _is_in(folder, root) else f"include{number}"
        for number, folder in enumerate(include_dirs)
    )
    return ExternSources(
        files, tuple(map(place, headers)), tuple(map(place, sources)), folders,
        (*given.macros, *given.extra_compile_args), (*(f"-l{name}" for name in given.libraries), *given.extra_link_args),
    )  # fmt: skip


def _included(text: str) -> list[Path]:
    """Return the files of a preprocessed text that are no system headers and not scriptc's."""
    names = {unescaped(m[1]) for m in _MARKER.finditer(text) if "3" not in m[2].split() and not m[1].startswith("<")}
    paths = sorted(Path(os.path.abspath(name)) for name in names)
    return [path for path in paths if path.is_file() and not _is_in(path, INCLUDE_DIR)]


def _is_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
