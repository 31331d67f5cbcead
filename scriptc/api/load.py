"""`scriptc.load`: load a directory of `scriptc.build` as a Python object on numpy arrays, without torch."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

_WITHOUT_DIGESTS = 1  # the manifest format that has no digests


def load(folder: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None, *, threads: int = 1) -> Any:
    """Return the model of a package that `scriptc.build` wrote: call it, or its entries by name. torch is not imported.

    Arguments are NumPy arrays, numbers, strings, and lists, tuples and dicts of these, with the dtypes and ranks of
    the example. Tensors of results are NumPy arrays. The C compiler builds the library if it is missing.

    folder: the directory.
    weights: a safetensors file to load in place of the directory's own, with the same names, dtypes and shapes.
    threads: the largest number of threads of a call.

    Raises FileNotFoundError if no package is there, and RuntimeError if the package is damaged. A call raises
    TypeError or ValueError if an argument does not fit, and the exceptions of the model.
    """
    root = Path(folder).resolve()
    try:
        manifest = _read((root / "manifest.json").read_text(encoding="utf-8"))
        name, files = manifest["name"], manifest["files"]
    except FileNotFoundError:
        raise FileNotFoundError(f"{root} was not made by scriptc.build: it has no manifest.json") from None
    except (ValueError, TypeError, KeyError):
        raise RuntimeError(f"{root / 'manifest.json'} is damaged: build the package again") from None
    path = root / "python" / f"{name}.py"
    if manifest["format"] != _WITHOUT_DIGESTS:
        for part in {f"python/{name}.py", *(part for part in files if part.startswith("python/"))}:
            _require_whole(root / part, files.get(part, {}))
    module = ModuleType(f"scriptc_package_{name}")
    module.__file__ = str(path)
    exec(compile(path.read_bytes(), path, "exec"), vars(module))  # a .pyc could be one of an earlier build
    return module.load(weights, threads)


def _read(text: str) -> dict[str, Any]:
    """Return the content of a manifest. Raises ValueError if it is damaged."""
    manifest: dict[str, Any] = json.loads(text)
    if manifest["format"] != _WITHOUT_DIGESTS:
        rest = {name: value for name, value in manifest.items() if name != "sha256"}
        digest = hashlib.sha256((json.dumps(rest, indent=1, ensure_ascii=False) + "\n").encode()).hexdigest()
        if manifest["sha256"] != digest:
            raise ValueError("damaged")
    return manifest


def _require_whole(path: Path, noted: dict[str, Any]) -> None:
    if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != noted.get("sha256"):
        raise RuntimeError(f"{path} is not as scriptc.build wrote it: build the package again")
