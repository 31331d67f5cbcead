"""Map paths of Python sources to the paths that builds show, and locations in libraries to lines of the user."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch

from scriptc.ir.loc import Loc

_TORCH = Path(torch.__file__).parent
_PYTHON = Path(sysconfig.get_path("stdlib"))
_INSTALLED = ("site-packages", "dist-packages")  # within Python's library, but their packages are not part of it


def path_printer(source_paths: str) -> Callable[[str], str]:
    """Return the function that turns the path of a source file into the path to show.

    source_paths: "absolute" keeps the path; "relative" begins at the topmost package that holds the file; "strip" is
    the file's name alone.
    """
    printers: dict[str, Callable[[str], str]] = {"absolute": str, "relative": _relative, "strip": _file_name}
    if source_paths not in printers:
        raise ValueError(f"source_paths is one of {', '.join(printers)}, not {source_paths!r}")
    return printers[source_paths]


def _file_name(path: str) -> str:
    return path if path.startswith("<") else os.path.basename(path)


@cache
def _relative(path: str) -> str:
    if path.startswith("<"):  # not a file
        return path
    root = Path(path).parent
    while (root / "__init__.py").is_file() and root != root.parent:
        root = root.parent
    return Path(path).relative_to(root).as_posix()


def user_line(loc: Loc) -> Loc:
    """Return the innermost location around `loc` that is in the user's code, or else `loc`."""
    return next((site for site in loc.chain() if not _is_library(site.file)), loc)


@cache
def _is_library(file: str) -> bool:
    path = Path(file)
    if path.is_relative_to(_TORCH):
        return True
    return path.is_relative_to(_PYTHON) and path.relative_to(_PYTHON).parts[0] not in _INSTALLED


def user_rows(locs: Sequence[Loc]) -> tuple[int, ...]:
    """Return, for each row of a location table, the row of the user's line."""
    rows = {loc: row for row, loc in enumerate(locs)}
    return tuple(rows[user_line(loc)] for loc in locs)
