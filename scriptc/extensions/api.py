"""`scriptc.extension`, and `create_extension` with the interface of torch.utils.ffi."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scriptc.backend_c.extensions.library import Description, build_extension
from scriptc.extensions.functions import Extension
from scriptc.extensions.saved import write_module

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def extension(
    name: str,
    *,
    headers: Paths,
    sources: Paths,
    define_macros: Iterable[tuple[str, str | None]] = (),
    include_dirs: Paths = (),
    libraries: Sequence[str] = (),
    library_dirs: Paths = (),
    extra_compile_args: Sequence[str] = (),
    extra_link_args: Sequence[str] = (),
    relative_to: str | os.PathLike[str] = ".",
    with_cuda: bool = False,
) -> Extension:
    """Build C functions over tensors and numbers, and return them as an object's attributes.

    The headers are the interface: each function that they declare can be called. The C compiler runs where sources,
    headers or options have changed since the cache got the extension.

    name: the name of the extension.
    headers, sources: C files; sources include `scriptc_extension.h`.
    define_macros: names with their values, or with None.
    include_dirs, libraries, library_dirs, extra_compile_args, extra_link_args: for the compiler and the linker.
    relative_to: a file, such as `__file__`. Relative paths begin at its folder.
    with_cuda: compile sources for CUDA too, which needs `nvcc`.

    Raises ExtensionError if a file is missing, the C does not compile, or Python has no value for a parameter.
    """
    return Extension(build_extension(_described(
        name, headers=headers, sources=sources, define_macros=define_macros, include_dirs=include_dirs,
        libraries=libraries, library_dirs=library_dirs, extra_compile_args=extra_compile_args,
        extra_link_args=extra_link_args, relative_to=relative_to, with_cuda=with_cuda,
    )))  # fmt: skip


class ExtensionBuilder:
    """An extension that `build()` writes as a Python module."""

    def __init__(self, module: str, given: Description, verbose: bool) -> None:
        self.module, self.given, self.verbose = module, given, verbose

    def build(self) -> None:
        """Build the extension, and write the module, such as `_ext/my_lib`, beside the file of `relative_to`."""
        if self.verbose:
            print(f"building {self.module} of {', '.join(self.given.sources)}")
        write_module(self.module, self.given.base, build_extension(self.given))


def create_extension(
    name: str, headers: Paths, sources: Paths, verbose: bool = True, with_cuda: bool = False, package: bool = False,
    relative_to: str | os.PathLike[str] = ".", **options: Any,
) -> ExtensionBuilder:  # fmt: skip
    """Describe an extension as torch.utils.ffi did. `.build()` writes it as the module `name`, such as `_ext.my_lib`.

    package: has no effect, since the module is the same.
    options: as of `extension`.
    """
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        raise ValueError(f"{name!r} is no name of a module")
    given = _described(parts[-1], headers=headers, sources=sources, relative_to=relative_to, with_cuda=with_cuda, **options)
    return ExtensionBuilder(name, given, verbose)


def _described(
    name: str, *, headers: Paths, sources: Paths, relative_to: str | os.PathLike[str], with_cuda: bool,
    define_macros: Iterable[tuple[str, str | None]] = (), include_dirs: Paths = (), libraries: Sequence[str] = (),
    library_dirs: Paths = (), extra_compile_args: Sequence[str] = (), extra_link_args: Sequence[str] = (),
) -> Description:  # fmt: skip
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} cannot name an extension: use letters, digits and _")
    path = Path(os.path.abspath(relative_to))
    return Description(
        name=name,
        base=path if path.is_dir() else path.parent,
        headers=_names(headers, "headers"),
        sources=_names(sources, "sources"),
        define_macros=tuple(_macro(macro) for macro in define_macros),
        include_dirs=_names(include_dirs, "include_dirs"),
        libraries=_names(libraries, "libraries"),
        library_dirs=_names(library_dirs, "library_dirs"),
        extra_compile_args=_names(extra_compile_args, "extra_compile_args"),
        extra_link_args=_names(extra_link_args, "extra_link_args"),
        with_cuda=bool(with_cuda),
    )


def _names(given: Paths, what: str) -> tuple[str, ...]:
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    names = tuple(os.fspath(each) for each in given)
    if wrong := [each for each in names if not isinstance(each, str)]:
        raise TypeError(f"{what} has {wrong[0]!r}, which is no str")
    return names


def _macro(given: tuple[str, str | None]) -> tuple[str, str | None]:
    if not (isinstance(given, (tuple, list)) and len(given) == 2 and str(given[0]).isidentifier()):
        raise ValueError(f"define_macros has {given!r}, which is no pair of a name and a value or None")
    name, value = given
    return name, None if value is None else str(value)
