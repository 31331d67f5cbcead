"""Filling in the files of backend_c/templates. A template says @{name} where a text of that name goes."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "templates"


def fill(template: str, **texts: str) -> str:
    """The text of a template. Every name in it must be given, and every given name be in it."""
    source = (FOLDER / template).read_text(encoding="utf-8")
    found = set(re.findall(r"@\{(\w+)\}", source))
    if found != set(texts):
        raise ValueError(f"{template}: {sorted(found ^ set(texts))} in the template or in the texts alone")
    return re.sub(r"@\{(\w+)\}", lambda m: texts[m[1]], source)
