"""Write a package: all of its files, into a directory that appears whole or not at all.

The files are written into a folder beside the directory, which then replaces it. The next build of the same directory
clears the leftovers of a killed build.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scriptc.backend_c.package import c_api, cpp_api, extensions, pairs, pybind11_api, runtime_files, test_driver
from scriptc.backend_c.package.interface import EntryInterface, Package
from scriptc.backend_c.package.manifest import FILE, build_id, files_of, manifest, read
from scriptc.backend_c.package.templates import fill
from scriptc.backend_c.package.weights import file_parts

_MARK = "-scriptc-"  # in the names of temporary folders, where packages are written

def write(package: Package, out: Path) -> None:
    """Write the package to `out`, and replace an earlier package there; raise FileExistsError for anything else."""
    files = _files(package)
    with _replacing(out) as folder:
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        if package.weights and not package.embed_weights:
            with (folder / f"{package.name}.safetensors").open("wb") as file:
                file.writelines(file_parts(package.weights))


def _files(package: Package) -> dict[str, str | bytes]:
    name = package.name
    files: dict[str, str | bytes] = {
        f"src/{name}.c": package.program.source,
        f"src/{name}_level.c": c_api.level(package),
        f"src/{name}_kernels.h": runtime_files.kernels_header(package.program.kernels),
        f"include/{name}.h": c_api.header(package),
        f"include/{name}.hpp": cpp_api.wrapper(package),
        f"include/{runtime_files.PUBLIC_HEADER}": runtime_files.public_header(),
    }
    files |= runtime_files.files(name)
    files |= extensions.files(package)
    identity = build_id(files, package)
    files |= {f"tests/pairs/{i:03}.pair": pairs.encode(pair) for i, pair in enumerate(package.pairs)}
    files |= {
        f"src/{name}_api.c": c_api.api(package, identity),
        f"tests/{name}_test.c": test_driver.driver(package),
        "tests/pair.h": fill("pair.h"),
        f"python/{name}.py": fill("name.py", name=name, first=package.entries[0].group),
        f"python/{name}_library.py": fill("name_library.py", name=name),
        f"python/{name}_signals.py": fill("name_signals.py"),
        f"python/{name}_messages.py": fill("name_messages.py"),
        f"python/{name}_structs.py": fill("name_structs.py"),
        "pip/__init__.py": fill("pip_module.py", name=name),
        "CMakeLists.txt": _cmake(package),
        "pyproject.toml": _pyproject(package),
        f"{name}.pc.in": fill(
            "name.pc.in", name=name, libraries="".join(f" {flag}" for flag in extensions.linked(package))
        ),
        "README.md": _readme(package),
    }
    if package.bindings:
        files[f"src/{name}_pybind11.cpp"] = pybind11_api.module(package)
        files[f"src/{name}_pybind11.hpp"] = pybind11_api.header(package)
    files[FILE] = manifest(package, identity, files)
    return files


def _cmake(package: Package) -> str:
    return fill(
        "CMakeLists.txt",
        name=package.name,
        version=package.versions["package"],
        march=package.march,
        optimize=package.opt_level,
        debug_flags=_debug_flags(package),
        common_units=" ".join(runtime_files.common_units()),
        bindings=fill("pybind11.cmake", name=package.name, debug_flags=_debug_flags(package)) if package.bindings else "",
        extensions=extensions.cmake(package),
    )


def _debug_flags(package: Package) -> str:
    if not package.debug:
        return ""
    hidden = () if package.source_paths == "absolute" else ("SOURCE", "BINARY")
    return " ".join(["-g", *(f"-fdebug-prefix-map=${{CMAKE_CURRENT_{folder}_DIR}}=." for folder in hidden)])


def _pyproject(package: Package) -> str:
    """Return pip's description. A wheel with an extension module is one of its version of Python alone."""
    module = f"{package.name}_pybind11"
    return fill(
        "pyproject.toml.in",
        name=package.name,
        distribution=package.name.rstrip("_"),
        version=package.versions["package"],
        requires=', "pybind11>=2.12"' if package.bindings else "",
        tags="" if package.bindings else 'wheel.py-api = "py3"\n',
        targets=f', "{module}"' if package.bindings else "",
        options='cmake.define.SC_PYBIND11 = "ON"\n' if package.bindings else "",
    )


