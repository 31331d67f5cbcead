"""Extensions as modules on disk, such as `_ext/my_lib`: a library, and a file that describes it.

Importing such a module needs no compiler. The description has the sources that the library was built from, so a
package of compiled code can take them along.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from scriptc.backend_c.extensions.errors import ExtensionError
from scriptc.extensions.functions import CFunction, load_functions
from scriptc.ir.extern import ExternLibrary, ExternPrototype, ExternSources, ExternType

_FORMAT = 1
_MODULE = '''"""The C functions of {name}. scriptc.create_extension wrote this module: build it again to change it."""

from scriptc.extensions.saved import functions_beside as _functions_beside

_functions = _functions_beside(__file__)
globals().update(_functions)
__all__ = list(_functions)
'''


def write_module(module: str, base: Path, library: ExternLibrary) -> None:
    """Write a library as a module below `base`. The folders of the module become packages."""
    folder = base
    for part in module.split("."):
        folder = folder / part
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    content = _MODULE.format(name=module)
    init = folder / "__init__.py"
    if (written := init.read_text(encoding="utf-8")) and "scriptc.create_extension wrote this module" not in written:
        raise ExtensionError(f"{init} was not written by scriptc.create_extension: move it away, or choose another name")
    file = f"_{library.name}-{library.key[:16]}.so"
    _put(folder / file, library.path.read_bytes())
    described = {"format": _FORMAT, "library": file, **asdict(library)}
    _put(folder / f"_{library.name}.json", json.dumps(described, default=str).encode("utf-8", "surrogatepass"))
    _put(init, content.encode())
    for old in folder.glob(f"_{library.name}-*.so"):
        if old.name != file:
            old.unlink(missing_ok=True)


def _put(path: Path, content: bytes) -> None:
    """Write a file that appears whole. A process that has loaded the old one keeps it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(name, 0o755 if path.suffix == ".so" else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def functions_beside(init: str) -> dict[str, CFunction]:
    """Return the functions of the module whose `__init__.py` this is."""
    folder = Path(init).parent
    path = folder / f"_{folder.name}.json"
    try:
        described = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
        if described["format"] != _FORMAT:
            raise ValueError(f"it has the format {described['format']}")
        library = ExternLibrary(
            described["name"], described["key"], folder / described["library"],
            tuple(_prototype(row) for row in described["prototypes"]), bool(described["with_cuda"]),
            _sources(described["built_from"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise ExtensionError(f"{path} cannot be used ({e}): build the extension again") from e
    return load_functions(library)


def _prototype(row: dict[str, object]) -> ExternPrototype:
    parameters = tuple((name, ExternType(**t)) for name, t in row["parameters"])  # type: ignore[attr-defined]
    return ExternPrototype(str(row["name"]), parameters, ExternType(**row["result"]), str(row["where"]))  # type: ignore[arg-type]


def _sources(row: dict[str, object]) -> ExternSources:
    def tuples(value: object) -> object:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return ExternSources(**{name: tuples(value) for name, value in row.items()})  # type: ignore[arg-type]
