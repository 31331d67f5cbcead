"""The first program of the README, and what the README says that it prints."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def first_program() -> tuple[str, str]:
    """Return the first block of Python and the block of output that follows."""
    found = re.search(r"^```python\n(.*?)^```$.*?^```text\n(.*?)^```$", README.read_text(), re.M | re.S)
    assert found is not None
    return found[1], found[2]
