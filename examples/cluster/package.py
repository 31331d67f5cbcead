"""Load the package on a worker. It needs numpy, and neither torch nor scriptc."""

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "recognizer"  # a folder that all workers see


def load() -> Any:
    """Return the model. After `pip install recognizer-*.whl` on the workers, `recognizer.load()` alone does it."""
    if str(FOLDER / "python") not in sys.path:
        sys.path.insert(0, str(FOLDER / "python"))
    import recognizer

    return recognizer.load()
