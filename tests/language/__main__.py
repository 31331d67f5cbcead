"""Writes the rows of docs/reference/language.md that programs declare: `PYTHONPATH=tests python -m language`."""

from __future__ import annotations

import importlib
from pathlib import Path

from language.cases import with_constructs

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "reference" / "language.md"

for path in sorted(HERE.glob("[!_]*.py")):
    importlib.import_module(f"language.{path.stem}")
PAGE.write_text(with_constructs(PAGE.read_text()))
