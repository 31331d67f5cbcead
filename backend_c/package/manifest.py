"""manifest.json: the origin of a package, and how its library is built. The Python loader reads it.

It has a digest of each file that it names, and one of itself. Weights have a checksum of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from scriptc.backend_c.package import extensions, runtime_files
from scriptc.backend_c.package.interface import Package
from scriptc.backend_c.package.weights import checksum
from scriptc.backend_c.toolchain import BASE_FLAGS

GENERATOR = "scriptc"
_AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mtune=haswell"]  # tuned for gathers: see toolchain.GATHER_FLAGS
_AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
X86_LEVELS = {"baseline": [], "avx2": _AVX2, "avx512": [*_AVX2, *_AVX512]}


def build_id(files: Mapping[str, str | bytes], package: Package) -> str:
    """Return a name of the code and the weights: builds with the same name behave alike."""
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0".encode())
        digest.update(content.encode() if isinstance(content, str) else content)
    digest.update(f"{checksum(package.weights)} {package.optimize} {package.march}".encode())
    return digest.hexdigest()[:32]


FILE = "manifest.json"


def seal(rows: Mapping[str, Any]) -> str:
    """Return rows as text that ends with a digest of the rest."""
    digest = hashlib.sha256(_text(rows).encode()).hexdigest()
    return _text({**rows, "sha256": digest})


def read(text: str) -> dict[str, Any]:
    """Return the rows of a manifest; ValueError where it is damaged, or none."""
    rows = json.loads(text)
    if not isinstance(rows, dict) or rows.get("generator") != GENERATOR:
        raise ValueError("it is not of scriptc.build")
    if rows["format"] != 1 and seal({name: value for name, value in rows.items() if name != "sha256"}) != text:
        raise ValueError("it is damaged")
    return rows


def files_of(rows: Mapping[str, Any]) -> set[str]:
    """Return the paths of all files that a build wrote."""
    weights = rows["weights"]["file"]
    return {*map(os.path.normpath, rows["files"]), FILE, *([weights] if weights else [])}


def _text(rows: Mapping[str, Any]) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _stamp(content: str | bytes) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def manifest(package: Package, identity: str, files: Mapping[str, str | bytes]) -> str:
    rows: dict[str, Any] = {
        "generator": GENERATOR,
        "format": 2,
        "name": package.name,
        "build_id": identity,
        "versions": package.versions,
        "source_sha256": hashlib.sha256(package.program.source.encode()).hexdigest(),
        "options": {
            "optimize": package.optimize,
            "debug": package.debug,
            "march": package.march,
            "source_paths": package.source_paths,
        },
        "entries": [{"name": e.name, "group": e.group, "declared": e.declared, **e.python} for e in package.entries],
        "weights": {
            "file": None if package.embed_weights or not package.weights else f"{package.name}.safetensors",
            "crc32": f"{checksum(package.weights):08x}",
            "tensors": [{"name": w.name, "dtype": w.dtype, "shape": w.sizes} for w in package.weights],
        },
        "state": list(dict.fromkeys(leaf.name for leaf in package.state)),
        "exceptions": exception_rows(package),
        "build": _recipe(package),
        "files": {path: _stamp(content) for path, content in sorted(files.items())},
    }
    return seal(rows)


def exception_rows(package: Package) -> list[dict[str, Any]]:
    """Return the exception classes as the Python loader reads them."""
    return [{"name": e.name, "bases": e.bases, "module": e.module, "path": e.path} for e in package.exceptions]


def _recipe(package: Package) -> dict[str, Any]:
    flags = [flag for flag in BASE_FLAGS if flag not in ("-Wall", "-Wextra")]
    native = {"native": [f"-march={package.march}", "-mprefer-vector-width=512"]}
    called: dict[str, Any] = {"extensions": extensions.recipe(package), "libraries": extensions.linked(package)}
    return {
        **(called if package.program.extensions else {}),
        "flags": [*flags, f"-O{package.opt_level}", *(["-g"] if package.debug else [])],
        "hides_folders": package.debug and package.source_paths != "absolute",
        "include": ["include", "runtime/include", "runtime/src", "runtime/src/package"],
        "level": f"src/{package.name}_level.c",
        "levels": native if package.march else X86_LEVELS,
        "sources": [f"src/{package.name}_api.c", *runtime_files.common_units()],
    }
