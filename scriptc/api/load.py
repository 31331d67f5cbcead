"""`scriptc.load`: load a directory of `scriptc.build` as a Python object on numpy arrays, without torch."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

_WITHOUT_DIGESTS = 1  # the manifest format of earlier versions


def load(folder: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None, *, threads: int = 1) -> Any:
    """Return the model in a directory: call it, or its entries by name.

    The library is built if it does not exist yet.

    weights: a safetensors file that replaces that of the directory. threads: the most threads that a call uses.
    Raises RuntimeError if the directory is damaged.
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
    exec(compile(path.read_bytes(), path, "exec"), vars(module))  # a .pyc could be of an earlier build
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
