"""The passes over the tensor IR. Each is one file with the IR before and after in its docstring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping

from scriptc.ir.core import Module

Run = Callable[[Module, Mapping[str, int]], bool]

# All files of the folder but `manager`, which runs them.
PASSES: dict[str, Run] = {
    found.name: importlib.import_module(f"{__name__}.{found.name}").run
    for found in pkgutil.iter_modules(__path__)
    if found.name != "manager"
}
# The passes of `clean`, which run again and again until none changes anything.
CLEANING = (
    "fold",
    "simplify",
    "character_codes",
    "cse",
    "propagate_conditions",
    "licm",
    "dce",
)
