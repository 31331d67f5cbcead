"""Writing a package: all of its files, into a directory that is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from scriptc.backend_c.package import c_api, cpp_api, pairs, runtime_files, test_driver
from scriptc.backend_c.package.interface import EntryInterface, Package
from scriptc.backend_c.package.manifest import GENERATOR, build_id, manifest
from scriptc.backend_c.package.templates import fill
from scriptc.backend_c.package.weights import file_parts


def write(package: Package, out: Path) -> None:
    """Writes the package to `out`, in place of an earlier package there; FileExistsError for anything else."""
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
        f"include/{name}.h": c_api.header(package),
        f"include/{name}.hpp": cpp_api.wrapper(package),
        f"include/{runtime_files.PUBLIC_HEADER}": runtime_files.public_header(),
    }
    files |= {path: source.read_text() for path, source in runtime_files.needed(package.program.source).items()}
    identity = build_id(files, package)
    files |= {f"tests/pairs/{i:03}.pair": pairs.encode(pair) for i, pair in enumerate(package.pairs)}
    files |= {
        f"src/{name}_api.c": c_api.api(package, identity),
        f"tests/{name}_test.c": test_driver.driver(package),
        "tests/pair.h": fill("pair.h"),
        f"python/{name}.py": fill("name.py", name=name, first=package.entries[0].name),
        "CMakeLists.txt": _cmake(package),
        f"{name}.pc.in": fill("name.pc.in", name=name),
        "README.md": _readme(package),
    }
    files["manifest.json"] = manifest(package, identity, files)
    return files


def _cmake(package: Package) -> str:
    return fill(
        "CMakeLists.txt",
        name=package.name,
        version=package.versions["package"],
        march=package.march,
        optimize=str(package.optimize),
        debug_flags="-g" if package.debug else "",
        common_sources=" ".join(runtime_files.common_sources()),
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
    )


def _entry_line(entry: EntryInterface) -> str:
    arguments = ", ".join(f"{leaf.name}: {leaf.describe()}" for leaf in entry.arguments)
    results = ", ".join(leaf.describe() for leaf in entry.results) or "nothing"
    return f"- `{entry.name}({arguments})` gives {results}; from {entry.declared}"


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A new folder that takes the place of `out` when the block ends, and goes away where it fails."""
    check_replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        folder = made / "new"
        folder.mkdir()
        yield folder
        if out.exists():
            os.rename(out, made / "old")
        os.rename(folder, out)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def check_replaceable(out: Path) -> None:
    """Only what an earlier build made, or an empty directory, is replaced."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        made: Mapping[str, object] = json.loads((out / "manifest.json").read_text())
        ours = made["generator"] == GENERATOR
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise FileExistsError(f"{out} exists and was not made by scriptc.build; remove it, or choose another directory")