def _readme(package: Package) -> str:
    in_file = package.weights and not package.embed_weights
    return fill(
        "README.md",
        name=package.name,
        version=package.versions["scriptc"],
        entries="\n".join(map(_entry_line, package.entries)),
        weights=f'"{package.name}.safetensors"' if in_file else "NULL",
        first=package.entries[0].name,
        bindings=fill("pybind11.md", name=package.name, first=package.entries[0].group) if package.bindings else "",
    )


def _entry_line(entry: EntryInterface) -> str:
    arguments = ", ".join(f"{leaf.name}: {leaf.describe()}" for leaf in entry.arguments)
    results = ", ".join(leaf.describe() for leaf in entry.results) or "nothing"
    return f"- `{entry.name}({arguments})` gives {results}; from {entry.declared}"


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `out` when the block ends, and is removed where the block fails.

    The new folder also gets the files that the user put into `out`. A process holds the lock of a folder as long as it
    uses it.
    """
    _clear_leftovers(out)
    check_replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    made, lock = _temporary(out)
    try:
        folder = made / "new"
        folder.mkdir()
        yield folder
        if out.exists():
            _keep_others_files(out, folder)
            os.rename(out, made / "old")
        os.rename(folder, out)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _temporary(out: Path) -> tuple[Path, int]:
    """Make a folder beside `out`, and lock it."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}{_MARK}", dir=out.parent))
        lock = os.open(made, os.O_RDONLY)
        if _locked(lock) and made.exists():
            return made, lock
        os.close(lock)  # another process removed the folder as abandoned


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _clear_leftovers(out: Path) -> None:
    """Remove what killed builds left beside `out`. One that was killed between two renames had put `out` there."""
    for left in out.parent.glob(f".{glob.escape(out.name)}{_MARK}*"):
        try:
            lock = os.open(left, os.O_RDONLY)
        except OSError:  # another process was faster
            continue
        try:
            if _locked(lock):
                if (left / "old").exists() and not out.exists():
                    os.rename(left / "old", out)
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)


def _keep_others_files(old: Path, new: Path) -> None:
    """Link into `new` what is in `old` but was not written by the build that `old` is of."""
    if not (old / FILE).exists():  # an empty directory
        return
    rows = read((old / FILE).read_text(encoding="utf-8"))
    ours, name = files_of(rows), rows["name"]
    made_of_ours = re.compile(rf"python/__pycache__/{name}\..*|build/lib{name}-[0-9a-f]{{32}}\.so|build/making-.*")
    for folder, folders, files in os.walk(old):
        links = [entry for entry in folders if os.path.islink(os.path.join(folder, entry))]
        for entry in (*files, *links):
            path = Path(folder, entry)
            where = path.relative_to(old)
            if where.as_posix() not in ours and not made_of_ours.fullmatch(where.as_posix()):
                _link(path, new / where)


def _link(path: Path, copy: Path) -> None:
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            copy.symlink_to(os.readlink(path))
        else:
            os.link(path, copy)
    except (FileExistsError, NotADirectoryError):
        raise FileExistsError(
            f"{path} was not made by scriptc.build, which would write a file of this name now; move it away"
        ) from None
    except OSError:  # as of a file system without links
        shutil.copy2(path, copy)


def check_replaceable(out: Path) -> None:
    """Raise FileExistsError unless `out` is missing, empty, or made by an earlier build."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        files_of(read((out / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FileExistsError(
            f"{out} exists and was not made by scriptc.build, or its {FILE} is damaged; remove it, or choose another directory"
        ) from None
