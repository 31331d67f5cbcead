"""Python names for the names of a file."""

from __future__ import annotations

import builtins
import keyword
import re

RESERVED = {*dir(builtins), *keyword.kwlist, "torch", "nn", "F", "ox", "self", "Path"}


def identifier(name: str, default: str = "v") -> str:
    """Return a valid Python name like `name`."""
    made = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or default
    if made[0].isdigit():
        made = f"{default}_{made}"
    return made[:60]


def docstring(text: str) -> str:
    """Return the text of a docstring with what a file says, on one line; no character of it ends the docstring."""
    return comment(text).replace('"', "'").replace("\\", "/")[:300]


def comment(text: str) -> str:
    """Return a text on one line, with spaces for characters that Python's source may not have."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


class Names:
    """The names in use in one function."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def fresh(self, name: str) -> str:
        """Return a free name like `name`, and take it."""
        base = identifier(name)
        if base in RESERVED:
            base += "_"
        made, number = base, 1
        while made in self.used:
            number += 1
            made = f"{base}_{number}"
        self.used.add(made)
        return made
