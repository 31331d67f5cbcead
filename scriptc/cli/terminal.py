"""Write to the terminal of a command: its width, its colors, and errors of the user."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TextIO

_CODES = {"red": "31", "green": "32", "cyan": "36", "bold": "1"}
_WORDS = re.compile(r"^(?P<place>\S+: )(?P<error>error:)|^\s+(?P<hint>hint:)", re.MULTILINE)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # the stream is closed
        return False


def width_of(stream: TextIO) -> int | None:
    """Return the width of a terminal, or None for a pipe or file, whose lines are not cut."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else None


def has_colors(stream: TextIO) -> bool:
    """Return whether to use colors on a stream.

    NO_COLOR turns colors off, and FORCE_COLOR turns them on. Otherwise a terminal has colors unless TERM is `dumb`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def painted(text: str, color: str, stream: TextIO) -> str:
    """Return the text in a color, if the stream has colors."""
    return f"\x1b[{_CODES[color]}m{text}\x1b[0m" if text and has_colors(stream) else text


def diagnostics(text: str, stream: TextIO) -> str:
    """Return the text of compile errors with colored `error:` and `hint:`."""

    def paint(match: re.Match[str]) -> str:
        if match["hint"]:
            return match[0].replace("hint:", painted("hint:", "cyan", stream))
        return match["place"] + painted(match["error"], "red", stream)

    return _WORDS.sub(paint, text)


def complain(message: str) -> None:
    """Print an error of the user, on one line."""
    line = "; ".join(part.strip() for part in message.splitlines() if part.strip())
    print(f"{painted('scriptc:', 'red', sys.stderr)} {line}", file=sys.stderr)
