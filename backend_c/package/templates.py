"""The files of backend_c/templates, in which @{name} stands for the text of that name."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "templates"


def fill(template: str, **texts: str) -> str:
    """Return the text of a template. The names in the template are those of the given texts."""
    source = (FOLDER / template).read_text(encoding="utf-8")
    found = set(re.findall(r"@\{(\w+)\}", source))
    if found != set(texts):
        raise ValueError(f"{template}: {sorted(found ^ set(texts))} in the template or in the texts alone")
    return re.sub(r"@\{(\w+)\}", lambda m: texts[m[1]], source)
