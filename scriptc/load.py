"""`scriptc.load`: a directory made by `scriptc.build` as a Python object on numpy arrays, without torch."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any


def load(folder: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None, *, threads: int = 1) -> Any:
    """The model in the directory: call it, or its entries by name. Its library is built if it is not there yet.

    weights: a safetensors file in place of the directory's own. threads: a call uses at most so many.
    """
    root = Path(folder).resolve()
    try:
        manifest = json.loads((root / "manifest.json").read_text())
    except FileNotFoundError:
        raise FileNotFoundError(f"{root} was not made by scriptc.build: it has no manifest.json") from None
    name = manifest["name"]
    spec = importlib.util.spec_from_file_location(f"scriptc_package_{name}", root / "python" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(weights, threads)
